"""The pool of pairs, groups of similar pairs in it, prompts, and samples (spec 2.2.1 to 2.2.3).

A pool file contains JSON lines with ``premise``, ``hypothesis`` and the labels of two annotators, in a format
of training data (`nli.training_data`): ``labels`` (of both, or the one they share), or two ``annotations`` as
in WANLI. Rows without ``id`` are named by their content.

Similarity is Euclidean distance between embeddings. A transformers encoder embeds a pair by the last layer's
state at the first token ([CLS]), or at the last token for a causal model, where only that token has seen the
complete pair. Without a model, ``offline/words`` counts words, bigrams, and words that occur in only one of
the two sentences, hashed into a fixed number of columns and reduced to the main directions.
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
from simulator.ambient.pool.filters import SampledPair
from simulator.errors import InputError
from simulator.generation import Journal, key_of, map_concurrently
from simulator.jsonlines import Read, Row, read_lines, report_duplicates
from simulator.models import ChatModel, Message, Refused, Request, sample
from simulator.models.weights import import_optional, load_local
from simulator.runner.options import SeedOption
from simulator.seeds import derive_seed
from simulator.tables.cells import SAME_ID
from trees import Language
from trees.faults import first_and_more

Vectors = NDArray[np.float64]
"""One row per pair."""
Advance = Callable[[int], None]
"""Called with the number of further pairs that were embedded."""

WORDS: Final = "offline/words"
COLUMNS: Final = 1 << 14
DIMENSIONS: Final = 64
_BATCH: Final = 64
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Embedding(NamedTuple):
    """Vectors, the name of the encoder (its folder or ``offline/words``), and a description."""

    name: str
    how: str
    vectors: Vectors


def embed(
    pairs: Sequence[Pair],
    encoder: Path | None = None,
    *,
    device: str | None = None,
    advance: Advance = lambda read: None,
) -> Embedding:
    """Return a vector for each pair, by the encoder in a folder or, without one, by ``offline/words``.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if the folder contains no encoder.
    """
    if encoder is None:
        return Embedding(WORDS, f"words, in at most {DIMENSIONS} dimensions", embed_by_words(pairs))
    return _embed_by_encoder(pairs, encoder, device, advance)


def embed_by_words(pairs: Sequence[Pair]) -> Vectors:
    """Return the embeddings of ``offline/words``: signed feature hashes, reduced to the main directions."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    hashed = [[_column(feature) for feature in features(*pair)] for pair in pairs]
    rows = np.repeat(np.arange(len(pairs)), [len(entries) for entries in hashed])
    entries = np.array([entry for row in hashed for entry in row], dtype=np.int64).reshape(-1, 2)
    counts = csr_array((entries[:, 1].astype(float), (rows, entries[:, 0])), shape=(len(pairs), COLUMNS))
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    scaled = csr_array(counts.multiply(1 / np.where(lengths == 0, 1, lengths)[:, None]))
    if len(pairs) <= DIMENSIONS:
        # All distances between few pairs are preserved by factorizing the Gram matrix of the rows.
        values, vectors = np.linalg.eigh(np.asarray((scaled @ scaled.T).todense()))
        return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)), dtype=np.float64)
    start = np.ones(min(scaled.shape))  # a fixed start of the iteration makes the result deterministic
    left, values, _ = svds(scaled, k=DIMENSIONS, v0=start)
    return np.asarray(left * values, dtype=np.float64)


def features(premise: str, hypothesis: str) -> Iterator[str]:
    """Yield the features of ``offline/words``: words, bigrams, and words that only one sentence contains."""
    first, second = ([word.lower() for word in _WORD.findall(text)] for text in (premise, hypothesis))
    for side, words, others in (("p", first, second), ("h", second, first)):
        yield from (f"{side} {word}" for word in words)
        yield from (f"{side} {word} {after}" for word, after in pairwise(words))
        yield from (f"{side} only {word}" for word in words if word not in others)


def _column(feature: str) -> tuple[int, int]:
    """Return the column and sign of a feature."""
    number = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest())
    return (number >> 1) % COLUMNS, 1 if number & 1 else -1


