"""Files of the dataset: JSON lines as published, and ours with some fields more (spec 1.1)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simulator.ambient.examples import Example
from simulator.ambient.rows import EXAMPLE_FIELDS, example_record, read_example
from simulator.ambient.rules import findings
from simulator.duplicates import told_once
from simulator.jsonlines import FieldError, Read, Row, read_lines, write_lines


def is_dataset(row: Mapping[str, Any]) -> bool:
    """Whether an object is an example: annotated, or with no field that examples do not have."""
    readings = row.get("disambiguations", [])
    annotated = "disambiguations" in row and "premise_ambiguous" in row
    # A text of disambiguations is in files of kinds of ambiguity.
    fits = isinstance(readings, list) and (annotated or row.keys() <= set(EXAMPLE_FIELDS))
    return {"id", "premise", "hypothesis"} <= row.keys() and fits


def has_sentence(row: Mapping[str, Any]) -> bool:
    """Whether an object has one of the two sentences, as bad rows of examples do."""
    return "premise" in row or "hypothesis" in row


def read_dataset(path: str | Path) -> Read[Example]:
    """The good rows of a file; the others, and ids that occur again, are faults.

    A row is good if it can be read and does not contradict itself; what merely deserves a look is no
    fault here (see `simulator.ambient.rules` for both).

    Raises:
        InputError: if the file cannot be read at all.
    """
    return once_each(path, read_lines(path, read_checked))


def read_checked(row: Row) -> Example:
    """An example that does not contradict itself.

    Raises:
        FieldError: names the field that is wrong.
    """
    example = read_example(row)
    for finding in findings(example):
        if finding.severity == "error":
            raise FieldError(finding.message)
    return example


def once_each(path: str | Path, read: Read[Example]) -> Read[Example]:
    """Rows whose id occurred before become faults."""
    message = "id: the row in line {line} has the same"
    return told_once(path, read, lambda one: (one.id, ""), code="id", message=message)


def write_dataset(path: str | Path, examples: Iterable[Example]) -> None:
    """Write examples as published; the same examples give the same bytes.

    Raises:
        InputError: if the file cannot be written.
    """
    write_lines(path, map(dataset_line, examples))


def dataset_line(example: Example) -> str:
    """The example as a line of JSON, without blanks, as published."""
    return json.dumps(example_record(example), ensure_ascii=False, separators=(",", ":"))
