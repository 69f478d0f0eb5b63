"""Progress of a study: counts by cell and state, time on task, pay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from statistics import median

from simulator.studies.files import Study
from simulator.studies.pairing import Lobby, paid_exits
from simulator.studies.quota import STATES, Cell, Place, Quota, State


@dataclass(frozen=True, slots=True)
class CellProgress:
    """One cell with a wanted number."""

    cell: Cell
    wanted: int
    states: Mapping[State, int]

    @property
    def open(self) -> int:
        """Places that are still available, if nobody drops out."""
        return max(0, self.wanted - sum(self.states[state] for state in ("completed", "reserved", "started")))


@dataclass(frozen=True, kw_only=True)
class StudyProgress:
    """Progress of an entire study.

    Attributes:
        closed_since: when it was closed for new participants; None if it is open.
        model_cost: cost of the models that played with people, in US dollars.
        pairs: tasks of paired people (`count_pairs`); empty without pairing.
    """

    study: Study
    quota: Quota
    places: Sequence[Place]
    refused: Mapping[str, int]
    closed_since: datetime | None
    model_cost: float
    pairs: Mapping[str, int]

    @property
    def wanted(self) -> int:
        """Total number of places."""
        return self.quota.total

    @cached_property
    def states(self) -> Mapping[State, int]:
        """Places by state, including people who have withdrawn."""
        return _states(self.places)

    @cached_property
    def cells(self) -> tuple[CellProgress, ...]:
        """The cells in the order of the design, without people who have withdrawn.

        Erasing removes the cells of their places.
        """
        within: dict[Cell, list[Place]] = {coarse: [] for coarse in self.quota.wanted}
        for place in self.places:
            if place.cell and place.state != "withdrawn":
                within[self.quota.coarse[place.cell]].append(place)
        return tuple(
            CellProgress(coarse, self.quota.wanted[coarse], _states(places))
            for coarse, places in within.items()
        )

    @property
    def under_way(self) -> int:
        """Places whose holders may still finish."""
        return self.states["reserved"] + self.states["started"]

    @property
    def late(self) -> int:
        """Places that were completed after they had expired."""
        return sum(place.late for place in self.places)

    @property
    def failed_checks(self) -> int:
        """Completed places whose holders missed an attention check."""
        return sum(place.failed_check for place in self.places if place.state == "completed")

    @cached_property
    def median_minutes(self) -> float | None:
        """Median minutes from start to completion, also of excluded people; None before the first one."""
        minutes = [
            (place.completed_at - (place.started_at or place.since)).total_seconds() / 60
            for place in self.places
            if place.completed_at is not None
        ]
        return median(minutes) if minutes else None

    @property
    def hourly_pay(self) -> float | None:
        """Pay per hour at the median duration, in the study's currency."""
        minutes = self.median_minutes
        return self._amount / minutes * 60 if minutes and self.study.pay else None

    @property
    def spent(self) -> float:
        """Pay of completed places and paid exits."""
        leaving = (self.study.pay and self.study.pay.paid_exit) or 0.0
        return self._amount * self.states["completed"] + leaving * len(paid_exits(self.places))

    @property
    def committed(self) -> float:
        """Pay of completed places, paid exits and places under way."""
        return self.spent + self._amount * self.under_way

    @property
    def _amount(self) -> float:
        return self.study.pay.amount if self.study.pay else 0.0


def count_pairs(lobby: Lobby, wanted: int) -> dict[str, int]:
    """Return the number of wanted tasks of paired people, of tasks by state, and of people who wait.

    Aborted tasks, and tasks of people who have withdrawn, count as ``returned``, as places do.
    """
    states = Counter(lobby.place_of(task).state for task in lobby.tasks)
    waiting = sum(
        not place.stale(lobby.now, lobby.stale_after) and lobby.set_status(guest.set) == "waiting"
        for guest, place in lobby.guests.items()
    )
    return {
        "wanted": wanted,
        **{state: states[state] for state in STATES if states[state]},
        "waiting": waiting,
    }


def _states(places: Iterable[Place]) -> dict[State, int]:
    counts = Counter(place.state for place in places)
    return {state: counts[state] for state in STATES}