def _embed_by_encoder(pairs: Sequence[Pair], folder: Path, device: str | None, advance: Advance) -> Embedding:
    config = load_config(folder, "a transformers encoder")
    if config.is_encoder_decoder:
        raise InputError(f"{folder}: is an encoder-decoder model; name an encoder such as RoBERTa")
    torch = import_optional("torch")
    model, tokenizer = load_local("AutoModel", folder, device)
    first = tokenizer.cls_token_id is not None
    vectors: Vectors = np.zeros((len(pairs), config.hidden_size))
    with torch.inference_mode():
        for places in batches(pairs, _BATCH):
            encoded = encode(tokenizer, [pairs[place] for place in places], MAX_LENGTH).to(model.device)
            states = model(**encoded).last_hidden_state.float()
            mask = encoded["attention_mask"]
            # Padding may be on either side.
            chosen = mask.argmax(1) if first else mask.shape[1] - 1 - mask.flip(1).argmax(1)
            vectors[places] = states[torch.arange(len(places), device=states.device), chosen].cpu().numpy()
            advance(len(places))
    return Embedding(str(folder), f"last layer, {'[CLS]' if first else 'last token'}", vectors)


_DIGITS: Final = 12


def pair_id(premise: str, hypothesis: str) -> str:
    """Return an id that depends only on the two sentences."""
    return "g" + sha256(f"{premise}\n{hypothesis}".encode()).hexdigest()[:_DIGITS]


def pool_of(name: str | Path) -> tuple[PoolPair, ...]:
    """Return the pairs of a pool: ``builtin`` or a file.

    Raises:
        InputError: if the file cannot be read or a row is faulty.
    """
    if name == BUILTIN:
        return load_pool()
    read = read_pool(name)
    if read.faults:
        raise InputError(first_and_more(read.faults, checkable=False))
    return read.rows


def read_pool(path: str | Path) -> Read[PoolPair]:
    """Return the pairs in a file; rows that are invalid or repeat earlier ones are faults."""
    read = read_lines(path, read_pool_pair)
    read = report_duplicates(path, read, lambda pair: (pair.id, ""), code="id", message=SAME_ID)
    message = "sentences: the same as in line {line}"
    return report_duplicates(
        path, read, lambda pair: ("", (pair.premise, pair.hypothesis)), code="id", message=message
    )


def read_pool_pair(row: Row) -> PoolPair:
    """Return the pair in a row."""
    known = read_known(row)
    labels = [label for label in LABELS if label in known.labels]
    if len(labels) not in (1, 2):
        raise row.error("labels", "are not those of two annotators")
    id = row.key("id") if row.get("id") is not None else pair_id(known.premise, known.hypothesis)
    return PoolPair(id, known.premise, known.hypothesis, (labels[0], labels[-1]))


SIZE: Final = 4


Group = tuple[PoolPair, ...]
"""The nearest neighbours of a seed by decreasing distance, then the seed, as in the prompt."""


def make_groups(pool: Sequence[PoolPair], vectors: Vectors, size: int = SIZE) -> tuple[Group, ...]:
    """Return a group for each pair whose annotators disagree (the seeds), in the order of the pool.

    A group of `size` contains the seed (the published prompt has 4 pairs, the paper's text says 5) and its
    nearest neighbours in the pool by Euclidean distance, ties in pool order.

    Raises:
        InputError: if annotators never disagree, or the pool has fewer pairs than a group.
    """
    from scipy.spatial import cKDTree

    seeds = [place for place, pair in enumerate(pool) if pair.disagree]
    if not seeds:
        raise InputError("the pool has no pair whose annotators disagree to use as a seed")
    if len(pool) < size:
        raise InputError(f"the pool has {len(pool)} pairs, but a group needs {size}; add more pairs")
    tree = cKDTree(vectors)
    # One more than needed, since the seed need not be first among pairs at the same point.
    distances, places = tree.query(vectors[seeds], k=min(size + 1, len(pool)), workers=-1)
    groups = []
    for seed, *near in zip(seeds, np.atleast_2d(distances), np.atleast_2d(places), strict=True):
        others = sorted((float(distance), int(place)) for distance, place in zip(*near, strict=True))
        nearest = [other for other in others if other[1] != seed][: size - 1]
        groups.append((*(pool[place] for _, place in reversed(nearest)), pool[seed]))
    return tuple(groups)


def in_drawn_order(groups: Sequence[Group], seed: int) -> tuple[Group, ...]:
    """Return the groups shuffled, so that any number from the first is a random sample."""
    shuffled = list(groups)
    Random(derive_seed(seed, "groups")).shuffle(shuffled)
    return tuple(shuffled)


# ---- prompts and samples

FIRST: Final = "Sentence 1:"
SECOND: Final = "Sentence 2: "
BLANK_LINE: Final = "\n\n"


