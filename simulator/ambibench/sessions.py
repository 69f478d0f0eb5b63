"""AmbiBench episodes with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, Literal, TypeVar, get_args
from uuid import uuid4

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode
from simulator.ambibench.assignment import (
    Played,
    Settings,
    assigned_prompt,
    builtin_studies,
    cells,
    drawn_prompt,
)
from simulator.ambibench.features import FEATURES, FORMATS, Feature, Format, Kind
from simulator.ambibench.playing import PARTICIPANT, YES
from simulator.ambibench.room import ROOM
from simulator.ambibench.views import ParticipantView, Replay, TextReplay
from simulator.errors import ConflictError, InputError
from simulator.models import ChatModel
from simulator.runner.sessions import Sessions
from simulator.seats import Reply
from simulator.seeds import derive_seed
from simulator.studies import Admission, Code, Completion, Place, Study, StudyDesk
from simulator.studies.quota import counted
from trees import Language

Refusal = Literal["full", "taken", "excluded", "closed", "identity"]
_REFUSALS: Final[Mapping[Code, Refusal]] = {
    "already": "taken",
    "blocked": "taken",
    "too_late": "taken",
    "expired": "full",
    "full": "full",
    "excluded": "excluded",
    "no_identity": "identity",
}
_WITHDREW: Final = "The participant withdrew."
_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCard:
    """What everybody may know of a study.

    Attributes:
        open: whether there is a place.
        minutes: how long it takes, as its file says.
        pay: in words; empty if nothing is paid.
        languages: of its pages.
        texts: the study's own words in place of the pages' (``consent``, ``instructions``).
    """

    id: str
    title: str
    setting: Played
    kind: Kind
    open: bool
    places_left: int
    minutes: float
    pay: str
    languages: tuple[Language, ...]
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What came of asking for a place in a study.

    Attributes:
        episode_id: what is to be played, or gone on with; None if there is no place.
        refusal: why there is none.
        completion: how somebody leaves who has taken part before.
    """

    episode_id: str | None = None
    refusal: Refusal | None = None
    completion: Completion | None = None


def setting_with(setting: Played, kind: Kind) -> Played:
    """The setting that a length and an instruction come to: ``wug`` is 4.3 with that word (App. D).

    Raises:
        InputError: if the two do not go together.
    """
    if kind != "wug":
        return setting
    if setting == "instruction":
        raise InputError("The made-up word goes with twenty sentences only.")
    return "wug"


