"""HandMeThat's items: the built-in episodes, registered data, a file or folder of episode files, or a pack.

Wherever they lie, they are a `TaskSource`: numbered tasks, each read when it is asked for. What the name of a
file tells of it is known before it is read.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from simulator import datasets
from simulator.errors import InputError
from simulator.handmethat.actions import carry_out
from simulator.handmethat.files.episode import read_file
from simulator.handmethat.files.split import FOLDER, PARTS, SPLIT_FILE, parse_name, read_split
from simulator.handmethat.hierarchy import TABLES
from simulator.handmethat.items import (
    BENCHMARK,
    LEVELS,
    Sample,
    Stratum,
    Task,
    stratum,
    stratum_of,
    task_from_row,
    task_to_row,
)
from simulator.handmethat.meanings.model import QUESTS

BUILTIN: Final = "builtin"
_MOST_KEPT: Final = 512
"""Tasks of a folder that are kept once they have been read."""


class NoEpisodeError(InputError):
    """There are data, and nothing of what was asked for among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Episodes to play, and what they are a sample of.

    Attributes:
        tasks: sorted by level, quest type, goal and number.
        sample: how; None if they are all that there are.
    """

    tasks: tuple[Task, ...]
    population: int
    sample: Sample | None = None

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def to_json(self) -> dict[str, Any]:
        """Return how they were drawn, for the log; empty if they are all that there are."""
        return {} if self.sample is None else self.sample.to_json(self.population)


# ---- where tasks come from


class TaskSource:
    """Numbered tasks, sorted by level, quest type, goal and number, each read when it is asked for.

    Args:
        ids: theirs.
        task: returns the task with a number.
        strata: what each is; where that is not given, what published names of files say.
    """

    def __init__(
        self, ids: Iterable[str], task: Callable[[int], Task], strata: Iterable[Stratum] | None = None
    ) -> None:
        self.ids = tuple(ids)
        self.task = task
        self._strata = None if strata is None else list(strata)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Id -> number, of an id that stands twice its first."""
        return {name: number for number, name in reversed(list(enumerate(self.ids)))}

    @cached_property
    def strata(self) -> Sequence[Stratum | None]:
        """Level, quest type and goal of each, as far as known without reading it; None if nothing is."""
        return self._strata or [name and name.stratum for name in map(parse_name, self.ids)]

    def named(self, task_id: str) -> Task:
        """Return the task with this id.

        Raises:
            InputError: if there is none.
        """
        if task_id not in self.numbers:
            raise InputError(f"options task {task_id!r}: no such task; one is {self.ids[0]!r}")
        return self.task(self.numbers[task_id])


def task_source(data: str | Path | Task | Sequence[Task], split: str | None = None) -> TaskSource:
    """Return the tasks of `data`.

    Args:
        data: a task, tasks, ``builtin``, the name of registered data (``handmethat``), packed episodes, an
            episode file, or a folder of them (or the folder above it, which also holds the split file).
        split: ``train``, ``validate`` or ``test``, as the split file beside the folder says.

    Raises:
        InputError: if there is no task, or no such split.
    """
    if split is not None and split not in PARTS:
        raise InputError(f"split {split!r}: must be one of {', '.join(PARTS)}")
    if not isinstance(data, str | Path):
        tasks = (data,) if isinstance(data, Task) else tuple(data)
        if not tasks:
            raise InputError("tasks: there is none; give at least one task, a file or a folder")
        return TaskSource((task.id for task in tasks), tasks.__getitem__, map(stratum, tasks))
    if data == BUILTIN:
        if split is not None:
            raise InputError(f"split {split!r}: the built-in episodes have no split; leave it out")
        rows = builtin_rows()
        ids = tuple(rows)
        strata = (stratum_of(row["episode"]) for row in rows.values())
        return TaskSource(ids, lambda number: builtin_task(ids[number]), strata)
    place = datasets.locate(data, BENCHMARK, BUILTIN, "HandMeThat episodes", f"{FOLDER}/").path
    if place.suffix == SUFFIX and place.is_file():
        packed = Packed(place, split)
        return TaskSource(packed.ids, packed.task)
    files = [place] if place.is_file() else episode_files(episode_folder(place))
    if split is not None:
        split_file = find_split(place)
        if split_file is None:
            raise InputError(f"{place}: there is no {SPLIT_FILE} here or one folder up that tells the split")
        names = set(read_split(split_file).part(split))
        files = [file for file in files if file.name in names]
    if not files:
        raise NoEpisodeError(f"{place}: holds no episode file" + (f" of split {split!r}" if split else ""))
    read = lru_cache(maxsize=_MOST_KEPT)(read_file)
    return TaskSource([file.stem for file in files], lambda number: read(files[number]))


