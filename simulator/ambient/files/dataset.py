"""Files of examples, kinds of ambiguity and distractors (spec 1.1, 1.3, 5.1).

Rows with kinds of ambiguity are older than the dataset, and some are incomplete: the hypothesis, the labels
and the labels of disambiguations may be null. Their disambiguations are a list in Python syntax, as a string.
"""

from __future__ import annotations

import ast
import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, PlainSerializer

from simulator.ambient.examples import Example, Finding, findings
from simulator.ambient.items import EXAMPLE_FIELDS, example_record, read_example
from simulator.ambient.labels import Categories, Category, Label, LabelSet, Side, SomeLabels, format_labels
from simulator.errors import InputError
from simulator.fields import Flag, Key, NonBlank, OptionalText, must, read_as
from simulator.jsonlines import Codec, FieldError, Read, Row
from simulator.tables.cells import SAME_ID
from simulator.tables.records import read_records
from simulator.tables.spec import TableSpec, has
from trees.faults import Fault

_log = logging.getLogger(__name__)
_compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))


def warn_of(problems: Sequence[object], good: Sequence[object], place: object) -> None:
    """Warn about rows that are left out.

    Raises:
        InputError: if no row is good; gives the first problem.
    """
    if problems and not good:
        raise InputError(str(problems[0]))
    if problems:
        _log.warning("%d rows of %s left out, the first: %s", len(problems), place, problems[0])


# ---- examples


def is_dataset(row: Mapping[str, Any]) -> bool:
    """Return True if an object is an example: annotated, or without fields that examples do not have."""
    readings = row.get("disambiguations", [])
    annotated = "disambiguations" in row and "premise_ambiguous" in row
    # In files with kinds of ambiguity, disambiguations are a string.
    fits = isinstance(readings, list) and (annotated or row.keys() <= set(EXAMPLE_FIELDS))
    return {"id", "premise", "hypothesis"} <= row.keys() and fits


def has_sentence(row: Mapping[str, Any]) -> bool:
    """Return True if an object has a premise or a hypothesis, as faulty examples do."""
    return "premise" in row or "hypothesis" in row


def read_checked(row: Row) -> Example:
    """Return an example without errors; warnings of `findings` are ignored.

    Raises:
        FieldError: if the example contradicts itself; names the field.
    """
    example = read_example(row)
    for finding in findings(example):
        if finding.severity == "error":
            raise FieldError(finding.message)
    return example


DATASET: Final = TableSpec[Example](
    name="dataset",
    title="examples",
    matches=is_dataset,
    parse=read_checked,
    key=lambda example: (example.id, ""),
    repeat_message=SAME_ID,
    code="id",
    repeats=False,
    line=lambda example: _compact(example_record(example)),
)


def check_dataset(file: Path) -> Read[Example]:
    """Return all readable rows, even if they contradict themselves, and the faults of all rows."""
    raw: dict[str, Mapping[str, Any]] = {}

    def parse(row: Row) -> Example:
        example = read_example(row)
        raw.setdefault(example.id, row.data)
        return example

    read = read_records(file, parse, DATASET.key, code=DATASET.code, message=DATASET.repeat_message)
    lines = {example.id: line for example, line in zip(read.rows, read.lines, strict=True)}
    by_id = [
        *((example.id, finding) for example in read.rows for finding in findings(example)),
        *_repeated_labels(read.rows, raw),
        *_same_pairs(read),
        *_unknown_fields(raw),
    ]
    faults = (Fault(str(file), id, lines[id], each.code, each.message, each.severity) for id, each in by_id)
    return read._replace(faults=(*read.faults, *faults))


def _repeated_labels(
    examples: Sequence[Example], raw: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Finding]]:
    for example in examples:
        labels = raw[example.id].get("labels", ())
        count = len(labels.split(",") if isinstance(labels, str) else labels)
        if count > len(example.labels):
            yield example.id, Finding("labels", "labels: contain a duplicate", "warning")


def _same_pairs(read: Read[Example]) -> Iterator[tuple[str, Finding]]:
    first: dict[tuple[str, str], int] = {}
    for example, line in zip(read.rows, read.lines, strict=True):
        earlier = first.setdefault((example.premise, example.hypothesis), line)
        if earlier != line:
            message = f"premise, hypothesis: the same as in line {earlier}"
            yield example.id, Finding("pair", message, "warning")


def _unknown_fields(raw: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Finding]]:
    unknown: defaultdict[str, list[str]] = defaultdict(list)
    for id, row in raw.items():
        for name in row:
            if name not in EXAMPLE_FIELDS:
                unknown[name].append(id)
    for name, ids in unknown.items():
        rows = "in this row" if len(ids) == 1 else f"in {len(ids)} rows, of which this is the first"
        yield ids[0], Finding("field", f"{name}: not a field of examples; {rows}", "warning")


