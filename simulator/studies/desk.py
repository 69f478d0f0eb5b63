"""The desk of a study: admits people, records what becomes of their places, and returns completion codes."""

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
from simulator.studies.ledger import FAILED_CHECK, format_time, place_id, study_item
from simulator.studies.pairing import PAID
from simulator.studies.people import Person, came_by_link, check_binding, recognise, took_part_elsewhere
from simulator.studies.places import REFUSED, Places
from simulator.studies.progress import StudyProgress, count_pairs
from simulator.studies.quota import Cell, Place, State, cell_name, quota_of

CAME_BACK: Final = "study.came_back"


class StudyDesk(Places):
    """One study on one log. Several desks, in one process or many, may serve the same study.

    Places are numbered. If two desks claim the same number, the log accepts one, and the other reads the log
    again; so every desk knows all places when it assigns a new one.

    Args:
        log: a durable writer.
        reader: a reader of the same log.
        cells: the design, if the benchmark makes it; default: the study's conditions.
        seats: the player of each seat, for the log; default: people in the study's seats.

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
        """Write the study, which is fixed from now on, to the log. Opening it again does nothing.

        Raises:
            InputError: if the log has a study of that name with different content.
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
                f"study {study.id!r} has been opened with different content, and an open study cannot be "
                "changed. Undo the change, or give the changed study a new id; participants of the first one "
                "are kept out of it."
            ) from None
        await self._log.write(study_item(study))
        self._opened = True

    async def admit_as(self, state: AdmissionState) -> bool:
        """Admit people from now on, or nobody new; people with a place may finish.

        Returns:
            False if the state did not change.

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
        """Admit a person once; a person who comes back gets their old place, by the study's policy.

        A person who is done and may do more sets gets another place.

        Args:
            who: the parameters of the person's URL, or the server's own key for the person.
            language: the language of the person's pages; default: the study's.
            browser: a key that only the person's browser has; knowing a person's id does not give access to
                their place from another browser.

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
            own = self.places_of(person.participant)
            if browser and person.identities:
                binding = check_binding(self._reader, self.study, person.participant, key, browser)
                if own and not binding.free and not person.proven:
                    if own[-1].live or own[-1].state == "expired" or self._may_have_another(own):
                        return await self._refuse("other_browser")
                    return await self._come_back(own)  # a code opens no place
                person = person._replace(identities=(*person.identities, binding.row))
                if own:
                    await self._log.write(binding.row)
            if own and not self._may_have_another(own):
                return await self._come_back(own)
            if took_part_elsewhere(self._reader, self.study, person.participant):
                return await self._refuse("excluded", person.participant)
            return await self._give(person, language or self.study.language, own)

    async def admit_again(self, participant: str, language: str | None = None) -> Admission:
        """Return another place for an admitted person if they may do more sets, else their last place.

        Raises:
            InputError: if the study was changed after it was opened.
            ConflictError: if the person never had a place here.
        """
        await self.open()
        async with self._lock:
            own = self._required_places(participant)
            if not self._may_have_another(own):
                return await self._come_back(own)
            return await self._give(Person(participant), language or self.study.language, own)

    async def start_set(self, participant: str) -> Admission:
        """Record that a person begins their set (consent given, instructions read); idempotent.

        Returns:
            The person's place, now started; or the reason why they may not begin.

        Raises:
            ConflictError: if the person never had a place here.
        """
        async with self._lock:
            own = self._required_places(participant)
            place = own[-1]
            if place.state == "expired":
                admission = await self._come_back(own)
                if not admission.placed or admission.place is None:
                    return admission
                place = admission.place
            if not place.live:
                return Admission(code="already", participant=participant, place=place)
            if place.state == "reserved":
                place = await self._move(replace(place, started_at=self._clock()), "started")
            return Admission(code="resumed", participant=participant, place=place)

    async def complete_set(self, participant: str, *, failed_check: bool = False) -> Completion:
        """Record that a person has done their set, late or in time; idempotent.

        Raises:
            ConflictError: if the person has left, or never had a place here.
        """
        return await self._end(participant, "completed", FAILED_CHECK if failed_check else "")

    async def screen_out(self, participant: str, reason: str = "") -> Completion:
        """Record that a person does not qualify (failed comprehension check, …), and free their place.

        Raises:
            ConflictError: if the person is done already, or never had a place here.
        """
        return await self._end(participant, "screened_out", reason)

    async def return_place(self, participant: str, reason: str = "") -> Completion:
        """Record that a person stops early, and free their place; what they did is kept.

        Raises:
            ConflictError: if the person is done already, or never had a place here.
        """
        return await self._end(participant, "returned", reason)

    async def withdraw_and_erase(self, participant: str) -> Completion:
        """Record that a person withdraws consent, and erase them immediately and permanently.

        Erased is what they said and who they are, in all studies on this log. A receipt is left, and the
        place is freed.

        Raises:
            ConflictError: if the person never had a place here.
        """
        completion = await self._end(participant, "withdrawn")
        await self._log.aflush()
        reason = f"consent withdrawn in study {self.study.id}"
        with suppress(NotInLog):  # erased concurrently, from elsewhere
            await asyncio.to_thread(erase_participant, self._log.path, participant, reason=reason)
        return completion

    async def withdraw(self, participant: str) -> Completion:
        """Record that a person withdraws consent: their data no longer count, and their place is freed.

        They are erased after `Study.erase_after_days`, so that a mistake can be undone.

        Raises:
            ConflictError: if the person never had a place here.
        """
        if not self.study.erase_after_days:
            return await self.withdraw_and_erase(participant)
        if participant not in self._reader.withdrawals():
            erase_at = self._clock() + timedelta(days=self.study.erase_after_days)
            await self.write_event(WITHDREW, participant, erase_at=format_time(erase_at))
        async with self._lock:
            for place in self._required_places(participant):
                await self._move(place, "withdrawn")
        return self.completion(participant)

    def completion(self, participant: str) -> Completion:
        """Return the person's current completion: code and URL.

        Raises:
            ConflictError: if the person has not finished, or never had a place here.
        """
        own = self._required_places(participant)
        if done := [place for place in own if place.state == "completed"]:
            failed = any(place.failed_check for place in done) and self.study.completion_codes.failed_check
            return completion_of(self.study, "failed_check" if failed else "complete")
        if own[-1].live:
            raise ConflictError(f"{participant} has not finished study {self.study.id!r} yet.")
        screened_out, paid = own[-1].state == "screened_out", own[-1].reason in PAID
        return completion_of(
            self.study, "screened_out" if screened_out else "paid_exit" if paid else "returned"
        )

    def final_completion(self, participant: str | None) -> Completion | None:
        """Return the completion of a person who has finished; None if they have not."""
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
            model_cost=self._model_cost(),
            pairs=count_pairs(self.lobby(), self.items.total) if self.study.seats else {},
        )

    # Assigning places

    def _is_spent(self) -> bool:
        """Return True if models have used up the study's budget."""
        budget = self.study.model_budget
        return budget is not None and self._model_cost() >= budget

    def _model_cost(self) -> float:
        return sum(usage.cost for usage in self._reader.usage(self.study.run_id))

    async def _give(self, person: Person, language: str, own: Sequence[Place]) -> Admission:
        participant = person.participant
        if self.closed_since is not None or self._is_spent():
            return await self._refuse("closed", participant)
        while True:
            now = self._clock()
            places, number = await self._expire_stale(now)
            current = [place for place in places if place.participant == participant]
            if len(current) > len(own):
                # Admitted concurrently by another desk.
                return await self._come_back(current)
            cell = self._cell(places, own, now, derive_seed(self.study.seed, "cell", number))
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
            # Admitted concurrently by two studies: the first one counts.
            await self._move(claimed, "returned", reason="excluded")
            return await self._refuse("excluded", participant)
        return Admission(code="admitted", participant=participant, place=claimed)

    async def _introduce(self, person: Person, language: str) -> None:
        with suppress(LogConflict):  # logged before, with another language
            await self._log.write(Participant(id=person.participant, language=language))
        await asyncio.gather(*map(self._log.write, person.identities))

    async def _come_back(self, own: Sequence[Place]) -> Admission:
        place, resume = own[-1], self.study.resume

        def admission(code: Code, place: Place) -> Admission:
            return Admission(code=code, participant=place.participant, place=place)

        if not (place.live or place.state == "expired"):
            return admission("already", place)
        begun = place.started_at is not None
        details = {"place": place.id, "policy": resume.policy, "attempt": place.attempt}
        await self.write_event(CAME_BACK, place.participant, **details)
        oldest = resume.max_age_minutes
        if begun and oldest is not None and self._clock() - place.since > timedelta(minutes=oldest):
            return admission("too_late", await self._expire(place, "too late"))
        if begun and resume.policy == "block":
            return admission("blocked", await self._expire(place, "came back"))
        if place.state == "expired":
            revived = await self._revive(place)
            if revived is None:
                return admission("expired", place)
            place = revived
        if begun and resume.policy == "restart":
            return admission("restarted", await self._restart(place))
        return admission("resumed", place)

    async def _revive(self, old: Place) -> Place | None:
        """Return a new place that continues an expired one; None if its cell has no room left."""
        while True:
            now = self._clock()
            places, number = await self._expire_stale(now)
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
            place = self._required_places(participant)[-1]
            if place.state != state:
                place = await self._move(place, state, reason=reason)
            if place.state != state:
                raise ConflictError(
                    f"{participant} cannot be marked as {state} in study {self.study.id!r}: "
                    f"their place is {place.state}."
                )
        return self.completion(participant)

    def _may_have_another(self, own: Sequence[Place]) -> bool:
        return own[-1].state == "completed" and len(own) < self.study.sets_per_participant
