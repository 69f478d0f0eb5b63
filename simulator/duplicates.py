"""Rows of a file that tell the same thing again: counted, and left out or kept, as one chooses.

Numbers of a file in which rows stand twice are wrong without a word, so every reader looks for them. By
default the first holds and the others are faults; ``keep`` takes them all, and tells of them by warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

import typer

from simulator.jsonlines import Read
from trees.faults import Fault

Duplicates = Literal["refuse", "keep"]
CODE: Final = "duplicate"
RowT = TypeVar("RowT")

DuplicatesOption = Annotated[
    Duplicates,
    typer.Option(help="rows that a file holds twice: leave the later ones out and say so, or count them all"),
]


def report_duplicates(
    path: str | Path,
    read: Read[RowT],
    key: Callable[[RowT], tuple[str, Hashable]],
    duplicates: Duplicates = "refuse",
    *,
    code: str = CODE,
    message: str = "repeats line {line}",
) -> Read[RowT]:
    """Give rows whose key is that of an earlier one a fault, and leave them out if they are refused.

    `message`: of the faults, with ``{line}`` for where the first stands.
    """
    first: dict[tuple[str, Hashable], int] = {}
    faults: list[Fault] = []
    kept: list[tuple[RowT, int]] = []
    # By place: the records of a JSON list may share one line.
    for place, (row, line) in enumerate(zip(read.rows, read.lines, strict=True)):
        known = key(row)
        earlier = first.setdefault(known, place)
        if earlier == place:
            kept.append((row, line))
            continue
        sentence = message.format(line=read.lines[earlier])
        if duplicates == "keep":
            kept.append((row, line))
            faults.append(Fault(str(path), known[0], line, CODE, f"{sentence}; counted again", "warning"))
        else:
            faults.append(Fault(str(path), known[0], line, code, sentence))
    rows, lines = tuple(row for row, _ in kept), tuple(line for _, line in kept)
    return Read(rows, lines, tuple(sorted([*read.faults, *faults], key=lambda fault: fault.line)))


def repeats_statement(faults: Sequence[Fault]) -> str:
    """Return how many rows repeat an earlier one, and what became of them."""
    counted = not left_out(faults)
    return f"{len(faults)} {'row repeats' if len(faults) == 1 else 'rows repeat'} an earlier one: " + (
        "counted again" if counted else "left out (--duplicates keep counts them)"
    )


def left_out(faults: Iterable[Fault]) -> int:
    """Count the rows that are not there: duplicates that are kept are."""
    return sum(fault.severity == "error" for fault in faults)
