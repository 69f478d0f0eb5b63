"""Episode files of HandMeThat, written and read one by one."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from simulator.handmethat.files.episode import file_text, read_file
from simulator.handmethat.items import Task


def write_file(task: Task, folder: Path) -> Path:
    """Write the task's file into `folder` and return its path."""
    path = folder / f"{task.id}.json"
    path.write_text(file_text(task), encoding="utf-8")
    return path


def task_from_json(data: Any, name: str) -> Task:
    """Return the task out of an episode file's content; `name` is the file's, without ``.json``."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return read_file(path)
