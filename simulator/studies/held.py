"""The studies that a benchmark's sessions hold: each with its material, its desk, and its pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.runner.rooms import AnyRoom
from simulator.runner.sessions import Sessions
from simulator.studies.cards import StudyCard, card_of
from simulator.studies.desk import StudyDesk
from simulator.studies.files import PEOPLE, Study, run_id
from simulator.studies.graph import Step, own_steps
from simulator.studies.links import preview_of
from simulator.studies.material import StudyMaterial, builtin_studies
from simulator.studies.pairs import Pairs
from simulator.studies.participation import Participation
from simulator.studies.room import StudyRoom
from trees import Language


class HeldStudies(Sessions):
    """Sessions that know their studies.

    Args:
        studies: those that can be entered; default: the ones that come with the benchmark.
        clock: tells the present time.

    Raises:
        InputError: if a study's settings, conditions or numbers do not fit the benchmark.
    """

    around: ClassVar[tuple[Step, ...]] = ()
    """Steps that people are asked beside the benchmark's task, in free play or in studies."""
    material: Callable[..., StudyMaterial[Any]]
    """Makes what the benchmark gives a study, of the study and a reader of the log."""

    def __init__(
        self,
        room: AnyRoom,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        studies: Sequence[Study] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clock = clock
        self._builtin = studies is None
        studies = builtin_studies(room.name) if studies is None else tuple(studies)
        self._previews = {preview.id: preview for preview in map(preview_of, studies)}
        own = {study.sets_run: own_steps(study) for study in (*studies, *self._previews.values())}
        self._own_steps: Callable[[str], Sequence[Step]] = lambda run: own.get(run, ())
        # A study's room passes everything else on to the benchmark's.
        study_room: Any = StudyRoom(room, self.around, self._own_steps)
        super().__init__(study_room, log, reader, models)
        self._benchmark_room, self._load_model = room, models
        self._materials: dict[str, StudyMaterial[Any]] = {}
        self._desks: dict[str, StudyDesk] = {}
        self._pairs: dict[str, Pairs] = {}
        for study in studies:
            self._hold(study)

    def studies(self) -> tuple[StudyCard, ...]:
        """Return the studies that there are, in the order given."""
        return tuple(self._card(desk) for id, desk in self._desks.items() if id not in self._previews)

    def study(self, study_id: str) -> StudyCard | None:
        """Return the card of a study, or of the preview of one; None if there is none of that id."""
        desk = self._held(study_id)
        return None if desk is None else self._card(desk)

    def _spoken(self, study: Study, wish: str) -> Language:
        """Return the language of a participant's pages."""
        known = self._materials[study.id].languages
        return next((wanted for wanted in (wish, study.language) if wanted in known), known[0])

    def _hold(self, study: Study) -> None:
        material = self.material(study, self._reader)
        material.check()
        self._materials[study.id] = material
        self._desks[study.id] = StudyDesk(
            self._log, self._reader, study, material.cells, seats=material.seating, clock=self._clock
        )
        if study.seats:
            self._pairs[study.sets_run] = self._pairing(material)

    def _pairing(self, material: StudyMaterial[Any]) -> Pairs:
        async def absent() -> object:
            needs = {self._addressed(name): need for name, need in material.needs.items()}
            return await self._loading.absent(needs)

        async def abort(episode_id: str, why: str, cause: str) -> None:
            async with self._lock(episode_id):
                await self._abort(episode_id, why, cause)

        room: Any = Participation(self._benchmark_room, material, lambda id: pairs.is_over(id))
        set_room: Any = StudyRoom(room, self.around, self._own_steps)
        pairs = Pairs(
            self._log,
            self._reader,
            self._desks[material.study.id],
            material,
            sets=Sessions(set_room, self._log, self._reader, self._load_model),
            tasks=self,
            abort=abort,
            absent=absent,
        )
        return pairs

    async def _abort(self, episode_id: str, why: str, cause: str) -> None:
        if self._reader.ending(episode_id) is None:
            await self._log.write(Ending(episode_id=episode_id, status="aborted", cause=cause, message=why))

    def _held(self, study_id: str) -> StudyDesk | None:
        """Return the desk of a study, or of a preview, which is held from when it is first asked for."""
        if study_id in self._previews and study_id not in self._desks:
            self._hold(self._previews[study_id])
        return self._desks.get(study_id)

    def _desk(self, study_id: str) -> StudyDesk:
        desk = self._held(study_id)
        if desk is None:
            raise InputError(
                f"There is no study {study_id!r}; there are: {', '.join(self._desks) or 'none'}.",
                code="no_study",
                study=study_id,
            )
        return desk

    def _card(self, desk: StudyDesk) -> StudyCard:
        material = self._materials[desk.study.id]
        return card_of(
            desk,
            task=material.task,
            languages=material.languages,
            builtin=self._builtin,
            preview=desk.study.id in self._previews,
        )

    def _study_desk(self, episode: Episode) -> StudyDesk | None:
        """Return the desk of the study that an episode belongs to; None in free play."""
        run = episode.run_id
        return self._held(run.removeprefix(run_id("")).removeprefix(PEOPLE))

    def _seat(self, episode: Episode) -> str:
        """Return the seat of the participant whose set an episode is."""
        desk = self._study_desk(episode)
        return str(episode.options.get("seat") or (desk.study.seat if desk else ""))

    def _pairs_of(self, episode: Episode) -> Pairs | None:
        """Return what pairs the participant whose set an episode is; None if they are not paired."""
        self._study_desk(episode)  # of a preview, it is there from when it is first asked for
        return self._pairs.get(episode.run_id)
