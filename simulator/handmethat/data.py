"""HandMeThat's items: built-in episodes, registered data, a file or folder of episode files, or a pack.

All are read through a `TaskSource`: numbered tasks, each read on demand. The name of a published file gives
its level, quest type and goal without reading it.
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
_CACHE_SIZE: Final = 512
"""Tasks of a folder that are kept in memory."""


class NoEpisodeError(InputError):
    """Data without an episode that matches the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Episodes to play, sorted as in `TaskSource`, and how they were drawn; no `sample` if all are."""

    tasks: tuple[Task, ...]
    population: int
    sample: Sample | None = None

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def to_json(self) -> dict[str, Any]:
        """Return how they were drawn, for the log; empty if all are played."""
        return {} if self.sample is None else self.sample.to_json(self.population)


# ---- sources of tasks


class TaskSource:
    """Numbered tasks, sorted by level, quest type, goal and number, each read on demand.

    Args:
        task: returns the task with a number.
        strata: strata of the tasks; by default derived from published file names.
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
        """Id -> number; for a duplicate id, its first number."""
        return {name: number for number, name in reversed(list(enumerate(self.ids)))}

    @cached_property
    def strata(self) -> Sequence[Stratum | None]:
        """Level, quest type and goal of each task; None if unknown before it is read."""
        return self._strata or [name and name.stratum for name in map(parse_name, self.ids)]

    def named(self, task_id: str) -> Task:
        """Return the task with this id.

        Raises:
            InputError: if the task does not exist.
        """
        if task_id not in self.numbers:
            raise InputError(f"options task {task_id!r}: no such task; ids are like {self.ids[0]!r}")
        return self.task(self.numbers[task_id])


def task_source(data: str | Path | Task | Sequence[Task], split: str | None = None) -> TaskSource:
    """Return the tasks of `data`.

    `data`: a task, tasks, ``builtin``, the name of registered data (``handmethat``), packed episodes, an
    episode file, or a folder of them (or the folder above it, which also contains the split file). `split`:
    ``train``, ``validate`` or ``test``, according to the split file next to the folder.

    Raises:
        InputError: if there is no task, or the split does not exist.
    """
    if split is not None and split not in PARTS:
        raise InputError(f"split {split!r}: must be one of {', '.join(PARTS)}")
    if not isinstance(data, str | Path):
        tasks = (data,) if isinstance(data, Task) else tuple(data)
        if not tasks:
            raise InputError("tasks: the list is empty; give at least one task, a file or a folder")
        return TaskSource((task.id for task in tasks), tasks.__getitem__, map(stratum, tasks))
    if data == BUILTIN:
        if split is not None:
            raise InputError(f"split {split!r}: the built-in episodes have no split; leave this option out")
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
            raise InputError(
                f"{place}: there is no {SPLIT_FILE} here or one folder up, so leave out the split {split!r}"
            )
        names = set(read_split(split_file).part(split))
        files = [file for file in files if file.name in names]
    if not files:
        raise NoEpisodeError(f"{place}: contains no episode file" + (f" of split {split!r}" if split else ""))
    read = lru_cache(maxsize=_CACHE_SIZE)(read_file)
    return TaskSource([file.stem for file in files], lambda number: read(files[number]))


def episode_files(folder: Path) -> list[Path]:
    """Return the episode files of a folder, in the order of loading."""
    files = (file for file in folder.glob("*.json") if file.name != SPLIT_FILE)
    return sorted((file for file in files if file.is_file()), key=_order)


def episode_folder(path: Path) -> Path:
    """Return the folder of the episode files: `path`, or the published folder in it."""
    inner = path / FOLDER
    return inner if inner.is_dir() else path


def find_split(path: Path) -> Path | None:
    """Return the split file of an episode file or folder: next to it, in it, or one folder up."""
    homes = [path.parent] if path.is_file() else [path, path.parent]
    return next((home / SPLIT_FILE for home in homes if (home / SPLIT_FILE).is_file()), None)


