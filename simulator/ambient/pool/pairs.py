"""The pool that new examples take after: pairs with the labels of two annotators (spec 2.2.1).

A file of JSON lines has ``premise``, ``hypothesis`` and what its annotators said, in one of the forms in
which training data say it (`nli.training_data`): ``labels`` (of both, or the one they share), or
``annotations`` of two, as in WANLI. Rows without an ``id`` are named by their content.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

from simulator.ambient.data import BUILTIN, PoolPair, load_pool
from simulator.ambient.labels import LABELS
from simulator.ambient.nli.training_data import read_known
from simulator.errors import InputError
from simulator.jsonlines import Read, Row, read_lines
from trees.faults import Fault

_DIGITS: Final = 12


def pair_id(premise: str, hypothesis: str) -> str:
    """A name that depends on the two sentences alone."""
    return "g" + sha256(f"{premise}\n{hypothesis}".encode()).hexdigest()[:_DIGITS]


def pool_of(name: str | Path) -> tuple[PoolPair, ...]:
    """The pairs of a pool.

    Args:
        name: ``builtin``, or a file.

    Raises:
        InputError: if the file cannot be read, or a row of it is faulty.
    """
    if name == BUILTIN:
        return load_pool()
    read = read_pool(name)
    if read.faults:
        more = f" (and {len(read.faults) - 1} more)" if len(read.faults) > 1 else ""
        raise InputError(f"{read.faults[0]}{more}")
    return read.rows


def read_pool(path: str | Path) -> Read[PoolPair]:
    """The pairs in a file; rows that cannot be read, and such as occurred before, are faults.

    Raises:
        InputError: if the file cannot be read at all.
    """
    read = read_lines(path, read_pool_pair)
    ids: dict[str, int] = {}
    sentences: dict[tuple[str, str], int] = {}
    faults: list[Fault] = []
    kept: list[tuple[PoolPair, int]] = []
    for pair, line in zip(read.rows, read.lines, strict=True):
        said = (pair.premise, pair.hypothesis)
        if pair.id in ids or said in sentences:
            what, first = ("id", ids[pair.id]) if pair.id in ids else ("sentences", sentences[said])
            message = f"{what}: the row in line {first} has the same"
            faults.append(Fault(str(path), pair.id, line, "id", message))
            continue
        ids[pair.id] = sentences[said] = line
        kept.append((pair, line))
    rows, lines = tuple(one for one, _ in kept), tuple(line for _, line in kept)
    return Read(rows, lines, tuple(sorted([*read.faults, *faults], key=lambda fault: fault.line)))


def read_pool_pair(row: Row) -> PoolPair:
    """A pair out of a row.

    Raises:
        FieldError: if a field is missing or wrong, or all three labels are given.
    """
    known = read_known(row)
    labels = [label for label in LABELS if label in (known.labels or ())]
    if len(labels) not in (1, 2):
        raise row.wrong("labels", "are not those of two annotators")
    id = row.key("id") if row.get("id") is not None else pair_id(known.premise, known.hypothesis)
    return PoolPair(id, known.premise, known.hypothesis, (labels[0], labels[-1]))
