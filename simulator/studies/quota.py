"""Who is put where: pure functions over the places that have been given.

A place counts in its cell while it is completed, or live (reserved or started) and not stale. What always
holds, whatever arrivals, drop-outs, returns and late completions there are (tests/simulator/studies draws
them at random):

- whenever a place is given, its cell then counts no more than its wanted number: completed + live − stale
  ≤ wanted. Only somebody who completes after their place was given again can bring a cell above it;
- a person has at most one live place, never two in one cell, and no more places than sets are allowed;
- nobody is sent away while there is a place for them;
- of the cells with room, the one that counts least gets the next person, and within it the finer cell
  that counts least: unless people drop out, cells of one depth never differ by more than one. A study may
  ask for another order (`files.Study.assignment`): any cell with room, or the one that counts most.
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
    """A place in a study as it stands now.

    Attributes:
        number: 1, 2, 3, … in the order given.
        cell: None if the person's data have been erased; so is `seed`.
        attempt: 0; one more each time the set was begun anew.
        since: when the person was first given it.
        started_at: when they began; None if they have not.
        completed_at: when they were done; None if they are not.
        moved_at: when something last happened in it.
        continues: the place that this one goes on from, whose time had run out.
        reason: why it stands as it does, if the log says so.
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
        """Return True if the person is at it, as far as is known."""
        return self.state in LIVE

    def stale(self, now: datetime, after: timedelta) -> bool:
        """Return True if it is live and nothing has happened in it for longer than `after`."""
        return self.live and now - self.moved_at > after


@dataclass(frozen=True)
class Quota:
    """The cells of a design and how many people each is to have.

    Attributes:
        cells: the finest ones, which people are put in.
        wanted: people by cell, or by coarser cell (a beginning of cells); each cell has one of them.
    """

    cells: tuple[Cell, ...]
    wanted: Mapping[Cell, int]

    def __post_init__(self) -> None:
        """Refuse a design in which a cell has no wanted number, or two.

        Raises:
            InputError: names the cell.
        """
        for cell in self.cells:
            numbers = sum(cell[: len(coarse)] == coarse for coarse in self.wanted)
            if numbers != 1:
                problem = "several numbers" if numbers else "no number"
                raise InputError(
                    f"participants: the condition {cell_name(cell)} has {problem} of participants"
                )
        if unused := [coarse for coarse in self.wanted if coarse not in self.coarse.values()]:
            raise InputError(f"participants: there is no condition {cell_name(unused[0])}")

    @cached_property
    def coarse(self) -> Mapping[Cell, Cell]:
        """The cell with the wanted number, by finest cell."""
        return {
            cell: next(coarse for coarse in self.wanted if cell[: len(coarse)] == coarse)
            for cell in self.cells
        }

    @property
    def total(self) -> int:
        """Places in all."""
        return sum(self.wanted.values())


def cell_name(cell: Cell) -> str:
    """Return a cell as files and tables write it."""
    return "/".join(cell)


def parse_cell(name: str) -> Cell:
    """Return the cell of that name."""
    return tuple(name.split("/"))


def wanted_cells(study: Study, items: Mapping[Cell, T]) -> dict[Cell, T]:
    """Return the items that a study's conditions name; all if it has none.

    Raises:
        InputError: if there is no such item.
    """
    for cell in (cells := tuple(map(parse_cell, study.conditions)) or tuple(items)):
        if cell not in items:
            known = ", ".join(map(cell_name, list(items)[:3]))
            raise InputError(
                f"there is no condition {cell_name(cell)!r}; conditions are ids of items, such as {known}"
            )
    return {cell: items[cell] for cell in cells}


def quota_of(study: Study, cells: Sequence[Cell] | None = None) -> Quota:
    """Return how many people a study wants where; of a study with two seats, how many pairs.

    Args:
        study: says the numbers; a total is spread evenly over the first parts of the cells, what does not
            divide goes to cells drawn by the study's seed.
        cells: made by the benchmark; None: the study's own conditions.

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
    lucky = Random(derive_seed(seed, "participants")).sample(coarse, rest)
    return {cell: share + (cell in lucky) for cell in coarse}


def counted(places: Iterable[Place], now: datetime, stale_after: timedelta) -> Counter[Cell]:
    """Return completed + live − stale places, by finest cell."""
    return Counter(
        place.cell
        for place in places
        if place.cell is not None
        and (place.state == "completed" or (place.live and not place.stale(now, stale_after)))
    )


def choose(
    quota: Quota,
    fine: Counter[Cell],
    *,
    seed: int,
    had: Collection[Cell] = (),
    order: Assignment = "balanced",
) -> Cell | None:
    """Return the cell that the next person is put in; None if there is no place for them.

    Of the cells under their wanted number the one that counts least, within it the finest cell that counts
    least. Where several do, the one whose cells between (subject/arrow) count least, then the one whose
    parts (arrow, x) count least over the whole study; then `seed` decides. Where items are to be finished, of
    the cells under their wanted number the one that counts most; at random, any cell.

    Args:
        quota: the design.
        fine: how many places count, by finest cell.
        seed: breaks ties.
        had: cells that the person has been in.
        order: see `files.Study.assignment`.
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
    """Return True if `cell` counts less than its wanted number; `fine` as for `choose`."""
    coarse = quota.coarse[cell]
    return sum(count for other, count in fine.items() if quota.coarse[other] == coarse) < quota.wanted[coarse]
