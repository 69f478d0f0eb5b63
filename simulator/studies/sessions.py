"""Episodes that participants of studies play, whatever the benchmark: what the web app calls.

A benchmark's sessions are a `StudySessions` with its `StudyMaterial`; who gets a place, what became of it and
how somebody leaves is the same for all of them.
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
from simulator.studies.graph import MISSED, REST, WAYS_OUT, declined
from simulator.studies.held import HeldStudies
from simulator.studies.pairing import MODEL_FAILED, REASONS
from simulator.studies.pairs import Pairs
from simulator.studies.places import BY_RESEARCHER
from simulator.studies.quota import Place
from trees import Language

_ANEW: Final = "The set was begun anew."
_GIVEN_AWAY: Final = "The place had been given to somebody else."
NEUTRAL: Final = "neutral"
"""In the payload of a turn that stands in place of one that a model did not give."""
_log = logging.getLogger(__name__)


class StudySessions(HeldStudies):
    """Episodes with people in them, in free play and in studies.

    A study's episode has the options ``study`` (true), ``language``, ``set`` (the seed of its place),
    ``place`` (its number) and, from a person's second set on, ``begun`` (true): consent and instructions are
    then not asked for again. ``break`` (true): a break is offered before it.
    """

    # What the pages call

    async def enter(
        self, study_id: str, *, identity: Mapping[str, str], participant_key: str, language: str
    ) -> Entry:
        """Give somebody a place in a study, or go on with the one they have.

        Args:
            study_id: the study.
            identity: the parameters of the link they came by (``PROLIFIC_PID``, …), if any.
            participant_key: the browser's own key: it stands for them where the link names nobody, and
                keeps their place from others where it does.
            language: of the pages, if the study has them in it; else the study's.

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
        """Give the participant of a study's episode another set, or the one that they are at.

        Args:
            episode_id: a set of theirs that is done. It says who they are: nothing else is needed.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if it belongs to no study.
        """
        episode, desk, person = self._taking_part(episode_id)
        await self._settle(episode, self._reader.ending(episode_id))
        pages = self._page_language(desk.study, str(episode.options.get("language", "")))
        try:
            admission = await desk.another(person, pages)
        except InputError as error:
            return _refuse_changed(desk.study, error)
        return await self._entry(desk, admission, pages)

    def sets(self, episode_id: str) -> Sets:
        """Return where the participant of an episode stands.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if it belongs to no study.
        """
        _, desk, person = self._taking_part(episode_id)
        ended = self._reader.ending(episode_id) is not None
        return Sets(
            done=desk.sets_done(person),
            most=desk.study.sets_per_participant,
            completion=desk.left_with(person) if ended else None,
            messages=desk.messages(person),
        )

    async def withdraw(self, episode_id: str) -> None:
        """Take a participant out of their study: nothing of theirs counts any more, in any set.

        After the study's days they are erased: what they said, and who they are.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if it belongs to no study.
        """
        episode, desk, person = self._taking_part(episode_id)
        if pairs := self._pairs_of(episode):
            await pairs.leave(episode_id)
        # Erasing reaches whatever they have done on this log, so nothing of it may go on afterwards.
        for episode in self._reader.episodes(participant_id=person):
            live = ActiveEpisode(
                episode=episode, item=None, seats={}, record=Recorder(self._log, durable=True)
            )
            async with self._lock(episode.id):
                try:
                    await self._machine.withdraw(live, self._seat(episode))
                except SeatError as error:
                    await self._abort(episode.id, str(error), error.cause)
        await desk.withdrawn_later(person)
        for other in self._desks.values():
            if other.places_of(person):
                await other.withdrawn_later(person)

    def completion(self, episode_id: str) -> Completion | None:
        """Return how a participant leaves once their episode has ended; None before, and in free play."""
        episode = self._reader.episode(episode_id)
        desk = self._study_desk(episode)
        if desk is None or self._reader.ending(episode_id) is None:
            return None
        return desk.left_with(episode.participant_id)

    async def acknowledge(self, episode_id: str, message: str) -> None:
        """Record that a participant has read a message.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if it belongs to no study.
        """
        _, desk, person = self._taking_part(episode_id)
        await desk.acknowledged(person, message)

    def pairs(self, episode_id: str) -> Pairs | None:
        """Return what participants of a study are paired by in whose set an episode is; None if nobody is."""
        return self._pairs_of(self._reader.episode(episode_id))

    async def view(self, episode_id: str, seat: str) -> Any:
        """See `Sessions.view`; of people who are paired, their task, or that they wait for it."""
        episode = self._reader.episode(episode_id)
        await self._end_if_taken_away(episode)
        pairs = self._pairs_of(episode)
        shown = await (pairs.view(episode) if pairs else self._view(episode, seat))
        if pairs is None and await self._gave_up(episode):
            shown = await self._view(episode, seat)
        return await self._settle_ending(episode, shown)

    async def submit(self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None) -> Any:
        """See `Sessions.submit`.

        In a study, the first thing said is ``yes`` or ``no`` to the consent, unless the set is not the
        person's first one. Somebody whose place has been given to somebody else meanwhile cannot begin:
        their episode ends.
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
        """See `Sessions.replay`; of a study only a set that was done, if participants may see it.

        Raises:
            ConflictError: if the episode has not ended, or is not shown.
        """
        episode, ending = self._reader.episode(episode_id), self._reader.ending(episode_id)
        desk, pairs = self._study_desk(episode), self._pairs_of(episode)
        if desk is not None and not self._materials[desk.study.id].shows_result:
            raise ConflictError("This study does not show its participants how they did.")
        if desk is not None and ending is not None and ending.status == "aborted":
            raise ConflictError("The set was not done to its end; there is nothing to be shown.")
        task = pairs.task(episode) if pairs else None
        return await super().replay(task.episode_id if task else episode_id, seat)

    # Places and their episodes

    async def _entry(self, desk: StudyDesk, admission: Admission, language: Language) -> Entry:
        """Return the episode of somebody who has been admitted, or why there is none."""
        for _ in range(2):
            if not admission.placed or admission.place is None:
                break
            async with self._lock(admission.place.id):
                try:
                    episode = await self._episode_of(desk, admission.place, language)
                except _AbsentError as error:
                    # Their place is kept: who comes back later goes on from here.
                    _log.error("study %s: nobody can begin: %s", desk.study.id, error)
                    return Entry(refusal="later")
            row, ending = self._reader.episode(episode), self._reader.ending(episode)
            if ending is None:
                return Entry(episode_id=episode, seat=self._seat(row))
            # The server was killed before it could note the end.
            await self._settle(row, ending)
            admission = await desk.another(admission.place.participant, language)
        person, most = admission.participant, desk.study.sets_per_participant
        done = desk.sets_done(person) if person is not None else 0
        left = desk.left_with(person) if done or admission.code == "already" else None
        return Entry(refusal="done" if done >= most > 1 else REFUSALS[admission.code], completion=left)

    async def _episode_of(self, desk: StudyDesk, place: Place, language: Language) -> str:
        """Return the episode of a place, begun if it has not been yet."""
        assert place.cell is not None
        assert place.seed is not None
        study, person = desk.study, place.participant
        for episode in self._reader.episodes(study.sets_run, participant_id=person):
            # A place that goes on from another has its seed; a set that is begun anew has not.
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
        """End a set whose place a researcher has taken from its holder; return True if that is done now."""
        desk, person = self._study_desk(episode), episode.participant_id
        if desk is None or person is None or not desk.is_taken_away(person, episode.options["set"]):
            return False
        # Read last: hardly any place is taken away, and every page asks.
        if self._reader.ending(episode.id) is not None:
            return False
        async with self._lock(episode.id):
            await self._abort(episode.id, BY_RESEARCHER, self._seat(episode))
        return True

    async def _gave_up(self, episode: Episode) -> bool:
        """Do what the study says once a model has failed too often; return True if that is done now."""
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
        """Let the study's words stand for the model that is due; return False if it cannot say them."""
        here = await self._load(episode)
        seat = self._machine.due(here.live, here.state)
        if seat is None or here.live.seats[seat].kind == PERSON:  # another server was first
            return True
        language = self._page_language(desk.study, str(episode.options.get("language", "")))
        reply = Reply(text=desk.study.neutral_words_in(language))
        try:
            turn = self._machine.accept(here.live, here.state, seat, reply)
        except SeatError as error:
            _log.error("study %s: the %s cannot say the neutral words: %s", desk.study.id, seat, error)
            return False
        with suppress(LogConflict):  # another server was first
            await self._log.write(replace(turn, payload={**turn.payload, NEUTRAL: True}))
        return True

    async def _begin(self, desk: StudyDesk, episode: Episode) -> None:
        """Tell the desk that a participant begins, or end the episode if they may not any more."""
        assert episode.participant_id is not None
        if not (await desk.started(episode.participant_id)).placed:
            async with self._lock(episode.id):
                await self._abort(episode.id, _GIVEN_AWAY, self._seat(episode))

    async def _settle_ending(self, episode: Episode, shown: Any) -> Any:
        """Return a page of an episode, after the desk was told how that ended."""
        # The page of people who are paired may be that of their task, whose ending is not their set's.
        ending = self._reader.ending(episode.id) if self._pairs_of(episode) else shown.ending
        await self._settle(episode, ending)
        return shown

    async def _settle(self, episode: Episode, ending: Ending | None) -> None:
        """Tell the desk how a study's episode ended; again if the server was killed before it could."""
        desk, person = self._study_desk(episode), episode.participant_id
        if desk is None or ending is None or person is None or ending.message in (_ANEW, _GIVEN_AWAY):
            return
        mine = desk.places_of(person)
        place = next((place for place in mine if place.seed == episode.options["set"]), None)
        if place is None:  # erased, or begun anew
            return
        if ending.status != "aborted" and place.state in ("reserved", "started", "expired"):
            # Also where scoring failed: the person has done their part.
            missed = any(turn.payload.get(MISSED) for turn in self._reader.turns(episode.id))
            await desk.completed(person, failed_check=missed)
        elif ending.message == WAYS_OUT["withdrawn"] and place.live:
            # The server was killed before it could say so.
            await desk.withdrawn_later(person)
        elif ending.status == "aborted" and place.live:
            await self._leave(desk, person, ending)

    async def _leave(self, desk: StudyDesk, person: str, ending: Ending) -> None:
        """Free the place of somebody whose episode was broken off."""
        mine = ending.cause == self._seat(self._reader.episode(ending.episode_id))
        if not mine or ending.message in REASONS:
            await desk.returned(person, ending.message)
        elif not declined(self._reader.turns(ending.episode_id)):
            await desk.screened_out(person, ending.message)
        elif self._is_new(desk, person):
            # Somebody who did not consent and did nothing else here: nothing is kept.
            await desk.withdrawn(person)
        else:
            await desk.returned(person, "no consent")

    def _is_new(self, desk: StudyDesk, person: str) -> bool:
        """Return True if a person has been in no other study on this log, and has done no set of this one."""
        runs = {row.run_id for row in self._reader.assignments(participant_id=person)} | {
            episode.run_id for episode in self._reader.episodes(participant_id=person)
        }
        return runs <= {desk.study.run_id, desk.study.sets_run} and not desk.sets_done(person)

    def _given_away(self, episode_id: str) -> bool:
        ending = self._reader.ending(episode_id)
        return ending is not None and ending.message == _GIVEN_AWAY

    def _taking_part(self, episode_id: str) -> tuple[Episode, StudyDesk, str]:
        """Return a study's episode, its desk and who plays it."""
        episode = self._reader.episode(episode_id)
        desk = self._study_desk(episode)
        if desk is None or episode.participant_id is None:
            raise InputError("This is no episode of a study: it has no sets, and nothing to withdraw from.")
        return episode, desk, episode.participant_id


class _AbsentError(Exception):
    """A model that is to sit opposite a participant does not answer."""


def _refuse_changed(study: Study, error: InputError) -> Entry:
    """Return the refusal of a study whose file was changed after it had been opened."""
    _log.error("study %s cannot be entered: %s", study.id, error)
    return Entry(refusal="closed")
