"""Rows of a file that tell the same thing again: the first holds, the others are faults (spec 1.1, 11)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TypeVar

from simulator.jsonlines import Read
from trees.faults import Fault

RowT = TypeVar("RowT")


def first_of_each(
    path: str | Path,
    read: Read[RowT],
    key: Callable[[RowT], tuple[str, Hashable]],
    *,
    code: str,
    message: str,
) -> Read[RowT]:
    """A file's rows without those whose key is that of an earlier one.

    Args:
        path: the file.
        read: its rows.
        key: a row's id, and what else tells it apart.
        code: of the faults.
        message: of the faults, with ``{line}`` for where the first stands.
    """
    first: dict[tuple[str, Hashable], int] = {}
    faults: list[Fault] = []
    kept: list[tuple[RowT, int]] = []
    for row, line in zip(read.rows, read.lines, strict=True):
        known = key(row)
        if known in first:
            faults.append(Fault(str(path), known[0], line, code, message.format(line=first[known])))
        else:
            first[known] = line
            kept.append((row, line))
    rows, lines = tuple(one for one, _ in kept), tuple(line for _, line in kept)
    return Read(rows, lines, tuple(sorted([*read.faults, *faults], key=lambda fault: fault.line)))
