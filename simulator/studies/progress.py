"""How a study stands: counts by cell and state, time on task, pay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from simulator.studies.files import Study
from simulator.studies.pairing import Lobby
from simulator.studies.quota import STATES, Cell, Place, Quota, State


@dataclass(frozen=True, slots=True)
class CellProgress:
    """One cell with a wanted number.

    Attributes:
        finer: completed and live places by finest cell within it.
    """

    cell: Cell
    wanted: int
    states: Mapping[State, int]
    finer: Mapping[Cell, int]

    @property
    def open(self) -> int:
        """Places that could still be given, if nobody drops out."""
        return max(0, self.wanted - sum(self.states[state] for state in ("completed", "reserved", "started")))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyProgress:
    """A study as a whole.

    Attributes:
        cells: in the order of the design, without places of people who have withdrawn: when these are
            erased it is not known any more where they were.
        states: places by state, those of people who have withdrawn included.
        refused: who got no place, by the code they were told.
        median_minutes: from beginning to completion; None before the first completion.
        hourly_pay: what the median comes to per hour, in the study's currency.
        closed_since: when it was closed for new participants; None if it is open.
        pairs: tasks of people who are paired (`count_pairs`); empty where nobody is.
    """

    wanted: int
    cells: tuple[CellProgress, ...]
    states: Mapping[State, int]
    late: int
    failed_checks: int
    refused: Mapping[str, int]
    median_minutes: float | None
    hourly_pay: float | None
    spent: float
    committed: float
    closed_since: datetime | None = None
    pairs: Mapping[str, int] = field(default_factory=dict)

    @property
    def under_way(self) -> int:
        """Places whose holders may still finish."""
        return self.states["reserved"] + self.states["started"]


def progress_of(
    study: Study,
    quota: Quota,
    places: Sequence[Place],
    refused: Iterable[str] = (),
    *,
    closed_since: datetime | None = None,
    pairs: Mapping[str, int] | None = None,
) -> StudyProgress:
    """Return how `study` stands after `places`."""
    amount = study.pay.amount if study.pay else 0.0
    states = _states(places)
    minutes = _median_minutes(places)
    done, live = states["completed"], states["reserved"] + states["started"]
    return StudyProgress(
        wanted=quota.total,
        cells=tuple(_cell(quota, coarse, places) for coarse in quota.wanted),
        states=states,
        late=sum(place.late for place in places),
        failed_checks=sum(place.failed_check for place in places),
        refused=dict(Counter(refused)),
        median_minutes=minutes,
        hourly_pay=amount / minutes * 60 if minutes and study.pay else None,
        spent=amount * done,
        committed=amount * (done + live),
        closed_since=closed_since,
        pairs=pairs or {},
    )


def count_pairs(lobby: Lobby, wanted: int) -> dict[str, int]:
    """Return how many tasks of people who are paired are wanted, how they stand, and how many people wait.

    Tasks that were broken off, or whose people have withdrawn, are ``returned``, as places are.
    """
    states = Counter(lobby.place_of(task).state for task in lobby.tasks)
    waiting = sum(
        not place.stale(lobby.now, lobby.stale_after) and lobby.standing(guest.set) == "waiting"
        for guest, place in lobby.guests.items()
    )
    return {
        "wanted": wanted,
        **{state: states[state] for state in STATES if states[state]},
        "waiting": waiting,
    }


def _cell(quota: Quota, coarse: Cell, places: Sequence[Place]) -> CellProgress:
    within = [
        place
        for place in places
        if place.cell and quota.coarse[place.cell] == coarse and place.state != "withdrawn"
    ]
    counts = Counter(place.cell for place in within if place.live or place.state == "completed")
    finer = {cell: counts[cell] for cell in quota.cells if quota.coarse[cell] == coarse}
    return CellProgress(coarse, quota.wanted[coarse], _states(within), finer)


def _states(places: Iterable[Place]) -> dict[State, int]:
    counts = Counter(place.state for place in places)
    return {state: counts[state] for state in STATES}


def _median_minutes(places: Iterable[Place]) -> float | None:
    minutes = [
        (place.completed_at - (place.started_at or place.since)).total_seconds() / 60
        for place in places
        if place.completed_at is not None
    ]
    return median(minutes) if minutes else None
