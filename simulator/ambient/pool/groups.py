"""The pool that new examples take after, groups of like pairs in it, prompts, samples (spec 2.2.1 to 2.2.3).

A file of JSON lines has ``premise``, ``hypothesis`` and what its annotators said, in one of the forms in
which training data say it (`nli.training_data`): ``labels`` (of both, or the one they share), or
``annotations`` of two, as in WANLI. Rows without an ``id`` are named by their content.

Where a pair lies among others is a vector. Either a transformers encoder says it, by the state of its last
layer at the first token ([CLS]); of a model that reads from left to right only the last token has seen the
whole pair, so that one's is taken. Or, without any model, words do: ``offline/words`` counts words,
neighbouring words, and what only one of the two sentences says, hashed into a fixed number of columns, and
keeps the directions in which pairs differ most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b, sha256
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typer import Option

from personas.templates import Rendered, render
from simulator.ambient.data import BUILTIN, PoolPair, load_pool
from simulator.ambient.labels import LABELS
from simulator.ambient.nli.predict import MAX_LENGTH, Pair, batches, encode, load_config
from simulator.ambient.nli.training_data import read_known
from simulator.ambient.pool.filters import Drawn
from simulator.errors import InputError
from simulator.generation import Journal, each, key_of
from simulator.jsonlines import Read, Row, read_lines, report_duplicates
from simulator.models import ChatModel, Message, Refused, Request, sample
from simulator.models.weights import imported, load_local
from simulator.runner.options import SeedOption
from simulator.seeds import derive_seed
from simulator.tables.cells import SAME_ID
from trees import Language
from trees.faults import first_and_more

Vectors = NDArray[np.float64]
"""One row a pair."""
Tell = Callable[[int], None]
"""Is told how many more pairs have been read."""

WORDS: Final = "offline/words"
COLUMNS: Final = 1 << 14
DIMENSIONS: Final = 64
_BATCH: Final = 64
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Embedding(NamedTuple):
    """Vectors, with the encoder's folder or ``offline/words`` and, in words, what of it they are."""

    name: str
    how: str
    vectors: Vectors


def embed(
    pairs: Sequence[Pair],
    encoder: Path | None = None,
    *,
    device: str | None = None,
    tell: Tell = lambda read: None,
) -> Embedding:
    """Return a vector for each pair, by the encoder in a folder or, without one, by ``offline/words``.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if the folder holds no encoder.
    """
    if encoder is None:
        return Embedding(WORDS, f"words, in {DIMENSIONS} dimensions at most", of_words(pairs))
    return _of_encoder(pairs, encoder, device, tell)