def parts_of(data: str | Path) -> dict[str, str]:
    """Return episode id -> part according to the split file of `data`; empty without a split file.

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


# ---- selection of tasks


def load_tasks(
    data: str | Path = BUILTIN, *, levels: Iterable[int] | None = None, split: str | None = None
) -> tuple[Task, ...]:
    """Return all episodes of `data`, or those of some `levels`; see `draw_tasks`."""
    return draw_tasks(data, levels=levels, split=split).tasks


def draw_tasks(
    data: str | Path = BUILTIN,
    sample: Sample | None = None,
    *,
    levels: Iterable[int] | None = None,
    split: str | None = None,
    replay: bool = False,
) -> Drawn:
    """Return a sample of the episodes, or all, sorted by level, quest type, goal and number.

    If all files have published names, only the drawn ones are read.

    `replay`: recompute current states by carrying out the human's actions, as those in published files may
    be stale.

    Raises:
        NoEpisodeError: if no episode matches.
        InputError: if the data do not exist, a file is faulty, or an action cannot be performed.
    """
    allowed = frozenset(LEVELS if levels is None else levels)
    if unknown := allowed.difference(LEVELS):
        raise InputError(f"level {min(unknown)!r}: must be one of {', '.join(map(str, LEVELS))}")
    source = task_source(data, split)
    strata = source.strata
    numbers = [number for number, entry in enumerate(strata) if entry is None or entry.level in allowed]

    def read(chosen: Iterable[int]) -> tuple[Task, ...]:
        tasks = (task for task in map(source.task, chosen) if task.level in allowed)
        return tuple(map(_replay_actions, tasks) if replay else tasks)

    named = [entry for number in numbers if (entry := strata[number]) is not None]
    if sample is not None and len(named) == len(numbers):
        drawn = sample.draw(named)
        tasks = read(numbers[i] for i in drawn)
        # Goals are not compared: a file need not give its template.
        if [stratum(task)[:2] for task in tasks] == [named[i][:2] for i in drawn]:
            return Drawn(tasks=_require_tasks(tasks, data), population=len(numbers), sample=sample)
    # Read all: no sample was requested, or file names are uninformative or contradict the files.
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
            f"data {str(data)!r} contain no episode of the requested levels and split",
            code="no_episodes",
            data=str(data),
        )
    return tasks


# ---- episodes for pages


def list_episodes(data: str) -> dict[str, Stratum]:
    """Return id -> stratum of every episode whose stratum is known without reading it, in order.

    Raises:
        InputError: if the data do not exist.
    """
    source = task_source(data)
    return {name: entry for name, entry in zip(source.ids, source.strata, strict=True) if entry is not None}


def load_episode(data: str, name: str) -> Task:
    """Return one episode of a data set.

    Raises:
        InputError: if it does not exist or its file is faulty.
    """
    source = task_source(data)
    if name not in source.numbers:
        message = f"data {data!r} contain no episode called {name!r}"
        raise InputError(message, code="no_episode_in", data=data, episode=name)
    return source.named(name)


# ---- the built-in episodes: a hundred generated ones, 25 of each level as in the paper's study
#
# A line of tables/builtin.jsonl.gz has the ``episode`` as a row of the log, and under ``worth`` the entity,
# argument and reward of each grounding. The rewards were computed with a former rule for ties
# (`profiles.FORMER`), so recomputed ones may differ.


@cache
def builtin_task(name: str) -> Task:
    """Return the built-in episode with this id, one of `builtin_rows`."""
    return task_from_row(builtin_rows()[name]["episode"])


@cache
def builtin_rows() -> Mapping[str, Mapping[str, Any]]:
    """Return id -> line of tables/builtin.jsonl.gz."""
    with gzip.open(TABLES / "builtin.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {row["episode"]["id"]: row for row in map(json.loads, lines)}


# ---- packs: many episodes in one file with random access, a SQLite table of rows as in the log
#
# Environments with thousands of episodes read one much faster than from its JSON file. The texts that the
# expert reads before each command are left out.


SUFFIX: Final = ".packed"
_PACKED: Final = 0x484D5450  # SQLite's application_id
_TABLE: Final = "CREATE TABLE episodes (number INTEGER PRIMARY KEY, id TEXT UNIQUE, part TEXT, row TEXT)"


def write_packed(tasks: Iterable[Task], parts: Mapping[str, str], path: Path) -> int:
    """Write episodes into a new pack atomically, and return their number.

    `parts`: id -> train, validate or test; empty without a split.

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
    """The episodes of a pack.

    Raises:
        InputError: if the file is not a pack, or has no episode of the split.
    """

    def __init__(self, path: Path, split: str | None = None) -> None:
        self._path = path
        self._open: tuple[int, sqlite3.Connection] | None = None
        where, values = ("", ()) if split is None else ("WHERE part = ?", (split,))
        rows = self._query(f"SELECT number, id FROM episodes {where} ORDER BY number", values)
        if not rows:
            raise InputError(f"{path}: contains no episode" + (f" of split {split!r}" if split else ""))
        self._numbers = [number for number, _ in rows]
        self.ids = [str(name) for _, name in rows]

    def task(self, number: int) -> Task:
        """Return the episode with this index in `ids`."""
        ((row,),) = self._query("SELECT row FROM episodes WHERE number = ?", (self._numbers[number],))
        return task_from_row(json.loads(row))

    def _query(self, query: str, values: tuple[str | int, ...]) -> list[tuple[Any, ...]]:
        # A connection must not be used in a forked process.
        if self._open is None or self._open[0] != os.getpid():
            self._open = os.getpid(), _connect(self._path)
        try:
            return self._open[1].execute(query, values).fetchall()
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
        raise InputError(f"{path}: is not a file of packed episodes; make one with `askback pack handmethat`")
    return file
