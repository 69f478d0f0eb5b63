"""What is wrong with AmbiEnt's files: each by itself, and those of a folder with each other (spec 1.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from simulator.ambient.examples import Example
from simulator.ambient.files.categories import CategoryRecord
from simulator.ambient.files.dataset import has_sentence, once_each
from simulator.ambient.files.heads import any_row, head_of
from simulator.ambient.files.kinds import DATASET, Kind, files_of, kind_of
from simulator.ambient.merging import merge
from simulator.ambient.rows import EXAMPLE_FIELDS, read_example
from simulator.ambient.rules import Finding, findings
from simulator.errors import InputError
from simulator.jsonlines import Read, Row, read_lines
from trees.faults import Fault

KIND: Final = "AmbiEnt's examples, annotations and results (.jsonl, .json or .csv, told by their fields)"
_Found = tuple[str, Finding]


def find_files(path: Path) -> tuple[Path, ...]:
    """The files of AmbiEnt in a folder and the folders below; a file itself if it is one.

    A file that is named is one also if its rows only look like examples.
    """
    found = tuple(files_of(path))
    return found or ((path,) if path.is_file() and any_row(has_sentence, head_of(path)) else ())


def check_files(files: Sequence[Path], *, one_dataset: bool = False) -> tuple[Fault, ...]:
    """All faults of such files; examples in one folder belong together, or all if they are `one_dataset`.

    An error is a row that cannot be read or contradicts itself or another file; a warning deserves a look.
    """
    faults: list[Fault] = []
    examples: defaultdict[Path, dict[Path, Read[Example]]] = defaultdict(dict)
    for file in files:
        kind = kind_of(file) or DATASET
        try:
            if kind.name == DATASET.name:
                read, found = _dataset(file)
                examples[Path() if one_dataset else file.parent][file] = read
            else:
                found = _other(file, kind)
        except InputError as error:
            found = [Fault(str(file), "", 0, "format", str(error).removeprefix(f"{file}: "))]
        faults += found
    for reads in examples.values():
        faults += merge(reads).faults
    return tuple(faults)


def _dataset(file: Path) -> tuple[Read[Example], list[Fault]]:
    """The rows that can be read, and what is wrong with them and with the others."""
    raw: dict[str, Mapping[str, Any]] = {}

    def parse(row: Row) -> Example:
        example = read_example(row)
        raw.setdefault(example.id, row.data)
        return example

    read = once_each(file, read_lines(file, parse))
    faults = list(read.faults)
    found = [
        *((example.id, one) for example in read.rows for one in findings(example)),
        *_repeated_labels(read.rows, raw),
        *_same_pairs(read),
        *_unknown_fields(raw),
    ]
    lines = {example.id: line for example, line in zip(read.rows, read.lines, strict=True)}
    faults += [Fault(str(file), id, lines[id], one.code, one.message, one.severity) for id, one in found]
    return read, faults


def _repeated_labels(examples: Sequence[Example], raw: Mapping[str, Mapping[str, Any]]) -> Iterator[_Found]:
    for example in examples:
        labels = raw[example.id].get("labels", ())
        count = len(labels.split(",") if isinstance(labels, str) else labels)
        if count > len(example.labels):
            yield example.id, Finding("labels", "labels: one stands there twice", "warning")


def _same_pairs(read: Read[Example]) -> Iterator[_Found]:
    first: dict[tuple[str, str], int] = {}
    for example, line in zip(read.rows, read.lines, strict=True):
        earlier = first.setdefault((example.premise, example.hypothesis), line)
        if earlier != line:
            message = f"premise, hypothesis: the row in line {earlier} has the same"
            yield example.id, Finding("pair", message, "warning")


def _unknown_fields(raw: Mapping[str, Mapping[str, Any]]) -> Iterator[_Found]:
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for id, row in raw.items():
        for name in row:
            if name not in EXAMPLE_FIELDS:
                holders[name].append(id)
    for name, ids in holders.items():
        rows = "this row" if len(ids) == 1 else f"{len(ids)} rows, of which this is the first"
        yield ids[0], Finding("field", f"{name}: examples have no such field; {rows}", "warning")


def _other(file: Path, kind: Kind) -> list[Fault]:
    read = kind.rows(file)
    faults = list(read.faults)
    for row, line in zip(read.rows, read.lines, strict=True):
        if isinstance(row, CategoryRecord) and not row.whole:
            message = f"{', '.join(row.missing)}: missing, as in some published rows"
            faults.append(Fault(str(file), row.id, line, "missing", message, "warning"))
    return faults
