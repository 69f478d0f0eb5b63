"""Interventions of researchers: exclude somebody from a study, free their place, write to them.

Each is an event of the log that says who did it, and why. A set that is going on ends when its page next asks
for anything (`sessions.StudySessions`); nothing of what was said is lost.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Final

from logs.rows import EXCLUDED, INCLUDED, RESTORED
from simulator.errors import ConflictError, InputError
from simulator.studies.admission import Message
from simulator.studies.people import release
from simulator.studies.places import Places
from simulator.studies.quota import Place, State

COMMAND: Final = "command line"
"""Who did it, where somebody did it by command."""
FREED: Final = "study.place_freed"
MESSAGE: Final = "study.message"
MESSAGE_SEEN: Final = "study.message_seen"
BY_RESEARCHER: Final = "ended by a researcher"
"""The reason of a place that was taken from its holder, and of the end of their set."""
_MOST_CHARACTERS: Final = 2000


class Interventions(Places):
    """The places of a study, in the hands of researchers."""

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
