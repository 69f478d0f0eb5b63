"""Sessions of participants in studies, for every benchmark, as called by the web app.

A benchmark's sessions are a `StudySessions` with its `StudyMaterial`; admission, places and completion are
the same for all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from logs import LogConflict
from logs.rows import Ending, Episode
from simulator.errors import ConflictError, InputError, SeatError
from simulator.forms import YES
from simulator.runner.execute import Recorder
from simulator.runner.logged import MODEL_FAILURE, PERSON
from simulator.runner.machines import ActiveEpisode
from simulator.seats import Reply
from simulator.studies.admission import REFUSALS, Admission, Completion, Entry, Sets
from simulator.studies.desk import StudyDesk
from simulator.studies.files import Study
from simulator.studies.graph import MISSED, REST, WAYS_OUT, has_declined
from simulator.studies.held import SessionsWithStudies
from simulator.studies.pairing import MODEL_FAILED, REASONS
from simulator.studies.pairs import Pairs
from simulator.studies.places import BY_RESEARCHER
from simulator.studies.quota import Place
from trees import Language

_ANEW: Final = "The set was begun anew."
GIVEN_AWAY: Final = "The place had been given to somebody else."
NEUTRAL: Final = "neutral"
"""The payload field of a turn that replaces a missing answer of a model."""
_log = logging.getLogger(__name__)


class StudySessions(SessionsWithStudies):
    """Episodes with people, in free play and in studies.

    A study's episode has the options ``study`` (true), ``language``, ``set`` (the seed of its place),
    ``place`` (its number) and, from a person's second set on, ``begun`` (true): consent and instructions are
    then skipped. With ``break`` (true), it begins with a break.
    """

    # Called by the pages

    async def enter(
        self, study_id: str, *, identity: Mapping[str, str], participant_key: str, language: str
    ) -> Entry:
        """Give a person a place in a study, or continue the one they have.

        Args:
            study_id: the study.
            identity: the parameters of the person's link (``PROLIFIC_PID``, …), if any.
            participant_key: the browser's own key: it identifies the person if the link does not, and
                protects their place if it does.
            language: the language of the pages, if the study supports it; else the study's.

        Raises:
            InputError: if there is no such study.
        """
        desk = self._desk(study_id)
        study = desk.study
        named = bool(identity.get(study.identity[0], "").strip())
        pages = self._page_language(study, language)
        if pairs := self._pairs.get(study.sets_run):
            await pairs.settle()
        try:
            who = identity if named else participant_key
            admission = await desk.admit(who, pages, browser=participant_key)
        except InputError as error:
            return _refuse_changed(study, error)
        return await self._entry(desk, admission, pages)

    async def next_set(self, episode_id: str) -> Entry:
        """Give the participant of a study's episode another set, or their current one.

        Args:
            episode_id: a completed set of the participant, which identifies them.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if it belongs to no study.
        """
        episode, desk, person = self._taking_part(episode_id)
        await self._settle(episode, self._reader.ending(episode_id))
        pages = self._page_language(desk.study, str(episode.options.get("language", "")))
        try:
            admission = await desk.admit_again(person, pages)
        except InputError as error:
            return _refuse_changed(desk.study, error)
        return await self._entry(desk, admission, pages)

    def sets(self, episode_id: str) -> Sets:
        """Return the progress of an episode's participant.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if it belongs to no study.
        """
        _, desk, person = self._taking_part(episode_id)
        ended = self._reader.ending(episode_id) is not None
        return Sets(
            done=desk.sets_done(person),
            most=desk.study.sets_per_participant,
            completion=desk.final_completion(person) if ended else None,
            messages=desk.messages(person),
            withdrawn=ended and person in self._reader.withdrawals(),
        )

    async def withdraw(self, episode_id: str) -> None:
        """Withdraw a participant from their study: none of their sets count any more.

        After `Study.erase_after_days` they are erased: what they said, and who they are.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if it belongs to no study.
        """
        episode, desk, person = self._taking_part(episode_id)
        if pairs := self._pairs_of(episode):
            await pairs.leave(episode_id)
        # Erasing covers everything they did on this log, so all their episodes end here.
        for episode in self._reader.episodes(participant_id=person):
            live = ActiveEpisode(
                episode=episode, item=None, seats={}, record=Recorder(self._log, durable=True)
            )
            async with self._lock(episode.id):
                try:
                    await self._machine.withdraw(live, self._seat(episode))
                except SeatError as error:
                    await self._abort(episode.id, str(error), error.cause)
        await desk.withdraw(person)
        for other in self._desks.values():
            if other.places_of(person):
                await other.withdraw(person)

    def completion(self, episode_id: str) -> Completion | None:
        """Return the completion of a participant whose episode has ended; None before, and in free play."""
        episode = self._reader.episode(episode_id)
        desk = self._study_desk(episode)
        if desk is None or self._reader.ending(episode_id) is None:
            return None
        return desk.final_completion(episode.participant_id)

    async def acknowledge(self, episode_id: str, message: str) -> None:
        """Record that a participant has read a message.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if it belongs to no study.
        """
        _, desk, person = self._taking_part(episode_id)
        await desk.acknowledge(person, message)

    def pairs(self, episode_id: str) -> Pairs | None:
        """Return the `Pairs` of an episode's study; None if its participants are not paired."""
        return self._pairs_of(self._reader.episode(episode_id))

    async def view(self, episode_id: str, seat: str) -> Any:
        """Return a person's view (see `Sessions.view`); for paired people the task, or the waiting room."""
        episode = self._reader.episode(episode_id)
        await self._end_if_taken_away(episode)
        pairs = self._pairs_of(episode)
        shown = await (pairs.view(episode) if pairs else self._view(episode, seat))
        if pairs is None and await self._gave_up(episode):
            shown = await self._view(episode, seat)
        return await self._settle_ending(episode, shown)

    async def submit(self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None) -> Any:
        """Submit a reply; see `Sessions.submit`.

        In a person's first set of a study, the first reply is ``yes`` or ``no`` to the consent. A person
        whose place has been given to somebody else in the meantime cannot begin: their episode ends.
        """
        episode = self._reader.episode(episode_id)
        if await self._end_if_taken_away(episode):
            return await self.view(episode_id, seat)
        desk = self._study_desk(episode)
        begins = number in (None, 0) and (episode.options.get("begun") or reply.text.strip() == YES)
        if desk is not None and episode.participant_id and begins and not self._reader.turns(episode_id):
            await self._begin(desk, episode)
        pairs = self._pairs_of(episode)
        if pairs is None:
            shown = await self._submit(episode, seat, reply, number)
            if await self._gave_up(episode):
                shown = await self._view(episode, seat)
        else:
            shown = await pairs.submit(episode, reply, number)
        return await self._settle_ending(episode, shown)

    async def replay(self, episode_id: str, seat: str) -> Any:
        """Return a replay (see `Sessions.replay`); in a study only of a completed set, if results are shown.

        Raises:
            ConflictError: if the episode has not ended, or may not be shown.
        """
        episode, ending = self._reader.episode(episode_id), self._reader.ending(episode_id)
        desk, pairs = self._study_desk(episode), self._pairs_of(episode)
        if desk is not None and not self._materials[desk.study.id].shows_result:
            raise ConflictError("This study does not show participants their results.")
        if desk is not None and ending is not None and ending.status == "aborted":
            raise ConflictError("The set was not finished, so there is no result to show.")
        task = pairs.task(episode) if pairs else None
        return await super().replay(task.episode_id if task else episode_id, seat)

    # Places and their episodes

    async def _entry(self, desk: StudyDesk, admission: Admission, language: Language) -> Entry:
        """Return the episode of an admitted person, or the reason why there is none."""
        for _ in range(2):
            if not admission.placed or admission.place is None:
                break
            async with self._lock(admission.place.id):
                try:
                    episode = await self._episode_of(desk, admission.place, language)
                except _AbsentError as error:
                    # The place is kept: a person who comes back later continues from here.
                    _log.error("study %s: nobody can begin: %s", desk.study.id, error)
                    return Entry(refusal="later")
            row, ending = self._reader.episode(episode), self._reader.ending(episode)
            if ending is None:
                return Entry(episode_id=episode, seat=self._seat(row))
            # The server was killed before it could record the end.
            await self._settle(row, ending)
            admission = await desk.admit_again(admission.place.participant, language)
        person, most = admission.participant, desk.study.sets_per_participant
        done = desk.sets_done(person) if person is not None else 0
        left = desk.final_completion(person) if done or admission.code == "already" else None
        return Entry(refusal="done" if done >= most > 1 else REFUSALS[admission.code], completion=left)

    async def _episode_of(self, desk: StudyDesk, place: Place, language: Language) -> str:
        """Return the episode of a place; start it if needed."""
        assert place.cell is not None
        assert place.seed is not None
        study, person = desk.study, place.participant
        for episode in self._reader.episodes(study.sets_run, participant_id=person):
            # A place that continues another one has the same seed; a restarted set has a new one.
            if episode.options.get("set") != place.seed:
                await self._abort(episode.id, _ANEW, self._seat(episode))
            elif not self._given_away(episode.id):
                return episode.id
        done = desk.sets_done(person)
        begun, rests = done > 0, bool(done and study.break_every and done % study.break_every == 0)
        material = self._materials[study.id]
        needs = {self._addressed(name): need for name, need in material.needs.items()}
        options = {
            "study": True,
            "language": language,
            "set": place.seed,
            "place": place.number,
            **({"begun": True} if begun else {}),
            **({REST: True} if rests else {}),
        }
        name = f"{place.number:05d}"
        if study.seats:
            return await self._pairs[study.sets_run].begin(place, options, name)
        if why := await self._loading.absent(needs):
            raise _AbsentError(str(why))
        return await self.start_item(
            material.item(place.cell, place.seed, language),
            material.seating,
            {**material.options(place, begun=begun), **options},
            run_id=study.run_id,
            name=name,
            participant_id=person,
        )

    async def _end_if_taken_away(self, episode: Episode) -> bool:
        """End a set whose place a researcher has taken away; return True if it was ended now."""
        desk, person = self._study_desk(episode), episode.participant_id
        if desk is None or person is None or not desk.is_taken_away(person, episode.options["set"]):
            return False
        # Checked last: few places are taken away, but every request comes here.
        if self._reader.ending(episode.id) is not None:
            return False
        async with self._lock(episode.id):
            await self._abort(episode.id, BY_RESEARCHER, self._seat(episode))
        return True

    async def _gave_up(self, episode: Episode) -> bool:
        """Apply the study's policy once a model has failed too often; return True if it was applied now."""
        desk = self._study_desk(episode)
        if desk is None or desk.study.model_failure.then == "wait" or episode.id not in self._warnings:
            return False
        turns = self._reader.turns(episode.id)
        since = turns[-1].created_at if turns else ""
        failed = self._reader.events(episode_id=episode.id, kind=MODEL_FAILURE)
        if sum(event.created_at >= since for event in failed) < desk.study.model_failure.tries:
            return False
        async with self._lock(episode.id):
            if desk.study.model_failure.then == "paid_exit" or not await self._say_neutral(desk, episode):
                await self._abort(episode.id, MODEL_FAILED, "model")
        return True

    async def _say_neutral(self, desk: StudyDesk, episode: Episode) -> bool:
        """Make the study's neutral text the model's turn; return False if the rules do not allow it."""
        here = await self._load(episode)
        seat = self._machine.due(here.live, here.state)
        if seat is None or here.live.seats[seat].kind == PERSON:  # another server was first
            return True
        language = self._page_language(desk.study, str(episode.options.get("language", "")))
        reply = Reply(text=desk.study.in_language(language, desk.study.model_failure.say))
        try:
            turn = self._machine.accept(here.live, here.state, seat, reply)
        except SeatError as error:
            _log.error("study %s: the %s cannot say the neutral text: %s", desk.study.id, seat, error)
            return False
        with suppress(LogConflict):  # another server was first
            await self._log.write(replace(turn, payload={**turn.payload, NEUTRAL: True}))
        return True

    async def _begin(self, desk: StudyDesk, episode: Episode) -> None:
        """Record at the desk that a participant begins; end the episode if they may not begin any more."""
        assert episode.participant_id is not None
        if not (await desk.start_set(episode.participant_id)).placed:
            async with self._lock(episode.id):
                await self._abort(episode.id, GIVEN_AWAY, self._seat(episode))

    async def _settle_ending(self, episode: Episode, shown: Any) -> Any:
        """Record a set's ending at the desk, if it has ended, and return `shown`."""
        # Paired people may be shown their task, whose ending is not their set's.
        ending = self._reader.ending(episode.id) if self._pairs_of(episode) else shown.ending
        await self._settle(episode, ending)
        return shown

    async def _settle(self, episode: Episode, ending: Ending | None) -> None:
        """Record the ending of a study's episode at the desk, unless that has been done."""
        desk, person = self._study_desk(episode), episode.participant_id
        if desk is None or ending is None or person is None or ending.message in (_ANEW, GIVEN_AWAY):
            return
        places = desk.places_of(person)
        place = next((place for place in places if place.seed == episode.options["set"]), None)
        if place is None:  # erased, or restarted
            return
        if ending.status != "aborted" and place.state in ("reserved", "started", "expired"):
            # Even if scoring failed: the person has done their part.
            missed = any(turn.payload.get(MISSED) for turn in self._reader.turns(episode.id))
            await desk.complete_set(person, failed_check=missed)
        elif ending.message == WAYS_OUT["withdrawn"] and place.live:
            # The server was killed before it could record the withdrawal.
            await desk.withdraw(person)
        elif ending.status == "aborted" and place.live:
            await self._leave(desk, person, ending)

    async def _leave(self, desk: StudyDesk, person: str, ending: Ending) -> None:
        """Free the place of a person whose episode was aborted."""
        own_fault = ending.cause == self._seat(self._reader.episode(ending.episode_id))
        if not own_fault or ending.message in REASONS:
            await desk.return_place(person, ending.message)
        elif not has_declined(self._reader.turns(ending.episode_id)):
            await desk.screen_out(person, ending.message)
        elif self._is_new(desk, person):
            # Nothing is kept of a person who did not consent and did nothing else here.
            await desk.withdraw_and_erase(person)
        else:
            await desk.return_place(person, "no consent")

    def _is_new(self, desk: StudyDesk, person: str) -> bool:
        """Return True if a person has been in no other study on this log, and has completed no set here."""
        runs = {row.run_id for row in self._reader.assignments(participant_id=person)} | {
            episode.run_id for episode in self._reader.episodes(participant_id=person)
        }
        return runs <= {desk.study.run_id, desk.study.sets_run} and not desk.sets_done(person)

    def _given_away(self, episode_id: str) -> bool:
        ending = self._reader.ending(episode_id)
        return ending is not None and ending.message == GIVEN_AWAY

    def _taking_part(self, episode_id: str) -> tuple[Episode, StudyDesk, str]:
        """Return a study's episode, its desk and its participant."""
        episode = self._reader.episode(episode_id)
        desk = self._study_desk(episode)
        if desk is None or episode.participant_id is None:
            raise InputError("This episode is not part of a study: it has no sets, and no way to withdraw.")
        return episode, desk, episode.participant_id


class _AbsentError(Exception):
    """A model that is to play with a participant does not answer."""


def _refuse_changed(study: Study, error: InputError) -> Entry:
    """Return the refusal for a study that was changed after it had been opened."""
    _log.error("study %s cannot be entered: %s", study.id, error)
    return Entry(refusal="closed")
