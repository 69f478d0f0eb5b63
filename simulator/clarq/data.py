"""Seats and rules of a dialogue, and its items: built-in tasks, registered data, files and folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast, get_args

from pydantic import Field, PositiveInt

from personas.templates import render
from simulator import datasets
from simulator.benchmark import Checker
from simulator.datasets import Added
from simulator.errors import InputError
from simulator.fields import SPARSE, EpisodeOptions, Fields
from simulator.jsonlines import ItemCodec
from simulator.tables.registering import refuse_unpublished
from trees import Background, Language, Task
from trees.checks import Statistics, check_paths, differences, statistics_of
from trees.faults import TaskError
from trees.model import Split, task_type
from trees.published import FILE_NAME, FOLDERS
from trees.sources import find_task_files, is_task_file, load_builtin, load_tasks, task_key

SEEKER: Final = "seeker"
PROVIDER: Final = "provider"
FAREWELLS: Final = ("goodbye", "再见")
TURN_LIMIT: Final = 14  # seeker turns (paper VI-A)
Personas = Literal["default", "paper"]
"""Sets of stimuli: our own, or the paper's (spec sections 2 and 4): its greeting, Jax's name before
his turns in chat mode, and the layout of its completion prompt."""


class DialogueRules(Fields):
    """The rules of a dialogue that runs and studies can set."""

    turn_limit: PositiveInt = Field(default=TURN_LIMIT, description="maximum seeker turns per dialogue")
    mode: Literal["completion", "chat"] = Field(
        default="completion", description="how a model seeker is prompted: completion or chat"
    )
    personas: Annotated[Personas, SPARSE] = Field(
        default="default", description="greeting and seeker prompts: default (our own) or paper"
    )
    multi: bool = Field(default=False, description="let the provider give several nodes in one reply")


class Rules(DialogueRules, EpisodeOptions):
    """The rules of a dialogue, with the options of every episode."""


def is_farewell(text: str) -> bool:
    """Return True if a seeker's line says goodbye, in either language (spec section 4)."""
    lowered = text.lower()
    return any(word in lowered for word in FAREWELLS)


@dataclass(frozen=True, slots=True)
class SeekerKnows:
    """A seeker's `View.task`: the background, structured and as prompt text."""

    background: Background
    prompt: str
    language: Language


def template_name(name: str, personas: str) -> str:
    """Return the name of a ClarQ template in a set of personas."""
    return f"clarq/{name}" if personas == "default" else f"clarq/{personas}_{name}"


BENCHMARK = "clarq"
BUILTIN = "builtin"
ITEMS: Final = ItemCodec[Task](Task, BENCHMARK)
item_row, read_item = ITEMS.row, ITEMS.read_item


def load_items(
    data: str | Path = BUILTIN,
    language: Language | str = "en",
    *,
    types: Iterable[int | str] | None = None,
    split: Split | str | None = None,
) -> tuple[Task, ...]:
    """Return the tasks to play, sorted by type, then id.

    `data`: ``builtin``, the name of registered data (``clarq``), or a file or folder of tasks in the
    published format or in YAML. `types`: task types, by number, slug or English name; None for all. `split`:
    ``test`` (types 1 to 26) or ``development`` (27 to 31); None for both.

    Raises:
        InputError: if the data do not exist or are faulty, or no task matches.
    """
    try:
        numbers = None if types is None else {task_type(which).number for which in types}
    except ValueError as error:
        raise InputError(str(error)) from error
    for name, value, allowed in (("language", language, Language), ("split", split or "test", Split)):
        if value not in get_args(allowed):
            raise InputError(f"{name} {value!r}: must be one of {', '.join(get_args(allowed))}")
    tasks = [
        task
        for task in _load(data, cast(Language, language))
        if (numbers is None or task.type in numbers)
        and (split is None or task_type(task.type).split == split)
    ]
    if not tasks:
        raise InputError(f"data {str(data)!r} contain no task in {language!r} of these types and split")
    return tuple(tasks)