def of_words(pairs: Sequence[Pair]) -> Vectors:
    """Return the vectors of ``offline/words``: features of pairs, hashed with signs, on main directions."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    hashed = [[_column(feature) for feature in features(*pair)] for pair in pairs]
    rows = np.repeat(np.arange(len(pairs)), [len(entries) for entries in hashed])
    entries = np.array([entry for row in hashed for entry in row], dtype=np.int64).reshape(-1, 2)
    counts = csr_array((entries[:, 1].astype(float), (rows, entries[:, 0])), shape=(len(pairs), COLUMNS))
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    scaled = csr_array(counts.multiply(1 / np.where(lengths == 0, 1, lengths)[:, None]))
    if len(pairs) <= DIMENSIONS:
        # Few pairs keep all their distances: those are in the products of the rows with each other.
        values, vectors = np.linalg.eigh(np.asarray((scaled @ scaled.T).todense()))
        return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)), dtype=np.float64)
    start = np.ones(min(scaled.shape))  # of the iteration, so that the same pairs give the same vectors
    left, values, _ = svds(scaled, k=DIMENSIONS, v0=start)
    return np.asarray(left * values, dtype=np.float64)


def features(premise: str, hypothesis: str) -> Iterator[str]:
    """Yield what ``offline/words`` looks at.

    Words and neighbouring words of each sentence, and the words that only one of them has: how the
    sentences differ is what relates them.
    """
    first, second = ([word.lower() for word in _WORD.findall(text)] for text in (premise, hypothesis))
    for side, words, others in (("p", first, second), ("h", second, first)):
        yield from (f"{side} {word}" for word in words)
        yield from (f"{side} {word} {after}" for word, after in pairwise(words))
        yield from (f"{side} only {word}" for word in words if word not in others)


def _column(feature: str) -> tuple[int, int]:
    """Return where a feature is counted, and with which sign."""
    number = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest())
    return (number >> 1) % COLUMNS, 1 if number & 1 else -1


def _of_encoder(pairs: Sequence[Pair], folder: Path, device: str | None, tell: Tell) -> Embedding:
    config = load_config(folder, "a transformers encoder")
    if config.is_encoder_decoder:
        raise InputError(f"{folder}: is an encoder-decoder model; name an encoder, such as a RoBERTa")
    torch = imported("torch")
    model, tokenizer = load_local("AutoModel", folder, device)
    first = tokenizer.cls_token_id is not None
    vectors: Vectors = np.zeros((len(pairs), config.hidden_size))
    with torch.inference_mode():
        for places in batches(pairs, _BATCH):
            encoded = encode(tokenizer, [pairs[place] for place in places], MAX_LENGTH).to(model.device)
            states = model(**encoded).last_hidden_state.float()
            mask = encoded["attention_mask"]
            # Padding may stand on either side.
            chosen = mask.argmax(1) if first else mask.shape[1] - 1 - mask.flip(1).argmax(1)
            vectors[places] = states[torch.arange(len(places), device=states.device), chosen].cpu().numpy()
            tell(len(places))
    return Embedding(str(folder), f"last layer, {'[CLS]' if first else 'last token'}", vectors)


_DIGITS: Final = 12


def pair_id(premise: str, hypothesis: str) -> str:
    """Return a name that depends on the two sentences alone."""
    return "g" + sha256(f"{premise}\n{hypothesis}".encode()).hexdigest()[:_DIGITS]


def pool_of(name: str | Path) -> tuple[PoolPair, ...]:
    """Return the pairs of a pool: ``builtin``, or a file.

    Raises:
        InputError: if the file cannot be read, or a row of it is faulty.
    """
    if name == BUILTIN:
        return load_pool()
    read = read_pool(name)
    if read.faults:
        raise InputError(first_and_more(read.faults, checkable=False))
    return read.rows


def read_pool(path: str | Path) -> Read[PoolPair]:
    """Return the pairs in a file; rows that cannot be read, and such as occurred before, are faults."""
    read = read_lines(path, read_pool_pair)
    read = report_duplicates(path, read, lambda pair: (pair.id, ""), code="id", message=SAME_ID)
    message = "sentences: the row in line {line} has the same"
    return report_duplicates(
        path, read, lambda pair: ("", (pair.premise, pair.hypothesis)), code="id", message=message
    )


def read_pool_pair(row: Row) -> PoolPair:
    """Return a pair out of a row."""
    known = read_known(row)
    labels = [label for label in LABELS if label in known.labels]
    if len(labels) not in (1, 2):
        raise row.wrong("labels", "are not those of two annotators")
    id = row.key("id") if row.get("id") is not None else pair_id(known.premise, known.hypothesis)
    return PoolPair(id, known.premise, known.hypothesis, (labels[0], labels[-1]))


SIZE: Final = 4


Group = tuple[PoolPair, ...]
"""A seed, which is the last, behind its nearest neighbours by decreasing distance, as in the prompt."""


def make_groups(pool: Sequence[PoolPair], vectors: Vectors, size: int = SIZE) -> tuple[Group, ...]:
    """Return a group for every pair whose annotators disagree, in the order of the pool.

    Neighbours are the nearest of the whole pool by Euclidean distance; of equally near ones the first in it.
    The seed is one of the `size` pairs of a group: the prompt has 4, the paper's text 5.

    Raises:
        InputError: if nobody disagrees, or the pool has fewer pairs than a group.
    """
    from scipy.spatial import cKDTree

    seeds = [place for place, pair in enumerate(pool) if pair.disagree]
    if not seeds:
        raise InputError("the pool has no pair whose annotators disagree, and such pairs are the seeds")
    if len(pool) < size:
        raise InputError(f"the pool has {len(pool)} pairs, and a group {size}; bring more pairs")
    tree = cKDTree(vectors)
    # One more than are needed: where several lie at the very place of the seed, it need not be the first.
    distances, places = tree.query(vectors[seeds], k=min(size + 1, len(pool)), workers=-1)
    groups = []
    for seed, *near in zip(seeds, np.atleast_2d(distances), np.atleast_2d(places), strict=True):
        others = sorted((float(distance), int(place)) for distance, place in zip(*near, strict=True))
        nearest = [other for other in others if other[1] != seed][: size - 1]
        groups.append((*(pool[place] for _, place in reversed(nearest)), pool[seed]))
    return tuple(groups)


def in_drawn_order(groups: Sequence[Group], seed: int) -> tuple[Group, ...]:
    """Return the groups shuffled: the first so many are a sample, and more of them a larger one with it."""
    shuffled = list(groups)
    Random(derive_seed(seed, "groups")).shuffle(shuffled)
    return tuple(shuffled)


# ---- prompts and samples

FIRST: Final = "Sentence 1:"
SECOND: Final = "Sentence 2: "
BLANK_LINE: Final = "\n\n"


def new_pairs_prompt(examples: Iterable[PoolPair], language: str = "en") -> Rendered:
    """Return an instruction, each pair (the seed last), and the beginning of another; blank lines between."""
    instruction = render("ambient/new_pairs", language, {})
    blocks = [f"{FIRST} {pair.premise}\n{SECOND}{pair.hypothesis}" for pair in examples]
    return Rendered(BLANK_LINE.join((instruction.text, *blocks, FIRST)), instruction.version)


def parse_pair(text: str) -> tuple[str, str] | None:
    """Return premise and hypothesis of an answer, without blanks around them; None if it is no pair.

    It is one if a line feed and ``Sentence 2: `` divide it into exactly two parts. Chat models begin anew
    with ``Sentence 1:`` where a completion would go on; that is passed over. What comes after a blank line
    is not part of it (for backends that have no stop sequences).
    """
    written = text.strip().removeprefix(FIRST).strip()
    parts = written.split(BLANK_LINE, 1)[0].split(f"\n{SECOND}")
    if len(parts) != 2:
        return None
    premise, hypothesis = (part.strip() for part in parts)
    return premise, hypothesis


PURPOSE: Final = "ambient.new_pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """Parameters with which a model is asked; the defaults are the paper's."""

    samples: Annotated[int, Option(min=1, help="per prompt")] = 5
    top_p: Annotated[float, Option(min=0.01, max=1)] = 0.9
    temperature: Annotated[float, Option(min=0.01)] = 1.0
    max_tokens: Annotated[int, Option(min=1, help="of a sample")] = 120
    language: Annotated[Language, Option(help="of the instruction; pairs are English")] = "en"
    seed: SeedOption = 0


