"""HandMeThat episodes with people in them: what the web app calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Any, Final
from uuid import uuid4

from logs import LogReader, LogWriter, load_key, pseudonym_of
from logs.rows import Participant
from simulator.errors import InputError
from simulator.handmethat.data import load_tasks
from simulator.handmethat.graph import HUMAN, ROBOT
from simulator.handmethat.playing import Options, Posed
from simulator.handmethat.room import ROOM
from simulator.handmethat.seating import PARTNER
from simulator.handmethat.show import instruction_text
from simulator.handmethat.task import LEVELS, Task
from simulator.handmethat.views import HumanView, Mode, Protocol, Replay, RobotView
from simulator.models import ChatModel
from simulator.runner.lobby import Opponent, menu, require_offered
from simulator.runner.sessions import Sessions
from simulator.seats import Reply
from simulator.seeds import derive_seed
from trees import Language

# The first is who is chosen if nobody else is.
_ROBOTS: Final = (PARTNER, "offline/asker:0", "offline/asker:1", "offline/asker:2", "offline/asker:3")
_OTHER_ROBOTS: Final = ("offline/heuristic", "offline/random", "offline/expert")
GIVER: Final = "offline/giver"
STUDY_PER_LEVEL: Final = 25  # episodes per level, one person and one mode (PAPER)


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
        task_id: the item's name.
        place: its place in the participant's order, from 1.
        total: episodes of the whole study, for one person and mode.
        episode_id: the episode, if it has been begun and not ended; else None.
    """

    task_id: str
    place: int
    total: int
    episode_id: str | None


class HandMeThatSessions(Sessions):
    """Play the tasks of one data set (the built-in ones by default).

    Args:
        seed: of the order in which a study's tasks are given to each participant.
    """

    def __init__(
        self,
        log: LogWriter,
        reader: LogReader,
        models: Callable[[str], ChatModel],
        *,
        data: str = "builtin",
        env: Mapping[str, str] = os.environ,
        opponents: Sequence[str] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(ROOM, log, reader, models)
        self._data = data
        self._env = env
        self._models = opponents
        self._seed = seed
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
        person, order = self._person(participant_key), self._order(participant_key, mode)
        run = _study_run(mode)
        known = run in {one.id for one in self._reader.runs()}
        begun = (
            {
                str(episode.options["task"]): episode.id
                for episode in self._reader.episodes(run, participant_id=person)
            }
            if known
            else {}
        )
        for place, task_id in enumerate(order, start=1):
            episode = begun.get(task_id)
            if episode is None or self._reader.ending(episode) is None:
                return StudyStep(task_id, place, len(order), episode)
        return None

    async def start_study(
        self, participant_key: str, *, language: Language, mode: Mode = "partial"
    ) -> str | None:
        """Begin the next episode of the paper's study for a person, or go on with the open one.

        A person is the robot, the built-in giver the human: one thing may be taken, nothing asked, and the
        episode is over once the instruction has been carried out. 25 episodes per level, in an order that
        depends on the participant alone.

        Returns:
            The episode's id; None if everything has been played.
        """
        step = self.next_task(participant_key, mode=mode)
        if step is None or step.episode_id is not None:
            return step.episode_id if step else None
        person = self._person(participant_key)
        if person not in {participant.id for participant in self._reader.participants()}:
            await self._log.write(Participant(id=person, language=language))
        options = {"mode": mode, "protocol": "paper", "task": step.task_id, "place": step.place}
        return await self.start_item(
            Posed(self._task(step.task_id), language),
            {ROBOT: "person", HUMAN: GIVER},
            options,
            run_id=_study_run(mode),
            name=_key(step.task_id),
            participant_id=person,
        )

    async def view(self, episode_id: str, seat: str) -> RobotView | HumanView:
        """See `Sessions.view`."""
        shown: RobotView | HumanView = await super().view(episode_id, seat)
        return shown

    async def submit(
        self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None
    ) -> RobotView | HumanView:
        """See `Sessions.submit`: a robot's reply is a command or a question, a human's an answer."""
        shown: RobotView | HumanView = await super().submit(episode_id, seat, reply, number=number)
        return shown

    async def replay(self, episode_id: str, seat: str) -> Replay:
        """See `Sessions.replay`."""
        shown: Replay = await super().replay(episode_id, seat)
        return shown

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

    def _order(self, participant_key: str, mode: Mode) -> tuple[str, ...]:
        """Return the tasks that a person plays: as many of each level, mixed."""
        random = Random(derive_seed(self._seed, "study", mode, participant_key))
        drawn: list[str] = []
        for level in LEVELS:
            names = [task.id for task in self._tasks().values() if task.level == level]
            random.shuffle(names)
            drawn += names[:STUDY_PER_LEVEL]
        random.shuffle(drawn)
        return tuple(drawn)

    def _person(self, participant_key: str) -> str:
        return pseudonym_of(load_key(self._reader.path), "study", participant_key)


def _key(task_id: str) -> str:
    """Return a name for a task that tells nothing: published names hold level and goal."""
    return blake2b(task_id.encode(), digest_size=6).hexdigest()


def _study_run(mode: Mode) -> str:
    return f"study-handmethat-paper-{mode}"