def background_text(task: Task) -> str:
    """Return the seeker's background as text: the published text, or else our template (spec section 4)."""
    if task.prompt is not None:
        return task.prompt
    return render("clarq/seeker_background", task.language, asdict(task.background)).text


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
    """Read a registered folder, cached because it is named by its content and never changes."""
    subfolder = folder / FOLDERS[language]
    return _load_path(subfolder, language) if subfolder.is_dir() else ()


def _load_path(path: Path, language: Language) -> tuple[Task, ...]:
    tasks = sorted((task for task in load_tasks(path) if task.language == language), key=task_key)
    by_id: dict[str, Task] = {}
    for task in tasks:
        if by_id.setdefault(task.id, task) is not task:
            raise InputError(f"task {task.id} is both in {by_id[task.id].source} and in {task.source}")
    return tuple(tasks)


KIND: Final = "ClarQ tasks (.yaml, .yml or <number>._<Type_Name>.json)"
# English/ and Chinese/ may be in PATH or one folder deeper (a zip of the folder), but not deeper.
_NESTING: Final = 2


def checker() -> Checker:
    """Return the checker of task files for `askback check`."""
    return Checker(KIND, _find_tasks, check_paths, greedy=True)


def register(path: str | Path, name: str = BENCHMARK, partial: bool = False) -> Added:
    """Register a folder in the published format, or a zip file of such a folder.

    `path` contains ``English/`` or ``Chinese/`` or both, is one of them, or contains their parent folder.

    Raises:
        InputError: if there are no published files, a file cannot be read, or the statistics differ from the
            published ones and `partial` is False.
    """

    def check(copy: Path) -> Mapping[str, Any]:
        statistics = statistics_by_language(copy)
        if not partial:
            refuse_unpublished(path, _unpublished_remarks(statistics))
        return {language: str(counts) for language, counts in statistics.items()}

    added = datasets.add(name, BENCHMARK, path, _published_files, check)
    return replace(added, report=_unpublished_remarks(statistics_by_language(added.dataset.folder)))


def _unpublished_remarks(statistics: Mapping[str, Statistics]) -> list[str]:
    """Return the differences from the statistics of the published data."""
    return [f"{language}: {text}" for language, counts in statistics.items() for text in differences(counts)]


def statistics_by_language(folder: Path) -> dict[str, Statistics]:
    """Return the statistics of the published files in `folder`.

    Raises:
        InputError: if a file cannot be read.
    """
    try:
        tasks = load_tasks(folder)
    except TaskError as error:
        raise InputError(str(error)) from error
    return {language: statistics_of(group) for language, group in groupby(tasks, lambda task: task.language)}


def _find_tasks(path: Path) -> tuple[Path, ...]:
    """Return the task files below a folder, or `path` itself if it is a task file."""
    return tuple(file for file in find_task_files(path) if is_task_file(file) and file.is_file())


def _published_files(folder: Path) -> Mapping[str, Path]:
    """Return the published files below `folder`, by ``English/<name>`` or ``Chinese/<name>``."""
    files: dict[str, Path] = {}
    for subfolder in _language_folders(folder):
        for file in subfolder.iterdir():
            if not file.is_file() or not FILE_NAME.fullmatch(file.name):
                continue
            place = f"{subfolder.name.capitalize()}/{file.name}"
            if place in files:
                raise InputError(f"{folder}: contains both {files[place]} and {file}; name the one you mean")
            files[place] = file
    if not files:
        names = " or ".join(FOLDERS.values())
        raise InputError(f"{folder}: no folder {names} that contains files like 1._Gather_Resources.json")
    return files


def _language_folders(folder: Path) -> list[Path]:
    names = {name.lower() for name in FOLDERS.values()}
    layer = [folder]
    for _ in range(1 + _NESTING):
        if matches := [folder for folder in layer if folder.name.lower() in names]:
            return matches
        layer = [child for parent in layer for child in sorted(parent.iterdir()) if child.is_dir()]
    return []
