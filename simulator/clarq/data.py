"""ClarQ-LLM's items: the built-in tasks, the published data once registered, or a file or folder of tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast, get_args

from personas.templates import render
from simulator import datasets
from simulator.codecs import ItemCodec
from simulator.errors import InputError
from trees import Language, Task
from trees.builtin import load_builtin
from trees.faults import TaskError
from trees.published import FOLDERS
from trees.sources import load_tasks, task_key
from trees.types import Split, task_type

BENCHMARK = "clarq"
BUILTIN = "builtin"
_ITEMS: Final = ItemCodec[Task](Task, BENCHMARK)
task_to_json, item_row = _ITEMS.write, _ITEMS.row


def load_items(
    data: str | Path = BUILTIN,
    language: Language | str = "en",
    *,
    types: Iterable[int | str] | None = None,
    split: Split | str | None = None,
    limit: int | None = None,
) -> tuple[Task, ...]:
    """Return the tasks to play, sorted by type, then id.

    Args:
        data: ``builtin``, the name of registered data (``clarq``), or a file or folder of tasks in the
            published format or in YAML.
        language: ``en`` or ``zh``.
        types: task types wanted, by number, slug or English name; all if None.
        split: ``test`` (types 1 to 26) or ``development`` (27 to 31); both if None.
        limit: the first so many only.

    Raises:
        InputError: if the data do not exist, are faulty, or nothing is left to play.
    """
    wanted_types = None if types is None else _type_numbers(types)
    _one_of("language", language, get_args(Language))
    _one_of("split", split, (None, *get_args(Split)))
    if limit is not None and limit < 1:
        raise InputError(f"limit {limit}: must be 1 or more")
    tasks = [
        task
        for task in _load(data, cast(Language, language))
        if (wanted_types is None or task.type in wanted_types)
        and (split is None or task_type(task.type).split == split)
    ]
    if not tasks:
        raise InputError(f"data {str(data)!r} hold no task in {language!r} of the types and split asked for")
    return tuple(tasks[:limit])


def background_text(task: Task) -> str:
    """Return what the seeker is told: the published text as it is, else our own template (spec section 4)."""
    if task.prompt is not None:
        return task.prompt
    background = task.background
    variables = {
        "role": background.role,
        "task": background.task,
        "items": background.items,
        "skills": background.skills,
        "scenes": background.scenes,
    }
    return render("clarq/seeker_background", task.language, variables).text


def task_from_json(data: Mapping[str, Any]) -> Task:
    """Return the task out of what `task_to_json` made.

    Raises:
        InputError: if `data` is not of that form.
    """
    return _ITEMS.read(data, "not a ClarQ item")


def _load(data: str | Path, language: Language) -> tuple[Task, ...]:
    try:
        if data == BUILTIN:
            return load_builtin(language)
        path, fixed = datasets.locate(data, BENCHMARK, BUILTIN, "ClarQ-LLM data", "English/ and Chinese/")
        return _load_registered(path, language) if fixed else _load_path(path, language)
    except TaskError as error:
        raise InputError(str(error)) from error


@lru_cache(maxsize=4)
def _load_registered(folder: Path, language: Language) -> tuple[Task, ...]:
    """Registered folders are named by content and never change, so they are read once."""
    home = folder / FOLDERS[language]
    return _load_path(home, language) if home.is_dir() else ()


def _load_path(path: Path, language: Language) -> tuple[Task, ...]:
    tasks = sorted((task for task in load_tasks(path) if task.language == language), key=task_key)
    _refuse_doubles(tasks)
    return tuple(tasks)


def _refuse_doubles(tasks: Collection[Task]) -> None:
    seen: dict[str, Task] = {}
    for task in tasks:
        if task.id in seen:
            raise InputError(f"task {task.id} stands both in {seen[task.id].source} and in {task.source}")
        seen[task.id] = task


def _type_numbers(types: Iterable[int | str]) -> frozenset[int]:
    try:
        return frozenset(task_type(which).number for which in types)
    except ValueError as error:
        raise InputError(str(error)) from error


def _one_of(what: str, value: object, allowed: Collection[object]) -> None:
    if value not in allowed:
        known = ", ".join(str(one) for one in allowed if one is not None)
        raise InputError(f"{what} {value!r}: must be one of {known}")