def episode_files(folder: Path) -> list[Path]:
    """Return the episode files of a folder, in the order in which they are loaded."""
    files = (file for file in folder.glob("*.json") if file.name != SPLIT_FILE)
    return sorted((file for file in files if file.is_file()), key=_order)


def episode_folder(path: Path) -> Path:
    """Return the folder of the episode files: `path`, or the published folder in it."""
    inner = path / FOLDER
    return inner if inner.is_dir() else path


def find_split(path: Path) -> Path | None:
    """Return the split file of an episode file or folder: beside it, or one folder up."""
    homes = [path.parent] if path.is_file() else [path, path.parent]
    return next((home / SPLIT_FILE for home in homes if (home / SPLIT_FILE).is_file()), None)


def parts_of(data: str | Path) -> dict[str, str]:
    """Return id of an episode -> its part, as the split file of `data` says; empty without one.

    Raises:
        InputError: if the data do not exist, or the split file is faulty.
    """
    path = None if data == BUILTIN else find_split(datasets.locate(data, BENCHMARK, BUILTIN).path)
    parts = {} if path is None else read_split(path).parts
    return {name.removesuffix(".json"): part for part in PARTS for name in parts.get(part, ())}


def _order(file: Path) -> tuple[object, ...]:
    name = parse_name(file.name)
    if name is None:
        return (1, file.name)
    return (0, name.stratum.level, QUESTS.index(name.quest), name.goal, name.number, name.style)


# ---- what is taken of them


def load_tasks(
    data: str | Path = BUILTIN, *, levels: Iterable[int] | None = None, split: str | None = None
) -> tuple[Task, ...]:
    """Return all episodes of some data, or of some `levels`; see `draw_tasks`."""
    return draw_tasks(data, levels=levels, split=split).tasks


def draw_tasks(
    data: str | Path = BUILTIN,
    sample: Sample | None = None,
    *,
    levels: Iterable[int] | None = None,
    split: str | None = None,
    replay: bool = False,
) -> Drawn:
    """Return the episodes to play, sorted by level, quest type, goal and number: a sample, or all.

    Of files with published names only those drawn are read.

    `replay`: their current states are made by performing the human's actions, instead of the file's, which
    keep what the human has undone (stale states).

    Raises:
        NoEpisodeError: if nothing is left to play.
        InputError: if the data do not exist, a file is faulty, or an action cannot be performed.
    """
    allowed = frozenset(LEVELS if levels is None else levels)
    if unknown := allowed.difference(LEVELS):
        raise InputError(f"level {min(unknown)!r}: must be one of {', '.join(map(str, LEVELS))}")
    source = task_source(data, split)
    strata = source.strata
    numbers = [number for number, known in enumerate(strata) if known is None or known.level in allowed]

    def read(chosen: Iterable[int]) -> tuple[Task, ...]:
        tasks = (task for task in map(source.task, chosen) if task.level in allowed)
        return tuple(map(_replay_actions, tasks) if replay else tasks)

    known = [named for number in numbers if (named := strata[number]) is not None]
    if sample is not None and len(known) == len(numbers):
        drawn = sample.draw(known)
        tasks = read(numbers[i] for i in drawn)
        # The file need not say its template.
        if [stratum(task)[:2] for task in tasks] == [known[i][:2] for i in drawn]:
            return Drawn(tasks=_require_tasks(tasks, data), population=len(numbers), sample=sample)
    # All are taken, or names say nothing, or something else than their files: the files are believed.
    tasks = _require_tasks(read(numbers), data)
    if sample is None:
        return Drawn(tasks=tasks, population=len(tasks))
    drawn = sample.draw([stratum(task) for task in tasks])
    return Drawn(tasks=tuple(tasks[i] for i in drawn), population=len(tasks), sample=sample)


def _replay_actions(task: Task) -> Task:
    state, fault = carry_out(task.world, task.initial, task.actions)
    if fault is not None:
        raise InputError(f"{task.id}: action_list.{fault}; read it without replay")
    return replace(task, current=state._replace(waiting=True))


def _require_tasks(tasks: tuple[Task, ...], data: str | Path) -> tuple[Task, ...]:
    if not tasks:
        raise NoEpisodeError(
            f"data {str(data)!r} hold no episode of the levels and split asked for",
            code="no_episodes",
            data=str(data),
        )
    return tasks


# ---- what pages list


