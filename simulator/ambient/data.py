"""Loading of examples (built-in, registered, or from files) and of other built-in data (spec 1, 3, 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

from pydantic import BaseModel, BeforeValidator, Field

from simulator import datasets
from simulator.ambient.annotation.rules import Discard
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import (
    CATEGORY_ROWS,
    DATASET,
    CategoryRecord,
    category_record,
    read_checked,
)
from simulator.ambient.files.kinds import TABLES, merge, with_categories, with_distractors
from simulator.ambient.files.results import CROWD
from simulator.ambient.items import BENCHMARK
from simulator.ambient.labels import LABELS, Category, Label
from simulator.errors import InputError
from simulator.fields import Key, NonBlank
from simulator.jsonlines import Codec, Read
from simulator.tables.builtin import read_list, read_texts
from trees.faults import Fault, first_and_more

BUILTIN: Final = "builtin"
FOLDER: Final = Path(__file__).parent / "builtin"
Split = Literal["all", "dev", "test"]


class LoadedExamples(NamedTuple):
    """The valid examples, and the faults of all other rows."""

    examples: tuple[Example, ...]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A qualification question for crowdworkers; `why` explains the answer to researchers (spec 5.1)."""

    premise: NonBlank
    hypothesis: NonBlank
    label: Label
    why: str = ""


def _marks(value: object) -> frozenset[str]:
    return frozenset(mark for mark in ("a", "f") if mark in str(value))


class Definition(BaseModel, frozen=True):
    """The definition of a label or a kind of ambiguity."""

    name: str
    definition: str
    example: str


class Guidelines(BaseModel, frozen=True):
    """The guidelines for annotators, in one language; kinds of ambiguity by priority (spec 1.3)."""

    labels: Mapping[Label, Definition]
    rewriting: tuple[str, ...]
    discard: Mapping[Discard, str]
    checklist: Annotated[
        tuple[tuple[str, str], ...],
        BeforeValidator(lambda points: [(point["id"], point["text"]) for point in points]),
    ]
    categories: Mapping[Category, Definition]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim and its fact-check (spec 10), which complains about ambiguity (``a``) or factuality (``f``)."""

    id: Key
    claim: NonBlank
    justification: NonBlank
    marks: Annotated[frozenset[str], BeforeValidator(_marks), Field(alias="annotation")]
    rating: Annotated[NonBlank, Field(alias="label")]
    person: NonBlank
    venue: NonBlank


@dataclass(frozen=True, slots=True)
class PoolPair:
    """A pair labelled by two annotators, from which patterns for new examples are taken (spec 2.2)."""

    id: Key
    premise: NonBlank
    hypothesis: NonBlank
    labels: tuple[Label, Label]

    @property
    def disagree(self) -> bool:
        """Return True if the two labels differ, which makes the pair a seed."""
        return self.labels[0] != self.labels[1]


def load_examples(data: str | Path = BUILTIN, split: Split = "all") -> tuple[Example, ...]:
    """Return the examples of a data set or one of its splits, in file order.

    `data`: ``builtin``, the name of registered data, or a file or folder. All files of a folder belong to one
    data set; files named ``dev`` and ``test`` are its splits.

    Raises:
        InputError: if the data do not exist, have no such split, or contain a faulty row.
    """
    examples, faults = read_examples(data, split)
    if faults:
        raise InputError(first_and_more(faults))
    return examples


def read_examples(data: str | Path = BUILTIN, split: Split = "all") -> LoadedExamples:
    """Return what `load_examples` returns, but skip faulty rows and return their faults.

    Raises:
        InputError: if the data do not exist or have no such split.
    """
    if split not in get_args(Split):
        raise InputError(f"split {split!r}: must be one of {', '.join(get_args(Split))}")
    contents = _contents(data)
    if split == "all":
        return LoadedExamples(tuple(contents.examples.values()), contents.faults)
    if not contents.splits.get(split):
        raise InputError(f"data {str(data)!r} have no split {split!r}; use the split all")
    return LoadedExamples(tuple(contents.examples[id] for id in contents.splits[split]), contents.faults)


def load_categories(data: str | Path = BUILTIN) -> tuple[CategoryRecord, ...]:
    """Return rows with kinds of ambiguity: those of a separate file, else those given in the examples."""
    contents = _contents(data)
    return contents.categories or tuple(
        category_record(example) for example in contents.examples.values() if example.categories
    )


@lru_cache
def load_qualification() -> tuple[Question, ...]:
    """Return the built-in qualification questions (spec 5.1)."""
    return read_list(FOLDER / "qualification.yaml", Codec[Question](Question).read_row)


@lru_cache
def load_guidelines(language: str = "en") -> Guidelines:
    """Return the annotators' guidelines in a language, ``en`` or ``zh``."""
    texts = read_texts(FOLDER / "guidelines.yaml", language)
    labels = {label: texts["labels"][label] for label in LABELS}
    return Guidelines.model_validate({**texts, "labels": labels})


@lru_cache
def load_claims() -> tuple[Claim, ...]:
    """Return the built-in claims with fact-checks, all invented (spec 10)."""
    return read_list(FOLDER / "claims.yaml", Codec[Claim](Claim).read_row)


@lru_cache
def load_pool() -> tuple[PoolPair, ...]:
    """Return the built-in pool: pairs with the labels of two annotators (spec 2.2)."""
    return read_list(FOLDER / "pool.yaml", Codec[PoolPair](PoolPair).read_row)


class _Contents(NamedTuple):
    """The contents of a data set: examples by id, ids by split, rows with kinds of ambiguity, and faults."""

    examples: Mapping[str, Example]
    splits: Mapping[str, tuple[str, ...]]
    categories: tuple[CategoryRecord, ...]
    faults: tuple[Fault, ...]


def _contents(data: str | Path) -> _Contents:
    if data == BUILTIN:
        return _Contents({example.id: example for example in _builtin()}, {}, (), ())
    path, registered = datasets.locate(data, BENCHMARK, BUILTIN)
    return _read_registered(path) if registered else _read_path(path)


@lru_cache(maxsize=4)
def _read_registered(folder: Path) -> _Contents:
    """Read a registered folder once; its name is a hash of its content, so it never changes."""
    return _read_path(folder)


def _read_path(path: Path) -> _Contents:
    kinds = TABLES.files_of(path)
    # For a single file, this also reports rows too damaged for their kind to be recognized.
    reads = {file: DATASET.read(file) for file in TABLES.main_files(path)}
    if not reads:
        raise InputError(
            f"{path}: found no file with AmbiEnt examples (.jsonl with id, premise, hypothesis, …)",
            code="no_examples",
            path=path,
        )
    merged = merge(reads)
    annotated = [CATEGORY_ROWS.read(file) for file, kind in kinds.items() if kind is CATEGORY_ROWS]
    rows = tuple(row for read in annotated for row in read.rows)
    # Faults in the crowd's votes are not faults of the examples; `askback check` reports them.
    votes = [row for file, kind in kinds.items() if kind is CROWD for row in CROWD.read(file).rows]
    examples = with_distractors(with_categories(merged.examples.values(), rows), votes)
    faults = chain.from_iterable(read.faults for read in chain[Read[Any]](reads.values(), annotated))
    return _Contents(
        {example.id: example for example in examples}, merged.splits, rows, (*faults, *merged.faults)
    )


@lru_cache
def _builtin() -> tuple[Example, ...]:
    return read_list(FOLDER / "examples.yaml", read_checked)
