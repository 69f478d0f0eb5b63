"""Rows that a file holds twice: counted, and left out or kept, in every reader of results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_data import SHARED, shared_path
from typer.testing import CliRunner

from app import cli
from simulator.ambibench.data import load_items
from simulator.ambibench.files import read_file
from simulator.ambibench.generation import generate_instruction
from simulator.ambibench.prompt import whole_text
from simulator.ambibench.records import read_trial_file
from simulator.ambient.files.kinds import TABLES
from simulator.ambik.data import LOGPROBS
from simulator.clarq.results import read_results
from simulator.jsonlines import CODE, Read, count_left_out, report_duplicates

RESULTS = SHARED / "ambient" / "results"
FILES = {
    "generation": RESULTS / "generative_evaluation" / "davinci-n4.jsonl",
    "true_false": RESULTS / "TF_evaluation" / "davinci.jsonl",
    "continuation": RESULTS / "continuation_evaluation" / "davinci" / "results.jsonl",
    "nli_predictions": RESULTS / "multilabel" / "roberta-large-wanli-set" / "predictions.jsonl",
    "crowd": SHARED / "ambient" / "crowdworker_annotations_first60.jsonl",
    "linguists": SHARED / "ambient" / "linguist_annotations_first60.jsonl",
    "categories": SHARED / "ambient" / "category_annotations.jsonl",
}


def test_the_first_of_two_holds_or_both_are_kept(tmp_path: Path) -> None:
    read = Read(("a", "b", "a", "a"), (1, 2, 4, 5), ())
    refused = report_duplicates(tmp_path, read, lambda row: (row, ""))
    assert (refused.rows, refused.lines) == (("a", "b"), (1, 2))
    assert [(row.line, row.code, row.severity, row.message) for row in refused.faults] == [
        (4, CODE, "error", "repeats line 1"),
        (5, CODE, "error", "repeats line 1"),
    ]
    repeated = report_duplicates(tmp_path, read, lambda row: (row, ""), "keep")
    assert (repeated.rows, repeated.lines) == (read.rows, read.lines)
    assert [fault.severity for fault in repeated.faults] == ["warning", "warning"]
    assert (count_left_out(refused.faults), count_left_out(repeated.faults)) == (2, 0)


def kind(name: str) -> Any:
    return next(spec for spec in TABLES.specs if spec.name == name)


def test_every_reader_of_results_finds_rows_that_are_there_twice(tmp_path: Path) -> None:
    shared_path("ambient")
    wrong = []
    for name, path in FILES.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        twice = tmp_path / f"{name}.jsonl"
        twice.write_text("\n".join([*lines, *lines[:10]]) + "\n", encoding="utf-8")
        whole, refused = kind(name).read(path), kind(name).read(twice)
        repeated = kind(name).read(twice, "keep")
        if refused.rows != whole.rows or count_left_out(refused.faults) - count_left_out(whole.faults) != 10:
            wrong.append(f"{name} refused: {len(refused.rows)}")
        if len(repeated.rows) != len(whole.rows) + 10 or len(repeated.faults) - len(whole.faults) != 10:
            wrong.append(f"{name} kept: {len(repeated.rows)}")
    assert wrong == []


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))

    def invoke(*words: object) -> Any:
        return CliRunner().invoke(cli, list(map(str, words)))

    return invoke


@pytest.mark.slow
def test_the_command_counts_them_and_takes_a_switch(tmp_path: Path, ask: Callable[..., Any]) -> None:
    shared_path("ambient")
    lines = FILES["generation"].read_text(encoding="utf-8").splitlines()
    twice = tmp_path / "davinci-n4.jsonl"
    twice.write_text("\n".join([*lines, *lines[:100]]) + "\n", encoding="utf-8")
    data = {}
    for policy in ("refuse", "keep"):
        result = ask("score", "ambient", twice, "--duplicates", policy, "--json")
        sections = {section["name"]: section for section in json.loads(result.stdout)["sections"]}
        data[policy] = sections["generation-davinci"]["data"]
    assert (data["refuse"]["rows"], data["keep"]["rows"]) == (506, 606)
    assert data["refuse"]["duplicates"] == {"rows": 100, "counted": 0}
    assert data["keep"]["duplicates"] == {"rows": 100, "counted": 100}
    # However often its rows come, an item is one.
    assert data["refuse"]["measures"]["edit_f1"]["n"] == data["keep"]["measures"]["edit_f1"]["n"] == 506
    assert data["refuse"]["measures"]["edit_f1"]["value"] == pytest.approx(10.08, abs=0.005)
    imported = ask("import", "ambient-results", twice)
    assert "506 rows" in imported.output and "100 rows of davinci-n4.jsonl left out" in imported.output


TRIAL = {
    "setting": "multiple",
    "prompt_id": "p1",
    "salient_feature": "location",
    "format": "qa",
    "instruction_kind": "uninformative",
    "k": 2,
    "gold": "X",
    "actor_kind": "model",
    "actor_id": "m",
    "raw_answer": " X",
}


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_trials_without_a_name_that_stand_twice_count_once_or_as_often(tmp_path: Path, ask: Any) -> None:
    path = write(tmp_path / "t.jsonl", TRIAL, {**TRIAL, "raw_answer": " Y"}, TRIAL, TRIAL)
    named = write(tmp_path / "n.jsonl", *[{**TRIAL, "trial_id": "1"}] * 3)
    for file, once, lines in ((path, 2, [3, 4]), (named, 1, [2, 3])):
        refused, repeated = read_trial_file(file), read_trial_file(file, "keep")
        assert (len(refused.rows), [fault.line for fault in refused.faults]) == (once, lines)
        assert (len(repeated.rows), count_left_out(repeated.faults)) == (once + 2, 0)
    result = ask("report", "ambibench", "--from", path, "--from", named)
    assert result.exit_code == 0, result.output
    assert "4 faults; the rows are left out" in result.stderr and "t.jsonl:3: repeats line 1" in result.stderr
    assert "3 trials" in result.stdout
    result = ask("report", "ambibench", "--from", path, "--from", named, "--duplicates", "keep")
    assert "7 trials" in result.stdout and "4 warnings" in result.stderr


def test_prompts_without_an_id_that_stand_twice_are_told_and_played_once_or_as_often(
    tmp_path: Path, ask: Any
) -> None:
    texts = [whole_text(item) for item in generate_instruction(0, per_cell=1)[:4]]
    twice = tmp_path / "b.txt"
    twice.write_text("\n\n".join([*texts, texts[0], texts[1]]) + "\n", encoding="utf-8")
    whole = tmp_path / "whole.txt"
    whole.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    assert read_file(whole)[1] == ()
    assert [fault.code for fault in read_file(twice)[1]] == [CODE, CODE]
    assert len(load_items(twice, setting=None)) == 4
    assert len(load_items(twice, setting=None, duplicates="keep")) == 6
    checked = ask("check", twice)
    assert "repeats line 1; left out" in checked.output
    log = tmp_path / "log.sqlite"
    result = ask("run", "ambibench", "--data", twice, "--log", log, "--run", "a")
    assert result.exit_code == 0, result.output
    assert "2 items are repeated and left out (--duplicates keep plays them)" in result.output
    repeated = ask("run", "ambibench", "--data", twice, "--log", log, "--run", "b", "--duplicates", "keep")
    assert "2 items are repeated and played again" in repeated.output
    added = ask("data", "add", "ambibench", twice)
    assert "items 4" in added.output and "repeated 2" in added.output


def clarq_file(path: Path) -> Path:
    """Write two dialogues, and the first once more."""
    dialogue = ["Jax: what can help you?", "How do I bake bread?", "Jax: Bake the bread.", "Goodbye!"]
    row = {
        "all_response": "Jax: Bake the bread.\nJax: Use rye flour.",
        "gold_structure": ["1"],
        "all_response_exaplain": ["Which flour."],
        "background_splitted": ["baker", "bake bread", "Rye flour\nWheat flour", "", "Mill\nMarket"],
        "background": "You are a baker.",
        "l2l": [dialogue],
    }
    other = {**row, "l2l": [[*dialogue[:1], "How is bread made?", *dialogue[2:]]]}
    path.write_text(json.dumps([[row, other], [row]]), encoding="utf-8")
    return path


def test_clarq_dialogues_that_are_there_twice_count_once(tmp_path: Path, ask: Callable[..., Any]) -> None:
    path = clarq_file(tmp_path / "results.json")
    refused, repeated = read_results(path), read_results(path, "keep")
    assert (len(refused.dialogues), len(repeated.dialogues)) == (2, 3)
    assert [(fault.task, fault.code, fault.message) for fault in refused.faults if fault.code == CODE] == [
        ("2.0", CODE, "repeats type 1, task 0")
    ]
    assert [fault.message for fault in repeated.faults if fault.code == CODE] == [
        "repeats type 1, task 0; counted again"
    ]
    log = tmp_path / "log.sqlite"
    imported = ask("import", "clarq-results", path, "--log", log, "--run", "a")
    assert "repeats type 1, task 0" in imported.output and "2 completed" in imported.output
    more = ("--log", log, "--run", "b", "--duplicates", "keep")
    imported = ask("import", "clarq-results", path, *more)
    assert "counted again" in imported.output and "3 completed" in imported.output
    audited = ask("audit", "provider", path, "--json")
    assert "repeats type" in audited.output
    assert '"turns": 3' not in audited.stdout


def test_ambik_records_that_are_there_twice_are_left_out_or_counted(
    tmp_path: Path, ask: Callable[..., Any]
) -> None:
    record = {
        "options": {"A": "take the mug", "B": "take the cup"},
        "true_options": ["A"],
        "top_tokens": ["A", "B"],
        "top_logprobs": [-0.2, -1.7],
    }
    path = tmp_path / "run.json"
    path.write_text(json.dumps([{**record, "item": item} for item in (0, 1, 0)]), encoding="utf-8")
    refused, repeated = LOGPROBS.read(path), LOGPROBS.read(path, "keep")
    assert (len(refused.rows), len(repeated.rows)) == (2, 3)
    assert [(fault.code, fault.severity, fault.message) for fault in refused.faults] == [
        (CODE, "error", "repeats line 1")
    ]
    assert (repeated.faults[0].severity, repeated.faults[0].message) == (
        "warning",
        "repeats line 1; counted again",
    )
    assert "repeats line 1" in ask("check", path).output
    once, twice = ask("score", "ambik", path), ask("score", "ambik", path, "--duplicates", "keep")
    assert "1 row repeats an earlier one: left out (--duplicates keep counts them)" in once.output
    assert "1 row repeats an earlier one: counted again" in twice.output
