"""HandMeThat episodes with people in them: what the web app calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, get_args
from uuid import uuid4

from logs import LogReader, LogWriter, load_key
from simulator.errors import InputError
from simulator.handmethat.assignment import GIVER, OneTryStudy
from simulator.handmethat.data import BUILTIN, load_tasks
from simulator.handmethat.graph import HUMAN, ROBOT
from simulator.handmethat.hierarchy import TABLES
from simulator.handmethat.playing import Options, Posed
from simulator.handmethat.room import ROOM
from simulator.handmethat.seating import PARTNER
from simulator.handmethat.show import instruction_text
from simulator.handmethat.task import LEVELS, Task
from simulator.handmethat.views import Mode, Protocol
from simulator.models import ChatModel
from simulator.runner.lobby import Opponent, menu, require_offered
from simulator.studies import Study, read_study
from simulator.studies.people import recognise
from simulator.studies.sessions import StudySessions
from trees import Language

# The first is who is chosen if nobody else is.
_ROBOTS: Final = (PARTNER, "offline/asker:0", "offline/asker:1", "offline/asker:2", "offline/asker:3")
_OTHER_ROBOTS: Final = ("offline/heuristic", "offline/random", "offline/expert")


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A task that can be played.

    Attributes:
        level: None where it is kept from participants (the paper's protocol).
        title: the instruction, which tells no more than the robot is told anyway.
    """

    task_id: str
    level: int | None
    quest: str
    title: str


@dataclass(frozen=True, slots=True)
class StudyStep:
    """What a participant plays next.

    Attributes:
        place: its place in the participant's order, from 1.
        total: episodes of the whole study, for one person and mode.
    """

    place: int
    total: int


class HandMeThatSessions(StudySessions):
    """Play the tasks of one data set (the built-in ones by default), freely or in the paper's study."""

    material = OneTryStudy

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        data: str = "builtin",
        env: Mapping[str, str] = os.environ,
        opponents: Sequence[str] | None = None,
    ) -> None:
        super().__init__(ROOM, log, reader, models, studies=[_on(data, study) for study in _BY_MODE.values()])
        self._data = data
        self._env = env
        self._models = opponents
        self._loaded: dict[str, Task] | None = None

    def catalog(self, language: Language, *, protocol: Protocol = "free") -> tuple[CatalogEntry, ...]:
        """Return every task, by level, quest type and number.

        In the paper's protocol nothing tells the level: neither the order nor the tasks' names.
        """
        entries = (
            CatalogEntry(
                task_id=_key(task.id) if protocol == "paper" else task.id,
                level=None if protocol == "paper" else task.level,
                quest=task.meaning.quest,
                title=instruction_text(task, language),
            )
            for task in self._tasks().values()
        )
        return tuple(entries) if protocol == "free" else tuple(sorted(entries, key=lambda entry: entry.title))

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        """Who can sit opposite a person in `seat`: the built-in ones, a second person, models with a key."""
        offline = (GIVER,) if seat == ROBOT else (*_ROBOTS, *_OTHER_ROBOTS)
        return menu(offline, self._env, self._models)

    async def start(
        self,
        *,
        task_id: str | None,
        language: Language,
        seats: Mapping[str, str],
        options: Mapping[str, Any] | None = None,
        level: int | None = None,
    ) -> str:
        """Begin an episode of the task `task_id`; None: any task (of `level`, if one is named).

        Args:
            task_id: as the catalog names it.
            language: of everything that is shown and said; commands are English words always.
            seats: ``{"robot": …, "human": …}``.
            options: ``mode``, ``limit``, ``protocol``, ``max_questions``, ``append_view`` (see
                `playing.Options`).
            level: of a task taken at random.

        Returns:
            The episode's id.

        Raises:
            InputError: if there is no such task, an option is wrong, or somebody is named who is not
                offered (`opponents`): the names come from a browser, and must not reach files or other
                servers.
        """
        Options.read(options or {})
        for seat, name in seats.items():
            require_offered(name, seat, self.opponents(HUMAN if seat == ROBOT else ROBOT))
        task = self._any_task(level) if task_id is None else self._task(task_id)
        return await self.start_item(Posed(task, language), seats, options, name=_key(task.id))

    def next_task(self, participant_key: str, *, mode: Mode = "partial") -> StudyStep | None:
        """Return what a participant of the paper's study plays next; None if everything has been played.

        Args:
            participant_key: names the person, the same at every visit; the log gets a keyed hash of it.
            mode: a study of its own for each.
        """
        desk = self._desk(_on(self._data, _BY_MODE[mode]).id)
        person = recognise(desk.study, load_key(self._reader.path), participant_key)
        done, total = 0 if person is None else desk.sets_done(person.participant), len(desk.quota.cells)
        return StudyStep(done + 1, total) if done < total else None

    async def start_study(
        self, participant_key: str, *, language: Language, mode: Mode = "partial"
    ) -> str | None:
        """Begin the next episode of the paper's study for a person, or go on with the open one.

        Returns:
            The episode's id; None if everything has been played.
        """
        study = _on(self._data, _BY_MODE[mode])
        entry = await self.enter(study.id, identity={}, participant_key=participant_key, language=language)
        return entry.episode_id

    def _tasks(self) -> dict[str, Task]:
        if self._loaded is None:
            self._loaded = {task.id: task for task in load_tasks(self._data)}
        return self._loaded

    def _task(self, task_id: str) -> Task:
        tasks = self._tasks()
        if task_id in tasks:
            return tasks[task_id]
        for task in tasks.values():
            if _key(task.id) == task_id:
                return task
        raise InputError(
            f"There is no task {task_id!r}; pick one from the list.", code="no_task", task=task_id
        )

    def _any_task(self, level: int | None) -> Task:
        tasks = [task for task in self._tasks().values() if level in (None, task.level)]
        if not tasks:
            raise InputError(
                f"There is no task of level {level}; levels are {', '.join(map(str, LEVELS))}.",
                code="no_level",
                level=level,
            )
        return tasks[uuid4().int % len(tasks)]


def _key(task_id: str) -> str:
    """Return a name for a task that tells nothing: published names hold level and goal."""
    return blake2b(task_id.encode(), digest_size=6).hexdigest()


_BY_MODE: Final = {mode: read_study(TABLES / f"study.{mode}.yaml") for mode in get_args(Mode)}


def _on(data: str, study: Study) -> Study:
    """Return a study of the episodes in `data`; with others than the built-in ones it is another study."""
    if data == BUILTIN:
        return study
    name = f"{study.id}-{_key(data)}"
    return study.model_copy(update={"id": name, "settings": {**study.settings, "data": data}})