# ---- kinds of ambiguity


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A disambiguation that may be incomplete; missing parts are None."""

    premise: NonBlank
    hypothesis: NonBlank | None
    label: Label | None


def _literal(value: Any) -> list[Any]:
    """Return the list that a string contains in Python syntax, which is parsed and never run."""
    if not isinstance(value, str):
        raise ValueError(": is not a text with a list in Python syntax")
    try:
        content = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(": is a text without a list in Python syntax") from error
    if not isinstance(content, list):
        raise ValueError(f": is a text with {type(content).__name__}, not a list, in Python syntax")
    return content


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRecord:
    """An example with its kinds of ambiguity.

    Attributes:
        id: has a suffix, ``_g`` (generated) or ``_c`` (curated), and differs from the dataset's.
        hypothesis: None if missing.
        categories: in file order.
        labels: empty if missing.
    """

    id: Key
    premise: NonBlank
    hypothesis: NonBlank | None
    categories: Annotated[
        Categories,
        must(bool, ": has no kind of ambiguity"),
        PlainSerializer(", ".join),
        Field(alias="category"),
    ]
    premise_ambiguous: Flag
    hypothesis_ambiguous: Flag
    labels: Annotated[
        LabelSet,
        read_as(SomeLabels | None, lambda labels: labels or frozenset()),
        PlainSerializer(lambda labels: format_labels(labels) or None),
    ]
    rewrites: Annotated[
        tuple[Rewrite, ...],
        BeforeValidator(_literal),
        PlainSerializer(lambda rewrites: repr([asdict(rewrite) for rewrite in rewrites])),
        Field(alias="disambiguations"),
    ]

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields that are null or empty, including ``label`` of disambiguations."""
        present = {
            "hypothesis": self.hypothesis is not None,
            "labels": bool(self.labels),
            "disambiguations": bool(self.rewrites),
            "label": all(rewrite.label is not None for rewrite in self.rewrites),
        }
        return tuple(name for name, is_present in present.items() if not is_present)


def category_record(example: Example, id: str = "", categories: tuple[Category, ...] = ()) -> CategoryRecord:
    """Return the row of an example; `id` and `categories` replace its own id and kinds if given."""
    return CategoryRecord(
        id=id or example.id,
        premise=example.premise,
        hypothesis=example.hypothesis,
        premise_ambiguous=example.premise_ambiguous,
        hypothesis_ambiguous=example.hypothesis_ambiguous,
        labels=example.labels,
        rewrites=tuple(
            Rewrite(reading.premise, reading.hypothesis, reading.label) for reading in example.disambiguations
        ),
        categories=categories or example.categories,
    )


_CATEGORY_RECORDS: Final = Codec[CategoryRecord](CategoryRecord)
CATEGORY_ROWS: Final = TableSpec[CategoryRecord](
    name="categories",
    title="kinds of ambiguity",
    matches=lambda row: (
        has("id", "premise", "hypothesis", "category")(row) and isinstance(row.get("disambiguations"), str)
    ),
    parse=_CATEGORY_RECORDS.read_row,
    key=lambda record: (record.id, repr(record)),
    line=lambda record: _compact(_CATEGORY_RECORDS.write(record)),
)


# ---- distractors


@dataclass(frozen=True, slots=True, kw_only=True)
class DistractorRow:
    """A distractor for an ambiguous sentence; ``askback generate ambient-distractors`` adds further fields.

    `distractor`: None if none was found; `sentence`: the ambiguous sentence; empty if the file does not have
    it.
    """

    id: Key
    side: Side
    distractor: NonBlank | None
    sentence: OptionalText = ""


DISTRACTORS: Final = TableSpec[DistractorRow](
    name="distractors",
    title="distractors of sentences",
    matches=has("id", "side", "distractor"),
    parse=Codec[DistractorRow](DistractorRow).read_row,
    repeats=False,
)


def load_distractors(path: str | Path, examples: Iterable[Example] = ()) -> dict[tuple[str, Side], str]:
    """Return the distractors in a file by id and side; the last row for a sentence counts.

    Rows that are faulty, or made for another version of an example's sentence, are left out with a warning.

    `examples`: the examples to check sentences against; the file may contain rows for others.

    Raises:
        InputError: if no row is left.
    """
    read = DISTRACTORS.read(path)
    problems = [str(fault) for fault in read.faults]
    known = {example.id: example for example in examples}
    good: list[DistractorRow] = []
    for row, line in zip(read.rows, read.lines, strict=True):
        example = known.get(row.id)
        if example is not None and row.sentence not in ("", example.sentence(row.side)):
            problems.append(
                f"{path}: line {line}: the {row.side} of example {row.id} has changed; make the file again"
            )
        else:
            good.append(row)
    warn_of(problems, good, path)
    return {(row.id, row.side): row.distractor for row in good if row.distractor is not None}
