from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from task_files import file_name, write_published, write_yaml

from trees import Background, Node, Task, Tree
from trees.faults import TaskError
from trees.sources import find_task_files, load_tasks, scan, scan_file, task_key

TASK = Task(
    id="bread-1",
    type=25,
    language="en",
    background=Background("baker", "baking bread"),
    tree=Tree("Bake it.", (Node("1", "Use rye.", "Which flour."),)),
    prompt="You bake.",
)


def test_finds_both_kinds_below_a_folder_and_nothing_else(tmp_path: Path) -> None:
    for name in ("b/x.yaml", "a.yml", "results.json", ".git/y.yaml", "__MACOSX/z.yaml", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "English").mkdir()
    (tmp_path / "English" / file_name(1)).write_text("", encoding="utf-8")
    names = [file.relative_to(tmp_path).as_posix() for file in find_task_files(tmp_path)]
    assert names == ["English/1._Gather_Resources.json", "a.yml", "b/x.yaml"]
    assert find_task_files(tmp_path / "notes.txt") == (tmp_path / "notes.txt",)


def test_reads_both_kinds_sorted(tmp_path: Path) -> None:
    write_yaml(tmp_path / "x.yaml", [replace(TASK, id="bread-10"), replace(TASK, id="bread-9", type=3)])
    write_published(tmp_path / file_name(25), [TASK])
    assert [task.id for task in load_tasks(tmp_path)] == ["bread-9", "25.0", "bread-10"]


def test_ids_sort_by_their_numbers() -> None:
    ids = ["25.0", "25.2", "25.10", "bread", "bread-2", "bread-10", "1.", "x..1"]
    tasks = [replace(TASK, id=id) for id in ids]
    assert [task.id for task in sorted(tasks, key=task_key)][:3] == ["1.", "25.0", "25.2"]
    assert [task.id for task in sorted(tasks[3:6], key=task_key)] == ["bread", "bread-2", "bread-10"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("none.yaml", "no such file"), ("notes.txt", "a task file ends in .yaml, .yml or .json")],
)
def test_other_files_are_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "notes.txt").write_text("", encoding="utf-8")
    (fault,) = scan_file(tmp_path / name).faults
    assert message in fault.message
    with pytest.raises(TaskError, match=message):
        load_tasks(tmp_path / name)


def test_an_empty_folder_is_a_fault(tmp_path: Path) -> None:
    (fault,) = scan([tmp_path]).faults
    assert fault.message == "contains no task files"
