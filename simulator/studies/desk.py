"""Where people come in: who gets a place, what became of it, and with which code they leave."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from logs import LogConflict, LogReader, LogWriter, NotInLog, erase_participant, load_key
from logs.rows import WITHDREW, Participant, Run
from simulator.errors import ConflictError, InputError
from simulator.seeds import derive_seed
from simulator.studies.admission import ADMISSION, Admission, AdmissionState, Code, Completion, completion_of
from simulator.studies.files import Study
from simulator.studies.ledger import FAILED_CHECK, place_id, study_item, written
from simulator.studies.pairing import PAID
from simulator.studies.people import Person, bind, came_by_link, recognise, took_part_elsewhere
from simulator.studies.places import REFUSED, Places
from simulator.studies.progress import StudyProgress, count_pairs
from simulator.studies.quota import Cell, Place, State, cell_name, quota_of

CAME_BACK: Final = "study.came_back"


class StudyDesk(Places):
    """One study on one log. Several desks, in one process or many, may serve the same study.

    Places are numbered, and of two desks that give the same number the log lets one have it; the other
    looks again. So whoever gives a place knows of every other one.

    Args:
        log: a durable writer; `reader` reads the same file.
        cells: the design, if the benchmark makes it; default: the study's conditions.
        seats: who sits where, as the log is to tell; default: the participant in their seat.
        clock: tells the present time.

    Raises:
        InputError: if the design is empty, or the numbers of participants do not fit it.
    """

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        study: Study,
        cells: Sequence[Cell] | None = None,
        *,
        seats: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(log, reader, study, quota_of(study, cells), clock)
        self._seats = dict(seats or dict.fromkeys(study.people, "person"))
        self._opened = False

    async def open(self) -> None:
        """Write the study into the log, as it will be to its end. Opening it again does nothing.

        Raises:
            InputError: if the log has a study of that name with other content.
        """
        if self._opened:
            return
        study, quota = self.study, self.items
        config = {
            "study": study.to_json(),
            "study_hash": study.content_hash,
            "seats": self._seats,
            "wanted": {cell_name(cell): count for cell, count in quota.wanted.items()},
            "cells": [cell_name(cell) for cell in quota.cells],
            "planned": quota.total,
        }
        run = Run(
            id=study.run_id, benchmark=study.benchmark, setup=study.setup, seed=study.seed, config=config
        )
        try:
            await self._log.write(run)
        except LogConflict:
            raise InputError(
                f"study {study.id!r} has been opened with different content: once open, a study stays as it "
                "is. Undo the change, or give the changed study an id of its own; whoever took part in the "
                "first one is kept out of it."
            ) from None
        await self._log.write(study_item(study))
        self._opened = True

    async def admit_as(self, state: AdmissionState) -> bool:
        """Take people in from now on, or nobody new; those who have a place may finish.

        Returns:
            False if it was so already.

        Raises:
            InputError: if the study was changed after it was opened.
        """
        await self.open()
        if self.admitting.state == state:
            return False
        await self.write_event(ADMISSION, closed=state != "open", state=state)
        return True

    async def admit(
        self, who: Mapping[str, str] | str, language: str | None = None, *, browser: str = ""
    ) -> Admission:
        """Let somebody in, once: whoever comes again gets the place they have, as the study's policy says.

        Somebody who is done and may do more sets gets another place.

        Args:
            who: the parameters of the URL they came by, or the server's own key for them.
            language: of the pages they see; default: the study's.
            browser: a key that only their browser has. Whoever knows somebody's id, but has another
                browser, does not get their place.

        Raises:
            InputError: if the study was changed after it was opened.
        """
        await self.open()
        key = load_key(self._reader.path)
        if not came_by_link(self.study, key, who):
            return await self._refuse("unsigned")
        person = recognise(self.study, key, who)
        if person is None:
            return await self._refuse("no_identity")
        async with self._lock:
            mine = self.places_of(person.participant)
            if browser and person.identities:
                binding = bind(self._reader, self.study, person.participant, key, browser)
                if mine and not binding.free and not person.proven:
                    return await self._refuse("other_browser")
                person = person._replace(identities=(*person.identities, binding.row))
                if mine:
                    await self._log.write(binding.row)
            if mine and not self._may_have_another(mine):
                return await self._come_back(mine)
            if took_part_elsewhere(self._reader, self.study, person.participant):
                return await self._refuse("excluded", person.participant)
            return await self._give(person, language or self.study.language, mine)

    async def another(self, participant: str, language: str | None = None) -> Admission:
        """Return another set for somebody who was let in: a place if they may do more, else theirs.

        Raises:
            InputError: if the study was changed after it was opened.
            ConflictError: if the person never had a place here.
        """
        await self.open()
        async with self._lock:
            mine = self._required(participant)
            if not self._may_have_another(mine):
                return await self._come_back(mine)
            return await self._give(Person(participant), language or self.study.language, mine)

    async def started(self, participant: str) -> Admission:
        """Record that a person begins their set (consent given, instructions read); again changes nothing.

        Returns:
            Their place, now started; or why they may not begin.

        Raises:
            ConflictError: if the person never had a place here.
        """
        async with self._lock:
            mine = self._required(participant)
            place = mine[-1]
            if place.state == "expired":
                admission = await self._come_back(mine)
                if not admission.placed or admission.place is None:
                    return admission
                place = admission.place
            if not place.live:
                return Admission(code="already", participant=participant, place=place)
            if place.state == "reserved":
                place = await self._move(replace(place, started_at=self._clock()), "started")
            return Admission(code="resumed", participant=participant, place=place)

    async def completed(self, participant: str, *, failed_check: bool = False) -> Completion:
        """Record that a person has done their set, late or in time; again changes nothing.

        Raises:
            ConflictError: if the person has left, or never had a place here.
        """
        return await self._end(participant, "completed", FAILED_CHECK if failed_check else "")

    async def screened_out(self, participant: str, reason: str = "") -> Completion:
        """Record that a person does not qualify (a comprehension check failed, …); their place is free again.

        Raises:
            ConflictError: if the person is done already, or never had a place here.
        """
        return await self._end(participant, "screened_out", reason)

    async def returned(self, participant: str, reason: str = "") -> Completion:
        """Record that a person stops before the end; what they did stays, their place is free again.

        Raises:
            ConflictError: if the person is done already, or never had a place here.
        """
        return await self._end(participant, "returned", reason)

    async def withdrawn(self, participant: str) -> Completion:
        """Record that a person takes their consent back: everything of theirs in the log is erased for good.

        That is what they said and who they are, in all studies on this log. A receipt is left, and the
        place is free again.

        Raises:
            ConflictError: if the person never had a place here.
        """
        completion = await self._end(participant, "withdrawn")
        await self._log.aflush()
        reason = f"consent withdrawn in study {self.study.id}"
        with suppress(NotInLog):  # erased at the same moment, from elsewhere
            await asyncio.to_thread(erase_participant, self._log.path, participant, reason=reason)
        return completion

    async def withdrawn_later(self, participant: str) -> Completion:
        """Record that a person takes their consent back: nothing of theirs counts, their place is free.

        They are erased after the study's days, so that a wrong button or a stranger's hand can be undone.

        Raises:
            ConflictError: if the person never had a place here.
        """
        if not self.study.erase_after_days:
            return await self.withdrawn(participant)
        if participant not in self._reader.withdrawals():
            erase_at = self._clock() + timedelta(days=self.study.erase_after_days)
            await self.write_event(WITHDREW, participant, erase_at=written(erase_at))
        async with self._lock:
            for place in self._required(participant):
                await self._move(place, "withdrawn")
        return self.completion(participant)

    def completion(self, participant: str) -> Completion:
        """Return the code that the person leaves with, as things stand, and where they go with it.

        Raises:
            ConflictError: if the person has not come to an end, or never had a place here.
        """
        mine = self._required(participant)
        if done := [place for place in mine if place.state == "completed"]:
            failed = any(place.failed_check for place in done) and self.study.completion_codes.failed_check
            return completion_of(self.study, "failed_check" if failed else "complete")
        if mine[-1].live:
            raise ConflictError(f"{participant} has not finished study {self.study.id!r} yet.")
        screened_out, paid = mine[-1].state == "screened_out", mine[-1].reason in PAID
        return completion_of(
            self.study, "screened_out" if screened_out else "paid_exit" if paid else "returned"
        )

    def left_with(self, participant: str | None) -> Completion | None:
        """Return how somebody leaves, who has come to an end; None if they have not."""
        if participant is None:
            return None
        try:
            return self.completion(participant)
        except ConflictError:
            return None

    def progress(self) -> StudyProgress:
        """Return counts by cell and state, times and pay."""
        refused = self._reader.events(run_id=self.study.run_id, kind=REFUSED)
        return StudyProgress(
            study=self.study,
            quota=self.quota,
            places=self.ledger(),
            refused=Counter(event.details["code"] for event in refused),
            closed_since=self.closed_since,
            pairs=count_pairs(self.lobby(), self.items.total) if self.study.seats else {},
        )

    # Giving places

    def _is_spent(self) -> bool:
        """Return True if the models opposite have cost what they may."""
        budget = self.study.model_budget
        if budget is None:
            return False
        return sum(usage.cost for usage in self._reader.usage(self.study.run_id)) >= budget

    async def _give(self, person: Person, language: str, mine: Sequence[Place]) -> Admission:
        participant = person.participant
        if self.closed_since is not None or self._is_spent():
            return await self._refuse("closed", participant)
        while True:
            now = self._clock()
            places, number = await self._fresh(now)
            theirs = [place for place in places if place.participant == participant]
            if len(theirs) > len(mine):
                # Let in by another desk at the same moment.
                return await self._come_back(theirs)
            cell = self._cell(places, mine, now, derive_seed(self.study.seed, "cell", number))
            if cell is None:
                return await self._refuse("full", participant)
            await self._introduce(person, language)
            place = Place(
                id=place_id(self.study.run_id, number),
                number=number,
                participant=participant,
                state="reserved",
                cell=cell,
                seed=derive_seed(self.study.seed, "set", number, 0),
                attempt=0,
                since=now,
                moved_at=now,
            )
            if (claimed := await self._claim(place)) is not None:
                break
        if took_part_elsewhere(self._reader, self.study, participant):
            # Let in by two studies at the same moment: the first one holds.
            await self._move(claimed, "returned", reason="excluded")
            return await self._refuse("excluded", participant)
        return Admission(code="admitted", participant=participant, place=claimed)

    async def _introduce(self, person: Person, language: str) -> None:
        with suppress(LogConflict):  # known already, by another language
            await self._log.write(Participant(id=person.participant, language=language))
        await asyncio.gather(*map(self._log.write, person.identities))

    async def _come_back(self, mine: Sequence[Place]) -> Admission:
        place, resume = mine[-1], self.study.resume

        def told(code: Code, place: Place) -> Admission:
            return Admission(code=code, participant=place.participant, place=place)

        if not (place.live or place.state == "expired"):
            return told("already", place)
        begun = place.started_at is not None
        details = {"place": place.id, "policy": resume.policy, "attempt": place.attempt}
        await self.write_event(CAME_BACK, place.participant, **details)
        oldest = resume.max_age_minutes
        if begun and oldest is not None and self._clock() - place.since > timedelta(minutes=oldest):
            return told("too_late", await self._expire(place, "too late"))
        if begun and resume.policy == "block":
            return told("blocked", await self._expire(place, "came back"))
        if place.state == "expired":
            revived = await self._revive(place)
            if revived is None:
                return told("expired", place)
            place = revived
        if begun and resume.policy == "restart":
            return told("restarted", await self._restart(place))
        return told("resumed", place)

    async def _revive(self, old: Place) -> Place | None:
        """Return a new place that goes on from one whose time ran out; None if its cell has no room left."""
        while True:
            now = self._clock()
            places, number = await self._fresh(now)
            newest = [place for place in places if place.participant == old.participant][-1]
            if newest.id != old.id:
                return newest
            if old.cell is None or not self._has_room(places, old.cell, now):
                return None
            state: State = "started" if old.started_at else "reserved"
            id = place_id(self.study.run_id, number)
            place = replace(old, id=id, number=number, state=state, continues=old.id)
            if (claimed := await self._claim(place)) is not None:
                return claimed

    async def _restart(self, place: Place) -> Place:
        attempt = place.attempt + 1
        seed = derive_seed(self.study.seed, "set", place.number, attempt)
        return await self._move(replace(place, attempt=attempt, seed=seed, started_at=None), "reserved")

    # Writing

    async def _end(self, participant: str, state: State, reason: str = "") -> Completion:
        async with self._lock:
            place = self._required(participant)[-1]
            if place.state != state:
                place = await self._move(place, state, reason=reason)
            if place.state != state:
                raise ConflictError(
                    f"{participant} cannot be marked as {state} in study {self.study.id!r}: "
                    f"their place is {place.state}."
                )
        return self.completion(participant)

    def _may_have_another(self, mine: Sequence[Place]) -> bool:
        return mine[-1].state == "completed" and len(mine) < self.study.sets_per_participant
