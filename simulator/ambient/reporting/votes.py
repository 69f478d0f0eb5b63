"""Table 1: an example, its label set, the votes on it and on each rewrite, its kinds (spec 5.3, 12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from simulator.ambient.crowd import vote_table
from simulator.ambient.examples import Example
from simulator.ambient.labels import LABELS, Category, Label, letters
from simulator.ambient.records import CrowdRecord
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

_SHORT: Final[Mapping[Label, str]] = {"contradiction": "C", "entailment": "E", "neutral": "N"}
Shares = Mapping[Category, Interval | None]
"""Of each kind of ambiguity among all that are annotated."""


def table_1(
    records: Sequence[CrowdRecord],
    ids: Iterable[str],
    examples: Mapping[str, Example] | None = None,
    shares: Shares | None = None,
) -> Table:
    """Return the votes on some examples: a row for the original pair, then one for each candidate.

    Args:
        records: rows of votes; an id may occur again, then all its rows are told.
        ids: of examples; ``all`` for every row.
        examples: of the dataset by id, for label sets and kinds of ambiguity.
        shares: what stands beside a kind.

    Raises:
        InputError: if there are no votes on an id.
    """
    wanted = dict.fromkeys(ids)
    if missing := [id for id in wanted if id != "all" and all(record.id != id for record in records)]:
        raise InputError(f"--votes {missing[0]}: there are no votes on an example with this id")
    chosen = (
        records if "all" in wanted else [record for id in wanted for record in records if record.id == id]
    )
    known = examples or {}
    rows = [row for one in chosen for row in _rows(one, known.get(one.id), shares or {})]
    columns: list[Column | str] = [
        "id",
        "sentence",
        "gold",
        *(Column(_SHORT[label], 0) for label in LABELS),
        "possible",
        "kinds",
    ]
    return Table(columns, rows, "Table 1: votes on the original pair, and on it with each candidate in place")


def _rows(record: CrowdRecord, example: Example | None, shares: Shares) -> list[list[Cell]]:
    found = vote_table(record)
    marked = {"premise": "P", "hypothesis": "H"}[record.side]
    known = (
        example
        if example and (example.premise, example.hypothesis) == (found.premise, found.hypothesis)
        else None
    )
    gold = letters(known.labels if known else [slot.label for slot in found.readings if slot.label])
    message = f"P: {found.premise}\nH: {found.hypothesis}"
    first: list[Cell] = [record.id, message, gold, *_counts(found.original), None, _kinds(known, shares)]
    rows = [first]
    for slot in found.slots:
        label = letters([slot.label]) if slot.label else "distractor"
        possible = f"{slot.plausible}/{slot.workers}"
        rows.append([record.id, f"{marked}: {slot.sentence}", label, *_counts(slot.votes), possible, None])
    return rows


def _counts(votes: Mapping[Label, int]) -> list[Cell]:
    """Return nothing where nobody was asked."""
    return [votes[label] if any(votes.values()) else None for label in LABELS]


def _kinds(example: Example | None, shares: Shares) -> Cell:
    if example is None or not example.categories:
        return None
    return ", ".join(_kind(kind, shares.get(kind)) for kind in example.categories)


def _kind(kind: Category, share: Interval | None) -> str:
    return kind if share is None else f"{kind} ({100 * share.value:.1f} %)"
