"""The prompt for new pairs; a model's pairs, five samples per prompt, kept as they come (spec 2.2.2-3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from personas.templates import Rendered, render
from simulator.ambient.data import PoolPair
from simulator.ambient.pool.filters import Drawn
from simulator.ambient.pool.groups import Group
from simulator.generation import Journal, each, key_of
from simulator.models import ChatModel, Message, Refused, Request, sample
from simulator.seeds import derive_seed

FIRST: Final = "Sentence 1:"
SECOND: Final = "Sentence 2: "
BLANK_LINE: Final = "\n\n"


def new_pairs_prompt(examples: Iterable[PoolPair], language: str = "en") -> Rendered:
    """Return an instruction, each pair (the seed last), and the beginning of another; blank lines between.

    Raises:
        TemplateError: if the instruction's template is missing or malformed.
    """
    instruction = render("ambient/new_pairs", language, {})
    blocks = [f"{FIRST} {pair.premise}\n{SECOND}{pair.hypothesis}" for pair in examples]
    return Rendered(BLANK_LINE.join((instruction.text, *blocks, FIRST)), instruction.version)


def parse_pair(text: str) -> tuple[str, str] | None:
    """Premise and hypothesis of an answer, without blanks around them; None if it is no pair.

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
    """How a model is asked; the defaults are the paper's.

    Attributes:
        language: of the instruction; the pairs are English.
    """

    samples: int = 5
    temperature: float = 1.0
    top_p: float = 0.9
    max_tokens: int = 120
    seed: int = 0
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt.

    Attributes:
        key: of everything that its samples follow from.
    """

    group: Group
    prompt: Rendered
    key: str


@dataclass(frozen=True, slots=True)
class Samples:
    """What has come of the prompts.

    Attributes:
        pairs: in the order of the prompts.
        prompts: that have been answered or refused.
        refused: that the model would not answer.
        texts: samples drawn.
    """

    pairs: tuple[Drawn, ...]
    prompts: int
    refused: int
    texts: int


def prompts_of(groups: Iterable[Group], service: str, decoding: Decoding) -> tuple[Asked, ...]:
    """Return a prompt for each group.

    Args:
        groups: of pairs.
        service: which model answers, and where.
        decoding: how it is asked.

    Raises:
        TemplateError: if the instruction's template is missing or malformed.
    """
    prompts = ((group, new_pairs_prompt(group.examples, decoding.language)) for group in groups)
    return tuple(
        Asked(group, prompt, key_of(service, prompt.text, asdict(decoding))) for group, prompt in prompts
    )


async def draw(
    model: ChatModel,
    prompts: Sequence[Asked],
    decoding: Decoding,
    journal: Journal,
    *,
    concurrency: int = 8,
    tell: Callable[[], None] = lambda: None,
) -> None:
    """Ask for all that the journal does not have yet, so many prompts at a time.

    What a model refuses is a row without samples, and is not asked again.

    Args:
        model: who is asked; a prompt is continued by those that can.
        prompts: what is asked.
        decoding: how.
        journal: gets a row a prompt.
        concurrency: prompts at a time.
        tell: is called after each.

    Raises:
        ModelError: see `simulator.models.errors`; what has been drawn before is in the journal.
    """

    async def ask(asked: Asked) -> None:
        try:
            answer = await sample(model, _request(model, asked, decoding))
            row: dict[str, Any] = {"texts": list(answer.samples)}
        except Refused as refused:
            row = {"texts": [], "refused": str(refused)}
        journal.add(asked.key, {"examples": [pair.id for pair in asked.group.examples], **row})
        tell()

    await each((asked for asked in prompts if asked.key not in journal.rows), ask, concurrency)


def samples_of(prompts: Iterable[Asked], journal: Journal) -> Samples:
    """Return the pairs in a journal, in the order of the prompts."""
    rows = [(asked, journal.rows[asked.key]) for asked in prompts if asked.key in journal.rows]
    pairs: list[Drawn] = []
    for asked, row in rows:
        examples = asked.group.examples
        ids = tuple(example.id for example in examples)
        shown = tuple((example.premise, example.hypothesis) for example in examples)
        written = (parse_pair(text) for text in row["texts"])
        pairs += [Drawn(*pair, examples=ids, shown=shown) for pair in written if pair is not None]
    return Samples(
        pairs=tuple(pairs),
        prompts=len(rows),
        refused=sum("refused" in row for _, row in rows),
        texts=sum(len(row["texts"]) for _, row in rows),
    )


def _request(model: ChatModel, asked: Asked, decoding: Decoding) -> Request:
    return Request(
        messages=(Message("user", asked.prompt.text),),
        plain=model.capabilities.plain,
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        max_tokens=decoding.max_tokens,
        seed=derive_seed(decoding.seed, "samples", asked.group.seed.id),
        stop=(BLANK_LINE,),
        samples=decoding.samples,
        purpose=PURPOSE,
        prompt_version=asked.prompt.version,
    )
