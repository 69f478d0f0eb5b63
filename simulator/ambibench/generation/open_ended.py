"""Items that are answered in free text: naming the task (spec section 8), and buckets (section 9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from random import Random
from typing import Final, Literal

from simulator.ambibench.aws import CONTROL, AwsPrompt, names, origins
from simulator.ambibench.features import table
from simulator.ambibench.generation.settings import generate_multiple
from simulator.ambibench.prompt import Prompt
from simulator.seeds import derive_seed

Question = Literal["what_is", "best_guess"]
Spelling = Literal["as_printed", "corrected"]
PER_TASK: Final = 10  # answers per task and format
PER_NAME: Final = 5  # prompts per name that is asked about
MAX_PER_NAME: Final = 72  # ordered pairs of nine names: a Japanese name that is asked about is no example


def generate_verbalise(
    seed: int,
    *,
    question: Question = "best_guess",
    spelling: Spelling = "as_printed",
    per_cell: int = PER_TASK,
) -> tuple[Prompt, ...]:
    """Whole episodes of 4.3 with a question after them: what is the category?

    Args:
        seed: of the whole set.
        question: which of the two that were asked (``what_is`` of text-davinci-002, ``best_guess`` of -003).
        spelling: with the misspelling of the paper, or without.
        per_cell: episodes per salient feature and format.
    """
    asked = str(table("instructions")["questions"][question][spelling])
    return tuple(
        replace(prompt, id=prompt.id.replace("multiple", "verbalise", 1), setting="verbalise", question=asked)
        for prompt in generate_multiple(derive_seed(seed, "verbalise"), per_cell=per_cell)
    )


def generate_aws(seed: int, *, followup: bool = False, per_name: int = PER_NAME) -> tuple[AwsPrompt, ...]:
    """Prompts about buckets: every name of every origin, `per_name` times, with other examples each time.

    The two examples are different Japanese names. Japanese names are asked about, too, as a control.

    Args:
        seed: of the whole set.
        followup: add a third example, a name of the origin that is asked about (another than the query's).
        per_name: prompts per name; `MAX_PER_NAME` at most (ordered pairs of examples).

    Raises:
        ValueError: if `per_name` is more than that.
    """
    if per_name > MAX_PER_NAME:
        raise ValueError(f"there are {MAX_PER_NAME} pairs of examples for a name, not {per_name}")
    return tuple(
        prompt
        for origin in origins()
        for number, query in enumerate(names(origin))
        for prompt in _about(seed, origin, number, query, followup, per_name)
    )


def draw_aws(seed: int, origin: str, query: str, *, followup: bool = False, name: str = "") -> AwsPrompt:
    """One prompt about a bucket; a seed draws the same two examples with a second name or without.

    Args:
        seed: of the examples.
        origin: of the query.
        query: the name that is asked about.
        followup: add a third example, another name of the origin.
        name: the prompt's id.
    """
    random = Random(seed)
    examples = random.sample([one for one in names(CONTROL) if one != query], 2)
    if followup:
        examples.append(random.choice([one for one in names(origin) if one not in (query, *examples)]))
    return AwsPrompt(
        id=name or f"aws-{origin}-{seed}",
        examples=tuple(examples),
        query=query,
        origin=origin,
        followup=followup,
        seed=seed,
    )


def _about(
    seed: int, origin: str, number: int, query: str, followup: bool, wanted: int
) -> Iterator[AwsPrompt]:
    """So many prompts about a name, each with two examples that no other has in that order."""
    taken: list[tuple[str, ...]] = []
    for attempt in count():
        if len(taken) == wanted:
            return
        name = f"aws-{'second-' if followup else ''}{origin}-{number}-{len(taken)}"
        own = derive_seed(seed, "aws", origin, query, attempt)
        prompt = draw_aws(own, origin, query, followup=followup, name=name)
        if prompt.examples[:2] not in taken:
            taken.append(prompt.examples[:2])
            yield prompt
