"""A data set of episodes as a list to choose from, made of names alone where they tell enough."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from simulator import datasets
from simulator.errors import InputError
from simulator.handmethat.data import BUILTIN, episode_files, load_tasks
from simulator.handmethat.files.names import parse_name
from simulator.handmethat.files.split import FOLDER
from simulator.handmethat.meanings.model import Quest
from simulator.handmethat.task import Task


class Listed(NamedTuple):
    """An episode in the list.

    Attributes:
        name: of the episode: its file's, without ``.json``.
        goal: number of its template; None if unknown.
    """

    name: str
    level: int
    quest: Quest
    goal: int | None


def list_episodes(data: str) -> tuple[Listed, ...]:
    """Return every episode of a data set, in the order in which they are loaded.

    Args:
        data: as `load_tasks` takes it.

    Raises:
        InputError: if there are no such data.
    """
    if data == BUILTIN:
        return tuple(Listed(one.id, one.level, one.meaning.quest, one.goal_index) for one in _builtin())
    listeds = []
    for path in _files(data):
        name = parse_name(path.name)
        if name is not None:
            listeds.append(Listed(path.stem, name.level or 4, name.quest, name.goal))
    return tuple(listeds)


def load_episode(data: str, name: str) -> Task:
    """Return one episode of a data set.

    Raises:
        InputError: if it is not there or its file is faulty.
    """
    if data == BUILTIN:
        task = next((one for one in _builtin() if one.id == name), None)
    else:
        path = next((path for path in _files(data) if path.stem == name), None)
        task = load_tasks(path)[0] if path is not None else None
    if task is None:
        raise InputError(
            f"data {data!r} hold no episode called {name!r}", code="no_episode_in", data=data, episode=name
        )
    return task


def _files(data: str) -> list[Path]:
    known = datasets.find(data)
    folder = known.folder if known is not None else Path(data).expanduser()
    if not folder.is_dir():
        raise InputError(
            f"data {data!r}: neither {BUILTIN!r}, nor registered (see `askback data list`), nor a folder",
            code="no_data",
            data=data,
            builtin=BUILTIN,
        )
    inner = folder / FOLDER
    return episode_files(inner if inner.is_dir() else folder)


@lru_cache(maxsize=1)
def _builtin() -> tuple[Task, ...]:
    return load_tasks(BUILTIN)
