from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from task_files import draft_of

from trees.checks import SET_RULES, check_builtin, check_drafts, check_paths
from trees.model import Draft, Node
from trees.rules import RULES
from trees.sources import scan, scan_builtin, scan_yaml_text

ENGLISH = """\
id: bread-1
type: 25
language: en
role: baker
task: baking bread
items:
  - Rye flour
  - Oat flour (from the highlands)
skills: []
scenes:
  - Upper mill
  - Lower mill (closed)
opening: "Bake a loaf with flour and carry it to the mill."
nodes:
  - index: "1"
    text: Rye is what the miller ordered.
    explanation: There are multiple flours.
  - index: "1.1"
    text: Grind it at the quieter of the two, upstream.
    explanation: There are multiple mills.
  - index: "2"
    text: "An hour of heat is enough."
    explanation: How long.
"""
CHINESE = """\
id: bread-1
type: 25
language: zh
role: 面包师
task: 烤面包
items: [黑麦粉, 燕麦粉（产自高地）]
scenes: [上游磨坊, 下游磨坊（关闭）]
opening: 用面粉烤一个面包，送到磨坊去。
nodes:
  - {index: "1", text: 磨坊主订的是黑麦。, explanation: 面粉有多个。}
  - {index: "1.1", text: 到比较安静的那家去磨。, explanation: 磨坊有多个。}
  - {index: "2", text: 一个小时就熟了。, explanation: 要多久。}
"""


def draft(text: str = ENGLISH) -> Draft:
    (scanned,) = scan_yaml_text(text, "t.yaml").drafts
    return scanned


def codes(*drafts: Draft) -> list[str]:
    return [fault.code for fault in check_drafts(drafts)]


def test_good_tasks_have_no_faults() -> None:
    assert codes(draft(), draft(CHINESE)) == []


def test_builtin_tasks_have_no_faults() -> None:
    assert check_builtin() == ()


def test_codes_are_unique_and_rules_documented() -> None:
    rules = [*RULES, *SET_RULES]
    assert len({rule.code for rule in rules}) == len(rules)
    assert all(rule.find.__doc__ for rule in rules)


@pytest.mark.each(
    ("old", "new", "code", "line"),
    [
        ("type: 25", "type: 32", "unknown-type", 2),
        ('index: "2"', 'index: "1"', "duplicate-index", 21),
        ('index: "2"', 'index: "0"', "duplicate-index", 21),
        ('index: "2"', 'index: "3.1"', "orphan-index", 21),
        ('index: "2"', 'index: "3"', "index-gap", 21),
        ('index: "2"', 'index: "1.0"', "index-gap", 21),
        ("role: baker", "role: ''", "empty-text", 4),
        ("An hour of heat is enough.", " ", "empty-text", 22),
        ("Upper mill", "''", "empty-text", 11),
        ("    explanation: How long.\n", "", "missing-explanation", 21),
        ("An hour", "Jax: An hour", "speaker-prefix", 22),
        ("Bake a loaf", "You: Bake a loaf", "speaker-prefix", 13),
        ("An hour of heat is enough.", "rye is what the miller ordered", "repeated-text", 22),
        ("An hour of heat is enough.", "Rye is what the miller ordered. Be quick.", "repeated-text", 22),
        ("An hour of heat is enough.", "Bake a loaf!", "repeated-text", 22),
        ("An hour of heat is enough.", "Lower mill: closed", "text-in-background", 22),
        ("Lower mill (closed)", "Lower mill (an hour of heat is enough)", "text-in-background", 22),
        ("An hour of heat is enough.", "You should carry the loaf.", "answer-in-opening", 22),
        ("(closed)", "(an hour of heat will be enough)", "answer-in-background", 22),
        ("Oat flour (from the highlands)", "Rye flour", "repeated-entry", 8),
        ("role: baker", "role: 面包师", "wrong-language", 4),
        ("How long.", "要多久。", "wrong-language", 23),
        ('  - index: "2"', '  - index: "1.1.1.1.1"', "tree-size", 14),
    ],
)
def test_each_fault_is_found_in_its_line(old: str, new: str, code: str, line: int) -> None:
    assert ENGLISH.count(old) >= 1
    faults = check_drafts([draft(ENGLISH.replace(old, new, 1))])
    assert (code, line) in [(fault.code, fault.line) for fault in faults]
    assert all(fault.file == "t.yaml" and fault.task == "bread-1" for fault in faults)


@pytest.mark.each(
    ("old", "new", "expected"),
    [
        ("一个小时就熟了。", "把面包送到磨坊去吧。", ["answer-in-opening"]),
        ("（关闭）", "（烤一个小时就熟了）", ["answer-in-background", "text-in-background"]),
        ("（关闭）", "（面包烤一个小时即熟）", []),
        ("一个小时就熟了。", "你：一个小时就熟了。", ["speaker-prefix"]),
        ("一个小时就熟了。", "One hour.", ["wrong-language"]),
        ("黑麦粉", "USB", []),
    ],
)
def test_chinese_faults_are_found(old: str, new: str, expected: list[str]) -> None:
    text = CHINESE.replace("text: 一个小时就熟了。", 'text: "一个小时就熟了。"').replace(old, new, 1)
    assert codes(draft(text)) == expected


