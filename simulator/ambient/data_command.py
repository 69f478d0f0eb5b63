"""AmbiEnt's part of `askback data add`: what registered files hold, and whether they are as published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from simulator.ambient.data import load_examples
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.prepare import tells_apart
from simulator.ambient.published import differences
from simulator.ambient.rows import BENCHMARK
from simulator.ambient.statistics import statistics
from simulator.tables.registering import Registration

PUBLISHED_FILES: Final = ("ambient_full.jsonl", "dev.jsonl", "test.jsonl")
"""A folder with one of them is taken for the published dataset, and must be all of it."""


def _holds(copy: Path) -> Mapping[str, int]:
    examples = load_examples(copy)
    facts = statistics(examples)
    others = Counter(kind.title for kind in TABLES.files_of(copy).values() if kind is not DATASET)
    return {
        "examples": facts.examples,
        "dev": facts.dev,
        "test": facts.test,
        "ambiguous": sum(example.ambiguous for example in examples),
        **_distractors(examples),
        **{f"files of {title}": count for title, count in sorted(others.items())},
    }


def _differences(copy: Path) -> tuple[str, ...]:
    named = any(file.name in PUBLISHED_FILES for file in TABLES.files_of(copy))
    return differences(statistics(load_examples(copy))) if named else ()


def _distractors(examples: Sequence[Example]) -> dict[str, int]:
    """Return how many examples for crowdworkers have a distractor, and for how many it is a reading."""
    tell_apart = [
        tells_apart(example, side, example.distractors[side])
        for example in examples
        for side in example.sides
        if example.xor and side in example.distractors
    ]
    return {
        "examples with a distractor": len(tell_apart),
        "of them the sentence or a reading": tell_apart.count(False),
    }


DATA: Final = Registration(
    benchmark=BENCHMARK,
    tables=TABLES,
    needed=DATASET,
    nothing="no good example of AmbiEnt (.jsonl with id, premise, hypothesis, …)",
    holds=_holds,
    differences=_differences,
)
