"""HandMeThat episodes with people in them, free play and studies: what the web app calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, Unpack
from uuid import uuid4

from logs import LogReader, LogWriter
from simulator.errors import InputError
from simulator.handmethat.assignment import HouseholdStudy
from simulator.handmethat.data import BUILTIN, load_tasks
from simulator.handmethat.playing import GIVER, HUMAN, PARTNER, ROBOT, Options, Posed
from simulator.handmethat.room import ROOM
from simulator.handmethat.show import instruction_text
from simulator.handmethat.task import LEVELS, Task
from simulator.models import ChatModel
from simulator.runner.lobby import Opponent, require_offered
from simulator.studies.graph import CONSENT, READY
from simulator.studies.held import HeldOptions
from simulator.studies.sessions import StudySessions
from trees import Language

# The first is who is chosen if nobody else is.
_ROBOTS: Final = (PARTNER, "offline/asker:0", "offline/asker:1", "offline/asker:2", "offline/asker:3")
_OTHER_ROBOTS: Final = ("offline/heuristic", "offline/random", "offline/expert")


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A task that can be played.

    Attributes:
        title: the instruction, which tells no more than the robot is told anyway.
    """

    task_id: str
    level: int
    quest: str
    title: str


class HandMeThatSessions(StudySessions):
    """Play the tasks of one data set (the built-in ones by default), and those of studies."""

    material = HouseholdStudy
    around = (CONSENT, replace(READY, when=("first",)))

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        data: str = BUILTIN,
        **options: Unpack[HeldOptions],
    ) -> None:
        super().__init__(ROOM, log, reader, models, **options)
        self._data = data
        self._loaded: dict[str, Task] | None = None

    def catalog(self, language: Language) -> tuple[CatalogEntry, ...]:
        """Return every task, by level, quest type and number."""
        return tuple(
            CatalogEntry(task.id, task.level, task.meaning.quest, instruction_text(task, language))
            for task in self._tasks().values()
        )

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        """Who can sit opposite a person in `seat`: the built-in ones, a second person, models with a key."""
        offline = (GIVER,) if seat == ROBOT else (*_ROBOTS, *_OTHER_ROBOTS)
        return self._menu(offline)

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

    def _tasks(self) -> dict[str, Task]:
        if self._loaded is None:
            self._loaded = {task.id: task for task in load_tasks(self._data)}
        return self._loaded

    def _task(self, task_id: str) -> Task:
        tasks = self._tasks()
        if task_id in tasks:
            return tasks[task_id]
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
