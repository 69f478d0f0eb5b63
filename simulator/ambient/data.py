"""AmbiEnt's examples: built in, registered, or files of them; and what else is built in (spec 1, 3, 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args

import yaml

from simulator import datasets
from simulator.ambient.examples import Example
from simulator.ambient.files.categories import (
    CategoryRecord,
    category_record,
    read_categories_file,
)
from simulator.ambient.files.crowd import read_crowd
from simulator.ambient.files.dataset import has_sentence, read_checked, read_dataset
from simulator.ambient.files.heads import any_row, head_of
from simulator.ambient.files.kinds import CATEGORY_ROWS, CROWD, DATASET, files_of
from simulator.ambient.labels import CATEGORIES, LABELS, Category, Label, parse_label
from simulator.ambient.merging import merge, with_categories, with_distractors
from simulator.ambient.rows import BENCHMARK
from simulator.ambient.views import Discard
from simulator.errors import InputError
from simulator.jsonlines import FieldError, Row
from trees.faults import Fault

BUILTIN: Final = "builtin"
FOLDER: Final = Path(__file__).parent / "builtin"
Split = Literal["all", "dev", "test"]
T = TypeVar("T")
# Ten times as fast where PyYAML comes with libyaml.
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loaded(NamedTuple):
    """Examples, and what is wrong with the rows that are not among them."""

    examples: tuple[Example, ...]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question that crowdworkers answer before they take part; `why` is for researchers (spec 5.1)."""

    premise: str
    hypothesis: str
    label: Label
    why: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a label or a kind of ambiguity is."""

    name: str
    definition: str
    example: str


@dataclass(frozen=True, slots=True)
class Guidelines:
    """What annotators are told, in one language.

    Attributes:
        labels: in canonical order.
        rewriting: what counts as a disambiguation, point by point.
        discard: when an example is thrown away, by reason.
        checklist: what a validator looks at: name of the point, text (spec 4).
        categories: the kinds of ambiguity by priority (spec 1.3).
    """

    labels: Mapping[Label, Definition]
    rewriting: tuple[str, ...]
    discard: Mapping[Discard, str]
    checklist: tuple[tuple[str, str], ...]
    categories: Mapping[Category, Definition]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim with what a fact-check says of it (spec 10).

    Attributes:
        marks: ``a`` (ambiguity), ``f`` (factuality).
        rating: of its truth.
    """

    id: str
    claim: str
    justification: str
    marks: frozenset[str]
    rating: str
    person: str
    venue: str


@dataclass(frozen=True, slots=True)
class PoolPair:
    """A pair that two annotators labelled, to find patterns for new examples in (spec 2.2)."""

    id: str
    premise: str
    hypothesis: str
    labels: tuple[Label, Label]

    @property
    def disagree(self) -> bool:
        """Whether the two differ; such pairs are seeds."""
        return self.labels[0] != self.labels[1]


def load_examples(data: str | Path = BUILTIN, split: Split = "all") -> tuple[Example, ...]:
    """The examples of data, or of one split of them, in the order of their file.

    Args:
        data: ``builtin``, the name of registered data, or a file or folder. A folder's files hold parts of
            one dataset, and those named ``dev`` and ``test`` are its splits.
        split: which part.

    Raises:
        InputError: if the data do not exist, have no such split, or any row of them is faulty.
    """
    examples, faults = read_examples(data, split)
    if faults:
        more = f" (and {len(faults) - 1} more: run `askback check` on it)" if len(faults) > 1 else ""
        raise InputError(f"{faults[0]}{more}")
    return examples


def read_examples(data: str | Path = BUILTIN, split: Split = "all") -> Loaded:
    """Like `load_examples`, but with the good rows of faulty data, and the faults.

    Raises:
        InputError: if the data do not exist, or have no such split.
    """
    if split not in get_args(Split):
        raise InputError(f"split {split!r}: must be one of {', '.join(get_args(Split))}")
    held = _all(data)
    if split == "all":
        return Loaded(tuple(held.examples.values()), held.faults)
    if not held.splits.get(split):
        raise InputError(f"data {str(data)!r} have no split {split!r}; ask for all of them")
    return Loaded(tuple(held.examples[id] for id in held.splits[split]), held.faults)


def load_categories(data: str | Path = BUILTIN) -> tuple[CategoryRecord, ...]:
    """The rows with kinds of ambiguity: of the data's own files of them, else of examples that name some.

    Raises:
        InputError: if the data do not exist.
    """
    held = _all(data)
    return held.categories or tuple(
        category_record(example) for example in held.examples.values() if example.categories
    )


@lru_cache
def load_qualification() -> tuple[Question, ...]:
    """The built-in questions for those who want to take part (spec 5.1)."""
    return _entries("qualification.yaml", _question)


