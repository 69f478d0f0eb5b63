"""ClarQ's part of `askback check` and `askback data add`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import typer
from rich.console import Console
from rich.table import Table

from simulator.clarq.registry import BENCHMARK as BENCHMARK
from simulator.clarq.registry import register
from simulator.datasets import Added
from simulator.registry import Checker
from trees.checks import check_paths
from trees.faults import Fault
from trees.sources import find_task_files, is_task_file

KIND: Final = "ClarQ tasks (.yaml, .yml or <number>._<Type_Name>.json)"


def find_tasks(path: Path) -> tuple[Path, ...]:
    """The task files in a folder and the folders below; a file itself if it is one."""
    return tuple(file for file in find_task_files(path) if is_task_file(file) and file.is_file())


def check_tasks(files: Sequence[Path]) -> tuple[Fault, ...]:
    """All faults of such files."""
    return check_paths(files)


def checker() -> Checker:
    """What `askback check` does with ClarQ's tasks."""
    return Checker(KIND, find_tasks, check_tasks)


def add_clarq(path: Path, name: str, partial: bool) -> None:
    """Register published tasks and say what they hold.

    Raises:
        InputError: if there are none, one is faulty, or they are not as published.
    """
    added, reports = register(path, name, partial=partial)
    _print_added(added)
    table = Table("language", "tasks", "uncertainties", "depth", "as published")
    for one in reports:
        found = one.found
        agrees = "yes" if not one.differences else "\n".join(one.differences)
        counts = (_spell(found.uncertainties), _spell(found.depth))
        table.add_row(one.language, str(found.tasks), *counts, agrees)
    Console().print(table)


def _print_added(added: Added) -> None:
    if added.changed:
        typer.echo(f"Registered as {added.dataset.name!r} in {added.dataset.folder}.")
    else:
        typer.echo(f"{added.dataset.name!r} holds the same files already; nothing has changed.")


def _spell(counts: Mapping[int, int]) -> str:
    return ", ".join(f"{value}: {count}" for value, count in counts.items())
