"""Tasks as rows of the log, compact and whole enough to be played and scored again from the row alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from logs.rows import Item, content_hash
from simulator.codecs import Codec
from simulator.errors import InputError
from simulator.handmethat.sample import Stratum
from simulator.handmethat.task import Task

BENCHMARK: Final = "handmethat"
# Texts of an episode are made in the language in which it is played; the item itself has names only.
_LANGUAGE: Final = "en"
_TASKS: Final = Codec[Task](Task)
task_to_row = _TASKS.write


def item_row(task: Task | dict[str, Any]) -> Item:
    """The task, or what `task_to_row` made of it, as a row of the log, named by the hash of its content."""
    data = task_to_row(task) if isinstance(task, Task) else task
    return Item(hash=content_hash(data), benchmark=BENCHMARK, name=data["id"], language=_LANGUAGE, data=data)


def task_from_row(row: Item | Mapping[str, Any]) -> Task:
    """Return the task out of a row of the log, or of what `task_to_row` made.

    Raises:
        InputError: if it is not of that form.
    """
    try:
        return _TASKS.read(row.data if isinstance(row, Item) else row, "not a HandMeThat item")
    except InputError as error:
        raise InputError(f"{error}; it must come from this log's items") from error


def stratum_of(row: Mapping[str, Any]) -> Stratum:
    """Return what a task is, out of what `task_to_row` made of it."""
    return Stratum(row["level"], row["meaning"][0], row["goal_index"])