def new_pairs_prompt(examples: Iterable[PoolPair], language: str = "en") -> Rendered:
    """Return a prompt: an instruction, the pairs (the seed last), and the beginning of a new pair."""
    instruction = render("ambient/new_pairs", language, {})
    blocks = [f"{FIRST} {pair.premise}\n{SECOND}{pair.hypothesis}" for pair in examples]
    return Rendered(BLANK_LINE.join((instruction.text, *blocks, FIRST)), instruction.version)


def parse_pair(text: str) -> tuple[str, str] | None:
    """Return the stripped premise and hypothesis of an answer; None if it is not a pair.

    A pair consists of two parts separated by a line feed and ``Sentence 2: ``. A repeated ``Sentence 1:`` (of
    chat models) and text after a blank line (of backends without stop sequences) are ignored.
    """
    answer = text.strip().removeprefix(FIRST).strip()
    parts = answer.split(BLANK_LINE, 1)[0].split(f"\n{SECOND}")
    if len(parts) != 2:
        return None
    premise, hypothesis = (part.strip() for part in parts)
    return premise, hypothesis


PURPOSE: Final = "ambient.new_pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """Decoding parameters; the defaults are the paper's."""

    samples: Annotated[int, Option(min=1, help="samples per prompt")] = 5
    top_p: Annotated[float, Option(min=0.01, max=1, help="probability mass to sample from")] = 0.9
    temperature: Annotated[float, Option(min=0.01, help="sampling temperature")] = 1.0
    max_tokens: Annotated[int, Option(min=1, help="limit on tokens per sample")] = 120
    language: Annotated[Language, Option(help="language of the instruction; pairs are English")] = "en"
    seed: SeedOption = 0


@dataclass(frozen=True, slots=True)
class GenerationPrompt:
    """A prompt; its `key` is a hash of everything that determines its samples."""

    group: Group
    prompt: Rendered
    key: str


@dataclass(frozen=True, slots=True)
class Samples:
    """The parsed pairs of all answered prompts, in order, and counts of prompts, refusals and texts."""

    pairs: tuple[SampledPair, ...]
    prompts: int
    refused: int
    texts: int


def prompts_of(groups: Iterable[Group], service: str, decoding: Decoding) -> tuple[GenerationPrompt, ...]:
    """Return a prompt for each group; `service` identifies the model and its server."""
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
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Sample answers to the prompts that are not in the journal, and add a row for each to it.

    Models continue the prompt if they can. A refusal is a row without samples and is not requested again.
    `advance` is called after each prompt.

    Raises:
        ModelError: see `simulator.models.errors`; earlier samples are in the journal.
    """

    async def ask(prompt: GenerationPrompt) -> None:
        try:
            answer = await sample(model, _request(model, prompt, decoding))
            row: dict[str, Any] = {"texts": list(answer.samples)}
        except Refused as refused:
            row = {"texts": [], "refused": str(refused)}
        journal.add(prompt.key, {"examples": [pair.id for pair in prompt.group], **row})
        advance()

    await map_concurrently((prompt for prompt in prompts if prompt.key not in journal.rows), ask, concurrency)


def samples_of(prompts: Iterable[GenerationPrompt], journal: Journal) -> Samples:
    """Return the pairs in a journal, in the order of the prompts."""
    rows = [(prompt, journal.rows[prompt.key]) for prompt in prompts if prompt.key in journal.rows]
    pairs: list[SampledPair] = []
    for prompt, row in rows:
        ids = tuple(example.id for example in prompt.group)
        shown = tuple((example.premise, example.hypothesis) for example in prompt.group)
        parsed = (parse_pair(text) for text in row["texts"])
        pairs += [SampledPair(*pair, examples=ids, shown=shown) for pair in parsed if pair is not None]
    return Samples(
        pairs=tuple(pairs),
        prompts=len(rows),
        refused=sum("refused" in row for _, row in rows),
        texts=sum(len(row["texts"]) for _, row in rows),
    )


def _request(model: ChatModel, prompt: GenerationPrompt, decoding: Decoding) -> Request:
    return Request(
        messages=(Message("user", prompt.prompt.text),),
        plain=model.capabilities.plain,
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        max_tokens=decoding.max_tokens,
        seed=derive_seed(decoding.seed, "samples", prompt.group[-1].id),
        stop=(BLANK_LINE,),
        samples=decoding.samples,
        purpose=PURPOSE,
        prompt_version=prompt.prompt.version,
    )
