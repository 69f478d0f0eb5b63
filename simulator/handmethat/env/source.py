"""Where an environment takes its tasks from: tasks in memory, a file, or a folder read as it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Protocol

from simulator import datasets
from simulator.errors import InputError
from simulator.handmethat.data import BUILTIN, episode_files, load_tasks
from simulator.handmethat.files.episode import read_file
from simulator.handmethat.files.packed import Packed, is_packed
from simulator.handmethat.files.split import FOLDER, SPLIT_FILE, read_split
from simulator.handmethat.task import Task

# Tasks of a folder that are kept once they have been read.
_MOST_KEPT: Final = 512


class TaskSource(Protocol):
    """Numbered tasks."""

    def __len__(self) -> int: ...

    def task(self, number: int) -> Task:
        """Return the task with this number."""
        ...

    def named(self, task_id: str) -> Task:
        """Return the task with this id.

        Raises:
            InputError: if there is none.
        """
        ...


def task_source(data: str | Path | Task | Sequence[Task], split: str | None = None) -> TaskSource:
    """Return the tasks of `data`.

    Args:
        data: a task, tasks, ``builtin``, the name of registered data, an episode file, or a folder of them
            (or the folder above it), which is read one file at a time, or packed episodes, which is faster.
        split: ``train``, ``validate`` or ``test`` of a folder that has a split file.

    Raises:
        InputError: if there is no task.
    """
    if isinstance(data, Task):
        data = [data]
    if not isinstance(data, str | Path):
        if not data:
            raise InputError("tasks: there is none; give at least one task, a file or a folder")
        return _Kept(tuple(data))
    if data != BUILTIN and is_packed(Path(data).expanduser()):
        return Packed(Path(data).expanduser(), split)
    folder = _folder(data)
    if folder is None:
        return _Kept(load_tasks(data, split=split))
    return _Folder(folder, split)


class _Kept:
    """Tasks in memory."""

    def __init__(self, tasks: tuple[Task, ...]) -> None:
        self._tasks = tasks
        self._by_id = {task.id: task for task in tasks}

    def __len__(self) -> int:
        return len(self._tasks)

    def task(self, number: int) -> Task:
        return self._tasks[number]

    def named(self, task_id: str) -> Task:
        if task_id not in self._by_id:
            raise InputError(f"options task {task_id!r}: no such task; one is {self._tasks[0].id!r}")
        return self._by_id[task_id]


class _Folder:
    """Episode files, each read when it is first asked for."""

    def __init__(self, folder: Path, split: str | None) -> None:
        inner = folder / FOLDER if (folder / FOLDER).is_dir() else folder
        files = episode_files(inner)
        if split is not None:
            names = set(_split_names(folder, split))
            files = [file for file in files if file.name in names]
        if not files:
            raise InputError(f"{folder}: holds no episode file" + (f" of split {split!r}" if split else ""))
        self._files = {file.stem: file for file in files}
        self._ids = tuple(self._files)
        self._read = lru_cache(maxsize=_MOST_KEPT)(partial(read_file, whole=False))

    def __len__(self) -> int:
        return len(self._ids)

    def task(self, number: int) -> Task:
        return self._read(self._files[self._ids[number]])

    def named(self, task_id: str) -> Task:
        if task_id not in self._files:
            raise InputError(f"options task {task_id!r}: no such file; one is {self._ids[0]!r}")
        return self._read(self._files[task_id])


def _folder(data: str | Path) -> Path | None:
    """Return the folder that `data` means; None for a file or for the built-in tasks."""
    if data == BUILTIN:
        return None
    dataset = datasets.find(data) if isinstance(data, str) else None
    path = dataset.folder if dataset is not None else Path(data).expanduser()
    return path if path.is_dir() else None


def _split_names(folder: Path, split: str) -> tuple[str, ...]:
    for home in (folder, folder.parent):
        if (home / SPLIT_FILE).is_file():
            return read_split(home / SPLIT_FILE).part(split)
    raise InputError(f"{folder}: there is no {SPLIT_FILE} here or one folder up that tells the split")
