"""Assignment of people to cells: pure functions over the places assigned so far.

A place counts in its cell while it is completed, or live (reserved or started) and not stale. Invariants,
under any arrivals, drop-outs, returns and late completions (tests/simulator/studies draws random ones):

- right after a place is assigned, its cell is within its quota: completed + live − stale ≤ wanted. Only a
  person who completes after their place was assigned again can exceed it;
- a person has at most one live place, never two in one cell, and no more places than sets are allowed;
- nobody is sent away while there is a place for them;
- the cell with room and the lowest count gets the next person, and within it the finest cell with the lowest
  count: unless people drop out, counts of cells at one depth never differ by more than one. A study can ask
  for another order (`files.Study.assignment`): any cell with room, or the one with the highest count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from random import Random
from typing import Literal, TypeVar, get_args

from simulator.errors import InputError
from simulator.seeds import derive_seed
from simulator.studies.files import Assignment, Study

T = TypeVar("T")

Cell = tuple[str, ...]
"""A condition, from coarse to fine: ``("subject",)``, ``("subject", "arrow", "x")``."""

State = Literal[
    "reserved", "started", "completed", "returned", "screened_out", "expired", "excluded", "withdrawn"
]
STATES: tuple[State, ...] = get_args(State)
LIVE: tuple[State, ...] = ("reserved", "started")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The current state of a place in a study.

    Attributes:
        number: 1, 2, 3, … in the order assigned.
        cell: the cell; None, like `seed`, if the person has been erased.
        attempt: the number of restarts of the set.
        moved_at: the time of the last activity.
        continues: the id of the expired place that this one continues.
        reason: the reason of its state, if it is logged.
    """

    id: str
    number: int
    participant: str
    state: State
    cell: Cell | None
    seed: int | None
    attempt: int
    since: datetime
    moved_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    continues: str | None = None
    late: bool = False
    failed_check: bool = False
    reason: str = ""
    erased: bool = False

    @property
    def live(self) -> bool:
        """True if the place is reserved or started."""
        return self.state in LIVE

    def stale(self, now: datetime, after: timedelta) -> bool:
        """Return True if the place is live but without activity for longer than `after`."""
        return self.live and now - self.moved_at > after


@dataclass(frozen=True)
class Quota:
    """The cells of a design, and the number of people wanted in each.

    Attributes:
        cells: the finest cells, to which people are assigned.
        wanted: number of people by cell or by coarser cell (a prefix); exactly one applies to each cell.
    """

    cells: tuple[Cell, ...]
    wanted: Mapping[Cell, int]

    def __post_init__(self) -> None:
        """Refuse a design in which a cell has no number or several.

        Raises:
            InputError: names the cell.
        """
        for cell in self.cells:
            numbers = sum(cell[: len(coarse)] == coarse for coarse in self.wanted)
            if numbers != 1:
                raise InputError(
                    f"participants: the condition {cell_name(cell)} has "
                    + ("several numbers" if numbers else "no number")
                    + " of participants"
                    + ("" if numbers else "; give it one, or name the conditions to use in `conditions`")
                )
        if unused := [coarse for coarse in self.wanted if coarse not in self.coarse.values()]:
            raise InputError(f"participants: there is no condition {cell_name(unused[0])}")

    @cached_property
    def coarse(self) -> Mapping[Cell, Cell]:
        """The coarser cell that has the wanted number, by finest cell."""
        return {
            cell: next(coarse for coarse in self.wanted if cell[: len(coarse)] == coarse)
            for cell in self.cells
        }

    @property
    def total(self) -> int:
        """Total number of places."""
        return sum(self.wanted.values())


def cell_name(cell: Cell) -> str:
    """Return the name of a cell in files and tables."""
    return "/".join(cell)


def parse_cell(name: str) -> Cell:
    """Return the cell with a name."""
    return tuple(name.split("/"))


