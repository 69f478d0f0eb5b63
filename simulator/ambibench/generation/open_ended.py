"""Items that are answered in free text: naming the task (spec section 8), and buckets (section 9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
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
    return tuple(
        AwsPrompt(
            id=f"aws-{'second-' if followup else ''}{origin}-{number}-{which}",
            examples=(*pair, *_second(origin, query, random, followup, pair)),
            query=query,
            origin=origin,
            followup=followup,
            seed=derive_seed(seed, "aws", origin, query),
        )
        for origin in origins()
        for number, query in enumerate(names(origin))
        for random in (Random(derive_seed(seed, "aws", origin, query)),)
        for which, pair in enumerate(_pairs(query, random, per_name))
    )


def _pairs(query: str, random: Random, wanted: int) -> Iterator[tuple[str, ...]]:
    """Different pairs of Japanese names, none of them the query's."""
    yield from random.sample(
        list(permutations([name for name in names(CONTROL) if name != query], 2)), wanted
    )


def _second(
    origin: str, query: str, random: Random, followup: bool, taken: tuple[str, ...]
) -> tuple[str, ...]:
    if not followup:
        return ()
    return (random.choice([name for name in names(origin) if name != query and name not in taken]),)