def list_episodes(data: str) -> dict[str, Stratum]:
    """Return name -> what it is, in order, of every episode of which that is known without reading it.

    Raises:
        InputError: if there are no such data.
    """
    source = task_source(data)
    return {name: known for name, known in zip(source.ids, source.strata, strict=True) if known is not None}


def load_episode(data: str, name: str) -> Task:
    """Return one episode of a data set.

    Raises:
        InputError: if it is not there or its file is faulty.
    """
    source = task_source(data)
    if name not in source.numbers:
        raise InputError(
            f"data {data!r} hold no episode called {name!r}", code="no_episode_in", data=data, episode=name
        )
    return source.named(name)


# ---- The built-in episodes: a hundred of our own, 25 of each level as in the paper's study
#
# A line of tables/builtin.jsonl.gz holds the ``episode`` as a row of the log and what help was ``worth`` in
# it: entity, argument and reward of each grounding. They were made by a rule for ties that is no longer there
# (`profiles`), so rewards that are worked out anew may be others.


@cache
def builtin_task(name: str) -> Task:
    """Return the built-in episode with this id, one of `builtin_rows`."""
    return task_from_row(builtin_rows()[name]["episode"])


@cache
def builtin_rows() -> Mapping[str, Mapping[str, Any]]:
    """Return id -> line of the table."""
    with gzip.open(TABLES / "builtin.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {row["episode"]["id"]: row for row in map(json.loads, lines)}


# ---- Many episodes in one file, each found at once: a SQLite table of rows as the log keeps them
#
# An environment that draws from thousands of episodes reads one in a fraction of the time that its JSON file
# takes. What an expert reads before each of its commands is left out.


SUFFIX: Final = ".packed"
_PACKED: Final = 0x484D5450  # SQLite's application_id
_TABLE: Final = "CREATE TABLE episodes (number INTEGER PRIMARY KEY, id TEXT UNIQUE, part TEXT, row TEXT)"


def write_packed(tasks: Iterable[Task], parts: Mapping[str, str], path: Path) -> int:
    """Write episodes into a new file, whole or not at all; how many.

    `parts`: id -> train, validate or test; empty where there is no split.

    Raises:
        InputError: if it cannot be written, or two episodes have the same id.
    """
    staged = path.with_name(f".{path.name}.new")
    staged.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(staged)) as file, file:
            file.execute(_TABLE)
            file.execute(f"PRAGMA application_id = {_PACKED}")
            rows = (
                (number, task.id, parts.get(task.id), json.dumps(task_to_row(task), ensure_ascii=False))
                for number, task in enumerate(tasks)
            )
            count = file.executemany("INSERT INTO episodes VALUES (?, ?, ?, ?)", rows).rowcount
        os.replace(staged, path)
    except sqlite3.IntegrityError as error:
        raise InputError(f"{path}: two episodes have the same id; each needs its own") from error
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{path}: cannot be written ({error})") from error
    finally:
        staged.unlink(missing_ok=True)
    return count


class Packed:
    """The episodes of such a file.

    Raises:
        InputError: if it is no such file, or has no episode of the split.
    """

    def __init__(self, path: Path, split: str | None = None) -> None:
        self._path = path
        self._open: tuple[int, sqlite3.Connection] | None = None
        where, values = ("", ()) if split is None else ("WHERE part = ?", (split,))
        rows = self._ask(f"SELECT number, id FROM episodes {where} ORDER BY number", values)
        if not rows:
            raise InputError(f"{path}: holds no episode" + (f" of split {split!r}" if split else ""))
        self._numbers = [number for number, _ in rows]
        self.ids = [str(name) for _, name in rows]

    def task(self, number: int) -> Task:
        """Return the episode with this number, as `ids` has them."""
        ((row,),) = self._ask("SELECT row FROM episodes WHERE number = ?", (self._numbers[number],))
        return task_from_row(json.loads(row))

    def _ask(self, question: str, values: tuple[str | int, ...]) -> list[tuple[Any, ...]]:
        # A connection must not be taken along into a forked process.
        if self._open is None or self._open[0] != os.getpid():
            self._open = os.getpid(), _connect(self._path)
        try:
            return self._open[1].execute(question, values).fetchall()
        except sqlite3.Error as error:
            raise InputError(f"{self._path}: cannot be read ({error})") from error

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_open": None}

    def __del__(self) -> None:
        if self._open is not None and self._open[0] == os.getpid():
            self._open[1].close()


def _connect(path: Path) -> sqlite3.Connection:
    try:
        file = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        ((mark,),) = file.execute("PRAGMA application_id").fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if mark != _PACKED:
        file.close()
        raise InputError(f"{path}: is no file of packed episodes; make one with `askback pack handmethat`")
    return file
