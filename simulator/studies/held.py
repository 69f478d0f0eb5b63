"""The studies that a benchmark's sessions serve: each with its material, its desk, and its pairs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, TypedDict

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode
from simulator import catalog
from simulator.catalog import attempt
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.runner.lobby import Opponent, player_menu
from simulator.runner.machines import AnyMachine
from simulator.runner.sessions import Sessions
from simulator.studies.admission import StudyCard
from simulator.studies.desk import StudyDesk
from simulator.studies.files import PEOPLE, Study, run_id
from simulator.studies.graph import Step, study_steps
from simulator.studies.known import builtin_studies, find_enterable
from simulator.studies.machine import Participation, StudyMachine
from simulator.studies.material import StudyMaterial
from simulator.studies.pairs import Pairs
from simulator.studies.people import PREVIEW, preview_of
from trees import Language


class SessionOptions(TypedDict, total=False):
    """Options of every benchmark's sessions.

    Attributes:
        studies: the studies that can be entered; default: the benchmark's built-in ones.
        env: the environment variables, for models' keys.
        opponents: models that people may play with in free play; default: the usual ones.
    """

    studies: Sequence[Study] | None
    env: Mapping[str, str]
    opponents: Sequence[str] | None
    clock: Callable[[], datetime]


class SessionsWithStudies(Sessions):
    """Sessions with studies: those they start with, and any that are opened on the log.

    Their keyword arguments are `SessionOptions`.

    Raises:
        InputError: if a study's settings, conditions or numbers do not fit the benchmark.
    """

    outer_steps: ClassVar[tuple[Step, ...]] = ()
    """The benchmark's steps outside its task, in free play or in studies."""
    material: Callable[..., StudyMaterial[Any]]
    """Builds the material of a study from the study and a reader of the log."""

    def __init__(
        self,
        machine: AnyMachine,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        studies: Sequence[Study] | None = None,
        env: Mapping[str, str] = os.environ,
        opponents: Sequence[str] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clock = clock
        self._env = env
        self._opponents = opponents
        self._builtin = studies is None
        studies = builtin_studies(machine.name) if studies is None else tuple(studies)
        self._steps: dict[str, Sequence[Step]] = {}
        # The study machine passes everything else on to the benchmark's.
        study_machine: Any = StudyMachine(machine, self.outer_steps, self._study_steps)
        super().__init__(study_machine, log, reader, models)
        self._benchmark_machine, self._load_model = machine, models
        self._materials: dict[str, StudyMaterial[Any]] = {}
        self._desks: dict[str, StudyDesk] = {}
        self._pairs: dict[str, Pairs] = {}
        if self._builtin:  # a faulty built-in study must not stop the others
            desks = [attempt(f"study {study.id}", partial(self._add_study, study)) for study in studies]
            studies = tuple(study for study, desk in zip(studies, desks, strict=True) if desk is not None)
        else:
            for study in studies:
                self._add_study(study)
        self._listed = tuple(study.id for study in studies)
        self._previews = {preview.id: preview for preview in map(preview_of, studies)}

    def _menu(self, offline: Iterable[str], *, models: bool = True) -> tuple[Opponent, ...]:
        """Return the possible other players in free play: built-in ones, a person, and models."""
        return player_menu(offline, self._env, self._opponents if models else ())

    def studies(self) -> tuple[StudyCard, ...]:
        """Return the studies that the sessions started with, in the order given.

        Studies that are opened on the log later are served as well, and reached by their links.
        """
        return tuple(self._card(self._desks[id]) for id in self._listed)

    def study(self, study_id: str) -> StudyCard | None:
        """Return the card of a study or preview; None if there is no study with that id."""
        desk = self._find_desk(study_id)
        return None if desk is None else self._card(desk)

    def _page_language(self, study: Study, wish: str) -> Language:
        """Return the language of a participant's pages."""
        known = self._materials[study.id].languages
        return next((wanted for wanted in (wish, study.language) if wanted in known), known[0])

    def _add_study(self, study: Study) -> StudyDesk:
        material = self.material(study, self._reader)
        material.check()
        self._materials[study.id] = material
        self._steps[study.sets_run] = study_steps(study)
        self._desks[study.id] = StudyDesk(
            self._log, self._reader, study, material.cells, seats=material.seating, clock=self._clock
        )
        if study.seats:
            self._pairs[study.sets_run] = self._pairing(material)
        return self._desks[study.id]

    def _pairing(self, material: StudyMaterial[Any]) -> Pairs:
        async def absent() -> object:
            needs = {self._addressed(name): need for name, need in material.needs.items()}
            return await self._loading.absent(needs)

        async def abort(episode_id: str, why: str, cause: str) -> None:
            async with self._lock(episode_id):
                await self._abort(episode_id, why, cause)

        machine: Any = Participation(self._benchmark_machine, material, lambda id: pairs.is_over(id))
        outer_steps = [step for step in self.outer_steps if step.paired]
        set_machine: Any = StudyMachine(machine, outer_steps, self._study_steps)
        pairs = Pairs(
            self._reader,
            self._desks[material.study.id],
            material,
            sets=Sessions(set_machine, self._log, self._reader, self._load_model),
            tasks=self,
            abort=abort,
            absent=absent,
        )
        return pairs

    async def _abort(self, episode_id: str, why: str, cause: str) -> None:
        if self._reader.ending(episode_id) is None:
            await self._log.write(Ending(episode_id=episode_id, status="aborted", cause=cause, message=why))

    def _find_desk(self, study_id: str) -> StudyDesk | None:
        """Return the desk of a study; previews and recently opened studies are loaded on first use."""
        if study_id not in self._desks:
            study = self._previews.get(study_id) or find_enterable(
                self._reader, self._benchmark_machine.name, study_id
            )
            if study is not None:
                self._add_study(study)
        return self._desks.get(study_id)

    def _study_steps(self, run: str) -> Sequence[Step]:
        """Return the steps that a study adds, by the run of its sets."""
        if run not in self._steps:
            self._find_desk_of_run(run)
        return self._steps.get(run, ())

    def _find_desk_of_run(self, run: str) -> StudyDesk | None:
        """Return the desk of the study that a run belongs to; None if it belongs to no study."""
        prefix = next((prefix for prefix in (run_id(""), PEOPLE) if run.startswith(prefix)), None)
        return None if prefix is None else self._find_desk(run.removeprefix(prefix))

    def _desk(self, study_id: str) -> StudyDesk:
        desk = self._find_desk(study_id)
        if desk is None:
            raise InputError(
                f"There is no study {study_id!r}; known are: {', '.join(self._desks) or 'none'}.",
                code="no_study",
                study=study_id,
            )
        return desk

    def _card(self, desk: StudyDesk) -> StudyCard:
        study, material, left = desk.study, self._materials[desk.study.id], desk.places_left()
        return StudyCard(
            study=study,
            task=material.task,
            languages=material.languages,
            places_left=left,
            closed=not left and desk.closed_since is not None,
            builtin=self._builtin and study.id in self._listed and catalog.is_ours(study.benchmark),
            preview=PREVIEW in study.id,
        )

    def _study_desk(self, episode: Episode) -> StudyDesk | None:
        """Return the desk of the study that an episode belongs to; None in free play."""
        return self._find_desk_of_run(episode.run_id)

    def _seat(self, episode: Episode) -> str:
        """Return the seat of the participant in an episode."""
        desk = self._study_desk(episode)
        return str(episode.options.get("seat") or (desk.study.seat if desk else ""))

    def _pairs_of(self, episode: Episode) -> Pairs | None:
        """Return the `Pairs` of an episode's study; None if its participants are not paired."""
        self._study_desk(episode)  # loads previews on first use
        return self._pairs.get(episode.run_id)
