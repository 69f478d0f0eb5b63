"""Task files for tests, in our own format and in the published one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from trees import OPENING, Task
from trees.model import Draft, task_type
from trees.sources import scan_file


def yaml_text(*tasks: Task) -> str:
    """Return tasks as YAML documents."""
    documents = [
        {"id": task.id, "type": task.type, "language": task.language, **asdict(task.background)}
        | {"opening": task.tree.opening, "nodes": [asdict(node) for node in task.tree.nodes]}
        for task in tasks
    ]
    return yaml.safe_dump_all(json.loads(json.dumps(documents)), allow_unicode=True, sort_keys=False)


def write_yaml(path: Path, tasks: Sequence[Task]) -> None:
    """Write tasks into one file, a document each."""
    path.write_text(yaml_text(*tasks), encoding="utf-8", newline="\n")


def file_name(type: int) -> str:
    """Return the published name of the file of a task type."""
    return f"{type}._{task_type(type).en.replace(' ', '_')}.json"


def published_record(task: Task) -> dict[str, Any]:
    """Return a task as an object of a published file."""
    nodes, background = task.tree.nodes, task.background
    spoken = [task.tree.opening, *(node.text for node in nodes)]
    lists = ("\n".join(part) for part in (background.items, background.skills, background.scenes))
    record: dict[str, Any] = {
        "all_response": "\n".join([*(f"Jax: {text}" for text in spoken), OPENING, *(n.index for n in nodes)]),
        "background_splitted": [background.role, background.task, *lists],
        "background": task.prompt,
    }
    if any(node.explanation is not None for node in nodes):
        record["all_response_exaplain"] = [node.explanation or "" for node in nodes]
    return record


def write_published(path: Path, tasks: Sequence[Task]) -> None:
    """Write tasks into a published file."""
    records = [published_record(task) for task in tasks]
    text = json.dumps([*records, *({} for _ in records)], ensure_ascii=False)
    path.write_text(text, encoding="utf-8", newline="")


def read_tasks(path: Path) -> tuple[Task, ...]:
    """Return the tasks of a file, raising TaskError for a faulty one."""
    return scan_file(path).tasks()


def draft_of(task: Task) -> Draft:
    """Return a task as a draft without a source."""
    return Draft(
        id=task.id, type=task.type, language=task.language, background=task.background, prompt=task.prompt,
        opening=task.tree.opening, nodes=task.tree.nodes, source=task.source,
    )  # fmt: skip
