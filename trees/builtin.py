"""The tasks that come with Askback."""

from __future__ import annotations

from functools import cache
from importlib import resources

from trees.draft import Draft
from trees.model import Language, Task
from trees.sources import task_key
from trees.yaml_tasks import SUFFIXES, scan_yaml_text


@cache
def load_builtin(language: Language) -> tuple[Task, ...]:
    """Return the built-in tasks in `language`, sorted by type, then id.

    Raises:
        TaskError: if one of them cannot be read.
    """
    return tuple(sorted((draft.task() for draft in scan_builtin(language)), key=task_key))


def scan_builtin(language: Language) -> tuple[Draft, ...]:
    """Return the built-in tasks with the lines of their fields, in the order of the files.

    Raises:
        TaskError: if a file cannot be read.
    """
    folder = resources.files("trees") / "tasks" / language
    files = [entry for entry in folder.iterdir() if entry.name.endswith(SUFFIXES)]
    drafts: list[Draft] = []
    for file in sorted(files, key=lambda file: file.name):
        scan = scan_yaml_text(file.read_text(encoding="utf-8"), f"trees/tasks/{language}/{file.name}")
        scan.tasks()
        drafts.extend(scan.drafts)
    return tuple(drafts)