@dataclass(frozen=True, slots=True)
class GenerationPrompt:
    """A prompt; its `key` is of everything that its samples follow from."""

    group: Group
    prompt: Rendered
    key: str


@dataclass(frozen=True, slots=True)
class Samples:
    """The yield of the prompts that were answered or refused; pairs are in the order of the prompts."""

    pairs: tuple[Drawn, ...]
    prompts: int
    refused: int
    texts: int


def prompts_of(groups: Iterable[Group], service: str, decoding: Decoding) -> tuple[GenerationPrompt, ...]:
    """Return a prompt for each group; `service` says which model answers, and where."""
    prompts = ((group, new_pairs_prompt(group, decoding.language)) for group in groups)
    return tuple(
        GenerationPrompt(group, prompt, key_of(service, prompt.text, asdict(decoding)))
        for group, prompt in prompts
    )


async def draw(
    model: ChatModel,
    prompts: Sequence[GenerationPrompt],
    decoding: Decoding,
    journal: Journal,
    *,
    concurrency: int = 8,
    tell: Callable[[], None] = lambda: None,
) -> None:
    """Ask for all that the journal does not have yet, and put a row a prompt into it.

    Models that can continue a prompt do. What a model refuses is a row without samples, and is not asked
    again. `tell` is called after each prompt.

    Raises:
        ModelError: see `simulator.models.errors`; what has been drawn before is in the journal.
    """

    async def ask(asked: GenerationPrompt) -> None:
        try:
            answer = await sample(model, _request(model, asked, decoding))
            row: dict[str, Any] = {"texts": list(answer.samples)}
        except Refused as refused:
            row = {"texts": [], "refused": str(refused)}
        journal.add(asked.key, {"examples": [pair.id for pair in asked.group], **row})
        tell()

    await each((asked for asked in prompts if asked.key not in journal.rows), ask, concurrency)


def samples_of(prompts: Iterable[GenerationPrompt], journal: Journal) -> Samples:
    """Return the pairs in a journal, in the order of the prompts."""
    rows = [(asked, journal.rows[asked.key]) for asked in prompts if asked.key in journal.rows]
    pairs: list[Drawn] = []
    for asked, row in rows:
        ids = tuple(example.id for example in asked.group)
        shown = tuple((example.premise, example.hypothesis) for example in asked.group)
        written = (parse_pair(text) for text in row["texts"])
        pairs += [Drawn(*pair, examples=ids, shown=shown) for pair in written if pair is not None]
    return Samples(
        pairs=tuple(pairs),
        prompts=len(rows),
        refused=sum("refused" in row for _, row in rows),
        texts=sum(len(row["texts"]) for _, row in rows),
    )


def _request(model: ChatModel, asked: GenerationPrompt, decoding: Decoding) -> Request:
    return Request(
        messages=(Message("user", asked.prompt.text),),
        plain=model.capabilities.plain,
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        max_tokens=decoding.max_tokens,
        seed=derive_seed(decoding.seed, "samples", asked.group[-1].id),
        stop=(BLANK_LINE,),
        samples=decoding.samples,
        purpose=PURPOSE,
        prompt_version=asked.prompt.version,
    )
