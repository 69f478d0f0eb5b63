"""The places of one study: read from the log, moved between states, and checked against the quota.

Researchers can intervene: exclude a participant, free their place, or write to them. Each intervention is an
event of the log with author and reason. The participant's set ends at the next request of their page
(`sessions.StudySessions`); everything they said is kept.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from logs import LogConflict, LogReader, LogWriter, NotInLog
from logs.rows import EXCLUDED, INCLUDED, RESTORED, Event
from simulator.errors import ConflictError, InputError
from simulator.studies.admission import ADMISSION, Admission, AdmissionState, AdmissionStatus, Code, Message
from simulator.studies.files import Study
from simulator.studies.ledger import Ledger, assignment_row, format_time, parse_time
from simulator.studies.pairing import Lobbies, Lobby, choose_seat, taken_by_seat
from simulator.studies.people import release_row
from simulator.studies.quota import Cell, Place, Quota, State, count_taken, has_room, next_cell

REFUSED: Final = "study.refused"
COMMAND: Final = "command line"
"""The author of interventions made on the command line."""
FREED: Final = "study.place_freed"
MESSAGE: Final = "study.message"
MESSAGE_SEEN: Final = "study.message_seen"
BY_RESEARCHER: Final = "ended by a researcher"
"""The reason logged for a place that a researcher took away, and for the end of its set."""
_MOST_CHARACTERS: Final = 2000


class Places:
    """The places of a study, and its quota; `StudyDesk` decides who gets a place.

    Attributes:
        items: the number of tasks wanted of each item, or of people in each condition.
        quota: the number of people to admit by cell: the same as `items`, or with two seats by seat, since
            the item is chosen when two people are paired.
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
        """Return every place assigned so far, in order."""
        return tuple(map(self._ledger.with_last_move, self._ledger.read()))

    @property
    def admitting(self) -> AdmissionStatus:
        """The state of admission and its start; the latest event wins."""
        events = self._reader.events(run_id=self.study.run_id, kind=ADMISSION)
        if not events:
            return AdmissionStatus("open")
        details = events[-1].details  # older logs have no pauses, only `closed`
        state: AdmissionState = details.get("state") or ("closed" if details["closed"] else "open")
        return AdmissionStatus(state, parse_time(events[-1].created_at))

    @property
    def closed_since(self) -> datetime | None:
        """The time since which the study is paused or closed; None if it is open."""
        state, since = self.admitting
        return None if state == "open" else since

    def sets_done(self, participant: str) -> int:
        """Return the number of sets that the person has completed."""
        return sum(place.state == "completed" for place in self.places_of(participant))

    def places_of(self, participant: str) -> tuple[Place, ...]:
        """Return the places of a person, in order."""
        return self._ledger.read_participant(participant)

    def _required_places(self, participant: str) -> tuple[Place, ...]:
        own = self.places_of(participant)
        if not own:
            raise ConflictError(
                f"{participant} has no place in study {self.study.id!r}; admit them first.",
                code="no_place",
                who=participant,
            )
        return own

    async def _expire_stale(self, now: datetime) -> tuple[tuple[Place, ...], int]:
        """Expire stale places; return all places, and the number of the next one."""
        places, number = self._read_places(now)
        stale = [place for place in places if place.stale(now, self.study.stale_after)]
        for place in stale:
            with suppress(ConflictError):  # erased concurrently, from elsewhere
                await self._expire(place, "stale")
        return self._read_places(now) if stale else (places, number)

    def _read_places(self, now: datetime) -> tuple[tuple[Place, ...], int]:
        """Return all places, with latest moves of those that look stale, and the number of the next place."""
        places, number = self._ledger.read_numbered()
        after, moved = self.study.stale_after, self._ledger.with_last_move
        return tuple(moved(place) if place.stale(now, after) else place for place in places), number

    async def _expire(self, place: Place, reason: str) -> Place:
        return await self._move(place, "expired", reason=reason) if place.live else place

    async def _claim(self, place: Place) -> Place | None:
        """Write a new place; return None if another desk has claimed its number."""
        try:
            return await self._write(place, place.state)
        except LogConflict:
            return None

    async def _move(self, place: Place, state: State, reason: str = "") -> Place:
        """Write the place's next state, and return the place, unchanged if the move is not possible."""
        try:
            return await self._write(place, state, reason)
        except LogConflict as error:  # the row exists, under the pseudonym of the erased person
            raise self._erased_error(place) from error

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
            raise self._erased_error(place) from error
        return self._ledger.place(place.id)

    def _erased_error(self, place: Place) -> ConflictError:
        who = place.participant
        return ConflictError(f"{who} is erased from study {self.study.id!r}.", code="no_place", who=who)

    async def write_event(self, kind: str, participant: str | None = None, **details: Any) -> None:
        """Write an event of the study, or of one of its participants."""
        event = Event(
            kind=kind,
            run_id=self.study.run_id,
            participant_id=participant,
            details=details,
            created_at=format_time(self._clock()),
        )
        await self._log.write(event)

    async def _refuse(self, code: Code, participant: str | None = None) -> Admission:
        # The only record of a person without a place is that they came.
        await self.write_event(REFUSED, code=code)
        return Admission(code=code, participant=participant)

    # Room for more people

    def now(self) -> datetime:
        """Return the current time."""
        return self._clock()

    def lobby(self) -> Lobby:
        """Return the current state of pairing in a study with two seats."""
        now = self._clock()
        return self._lobbies.read(self._read_places(now)[0], now)

    def places_left(self) -> int:
        """Return the number of people who could get a place now; with two seats, over both seats."""
        if self.closed_since is not None:
            return 0
        now = self._clock()
        places, _ = self._read_places(now)
        if self.study.seats:
            counts = self._taken_by_seat(places, now)
            return sum(max(0, self.items.total - count) for count in counts.values())
        in_cells = dict.fromkeys(self.quota.wanted, 0)
        for cell, count in count_taken(places, now, self.study.stale_after).items():
            in_cells[self.quota.coarse[cell]] += count
        return sum(max(0, wanted - in_cells[cell]) for cell, wanted in self.quota.wanted.items())

    def _cell(self, places: Sequence[Place], own: Sequence[Place], now: datetime, seed: int) -> Cell | None:
        """Return the cell of the next person; None if there is no room."""
        if self.study.seats:
            seat = choose_seat(self._taken_by_seat(places, now), self.items.total, seed)
            return None if seat is None else (seat,)
        had = [place.cell for place in own if place.cell]
        counts = count_taken(places, now, self.study.stale_after)
        return next_cell(self.quota, counts, seed=seed, had=had, order=self.study.assignment)

    def _has_room(self, places: Sequence[Place], cell: Cell, now: datetime) -> bool:
        if self.study.seats:
            return self._taken_by_seat(places, now)[cell[0]] < self.items.total
        return has_room(self.quota, count_taken(places, now, self.study.stale_after), cell)

    def _taken_by_seat(self, places: Sequence[Place], now: datetime) -> Mapping[str, int]:
        """Return how many of the wanted tasks are taken, by seat."""
        return taken_by_seat(self._lobbies.read(places, now), self.study.people)

    # Interventions of researchers

    async def exclude(self, participant: str, reason: str, *, by: str) -> tuple[Place, ...]:
        """Exclude a participant: their places are freed, and reports leave them out by default.

        Returns:
            The participant's places.

        Raises:
            InputError: if the reason is empty or too long.
            ConflictError: if they have no place here, are already excluded, or have withdrawn.
        """
        reason = _required_text(reason, "a reason")
        async with self._lock:
            states = {place.state for place in self._required_places(participant)}
            if states & {"excluded", "withdrawn"}:
                raise ConflictError(
                    f"{participant} is already {min(states)} in study {self.study.id!r}.",
                    code="out_already",
                    who=participant,
                )
            # Event first: a crash in between must not free the place of a person who still counts.
            await self.write_event(EXCLUDED, participant, by=by, reason=reason)
            for place in self._required_places(participant):
                await self._move(place, "excluded", reason=BY_RESEARCHER)
            return self._required_places(participant)

    async def include(self, participant: str, *, by: str) -> tuple[Place, ...]:
        """Undo an exclusion: completed sets count again; an unfinished set stays ended.

        Returns:
            The participant's places.

        Raises:
            ConflictError: if they are not excluded.
        """
        async with self._lock:
            places = [place for place in self._required_places(participant) if place.state == "excluded"]
            if not places:
                raise ConflictError(f"{participant} is not excluded from study {self.study.id!r}.")
            await self._take_back(places)
            await self.write_event(INCLUDED, participant, by=by)
            return self._required_places(participant)

    async def restore(self, participant: str) -> tuple[Place, ...]:
        """Undo a withdrawal: completed sets count again; an unfinished set stays ended.

        Raises:
            ConflictError: if the person has not withdrawn, or is erased.
        """
        async with self._lock:
            # A withdrawal applies to all studies on the log: another study may have undone it already.
            withdrawn = any(
                place.state == "withdrawn" and not place.erased for place in self.places_of(participant)
            )
            if participant not in self._reader.withdrawals() and not withdrawn:
                raise ConflictError(
                    f"{participant} has not withdrawn from study {self.study.id!r}, or is already erased."
                )
            await self.write_event(RESTORED, participant)
            excluded = participant in self._reader.exclusions(self.study.run_id)
            await self._take_back(self._required_places(participant), "excluded" if excluded else None)
            return self._required_places(participant)

    async def _take_back(self, places: Iterable[Place], state: State | None = None) -> None:
        """Move places back to `state`; default: completed or returned, whichever they were."""
        for place in places:
            before: State = "completed" if place.completed_at else "returned"
            await self._move(place, state or before, reason=RESTORED)

    async def release(self, participant: str) -> None:
        """Let the person continue in the next browser that comes, once."""
        await self._log.write(release_row(self._reader, self.study, participant))

    async def free(self, participant: str, reason: str, *, by: str) -> Place:
        """Free the place of a participant who is under way.

        Raises:
            InputError: if the reason is empty or too long.
            ConflictError: if they have no place here, or are not under way.
        """
        reason = _required_text(reason, "a reason")
        async with self._lock:
            place = self._required_places(participant)[-1]
            if not place.live:
                raise ConflictError(
                    f"{participant} is not under way in study {self.study.id!r}: the place is {place.state}.",
                    code="not_under_way",
                    who=participant,
                )
            place = await self._move(place, "returned", reason=BY_RESEARCHER)
            await self.write_event(FREED, participant, by=by, reason=reason)
            return place

    async def send_message(self, participant: str, text: str, *, by: str) -> None:
        """Write to a participant: their page shows the message until they acknowledge it.

        Raises:
            InputError: if the text is empty or too long.
            ConflictError: if they have no place here.
        """
        text = _required_text(text, "a text")
        self._required_places(participant)
        await self.write_event(MESSAGE, participant, by=by, text=text, id=secrets.token_hex(8))

    def messages(self, participant: str) -> tuple[Message, ...]:
        """Return a participant's unacknowledged messages, oldest first."""
        events = partial(self._reader.events, run_id=self.study.run_id, participant_id=participant)
        if not (sent := events(kind=MESSAGE)):
            return ()
        # Erasing empties the details.
        seen = {None, *(event.details.get("id") for event in events(kind=MESSAGE_SEEN))}
        messages = (event.details for event in sent if event.details.get("id") not in seen)
        return tuple(Message(message["id"], message["text"]) for message in messages)

    async def acknowledge(self, participant: str, id: str) -> None:
        """Record that a participant has read a message; repeated or unknown ids change nothing."""
        if any(message.id == id for message in self.messages(participant)):
            await self.write_event(MESSAGE_SEEN, participant, id=id)

    def is_taken_away(self, participant: str, seed: int) -> bool:
        """Return True if a researcher took away the participant's place with this seed."""
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
