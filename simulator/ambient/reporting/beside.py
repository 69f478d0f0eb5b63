"""The dataset that results are of: named, beside them, or registered (spec 11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from simulator import datasets
from simulator.ambient.data import read_examples
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.rows import BENCHMARK

# The dataset is looked for in so many folders above a results file.
_ABOVE: Final = 3
_NAMES: Final = ("ambient_full.jsonl", "test.jsonl", "dev.jsonl")


def examples_beside(
    data: str | None, results: Iterable[Path], given: Sequence[Path] = ()
) -> tuple[Example, ...]:
    """Return the examples that results are of, without faulty rows; none if no dataset is found.

    Args:
        data: a name or path; None to look for one.
        results: files; a dataset in their folders, or in one of the three above, is taken.
        given: files of a dataset; taken before those, with what stands beside them if they are several.

    Raises:
        InputError: if `data` does not exist.
    """
    found = data if data is not None else _found(results, given)
    return () if found is None else read_examples(found).examples


def tested_examples(examples: Sequence[Example]) -> tuple[Example, ...]:
    """Return the test split; all examples if they have no splits."""
    return tuple(example for example in examples if example.split == "test") or tuple(examples)


def _found(results: Iterable[Path], given: Sequence[Path]) -> str | Path | None:
    for file in given:
        # Splits and kinds of ambiguity stand in files of their own.
        return file.parent if sum(one.parent == file.parent for one in given) > 1 else file
    folders = dict.fromkeys(
        folder for file in results for folder in list(file.resolve().parents)[: _ABOVE + 1]
    )
    for folder in folders:
        if any(_holds_examples(folder / name) for name in _NAMES):
            return folder
    dataset = datasets.find(BENCHMARK)
    return BENCHMARK if dataset is not None and dataset.benchmark == BENCHMARK else None


def _holds_examples(file: Path) -> bool:
    return file.is_file() and TABLES.kind_of(file) is DATASET