@lru_cache
def load_guidelines(language: str = "en") -> Guidelines:
    """What annotators are told.

    Args:
        language: ``en`` or ``zh``.

    Raises:
        InputError: if it is another.
    """
    if language not in ("en", "zh"):
        raise InputError(f"language {language!r}: guidelines are in en and zh")
    given = _yaml("guidelines.yaml")

    def definition(key: str, one: Mapping[str, Any]) -> Definition:
        said = one.get("name")
        return Definition(
            said[language] if said else key, one["definition"][language], one["example"][language]
        )

    labels, categories = given["labels"], given["categories"]
    reasons: tuple[Discard, ...] = get_args(Discard)
    return Guidelines(
        labels={label: definition(label, labels[label]) for label in LABELS},
        rewriting=tuple(point[language] for point in given["rewriting"]),
        discard={reason: given["discard"][reason][language] for reason in reasons},
        checklist=tuple((str(point["id"]), point["text"][language]) for point in given["checklist"]),
        categories={kind: definition(kind, categories[kind]) for kind in CATEGORIES},
    )


@lru_cache
def load_claims() -> tuple[Claim, ...]:
    """The built-in claims with fact-checks, all invented (spec 10)."""
    return _entries("claims.yaml", _claim)


@lru_cache
def load_pool() -> tuple[PoolPair, ...]:
    """The built-in pairs with the labels of two annotators (spec 2.2)."""
    return _entries("pool.yaml", _pool_pair)


class _Held(NamedTuple):
    """What data hold: examples by id, ids by split, rows of files with kinds of ambiguity, and faults."""

    examples: Mapping[str, Example]
    splits: Mapping[str, tuple[str, ...]]
    categories: tuple[CategoryRecord, ...]
    faults: tuple[Fault, ...]


def _all(data: str | Path) -> _Held:
    if data == BUILTIN:
        return _Held({example.id: example for example in _builtin()}, {}, (), ())
    path, fixed = datasets.locate(data, BENCHMARK, BUILTIN)
    return _read_registered(path) if fixed else _read_path(path)


@lru_cache(maxsize=4)
def _read_registered(folder: Path) -> _Held:
    """Registered folders are named by content and never change, so they are read once."""
    return _read_path(folder)


def _read_path(path: Path) -> _Held:
    kinds = files_of(path)
    reads = {file: read_dataset(file) for file, kind in kinds.items() if kind is DATASET}
    # Rows so damaged that they are of no kind are told, where one file is asked for.
    if path.is_file() and not kinds and any_row(has_sentence, head_of(path)):
        reads = {path: read_dataset(path)}
    if not reads:
        raise InputError(
            f"{path}: no file of AmbiEnt's examples (.jsonl with id, premise, hypothesis, …)",
            code="no_examples",
            path=path,
        )
    merged = merge(reads)
    annotated = [read_categories_file(file) for file, kind in kinds.items() if kind is CATEGORY_ROWS]
    rows = tuple(row for read in annotated for row in read.rows)
    # Faults of the crowd's votes are no faults of the examples: `askback check` tells them.
    shown = [row for file, kind in kinds.items() if kind is CROWD for row in read_crowd(file).rows]
    known = with_distractors(with_categories(merged.examples.values(), rows), shown)
    examples = {one.id: one for one in known}
    unread = [fault for read in reads.values() for fault in read.faults]
    unread += [fault for read in annotated for fault in read.faults]
    return _Held(examples, merged.splits, rows, (*unread, *merged.faults))


@lru_cache
def _builtin() -> tuple[Example, ...]:
    return _entries("examples.yaml", read_checked)


def _question(row: Row) -> Question:
    label = row.parsed("label", parse_label)
    return Question(row.text("premise"), row.text("hypothesis"), label, row.text("why"))


def _claim(row: Row) -> Claim:
    marks = row.get("annotation")
    return Claim(
        id=row.key("id"),
        claim=row.text("claim"),
        justification=row.text("justification"),
        marks=frozenset(mark for mark in ("a", "f") if mark in str(marks)),
        rating=row.text("label"),
        person=row.text("person"),
        venue=row.text("venue"),
    )


def _pool_pair(row: Row) -> PoolPair:
    first, second = (row.parsed("labels", parse_label, label) for label in row.list("labels", 2))
    return PoolPair(row.key("id"), row.text("premise"), row.text("hypothesis"), (first, second))


def _entries(name: str, read: Callable[[Row], T]) -> tuple[T, ...]:
    found = []
    for number, entry in enumerate(_yaml(name), start=1):
        row = Row({"id": f"{Path(name).stem}-{number:03}", **entry})
        try:
            found.append(read(row))
        except FieldError as error:
            raise InputError(f"{FOLDER / name}: entry {row.data['id']}: {error}") from error
    return tuple(found)


def _yaml(name: str) -> Any:
    return yaml.load((FOLDER / name).read_text(encoding="utf-8"), Loader=_LOADER)