class AmbiBenchSessions(Sessions):
    """Free play and studies.

    Args:
        studies: those that can be entered; default: the paper's three (studies/*.yaml).

    Raises:
        InputError: if a study's settings, conditions or numbers do not fit AmbiBench.
    """

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        studies: Sequence[Study] | None = None,
    ) -> None:
        super().__init__(ROOM, log, reader, models)
        given = builtin_studies() if studies is None else tuple(studies)
        self._settings = {study.id: Settings.read(study) for study in given}
        self._desks = {study.id: StudyDesk(log, reader, study, cells(study)) for study in given}

    async def start(
        self,
        *,
        setting: Played,
        kind: Kind = "uninformative",
        format: Format | None = None,
        feature: Feature | None = None,
        language: str,
    ) -> str:
        """Begin an episode of free play; what is None is drawn.

        Args:
            setting: ``instruction`` (4.2), ``multiple`` (4.3) or ``wug``.
            kind: how much the instruction tells; ``wug`` goes with the setting of that name.
            format: of the prompt.
            feature: that the labels follow.
            language: of the pages; the benchmark's own text is English.

        Returns:
            The episode's id.

        Raises:
            InputError: if a choice is none.
        """
        seed = uuid4().int >> 97
        random = Random(derive_seed(seed, "play"))
        _require("setting", setting, get_args(Played))
        prompt = drawn_prompt(
            seed,
            setting,
            "wug" if setting == "wug" else kind,
            _chosen("feature", feature, FEATURES, random),
            _chosen("format", format, FORMATS, random),
        )
        options = {"language": _require("language", language, get_args(Language))}
        # The item's own name tells what the labels follow, and an episode's id may be seen.
        return await self.start_item(prompt, {PARTICIPANT: "person"}, options, name=setting)

    def studies(self) -> tuple[StudyCard, ...]:
        """The studies that there are, in the order given."""
        return tuple(self._card(desk) for desk in self._desks.values())

    async def enter(
        self, study_id: str, *, identity: Mapping[str, str], participant_key: str, language: str
    ) -> Entry:
        """Give somebody a place in a study, or go on with the one they have.

        Args:
            study_id: the study.
            identity: the parameters of the link they came by (``PROLIFIC_PID``, …), if any.
            participant_key: the server's own key for them, where the link names nobody.
            language: of the pages, if the study has them in it; else the study's.

        Raises:
            InputError: if there is no such study.
        """
        desk, settings = self._desk(study_id), self._settings_of(study_id)
        named = bool(identity.get(desk.study.identity[0], "").strip())
        pages = language if language in settings.languages else desk.study.language
        try:
            admission = await desk.admit(identity if named else participant_key, pages)
        except InputError as error:
            # Its file was changed after it had been opened: nothing that a participant can do.
            _log.error("study %s cannot be entered: %s", study_id, error)
            return Entry(refusal="closed")
        if admission.placed and admission.place is not None:
            async with self._lock(f"{admission.place.id}"):
                episode = await self._episode_of(desk, admission.place, pages)
            if self._reader.ending(episode) is None:
                return Entry(episode_id=episode)
            await self._settle(self._reader.episode(episode))
            admission = Admission(code="already", participant=admission.participant)
        left = _left(desk, admission.participant) if admission.code == "already" else None
        return Entry(refusal=_REFUSALS[admission.code], completion=left)

    async def withdraw(self, episode_id: str) -> None:
        """Take a participant out of their study and erase what they said and who they are.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if it belongs to no study.
        """
        episode = self._reader.episode(episode_id)
        desk = self._study_desk(episode)
        if desk is None or episode.participant_id is None:
            raise InputError("This is no episode of a study: nothing is kept that could be withdrawn.")
        async with self._lock(episode_id):
            await self._abort(episode_id, _WITHDREW)
        await desk.withdrawn(episode.participant_id)

    def completion(self, episode_id: str) -> Completion | None:
        """How a participant leaves once their episode has ended; None before, and in free play."""
        episode = self._reader.episode(episode_id)
        desk = self._study_desk(episode)
        if desk is None or self._reader.ending(episode_id) is None:
            return None
        return _left(desk, episode.participant_id)

    async def view(self, episode_id: str, seat: str) -> ParticipantView:
        """See `Sessions.view`."""
        shown: ParticipantView = await super().view(episode_id, seat)
        await self._settle(self._reader.episode(episode_id))
        return shown

    async def submit(
        self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None
    ) -> ParticipantView:
        """See `Sessions.submit`.

        What is said: ``yes`` or ``no`` to the consent, anything once the instructions are read, in a trial
        what was typed, and the comment, which may be empty. In a trial `Reply.move` holds ``keys_used`` and
        ``shown_at``. Somebody whose place has been given to somebody else meanwhile cannot begin: their
        episode ends.
        """
        episode = self._reader.episode(episode_id)
        desk = self._study_desk(episode)
        if desk is not None and not self._reader.turns(episode_id) and reply.text.strip() == YES:
            await self._begin(desk, episode)
        shown: ParticipantView = await super().submit(episode_id, seat, reply, number=number)
        await self._settle(episode)
        return shown

    async def replay(self, episode_id: str, seat: str) -> Replay | TextReplay:
        """See `Sessions.replay`; of a study only if its file lets participants see it (``show_result``).

        Raises:
            ConflictError: if the episode has not ended, or is not shown.
        """
        desk = self._study_desk(self._reader.episode(episode_id))
        if desk is not None and not self._settings_of(desk.study.id).show_result:
            raise ConflictError("This study does not show its participants how they did.")
        shown: Replay | TextReplay = await super().replay(episode_id, seat)
        return shown

    async def _episode_of(self, desk: StudyDesk, place: Place, language: str) -> str:
        """The episode of a place, begun if it has not been yet."""
        assert place.cell is not None
        assert place.seed is not None
        run = desk.study.run_id
        for episode in self._reader.episodes(run, participant_id=place.participant):
            # A place that goes on from another has its seed; a set that is begun anew has not.
            if episode.options.get("set") == place.seed:
                return episode.id
            await self._abort(episode.id, "The set was begun anew.")
        return await self.start_item(
            assigned_prompt(desk.study, place.cell, place.seed),
            {PARTICIPANT: "person"},
            {"study": True, "language": language, "set": place.seed, "place": place.number},
            run_id=run,
            name=f"{place.number:05d}",
            participant_id=place.participant,
        )

    async def _begin(self, desk: StudyDesk, episode: Episode) -> None:
        """Tell the desk that a participant begins, or end the episode if they may not any more."""
        assert episode.participant_id is not None
        if not (await desk.started(episode.participant_id)).placed:
            async with self._lock(episode.id):
                await self._abort(episode.id, "The place had been given to somebody else.")

    async def _settle(self, episode: Episode) -> None:
        """Tell the desk how a study's episode ended; again if the server was killed before it could."""
        desk, ending = self._study_desk(episode), self._reader.ending(episode.id)
        if desk is None or ending is None or episode.participant_id is None:
            return
        person = episode.participant_id
        mine = (place for place in desk.ledger() if place.participant == person)
        place = next((place for place in mine if place.seed == episode.options["set"]), None)
        if place is None:  # erased, or begun anew
            return
        if ending.status == "completed" and place.state in ("reserved", "started", "expired"):
            await desk.completed(person)
        elif ending.message == _WITHDREW and place.state != "withdrawn":
            await desk.withdrawn(person)
        elif ending.status == "aborted" and place.live:
            await self._give_back(desk, person)

    async def _give_back(self, desk: StudyDesk, person: str) -> None:
        """Free the place of somebody who did not consent; if they did nothing else here, nothing is kept."""
        elsewhere = {row.run_id for row in self._reader.assignments(participant_id=person)} | {
            episode.run_id for episode in self._reader.episodes(participant_id=person)
        }
        if elsewhere == {desk.study.run_id}:
            await desk.withdrawn(person)
        else:
            await desk.returned(person, "no consent")

    async def _abort(self, episode_id: str, why: str) -> None:
        if self._reader.ending(episode_id) is None:
            await self._log.write(
                Ending(episode_id=episode_id, status="aborted", cause=PARTICIPANT, message=why)
            )

    def _card(self, desk: StudyDesk) -> StudyCard:
        study, settings = desk.study, self._settings_of(desk.study.id)
        left = _places_left(desk)
        return StudyCard(
            id=study.id,
            title=study.title,
            setting=settings.setting,
            kind=settings.kind,
            open=left > 0,
            places_left=left,
            minutes=study.pay.minutes if study.pay else 0.0,
            pay=f"{study.pay.amount:.2f} {study.pay.currency}" if study.pay else "",
            languages=settings.languages,
            texts=study.texts,
        )

    def _desk(self, study_id: str) -> StudyDesk:
        if study_id not in self._desks:
            raise InputError(
                f"There is no study {study_id!r}; there are: {', '.join(self._desks) or 'none'}."
            )
        return self._desks[study_id]

    def _settings_of(self, study_id: str) -> Settings:
        return self._settings[study_id]

    def _study_desk(self, episode: Episode) -> StudyDesk | None:
        """The desk of the study that an episode belongs to; None in free play."""
        return next((desk for desk in self._desks.values() if desk.study.run_id == episode.run_id), None)


def _left(desk: StudyDesk, participant: str | None) -> Completion | None:
    """How somebody leaves, who has come to an end; None if they have not."""
    if participant is None:
        return None
    try:
        return desk.completion(participant)
    except ConflictError:
        return None


def _places_left(desk: StudyDesk) -> int:
    """Places that somebody who comes now could get."""
    stale = timedelta(minutes=desk.study.stale_after_minutes)
    taken = dict.fromkeys(desk.quota.wanted, 0)
    for cell, count in counted(desk.ledger(), datetime.now(UTC), stale).items():
        taken[desk.quota.coarse[cell]] += count
    return sum(max(0, wanted - taken[cell]) for cell, wanted in desk.quota.wanted.items())


def _require(field: str, value: T, allowed: Sequence[T]) -> T:
    if value not in allowed:
        raise InputError(f"{field} {value!r}: must be one of {', '.join(map(str, allowed))}.")
    return value


def _chosen(field: str, value: T | None, allowed: Sequence[T], random: Random) -> T:
    return random.choice(allowed) if value is None else _require(field, value, allowed)
