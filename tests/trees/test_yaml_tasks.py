from __future__ import annotations

from pathlib import Path

import pytest
from task_files import read_tasks

from trees import Background, Node, Task, Tree
from trees.faults import TaskError
from trees.sources import scan_yaml, scan_yaml_text

GOOD = """\
id: bread-1
type: 25
language: en
role: baker
task: baking bread
items:
  - A tin
  - Rye flour
skills: []
scenes:
opening: Bake it
  with flour.
nodes:
  - index: 1.10
    text: "Use rye: it keeps."
    explanation: Which flour.
"""
TASK = Task(
    id="bread-1",
    type=25,
    language="en",
    background=Background("baker", "baking bread", ("A tin", "Rye flour")),
    tree=Tree("Bake it with flour.", (Node("1", "Use rye: it keeps.", "Which flour."),)),
)


def faults(text: str) -> list[tuple[int, str]]:
    return [(fault.line, fault.message) for fault in scan_yaml_text(text, "t.yaml").faults]


def test_reads_a_task_and_takes_indices_as_written(tmp_path: Path) -> None:
    (draft,) = scan_yaml_text(GOOD).drafts
    assert draft.nodes[0].index == "1.10"
    path = tmp_path / "t.yaml"
    path.write_text(GOOD.replace("1.10", "1"), encoding="utf-8")
    assert read_tasks(path) == (TASK,)
    assert read_tasks(path)[0].source == str(path)


def test_knows_the_line_of_every_field() -> None:
    (draft,) = scan_yaml_text("\n" + GOOD).drafts
    assert draft.line == 2
    assert draft.line_of("items.1") == 9
    assert draft.line_of("opening") == 12
    assert draft.line_of("nodes.0.text") == 16
    assert draft.line_of("nodes.0.unknown") == 15
    assert draft.line_of("nowhere") == 2


def test_folded_chinese_gets_no_blanks() -> None:
    text = GOOD.replace("language: en", "language: zh").replace(
        "Bake it\n  with flour.", "你可以\n  用 AI 烤面包，\n  再吃。"
    )
    (draft,) = scan_yaml_text(text).drafts
    assert draft.opening == "你可以用 AI 烤面包，再吃。"


def test_several_documents() -> None:
    assert len(scan_yaml_text(f"{GOOD}---\n{GOOD}").drafts) == 2


@pytest.mark.each(
    ("old", "new", "line", "message"),
    [
        ("opening:", "openning:", 11, "unknown key 'openning'; did you mean 'opening'?"),
        ("    explanation", "    explain", 16, "unknown key 'nodes.0.explain'; did you mean 'explanation'?"),
        ("role: baker", "weather: fine", 4, "unknown key 'weather'; known: id, type, "),
        ("role: baker\n", "", 1, "key 'role' is missing"),
        ("    text: ", "    # ", 14, "key 'nodes.0.text' is missing"),
        ("type: 25", "type: bread", 2, "type: input should be a valid integer"),
        ("language: en", "language: fr", 3, "language: input should be 'en' or 'zh'"),
        ("1.10", "1.x", 14, "nodes.0.index: an index is dot-separated whole numbers"),
        ("items:\n", "items: tin\nskills:\n", 6, "items: input should be a valid list"),
        ("role: baker", "role: baker\nrole: miller", 5, "key 'role' is given twice"),
        ("id: bread-1", "id: ''", 1, "id: string should have at least 1 character"),
        ("role: baker", "role:\n  - baker", 4, "role: input should be a valid string"),
        ("task: baking bread", "task: baking: bread", 5, "not YAML: .*quote texts that contain ': '"),
    ],
)
def test_faults_have_lines(old: str, new: str, line: int, message: str) -> None:
    reported = faults(GOOD.replace(old, new, 1))
    head = message.replace("not YAML: .*", "")
    assert any(at == line and head in text for at, text in reported), reported


def test_all_faults_of_a_file_are_found_and_good_documents_read() -> None:
    broken = GOOD.replace("role: baker", "rolle: baker").replace("type: 25", "type: x")
    scan = scan_yaml_text(f"{GOOD}---\n{broken}", "t.yaml")
    assert len(scan.drafts) == 1
    assert [fault.line for fault in scan.faults] == sorted(fault.line for fault in scan.faults)
    assert len(scan.faults) == 3
    with pytest.raises(TaskError, match=r"t\.yaml:18: task bread-1: .*\(and 2 more: run `askback check`"):
        scan.tasks()


@pytest.mark.each("text", ["", "- a\n- b", "just words", "&a [*a]", "id: &a {id: *a}", "\x00", "{", "? a"])
def test_other_texts_are_refused(text: str) -> None:
    assert faults(text)


def test_binary_and_missing_files(tmp_path: Path) -> None:
    (missing,) = scan_yaml(tmp_path / "none.yaml").faults
    assert "No such file" in missing.message
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"id: caf\xe9")
    (latin,) = scan_yaml(path).faults
    assert latin.file == str(path)
