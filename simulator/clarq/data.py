"""ClarQ-LLM's items: the built-in tasks, the published data once registered, or a file or folder of tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, get_args

from logs.rows import Item, content_hash
from personas.templates import render
from simulator.clarq.registry import registered_folder
from simulator.errors import InputError
from trees import Background, Language, Node, Task, Tree
from trees.builtin import load_builtin
from trees.faults import TaskError
from trees.published import FOLDERS
from trees.sources import load_tasks, task_key
from trees.types import Split, task_type

BENCHMARK = "clarq"
BUILTIN = "builtin"


def load_items(
    data: str | Path = BUILTIN,
    language: Language | str = "en",
    *,
    types: Iterable[int | str] | None = None,
    split: Split | str | None = None,
    limit: int | None = None,
) -> tuple[Task, ...]:
    """The tasks to play, sorted by type, then id.

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
    """What the seeker is told: the published text as it is, else our own template (spec section 4)."""
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


def task_to_json(task: Task) -> dict[str, Any]:
    """The task as plain JSON in a fixed form; where it was read from is left out."""
    background = task.background
    return {
        "id": task.id,
        "type": task.type,
        "language": task.language,
        "background": {
            "role": background.role,
            "task": background.task,
            "items": list(background.items),
            "skills": list(background.skills),
            "scenes": list(background.scenes),
        },
        "tree": {
            "opening": task.tree.opening,
            "nodes": [
                {"index": node.index, "text": node.text, "explanation": node.explanation}
                for node in task.tree.nodes
            ],
        },
        "prompt": task.prompt,
    }


def task_from_json(data: Mapping[str, Any]) -> Task:
    """The task out of what `task_to_json` made.

    Raises:
        InputError: if `data` is not of that form.
    """
    try:
        background, tree = data["background"], data["tree"]
        lists = (tuple(background[key]) for key in ("items", "skills", "scenes"))
        return Task(
            id=data["id"],
            type=data["type"],
            language=data["language"],
            background=Background(background["role"], background["task"], *lists),
            tree=Tree(tree["opening"], tuple(Node(**node) for node in tree["nodes"])),
            prompt=data["prompt"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a ClarQ item: {error!r}") from error


def item_row(task: Task) -> Item:
    """The task as a row of the log, named by the hash of its content."""
    data = task_to_json(task)
    return Item(hash=content_hash(data), benchmark=BENCHMARK, name=task.id, language=task.language, data=data)


def _load(data: str | Path, language: Language) -> tuple[Task, ...]:
    try:
        if data == BUILTIN:
            return load_builtin(language)
        folder = registered_folder(data) if isinstance(data, str) else None
        if folder is not None:
            return _load_registered(folder, language)
        return _load_path(Path(data).expanduser(), language)
    except TaskError as error:
        raise InputError(str(error)) from error


@lru_cache(maxsize=4)
def _load_registered(folder: Path, language: Language) -> tuple[Task, ...]:
    """Registered folders are named by content and never change, so they are read once."""
    home = folder / FOLDERS[language]
    return _load_path(home, language) if home.is_dir() else ()


def _load_path(path: Path, language: Language) -> tuple[Task, ...]:
    if path.exists():
        tasks = sorted((task for task in load_tasks(path) if task.language == language), key=task_key)
        _refuse_doubles(tasks)
        return tuple(tasks)
    if str(path) == BENCHMARK:
        raise InputError(
            "the published ClarQ-LLM data are not registered yet; "
            "run `askback data add clarq PATH` with the folder or zip that holds English/ and Chinese/"
        )
    raise InputError(
        f"data {str(path)!r}: neither {BUILTIN!r}, nor registered (see `askback data list`), nor a path"
    )


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