def wanted_cells(study: Study, items: Mapping[Cell, T]) -> dict[Cell, T]:
    """Return the items named by a study's conditions; all items if it has no conditions.

    Raises:
        InputError: if a condition is not an item.
    """
    for cell in (cells := tuple(map(parse_cell, study.conditions)) or tuple(items)):
        if cell not in items:
            known = ", ".join(map(cell_name, list(items)[:3]))
            raise InputError(
                f"there is no condition {cell_name(cell)!r}; conditions are ids of items, such as {known}"
            )
    return {cell: items[cell] for cell in cells}


def quota_of(study: Study, cells: Sequence[Cell] | None = None) -> Quota:
    """Return a study's quota of people; with two seats, of pairs.

    A total is spread evenly over the first parts of the cells, and the remainder goes to cells drawn by the
    study's seed. `cells`: the benchmark's cells; None for the study's conditions.

    Raises:
        InputError: if there are no cells, two are the same, or numbers and cells do not fit.
    """
    cells = tuple(cells) if cells is not None else tuple(parse_cell(name) for name in study.conditions)
    if not cells or len(dict.fromkeys(cells)) != len(cells):
        problem = "two of the conditions are the same" if cells else "there are no conditions"
        raise InputError(f"study {study.id!r}: {problem}")
    if study.judgments_per_item is not None:
        return Quota(cells, dict.fromkeys(cells, study.judgments_per_item))
    each = len(study.people)
    if isinstance(study.participants, dict):
        return Quota(cells, {parse_cell(name): count // each for name, count in study.participants.items()})
    return Quota(cells, _spread((study.participants or 0) // each, cells, study.seed))


def _spread(total: int, cells: Sequence[Cell], seed: int) -> dict[Cell, int]:
    coarse = list(dict.fromkeys(cell[:1] for cell in cells))
    share, rest = divmod(total, len(coarse))
    drawn = Random(derive_seed(seed, "participants")).sample(coarse, rest)
    return {cell: share + (cell in drawn) for cell in coarse}


def count_taken(places: Iterable[Place], now: datetime, stale_after: timedelta) -> Counter[Cell]:
    """Count completed + live − stale places by finest cell."""
    return Counter(
        place.cell
        for place in places
        if place.cell is not None
        and (place.state == "completed" or (place.live and not place.stale(now, stale_after)))
    )


def next_cell(
    quota: Quota,
    fine: Counter[Cell],
    *,
    seed: int,
    had: Collection[Cell] = (),
    order: Assignment = "balanced",
) -> Cell | None:
    """Return the cell of the next person; None if there is no room.

    ``balanced``: among cells below their wanted number, the one with the lowest count, and within it the
    finest cell with the lowest count. Ties go to the lowest count of intermediate cells (subject/arrow), then
    to the lowest count of parts (arrow, x) over the study; then `seed` decides. ``finish_items``: the highest
    count among cells below their wanted number. ``random``: any cell with room.

    `fine`: the counts by finest cell (`count_taken`). `had`: cells that the person has been in.
    """
    within: Counter[Cell] = Counter()
    parts: Counter[tuple[int, str]] = Counter()
    for cell, count in fine.items():
        for depth, part in enumerate(cell):
            within[cell[: depth + 1]] += count
            parts[depth, part] += count

    def rank(cell: Cell) -> tuple[int, ...]:
        if order == "random":
            return ()
        counts = within[quota.coarse[cell]]
        between = (within[cell[:depth]] for depth in range(1, len(cell)))
        first = -counts if order == "finish_items" else counts
        return first, fine[cell], *between, sum(parts[part] for part in enumerate(cell))

    free = [
        cell
        for cell in quota.cells
        if cell not in had and within[quota.coarse[cell]] < quota.wanted[quota.coarse[cell]]
    ]
    if not free:
        return None
    least = min(map(rank, free))
    return Random(seed).choice([cell for cell in free if rank(cell) == least])


def has_room(quota: Quota, fine: Counter[Cell], cell: Cell) -> bool:
    """Return True if `cell` is below its wanted number; `fine` as for `next_cell`."""
    coarse = quota.coarse[cell]
    return sum(count for other, count in fine.items() if quota.coarse[other] == coarse) < quota.wanted[coarse]
