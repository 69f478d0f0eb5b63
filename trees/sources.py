"""Task files of any kind: find them below a folder and read them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path

from trees.faults import Fault
from trees.model import Draft, Language, Scan, Task, index_key
from trees.published import FILE_NAME, scan_published
from trees.yaml_tasks import SUFFIXES, scan_yaml, scan_yaml_text


def is_task_file(path: Path) -> bool:
    """Return True if the name is that of a task file: ours (YAML) or a published one."""
    return path.suffix.lower() in SUFFIXES or FILE_NAME.fullmatch(path.name) is not None


def find_task_files(path: str | Path) -> tuple[Path, ...]:
    """Return the task files in a folder and the folders in it, sorted; hidden ones are left out.

    A file is returned as it is, whatever its name.
    """
    path = Path(path)
    if not path.is_dir():
        return (path,)
    files = (file for file in path.rglob("*") if file.is_file() and is_task_file(file))
    return tuple(sorted(file for file in files if not _is_hidden(file.relative_to(path))))


def scan_file(path: str | Path, language: Language | None = None) -> Scan:
    """Read what can be read of one file, and say what cannot."""
    path = Path(path)
    if not path.is_file():
        return Scan(faults=(Fault(str(path), "", 0, "format", "no such file" + _suggest_similar(path)),))
    if path.suffix.lower() in SUFFIXES:
        return scan_yaml(path)
    if path.suffix.lower() == ".json":
        return scan_published(path, language)
    message = f"a task file ends in {', '.join(SUFFIXES)} or .json"
    return Scan(faults=(Fault(str(path), "", 0, "format", message),))


def scan(paths: Iterable[str | Path], language: Language | None = None) -> Scan:
    """Read all task files in `paths` (files and folders)."""
    scans = []
    for path in paths:
        files = find_task_files(path)
        if not files:
            scans.append(Scan(faults=(Fault(str(path), "", 0, "format", "holds no task files"),)))
        scans.extend(scan_file(file, language) for file in files)
    drafts = tuple(draft for part in scans for draft in part.drafts)
    return Scan(drafts, tuple(fault for part in scans for fault in part.faults))


def load_tasks(path: str | Path) -> tuple[Task, ...]:
    """Return all tasks in a file or folder, both languages, sorted by language, type and id.

    Raises:
        TaskError: names file, line, task and what is wrong.
    """
    return tuple(sorted(scan([path]).tasks(), key=lambda task: (task.language, *task_key(task))))


def task_key(task: Task) -> tuple[int, str, tuple[int, ...], str]:
    """Return the sort key: type, then id with its trailing number as a number."""
    stem = task.id.rstrip("0123456789.")
    tail = task.id[len(stem) :].strip(".")
    numbers = index_key(tail) if tail and ".." not in tail else ()
    return task.type, stem, numbers, task.id


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def _suggest_similar(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    near = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
    return f"; did you mean {near[0]}?" if near else ""


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
