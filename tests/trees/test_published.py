from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from task_files import file_name, read_tasks

from trees import Background, Node, Task, Tree
from trees.faults import TaskError
from trees.published import scan_published

GOOD: dict[str, Any] = {
    "all_response": "Jax: Bake it.  \nJax: Use rye.\nJax: From the mill.\n0\n1\n1.1",
    "background_splitted": ["baker", "baking bread", "A tin \nRye", "", "Mill (closed)"],
    "background": "You bake.",
    "h2h": [],
    "extra": {"kept": True},
    "all_response_exaplain": ["Which flour.", "From where."],
}
PAIR: dict[str, Any] = {"all_response": "", "background_splitted": [], "background": ""}


def write(folder: Path, *records: object, name: str = "25._Cooking_Delicacies.json", **format: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps([*records, *[PAIR] * len(records)], ensure_ascii=False, **format), "utf-8")
    return path


def published_files(folder: Path) -> list[Path]:
    return sorted((folder / "English").iterdir()) + sorted((folder / "Chinese").iterdir())


def test_every_published_file_is_read(clarq_folder: Path) -> None:
    files = published_files(clarq_folder)
    assert len(files) == 62
    for path in files:
        tasks = read_tasks(path)
        assert path.name == file_name(tasks[0].type)
        assert [task.id for task in tasks] == [f"{tasks[0].type}.{number}" for number in range(10)]
        assert {task.language for task in tasks} == {"en" if path.parent.name == "English" else "zh"}


def test_published_texts_have_no_speaker_and_no_blanks_around(clarq_folder: Path) -> None:
    for path in published_files(clarq_folder):
        for task in read_tasks(path):
            background = task.background
            spoken = (task.tree.opening, *(node.text for node in task.tree.nodes))
            listed = (*background.items, *background.skills, *background.scenes)
            for text in (*spoken, *listed):
                assert text
                assert text == text.strip()
                assert not text.startswith("Jax")
            explained = [node.explanation is not None for node in task.tree.nodes]
            assert all(explained) if task.type <= 26 else not any(explained)


def test_reads_a_record(tmp_path: Path) -> None:
    (task,) = read_tasks(write(tmp_path, GOOD))
    assert task == Task(
        id="25.0",
        type=25,
        language="en",
        background=Background("baker", "baking bread", ("A tin", "Rye"), (), ("Mill (closed)",)),
        tree=Tree(
            "Bake it.",
            (Node("1", "Use rye.", "Which flour."), Node("1.1", "From the mill.", "From where.")),
        ),
        prompt="You bake.",
    )
    assert task.source == str(tmp_path / "25._Cooking_Delicacies.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"all_response": "Jax: a\nJax: b\n0"}, "all_response has 3 lines"),
        ({"all_response": "Jax: a\nJax: b\n0\none"}, "expected an index like 1 or 1.2, not 'one'"),
        ({"all_response": "Jax: a\nJax: b\n1\n2"}, "the first index is 1, not 0"),
        ({"all_response_exaplain": ["one"]}, "1 explanations for 2 responses"),
        ({"background_splitted": ["a", "b"]}, "background_splitted: .*at least 5"),
        ({"background": None}, "background: .*string"),
        ({"all_response": "Jax: a\nJax: b\n0\n1.1", "all_response_exaplain": ["x"]}, "no parent '1'"),
        ({"all_response": "Jax: a\nJax: b\nJax: c\n0\n1\n1"}, "'1' is used twice"),
    ],
)
def test_faulty_records_name_file_line_and_task(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write(tmp_path, GOOD, {**GOOD, **change}, indent=1)
    with pytest.raises(TaskError, match=message) as caught:
        read_tasks(path)
    line = path.read_text(encoding="utf-8").splitlines().index(" {", 2) + 1
    assert (caught.value.file, caught.value.task, caught.value.line) == (str(path), "25.1", line)
    assert str(caught.value).startswith(f"{path}:{line}: task 25.1: ")


def test_all_faulty_records_are_reported_and_the_good_ones_read(tmp_path: Path) -> None:
    scan = scan_published(write(tmp_path, {}, GOOD, {**GOOD, "all_response": "x"}))
    assert [draft.id for draft in scan.drafts] == ["25.1"]
    assert {fault.task for fault in scan.faults} == {"25.0", "25.2"}
    assert len([fault for fault in scan.faults if fault.task == "25.0"]) == 3, "each missing key"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tasks.json", "[]", "the name of a published file is"),
        ("32._Napping.json", "[]", "type 32 is not called 'Napping'"),
        ("1._Escort_Mission.json", "[]", "type 1 is not called 'Escort Mission'"),
        ("1._Gather_Resources.json", "[]", "0 objects"),
        ("1._Gather_Resources.json", "[{}, {}, {}]", "3 objects"),
        ("1._Gather_Resources.json", "{}", "a list of objects"),
        ("1._Gather_Resources.json", "[1, 2]", "a list of objects"),
        ("1._Gather_Resources.json", "[\n{},\n]", ":3: is not JSON|:2: is not JSON"),
    ],
)
def test_faulty_files_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(TaskError, match=message):
        read_tasks(tmp_path / name)


def test_binary_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "1._Gather_Resources.json"
    with pytest.raises(TaskError, match="no such file"):
        read_tasks(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TaskError, match=r"is not UTF-8 \(byte 1\)"):
        read_tasks(path)


def test_language_is_the_folders_else_the_texts(tmp_path: Path) -> None:
    chinese = {
        **GOOD,
        "all_response": "你可以烤面包。\n0",
        "all_response_exaplain": [],
        "background": "你是面包师" * 9,
    }
    assert read_tasks(write(tmp_path, chinese))[0].language == "zh"
    assert read_tasks(write(tmp_path, GOOD))[0].language == "en"
    (tmp_path / "Chinese").mkdir()
    assert read_tasks(write(tmp_path / "Chinese", GOOD))[0].language == "zh"
