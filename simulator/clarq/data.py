"""The seats and rules of a dialogue, and its items: built-in tasks, registered data, a file or folder."""

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
"""Sets of stimuli: our own, or those of the paper (spec sections 2 and 4): its greeting, Jax's name in front
of his turns in chat mode, and the plan of its completion prompt."""


class DialogueRules(Fields):
    """Rules of dialogues that a run and a study can set."""

    turn_limit: PositiveInt = Field(default=TURN_LIMIT, description="seeker turns per dialogue")
    mode: Literal["completion", "chat"] = Field(
        default="completion", description="a model seeker's mode: completion or chat"
    )
    personas: Annotated[Personas, SPARSE] = Field(
        default="default", description="greeting and seeker's prompts: our own, or those of the paper"
    )
    multi: bool = Field(default=False, description="the multi-info provider")


class Rules(DialogueRules, EpisodeOptions):
    """The rules of a dialogue."""


def farewell(text: str) -> bool:
    """Return True if a seeker's line says goodbye, in either language (spec section 4)."""
    lowered = text.lower()
    return any(word in lowered for word in FAREWELLS)


@dataclass(frozen=True, slots=True)
class SeekerKnows:
    """A seeker's `View.task`: the background, in parts and as prompt text."""

    background: Background
    prompt: str
    language: Language


def persona(name: str, personas: str) -> str:
    """Return the name of a template of ClarQ in a set of personas."""
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

    Args:
        data: ``builtin``, the name of registered data (``clarq``), or a file or folder of tasks in the
            published format or in YAML.
        language: ``en`` or ``zh``.
        types: task types wanted, by number, slug or English name; all if None.
        split: ``test`` (types 1 to 26) or ``development`` (27 to 31); both if None.

    Raises:
        InputError: if the data do not exist, are faulty, or nothing is left to play.
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
        raise InputError(f"data {str(data)!r} hold no task in {language!r} of the types and split asked for")
    return tuple(tasks)


def background_text(task: Task) -> str:
    """Return what the seeker is told: the published text as it is, else our own template (spec section 4)."""
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
    """Read a registered folder once: it is named by its content and never changes."""
    home = folder / FOLDERS[language]
    return _load_path(home, language) if home.is_dir() else ()


def _load_path(path: Path, language: Language) -> tuple[Task, ...]:
    tasks = sorted((task for task in load_tasks(path) if task.language == language), key=task_key)
    seen: dict[str, Task] = {}
    for task in tasks:
        if seen.setdefault(task.id, task) is not task:
            raise InputError(f"task {task.id} stands both in {seen[task.id].source} and in {task.source}")
    return tuple(tasks)


KIND: Final = "ClarQ tasks (.yaml, .yml or <number>._<Type_Name>.json)"
# English/ and Chinese/ may lie in PATH, or one folder deeper (a zip of the folder), but not anywhere.
_NESTING: Final = 2


def checker() -> Checker:
    """Return what `askback check` does with ClarQ's tasks."""
    return Checker(KIND, _find_tasks, check_paths, greedy=True)


def register(path: str | Path, name: str = BENCHMARK, partial: bool = False) -> Added:
    """Register a folder of the published format, or a zip of one.

    `path`: holds ``English/`` and ``Chinese/`` or one of them, is one of them, or is one folder above.

    Raises:
        InputError: if no published files are found, one cannot be read, or the statistics differ.
    """

    def check(copy: Path) -> Mapping[str, Any]:
        statistics = statistics_by_language(copy)
        if not partial:
            refuse_unpublished(path, _unpublished_remarks(statistics))
        return {language: str(held) for language, held in statistics.items()}

    added = datasets.add(name, BENCHMARK, path, _published_files, check)
    return replace(added, report=_unpublished_remarks(statistics_by_language(added.dataset.folder)))


def _unpublished_remarks(statistics: Mapping[str, Statistics]) -> list[str]:
    """Return in what data are not the published ones."""
    return [f"{language}: {phrase}" for language, held in statistics.items() for phrase in differences(held)]


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
    """Return the task files in a folder and the folders below; a file itself if it is one."""
    return tuple(file for file in find_task_files(path) if is_task_file(file) and file.is_file())


def _published_files(folder: Path) -> Mapping[str, Path]:
    """Return the published files below `folder`, by ``English/<name>`` or ``Chinese/<name>``."""
    files: dict[str, Path] = {}
    for home in _language_folders(folder):
        for file in home.iterdir():
            if not file.is_file() or not FILE_NAME.fullmatch(file.name):
                continue
            place = f"{home.name.capitalize()}/{file.name}"
            if place in files:
                raise InputError(f"{folder}: both {files[place]} and {file} are there; name the one you mean")
            files[place] = file
    if not files:
        names = " or ".join(FOLDERS.values())
        raise InputError(f"{folder}: no folder {names} with files like 1._Gather_Resources.json in it")
    return files


def _language_folders(folder: Path) -> list[Path]:
    names = {name.lower() for name in FOLDERS.values()}
    layer = [folder]
    for _ in range(1 + _NESTING):
        homes = [home for home in layer if home.name.lower() in names]
        if homes:
            return homes
        layer = [child for parent in layer for child in sorted(parent.iterdir()) if child.is_dir()]
    return []
