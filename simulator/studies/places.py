"""The places of one study: looked up in the log, and moved there; where there is room for another.

Researchers intervene: they exclude somebody from a study, free their place, write to them. Each time an event
of the log says who did it, and why. A set that is going on ends when its page next asks for anything
(`sessions.StudySessions`); nothing of what was said is lost.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from logs import LogConflict, LogReader, LogWriter, NotInLog
from logs.rows import EXCLUDED, INCLUDED, RESTORED, Event
from simulator.errors import ConflictError, InputError
from simulator.studies.admission import ADMISSION, Admission, AdmissionState, Admitting, Code, Message
from simulator.studies.files import Study
from simulator.studies.ledger import Ledger, assignment_row, moment, written
from simulator.studies.pairing import Lobbies, Lobby, choose_seat, taken
from simulator.studies.people import release
from simulator.studies.quota import Cell, Place, Quota, State, choose, counted, has_room

REFUSED: Final = "study.refused"
COMMAND: Final = "command line"
"""Who did it, where somebody did it by command."""
FREED: Final = "study.place_freed"
MESSAGE: Final = "study.message"
MESSAGE_SEEN: Final = "study.message_seen"
BY_RESEARCHER: Final = "ended by a researcher"
"""The reason of a place that was taken from its holder, and of the end of their set."""
_MOST_CHARACTERS: Final = 2000


class Places:
    """The places of a study, and its quota; who gets a place, `StudyDesk` decides.

    Attributes:
        items: how many tasks are wanted of each item, or people of each condition.
        quota: what a person is let in for: the same; of two seats, one of them. Which item the two then play
            is known when they meet.
    """

    def __init__(
        self, log: LogWriter, reader: LogReader, study: Study, items: Quota, clock: Callable[[], datetime]
    ) -> None:
        self.study = study
        self.items = items
        wanted: dict[Cell, int] = {(seat,): items.total for seat in study.seats or ()}
        self.quota = Quota(tuple(wanted), wanted) if wanted else items
        self._log = log
        self._reader = reader
        self._clock = clock
        self._lock = asyncio.Lock()
        self._ledger = Ledger(reader, study.run_id)
        self._lobbies = Lobbies(reader, study, clock())

    def ledger(self) -> tuple[Place, ...]:
        """Return every place given so far, in the order given."""
        return tuple(map(self._ledger.moved, self._ledger.read()))

    @property
    def admitting(self) -> Admitting:
        """Return the state of admission, and since when; the newest word holds."""
        events = self._reader.events(run_id=self.study.run_id, kind=ADMISSION)
        if not events:
            return Admitting("open")
        details = events[-1].details  # older logs know of no pause
        state: AdmissionState = details.get("state") or ("closed" if details["closed"] else "open")
        return Admitting(state, moment(events[-1].created_at))

    @property
    def closed_since(self) -> datetime | None:
        """Return when the study was paused or closed for new participants; None if it is open."""
        state, since = self.admitting
        return None if state == "open" else since

    def sets_done(self, participant: str) -> int:
        """Return how many sets the person has done."""
        return sum(place.state == "completed" for place in self.places_of(participant))

    def places_of(self, participant: str) -> tuple[Place, ...]:
        """Return the places that a person was given, in that order."""
        return self._ledger.read_of(participant)

    def _required(self, participant: str) -> tuple[Place, ...]:
        mine = self.places_of(participant)
        if not mine:
            raise ConflictError(
                f"{participant} has no place in study {self.study.id!r}: let them in first.",
                code="no_place",
                who=participant,
            )
        return mine

    async def _fresh(self, now: datetime) -> tuple[tuple[Place, ...], int]:
        """Return all places, after those that have gone stale were taken back, and the number due next."""
        places, number = self._looked_up(now)
        stale = [place for place in places if place.stale(now, self.study.stale_after)]
        for place in stale:
            with suppress(ConflictError):  # erased at the same moment, from elsewhere
                await self._expire(place, "stale")
        return self._looked_up(now) if stale else (places, number)

    def _looked_up(self, now: datetime) -> tuple[tuple[Place, ...], int]:
        """Return all places, the number due next, and when the holders of stale-looking places last moved."""
        places, number = self._ledger.read_numbered()
        after, moved = self.study.stale_after, self._ledger.moved
        return tuple(moved(place) if place.stale(now, after) else place for place in places), number

    async def _expire(self, place: Place, reason: str) -> Place:
        return await self._move(place, "expired", reason=reason) if place.live else place

    async def _claim(self, place: Place) -> Place | None:
        """Write a new place; None if another desk was first with its number."""
        try:
            return await self._write(place, place.state)
        except LogConflict:
            return None

    async def _move(self, place: Place, state: State, reason: str = "") -> Place:
        """Write the place's next state; how it stands then, which is as before if that cannot be.

        Raises:
            ConflictError: if its holder has been erased in the meantime.
        """
        try:
            return await self._write(place, state, reason)
        except LogConflict as error:  # the row is there, under the name that they were given then
            raise self._erased(place) from error

    async def _write(self, place: Place, state: State, reason: str = "") -> Place:
        row = assignment_row(
            replace(place, state=state),
            run_id=self.study.run_id,
            item_hash=self.study.content_hash,
            now=self._clock(),
            reason=reason,
        )
        try:
            await self._log.write(row)
        except NotInLog as error:
            raise self._erased(place) from error
        return self._ledger.place(place.id)

    def _erased(self, place: Place) -> ConflictError:
        who = place.participant
        return ConflictError(f"{who} is erased from study {self.study.id!r}.", code="no_place", who=who)

    async def write_event(self, kind: str, participant: str | None = None, **details: Any) -> None:
        """Write an event of the study, and of a participant of it."""
        event = Event(
            kind=kind,
            run_id=self.study.run_id,
            participant_id=participant,
            details=details,
            created_at=written(self._clock()),
        )
        await self._log.write(event)

    async def _refuse(self, code: Code, participant: str | None = None) -> Admission:
        # Of somebody who gets no place nothing is kept but that they came.
        await self.write_event(REFUSED, code=code)
        return Admission(code=code, participant=participant)

    # Where there is room

    def now(self) -> datetime:
        """Return the present time."""
        return self._clock()

    def lobby(self) -> Lobby:
        """Return what the log holds of the pairing of a study with two seats."""
        now = self._clock()
        return self._lobbies.read(self._looked_up(now)[0], now)

    def places_left(self) -> int:
        """Return how many people could get a place who came now, at most one of each seat's at a time."""
        if self.closed_since is not None:
            return 0
        now = self._clock()
        places, _ = self._looked_up(now)
        if self.study.seats:
            counts = self._taken_by_seat(places, now)
            return sum(max(0, self.items.total - count) for count in counts.values())
        in_cells = dict.fromkeys(self.quota.wanted, 0)
        for cell, count in counted(places, now, self.study.stale_after).items():
            in_cells[self.quota.coarse[cell]] += count
        return sum(max(0, wanted - in_cells[cell]) for cell, wanted in self.quota.wanted.items())

    def _cell(self, places: Sequence[Place], mine: Sequence[Place], now: datetime, seed: int) -> Cell | None:
        """Return the cell of the next person; None if there is no place for them."""
        if self.study.seats:
            seat = choose_seat(self._taken_by_seat(places, now), self.items.total, seed)
            return None if seat is None else (seat,)
        had = [place.cell for place in mine if place.cell]
        counts = counted(places, now, self.study.stale_after)
        return choose(self.quota, counts, seed=seed, had=had, order=self.study.assignment)

    def _has_room(self, places: Sequence[Place], cell: Cell, now: datetime) -> bool:
        if self.study.seats:
            return self._taken_by_seat(places, now)[cell[0]] < self.items.total
        return has_room(self.quota, counted(places, now, self.study.stale_after), cell)

    def _taken_by_seat(self, places: Sequence[Place], now: datetime) -> Mapping[str, int]:
        """Return how many of the wanted tasks are not to be had any more, by seat."""
        return taken(self._lobbies.read(places, now), self.study.people)

    # Interventions of researchers

    async def excluded(self, participant: str, reason: str, *, by: str) -> tuple[Place, ...]:
        """Exclude somebody: their places are free again, and reports leave them out unless told otherwise.

        Returns:
            Their places.

        Raises:
            InputError: if there is no reason.
            ConflictError: if they have no place here, are excluded already, or have withdrawn.
        """
        reason = _required_text(reason, "a reason")
        async with self._lock:
            states = {place.state for place in self._required(participant)}
            if states & {"excluded", "withdrawn"}:
                raise ConflictError(
                    f"{participant} is {min(states)} in study {self.study.id!r} already.",
                    code="out_already",
                    who=participant,
                )
            # The event first: a place that was freed and whose holder counts all the same would be worse.
            await self.write_event(EXCLUDED, participant, by=by, reason=reason)
            for place in self._required(participant):
                await self._move(place, "excluded", reason=BY_RESEARCHER)
            return self._required(participant)

    async def included(self, participant: str, *, by: str) -> tuple[Place, ...]:
        """Take an exclusion back: sets that were done count again, one that was broken off stays so.

        Returns:
            Their places.

        Raises:
            ConflictError: if they are not excluded.
        """
        async with self._lock:
            places = [place for place in self._required(participant) if place.state == "excluded"]
            if not places:
                raise ConflictError(f"{participant} is not excluded from study {self.study.id!r}.")
            await self._take_back(places)
            await self.write_event(INCLUDED, participant, by=by)
            return self._required(participant)

    async def restored(self, participant: str) -> tuple[Place, ...]:
        """Take a withdrawal back: sets that were done count again, one that was broken off stays so.

        Raises:
            ConflictError: if the person has not withdrawn, or is erased.
        """
        async with self._lock:
            # A withdrawal holds in all studies on the log: another of them may have taken it back already.
            withdrawn = any(
                place.state == "withdrawn" and not place.erased for place in self.places_of(participant)
            )
            if participant not in self._reader.withdrawals() and not withdrawn:
                raise ConflictError(
                    f"{participant} has not withdrawn from study {self.study.id!r}, or is erased already."
                )
            await self.write_event(RESTORED, participant)
            excluded = participant in self._reader.exclusions(self.study.run_id)
            await self._take_back(self._required(participant), "excluded" if excluded else None)
            return self._required(participant)

    async def _take_back(self, places: Iterable[Place], state: State | None = None) -> None:
        """Move places back to `state`; default: to what their holders had done."""
        for place in places:
            before: State = "completed" if place.completed_at else "returned"
            await self._move(place, state or before, reason=RESTORED)

    async def released(self, participant: str) -> None:
        """Let the person go on in whichever browser comes next, once."""
        await self._log.write(release(self._reader, self.study, participant))

    async def freed(self, participant: str, reason: str, *, by: str) -> Place:
        """Take the place of somebody who is under way, and give it to whoever comes next.

        Raises:
            InputError: if there is no reason.
            ConflictError: if they have no place here, or are not under way.
        """
        reason = _required_text(reason, "a reason")
        async with self._lock:
            place = self._required(participant)[-1]
            if not place.live:
                raise ConflictError(
                    f"{participant} is not under way in study {self.study.id!r}: it is {place.state}.",
                    code="not_under_way",
                    who=participant,
                )
            place = await self._move(place, "returned", reason=BY_RESEARCHER)
            await self.write_event(FREED, participant, by=by, reason=reason)
            return place

    async def messaged(self, participant: str, text: str, *, by: str) -> None:
        """Write to somebody: their page shows it when it next asks for anything, until they acknowledge it.

        Raises:
            InputError: if there is no text, or it is too long.
            ConflictError: if they have no place here.
        """
        text = _required_text(text, "a text")
        self._required(participant)
        await self.write_event(MESSAGE, participant, by=by, text=text, id=secrets.token_hex(8))

    def messages(self, participant: str) -> tuple[Message, ...]:
        """Return what somebody was written and has not acknowledged, oldest first."""
        wrote = self._reader.events(run_id=self.study.run_id, participant_id=participant, kind=MESSAGE)
        if not wrote:
            return ()
        seen = {
            event.details.get("id")
            for event in self._reader.events(
                run_id=self.study.run_id, participant_id=participant, kind=MESSAGE_SEEN
            )
        }
        # Erasing empties the details.
        whole = (event.details for event in wrote if "id" in event.details)
        return tuple(
            Message(message["id"], message["text"]) for message in whole if message["id"] not in seen
        )

    async def acknowledged(self, participant: str, id: str) -> None:
        """Record that somebody has read a message; again, or of a message of nobody's, changes nothing."""
        if any(message.id == id for message in self.messages(participant)):
            await self.write_event(MESSAGE_SEEN, participant, id=id)

    def is_taken_away(self, participant: str, seed: int) -> bool:
        """Return True if a researcher took the place with that seed from its holder."""
        place = next((place for place in self.places_of(participant) if place.seed == seed), None)
        return place is not None and not place.live and place.reason == BY_RESEARCHER


def _required_text(text: str, what: str) -> str:
    text = text.strip()
    if not text or len(text) > _MOST_CHARACTERS:
        raise InputError(
            f"Please write {what} of at most {_MOST_CHARACTERS:,} characters.",
            code="text_length",
            most=f"{_MOST_CHARACTERS:,}",
        )
    return text