def test_a_node_that_adds_information_is_not_a_fault() -> None:
    known = "Go to the upper mill, it grinds the rye of the miller."
    assert codes(draft(ENGLISH.replace("An hour of heat is enough.", known))) == []


def test_a_note_that_fits_several_entries_is_a_choice() -> None:
    single = ENGLISH.replace("(closed)", "(an hour of heat will be enough)")
    two = single.replace("Upper mill", "Upper mill (an hour of heat will be enough)")
    assert codes(draft(single)) == ["answer-in-background"]
    assert codes(draft(two)) == []


def test_what_an_ancestor_said_is_known() -> None:
    (node, child, last) = draft().nodes
    ancestor = replace(child, text="The miller ordered it.")
    assert codes(replace(draft(), nodes=(node, ancestor, last))) == ["answer-in-opening"]
    cousin = replace(last, text="The miller ordered it.")
    assert codes(replace(draft(), nodes=(node, child, cousin))) == []


def test_any_answer_written_into_the_background_is_found() -> None:
    for task in (*scan_builtin("en"), *scan_builtin("zh")):
        for node in task.nodes:
            scenes = (*task.background.scenes, f"X ({node.text})")
            spoilt = replace(task, background=replace(task.background, scenes=scenes))
            assert "text-in-background" in codes(spoilt)
            revealing = replace(task, opening=f"{task.opening} {node.text}")
            assert {"repeated-text", "answer-in-opening"} <= set(codes(revealing))


def test_a_task_without_responses() -> None:
    assert codes(replace(draft(), nodes=())) == ["empty-text", "tree-size"]


def test_the_published_development_set_needs_no_explanations() -> None:
    bare = replace(draft(), nodes=tuple(replace(node, explanation=None) for node in draft().nodes))
    assert codes(bare) == ["missing-explanation"] * 3
    assert codes(replace(bare, kind="published")) == []


def test_faults_of_a_set() -> None:
    english, chinese = draft(), draft(CHINESE)
    assert codes(english, english) == [], "the same draft twice is one task"
    assert codes(english, draft()) == ["duplicate-id"]
    assert codes(english, chinese, replace(english, id="x")) == ["missing-translation"]
    assert codes(english, replace(english, id="x")) == [], "one language alone needs no translation"
    assert codes(english, replace(chinese, type=1)) == ["structure-differs"]
    assert codes(english, replace(chinese, nodes=chinese.nodes[:2])) == ["structure-differs"]
    fewer = replace(chinese.background, scenes=("上游磨坊",))
    assert codes(english, replace(chinese, background=fewer)) == ["lists-differ"]


def test_unreadable_files_are_faults_too(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(ENGLISH, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("id: x", encoding="utf-8")
    (tmp_path / "1._Gather_Resources.json").write_text("[", encoding="utf-8")
    (tmp_path / ".hidden.yaml").write_text("[", encoding="utf-8")
    (tmp_path / "results.json").write_text("[", encoding="utf-8")
    faults = check_paths([tmp_path])
    assert {fault.code for fault in faults} == {"format"}
    assert {Path(fault.file).name for fault in faults} == {"bad.yaml", "1._Gather_Resources.json"}
    (missing,) = check_paths([tmp_path / "goood.yaml"])
    assert missing.message == "no such file; did you mean good.yaml?"


def test_published_data_have_no_errors_and_few_warnings(clarq_folder: Path) -> None:
    faults = check_paths([clarq_folder / "English", clarq_folder / "Chinese"])
    assert Counter((fault.code, fault.severity) for fault in faults) == {
        ("index-gap", "warning"): 6,
        ("answer-in-opening", "warning"): 4,
        ("answer-in-background", "warning"): 15,
        ("lists-differ", "warning"): 21,
    }
    assert {fault.task for fault in faults if fault.code == "index-gap"} == {"1.9", "2.3", "6.7"}


def test_statistics_of_a_whole_published_language_are_compared(clarq_folder: Path) -> None:
    drafts = list(scan([clarq_folder / "English"]).drafts)
    assert "statistics" not in codes(*drafts)
    assert "statistics" not in codes(*drafts[:-10]), "a part is not compared"
    shorter = [draft for draft in drafts if draft.id != "4.4"]
    messages = [fault.message for fault in check_drafts(shorter) if fault.code == "statistics"]
    assert any(re.search("309 tasks instead of 310", message) for message in messages)


def test_tasks_in_memory() -> None:
    task = draft().task()
    assert check_drafts([draft_of(task)]) == ()
    spoken = replace(task, tree=replace(task.tree, nodes=(*task.tree.nodes, Node("3", "Jax: Wait.", "Why"))))
    (fault,) = check_drafts([draft_of(spoken)])
    assert (fault.code, fault.line) == ("speaker-prefix", 0)
    assert str(fault) == "t.yaml: task bread-1: begins with the speaker (Jax:) [speaker-prefix]"


def test_an_entry_in_the_wrong_language_is_one_fault() -> None:
    (odd,) = scan_yaml_text(ENGLISH.replace("Rye flour", "黑麦粉"), "t.yaml").drafts
    faults = [fault for fault in check_drafts([odd]) if fault.code == "wrong-language"]
    assert [fault.message for fault in faults] == ["items.0 contains Chinese characters in an English task"]
