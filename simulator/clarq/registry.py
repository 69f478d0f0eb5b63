"""The published ClarQ-LLM data, registered by the user: ``askback data add clarq PATH``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator import datasets
from simulator.datasets import Added
from simulator.errors import InputError
from trees.faults import TaskError
from trees.published import FILE_NAME, FOLDERS
from trees.sources import load_tasks
from trees.statistics import Statistics, differences, statistics

BENCHMARK = "clarq"
# English/ and Chinese/ may lie in PATH, or one folder deeper (a zip of the folder), but not anywhere.
_NESTING = 2


@dataclass(frozen=True)
class LanguageReport:
    """What one language of registered data holds.

    Attributes:
        language: ``en`` or ``zh``.
        found: its statistics.
        differences: from the published ones; empty if there are none.
    """

    language: str
    found: Statistics
    differences: tuple[str, ...]


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
        if wrong and not partial:
            raise InputError(
                f"{path}: not the published data: {'; '.join(wrong)} (to take them all the same: --partial)"
            )
        return {one.language: str(one.found) for one in reports}

    added = datasets.add(name, BENCHMARK, path, _published_files, check)
    return added, report(added.dataset.folder)


def report(folder: Path) -> tuple[LanguageReport, ...]:
    """The statistics of the published files in `folder`, by language.

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


def registered_folder(name: str) -> Path | None:
    """The folder of the data registered as `name`; None if there are none.

    Raises:
        InputError: if they belong to another benchmark.
    """
    dataset = datasets.find(name)
    if dataset is None:
        return None
    if dataset.benchmark != BENCHMARK:
        raise InputError(f"data {name!r} belong to {dataset.benchmark}, not to {BENCHMARK}")
    return dataset.folder


def _published_files(folder: Path) -> Mapping[str, Path]:
    """The published files below `folder`, by ``English/<name>`` or ``Chinese/<name>``."""
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
