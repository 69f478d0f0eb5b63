"""ClarQ's part of `askback check` and `askback data add`: tasks, and the published data as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer
from rich.console import Console
from rich.table import Table

from simulator import datasets
from simulator.benchmark import Checker
from simulator.clarq.data import BENCHMARK
from simulator.datasets import Added
from simulator.errors import InputError
from simulator.tables.registering import refuse_unpublished
from trees.checks import check_paths
from trees.faults import TaskError
from trees.published import FILE_NAME, FOLDERS
from trees.sources import find_task_files, is_task_file, load_tasks
from trees.statistics import Statistics, differences, statistics

KIND: Final = "ClarQ tasks (.yaml, .yml or <number>._<Type_Name>.json)"
# English/ and Chinese/ may lie in PATH, or one folder deeper (a zip of the folder), but not anywhere.
_NESTING: Final = 2


@dataclass(frozen=True)
class LanguageReport:
    """The contents of registered data in one language.

    Attributes:
        language: ``en`` or ``zh``.
        found: its statistics.
        differences: from the published ones; empty if there are none.
    """

    language: str
    found: Statistics
    differences: tuple[str, ...]


def checker() -> Checker:
    """Return what `askback check` does with ClarQ's tasks."""
    return Checker(KIND, _find_tasks, check_paths, greedy=True)


def add_clarq(path: Path, name: str, partial: bool) -> None:
    """Register published tasks and say what they hold.

    Raises:
        InputError: if there are none, one is faulty, or they are not as published.
    """
    added, reports = register(path, name, partial=partial)
    name, folder = added.dataset.name, added.dataset.folder
    unchanged = f"{name!r} holds the same files already; nothing has changed."
    typer.echo(f"Registered as {name!r} in {folder}." if added.changed else unchanged)
    table = Table("language", "tasks", "uncertainties", "depth", "as published")
    for report in reports:
        found = report.found
        agrees = "yes" if not report.differences else "\n".join(report.differences)
        counts = (_spell(found.uncertainties), _spell(found.depth))
        table.add_row(report.language, str(found.tasks), *counts, agrees)
    Console().print(table)


def register(
    path: str | Path, name: str = BENCHMARK, *, partial: bool = False
) -> tuple[Added, tuple[LanguageReport, ...]]:
    """Register a folder of the published format, or a zip of one.

    Args:
        path: holds ``English/`` and ``Chinese/`` or one of them, is one of them, or is one folder above.
        name: what ``--data`` is to call it.
        partial: accept data whose statistics differ from the published ones.

    Raises:
        InputError: if no published files are found, one cannot be read, or the statistics differ.
    """

    def check(copy: Path) -> Mapping[str, Any]:
        reports = report(copy)
        wrong = [f"{one.language}: {phrase}" for one in reports for phrase in one.differences]
        if not partial:
            refuse_unpublished(path, wrong)
        return {one.language: str(one.found) for one in reports}

    added = datasets.add(name, BENCHMARK, path, _published_files, check)
    return added, report(added.dataset.folder)


def report(folder: Path) -> tuple[LanguageReport, ...]:
    """Return the statistics of the published files in `folder`, by language.

    Raises:
        InputError: if a file cannot be read.
    """
    try:
        tasks = load_tasks(folder)
    except TaskError as error:
        raise InputError(str(error)) from error
    reports = []
    for language in sorted({task.language for task in tasks}):
        found = statistics(task for task in tasks if task.language == language)
        reports.append(LanguageReport(language, found, differences(found)))
    return tuple(reports)


def _find_tasks(path: Path) -> tuple[Path, ...]:
    """Return the task files in a folder and the folders below; a file itself if it is one."""
    return tuple(file for file in find_task_files(path) if is_task_file(file) and file.is_file())


def _spell(counts: Mapping[int, int]) -> str:
    return ", ".join(f"{value}: {count}" for value, count in counts.items())


def _published_files(folder: Path) -> Mapping[str, Path]:
    """Return the published files below `folder`, by ``English/<name>`` or ``Chinese/<name>``."""
    found: dict[str, Path] = {}
    for home in _language_folders(folder):
        for file in home.iterdir():
            if not file.is_file() or not FILE_NAME.fullmatch(file.name):
                continue
            place = f"{home.name.capitalize()}/{file.name}"
            if place in found:
                raise InputError(f"{folder}: both {found[place]} and {file} are there; name the one you mean")
            found[place] = file
    if not found:
        names = " or ".join(FOLDERS.values())
        raise InputError(f"{folder}: no folder {names} with files like 1._Gather_Resources.json in it")
    return found


def _language_folders(folder: Path) -> list[Path]:
    wanted = {name.lower() for name in FOLDERS.values()}
    layer = [folder]
    for _ in range(1 + _NESTING):
        homes = [home for home in layer if home.name.lower() in wanted]
        if homes:
            return homes
        layer = [child for parent in layer for child in sorted(parent.iterdir()) if child.is_dir()]
    return []
