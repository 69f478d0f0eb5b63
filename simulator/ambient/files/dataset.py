"""Files of the dataset: JSON lines as published, and ours with some fields more (spec 1.1)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulator.ambient.examples import Example
from simulator.ambient.rows import EXAMPLE_FIELDS, example_record, read_example
from simulator.ambient.rules import Finding, findings
from simulator.jsonlines import FieldError, Read, Row
from simulator.tables.cells import SAME_ID
from simulator.tables.records import read_records
from simulator.tables.spec import TableSpec
from trees.faults import Fault

_Told = tuple[str, Finding]


class CheckedFile(NamedTuple):
    """A file of examples as `askback check` sees it: rows that can be read, and all faults."""

    read: Read[Example]
    faults: tuple[Fault, ...]


def is_dataset(row: Mapping[str, Any]) -> bool:
    """Return True if an object is an example: annotated, or with no field that examples do not have."""
    readings = row.get("disambiguations", [])
    annotated = "disambiguations" in row and "premise_ambiguous" in row
    # A text of disambiguations is in files of kinds of ambiguity.
    fits = isinstance(readings, list) and (annotated or row.keys() <= set(EXAMPLE_FIELDS))
    return {"id", "premise", "hypothesis"} <= row.keys() and fits


def has_sentence(row: Mapping[str, Any]) -> bool:
    """Return True if an object has one of the two sentences, as bad rows of examples do."""
    return "premise" in row or "hypothesis" in row


def read_dataset(path: str | Path) -> Read[Example]:
    """Return the good rows of a file; the others, and ids that occur again, are faults.

    A row is good if it can be read and does not contradict itself; what merely deserves a look is no
    fault here (see `simulator.ambient.rules` for both).

    Raises:
        InputError: if the file cannot be read at all.
    """
    return _read(path, read_checked)


def read_checked(row: Row) -> Example:
    """Return an example that does not contradict itself.

    Raises:
        FieldError: names the field that is wrong.
    """
    example = read_example(row)
    for finding in findings(example):
        if finding.severity == "error":
            raise FieldError(finding.message)
    return example


def _read(path: str | Path, parse: Callable[[Row], Example]) -> Read[Example]:
    """Return the rows of a file; one whose id occurred before is a fault."""
    return read_records(path, parse, lambda example: (example.id, ""), code="id", message=SAME_ID)


def check_dataset(file: Path) -> CheckedFile:
    """Return the rows that can be read, contradict themselves or not, and what is wrong with all rows.

    Raises:
        InputError: if the file cannot be read at all.
    """
    raw: dict[str, Mapping[str, Any]] = {}

    def parse(row: Row) -> Example:
        example = read_example(row)
        raw.setdefault(example.id, row.data)
        return example

    read = _read(file, parse)
    faults = list(read.faults)
    told = [
        *((example.id, finding) for example in read.rows for finding in findings(example)),
        *_repeated_labels(read.rows, raw),
        *_same_pairs(read),
        *_unknown_fields(raw),
    ]
    lines = {example.id: line for example, line in zip(read.rows, read.lines, strict=True)}
    faults += [Fault(str(file), id, lines[id], one.code, one.message, one.severity) for id, one in told]
    return CheckedFile(read, tuple(faults))


def _repeated_labels(examples: Sequence[Example], raw: Mapping[str, Mapping[str, Any]]) -> Iterator[_Told]:
    for example in examples:
        labels = raw[example.id].get("labels", ())
        count = len(labels.split(",") if isinstance(labels, str) else labels)
        if count > len(example.labels):
            yield example.id, Finding("labels", "labels: one stands there twice", "warning")


def _same_pairs(read: Read[Example]) -> Iterator[_Told]:
    first: dict[tuple[str, str], int] = {}
    for example, line in zip(read.rows, read.lines, strict=True):
        earlier = first.setdefault((example.premise, example.hypothesis), line)
        if earlier != line:
            message = f"premise, hypothesis: the row in line {earlier} has the same"
            yield example.id, Finding("pair", message, "warning")


def _unknown_fields(raw: Mapping[str, Mapping[str, Any]]) -> Iterator[_Told]:
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for id, row in raw.items():
        for name in row:
            if name not in EXAMPLE_FIELDS:
                holders[name].append(id)
    for name, ids in holders.items():
        rows = "this row" if len(ids) == 1 else f"{len(ids)} rows, of which this is the first"
        yield ids[0], Finding("field", f"{name}: examples have no such field; {rows}", "warning")


def dataset_line(example: Example) -> str:
    """Return the example as a line of JSON, without blanks, as published."""
    return json.dumps(example_record(example), ensure_ascii=False, separators=(",", ":"))


DATASET: Final = TableSpec[Example](
    name="dataset",
    title="examples",
    is_of=is_dataset,
    reader=read_dataset,
    repeats=False,
    line=dataset_line,
)
