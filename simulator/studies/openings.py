"""Where there is room in a study: how many people could come, and what the next one is let in for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from logs import LogReader, LogWriter
from simulator.studies.files import Study
from simulator.studies.pairing import Lobbies, Lobby, choose_seat, taken
from simulator.studies.places import Places
from simulator.studies.quota import Cell, Place, Quota, choose, counted, has_room


class Openings(Places):
    """The places of a study, and its quota.

    Attributes:
        items: how many tasks are wanted of each item, or people of each condition.
        quota: what a person is let in for: the same; of two seats, one of them. Which item the two then play
            is known when they meet.
    """

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        study: Study,
        items: Quota,
        clock: Callable[[], datetime],
    ) -> None:
        super().__init__(log, reader, study, clock)
        self.items = items
        wanted: dict[Cell, int] = {(seat,): items.total for seat in study.seats or ()}
        self.quota: Quota = Quota(tuple(wanted), wanted) if wanted else items
        self._lobbies = Lobbies(reader, study, clock())

    def now(self) -> datetime:
        """Return the present time."""
        return self._clock()

    def lobby(self) -> Lobby:
        """Return what the log holds of the pairing of a study with two seats."""
        return self._lobbies.read(self.looked_up(), self._clock())

    def places_left(self) -> int:
        """Return how many people could get a place who came now, at most one of each seat's at a time."""
        if self.closed_since is not None:
            return 0
        now = self._clock()
        if self.study.seats:
            counts = self._taken_by_seat(now)
            return sum(max(0, self.items.total - count) for count in counts.values())
        in_cells = dict.fromkeys(self.quota.wanted, 0)
        for cell, count in counted(self._looked_up(now)[0], now, self.study.stale_after).items():
            in_cells[self.quota.coarse[cell]] += count
        return sum(max(0, wanted - in_cells[cell]) for cell, wanted in self.quota.wanted.items())

    def _cell(self, places: Sequence[Place], mine: Sequence[Place], now: datetime, seed: int) -> Cell | None:
        """Return the cell of the next person; None if there is no place for them."""
        if self.study.seats:
            seat = choose_seat(self._taken_by_seat(now, places), self.items.total, seed)
            return None if seat is None else (seat,)
        had = [place.cell for place in mine if place.cell]
        counts = counted(places, now, self.study.stale_after)
        return choose(self.quota, counts, seed=seed, had=had, order=self.study.assignment)

    def _has_room(self, places: Sequence[Place], cell: Cell, now: datetime) -> bool:
        if self.study.seats:
            return self._taken_by_seat(now, places)[cell[0]] < self.items.total
        return has_room(self.quota, counted(places, now, self.study.stale_after), cell)

    def _taken_by_seat(self, now: datetime, places: Sequence[Place] | None = None) -> Mapping[str, int]:
        """Return how many of the wanted tasks are not to be had any more, by seat."""
        known = self.looked_up() if places is None else places
        return taken(self._lobbies.read(known, now), self.study.people)
