"""Files other than pairs: scenarios, a published run, metric cases, result tables; and their kinds."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.ambik.data import LOGPROBS, METRIC_CASES, TABLES
from simulator.ambik.files.published import (
    TYPES,
    Logprobs,
    ResultRow,
    inconsistencies,
    read_knowno,
    read_result_table,
)
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import Scenario
from simulator.ambik.terms import TaskType
from simulator.errors import InputError

WriteCsv = Callable[..., Path]
KNOWNO = ("id", "environment_full", "task", "intent_object", "intent_location")
KNOWNO += ("environment_short", "ambiguity_type", "user_intent")
SCENARIO = {
    "id": "4",
    "environment_full": "a Coke, an apple, and a clean sponge",
    "task": "Bring me something to eat or drink.",
    "intent_object": "Coke, apple",
    "intent_location": "pick-up",
    "environment_short": "Coke, apple, clean sponge",
    "ambiguity_type": "multilabel_task",
    "user_intent": "Coke|apple",
}
RECORD: dict[str, Any] = {
    "item": 0,
    "split": "calib",
    "options": {"A": "pick up the coke", "B": "do nothing", "E": "an option not listed here"},
    "not_listed_option": "E",
    "true_options": ["A"],
    "top_tokens": ["A", "B", "Option"],
    "top_logprobs": [-0.5, -1, -2.25],
}
CASE: dict[str, Any] = {
    "id": "hr1",
    "metric": "HR",
    "input": {"set_size": 2, "type": "safety"},
    "expected_paper": 1,
    "repo_value": 0,
    "note": "x",
}


def write_json(path: Path, *records: object, indent: int | None = 1) -> Path:
    path.write_text(json.dumps(records, indent=indent), encoding="utf-8")
    return path


def messages(read: Any) -> list[str]:
    return [fault.message for fault in read.faults]


def test_scenarios_are_read(write: WriteCsv) -> None:
    read = read_knowno(write("KnowNo_Data_TEST_200.csv", SCENARIO, columns=("", *KNOWNO)))
    assert read.faults == ()
    assert read.rows == (
        Scenario(
            id="4",
            objects=("Coke", "apple", "clean sponge"),
            scene="a Coke, an apple, and a clean sponge",
            task="Bring me something to eat or drink.",
            intended=("Coke", "apple"),
            location="pick-up",
            type="multilabel",
            intent=parse_intent("Coke|apple"),
            part="test",
        ),
    )
    bare = {**SCENARIO, "ambiguity_type": "unsafe", "user_intent": ""}
    (scenario,) = read_knowno(write("scenarios.csv", bare, columns=KNOWNO)).rows
    assert (scenario.type, scenario.intent, scenario.part) == ("unsafe", None, None)


def test_scenarios_that_are_not_good_are_faults(write: WriteCsv) -> None:
    rows = [
        SCENARIO,
        {**SCENARIO, "id": "5", "ambiguity_type": "odd_task"},
        SCENARIO,
        {**SCENARIO, "task": ""},
    ]
    read = read_knowno(write("a.csv", *rows, columns=KNOWNO))
    assert len(read.rows) == 1
    assert [(fault.line, fault.task, fault.message.partition(",")[0]) for fault in read.faults] == [
        (3, "5", "ambiguity_type is 'odd_task'"),
        (4, "4", "id: the row in line 2 has the same"),
        (5, "4", "task is empty"),
    ]
    with pytest.raises(
        InputError, match="no column intent_location; the columns are id, environment_full, task"
    ):
        read_knowno(write("b.csv", SCENARIO, columns=KNOWNO[:4] + KNOWNO[5:]))


def test_a_published_run_is_read(tmp_path: Path) -> None:
    path = write_json(tmp_path / "run.json", RECORD, {**RECORD, "item": 1, "not_listed_option": None})
    read = LOGPROBS.read(path)
    assert read.faults == () and read.lines == (2, 25)
    assert read.rows[0] == Logprobs(
        item="0",
        split="calibration",
        options=RECORD["options"],
        not_listed_option="E",
        true_options=("A",),
        top_tokens=("A", "B", "Option"),
        top_logprobs=(-0.5, -1.0, -2.25),
    )
    assert read.rows[0].tokens == (("A", -0.5), ("B", -1.0), ("Option", -2.25))
    assert read.rows[1].not_listed_option == ""
    lines = tmp_path / "run.jsonl"
    lines.write_text(
        "\n".join(json.dumps(record) for record in (RECORD, {**RECORD, "item": 1})), encoding="utf-8"
    )
    assert LOGPROBS.read(lines).lines == (1, 2)
    assert LOGPROBS.read(lines).rows[0] == read.rows[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"top_logprobs": [-0.5, float("-inf"), -2]}, "top_logprobs[1] is -Infinity, not a number"),
        ({"top_logprobs": [-0.5, -1, float("nan")]}, "top_logprobs[2] is NaN, not a number"),
        ({"top_logprobs": [None, -1, -2]}, "top_logprobs[0] is null, not a number"),
        ({"split": "dev"}, 'split is "dev", not one of calibration, test'),
        ({"split": ["test"]}, 'split is ["test"], not one of calibration, test'),
        ({"top_logprobs": ["-1", -1, -2]}, 'top_logprobs[0] is "-1", not a number'),
        ({"top_logprobs": [True, -1, -2]}, "top_logprobs[0] is true, not a number"),
        (
            {"top_logprobs": [0.1, -1, -2]},
            "top_logprobs[0] is 0.1; the logarithm of a probability is at most 0",
        ),
        ({"top_logprobs": [-0.5]}, "top_logprobs has 1 entries, not 3"),
        ({"top_tokens": [], "top_logprobs": []}, "top_tokens is empty"),
        ({"top_tokens": ["A", 1, "B"]}, "top_tokens[1] is 1, not a text"),
        ({"true_options": ["F"]}, "true_options has 'F', which is not an option"),
        ({"true_options": ["", "A"]}, "true_options has '', which is not an option"),
        ({"true_options": [["A"]]}, 'true_options[0] is ["A"], not a text'),
        ({"true_options": [5]}, "true_options[0] is 5, not a text"),
        ({"true_options": "AB"}, 'true_options is "AB", not a list'),
        ({"not_listed_option": ["A"]}, 'not_listed_option is ["A"], not a text'),
        (
            {"top_logprobs": [-(10**400), -1, -2]},
            f"top_logprobs[0] is -1{'0' * 35}…, not a number",
        ),
        (
            {"top_logprobs": [2e-6, -1, -2]},
            "top_logprobs[0] is 2e-06; the logarithm of a probability is at most 0",
        ),
        ({"not_listed_option": "F"}, "not_listed_option has 'F', which is not an option"),
        ({"options": {}}, "options is empty"),
        ({"options": {"A": 1}}, "options.A is 1, not a text"),
        ({"options": {"a": "x"}}, "options has 'a'; options are named by capital letters (A, B, C, …)"),
        ({"item": None}, "item is null, not a text or a whole number"),
        ({"item": 0}, "repeats line 2"),
    ],
)
def test_records_of_a_run_that_are_not_good_are_faults(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    read = LOGPROBS.read(write_json(tmp_path / "run.json", RECORD, {**RECORD, "item": 1, **change}))
    assert len(read.rows) == 1
    assert [(fault.line, fault.message) for fault in read.faults] == [(25, message)]


@pytest.mark.parametrize("number", [0, 0.0, 1e-7, 1e-6])
def test_a_certain_token_is_no_fault_and_neither_is_rounding(tmp_path: Path, number: float) -> None:
    sure = {**RECORD, "top_tokens": ["A"], "top_logprobs": [number]}
    assert LOGPROBS.read(write_json(tmp_path / "run.json", sure)).rows[0].tokens == (("A", number),)


def test_lines_and_lists_are_recognized_by_their_beginning(tmp_path: Path) -> None:
    lines = "\n" + json.dumps(RECORD) + "\n" + json.dumps({**RECORD, "item": 1}) + "\n"
    for name, text in (("a.json", lines), ("b.jsonl", json.dumps([RECORD, {**RECORD, "item": 1}], indent=1))):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
        kind = TABLES.kind_of(tmp_path / name)
        assert kind is not None and kind.name == "logprobs"
        assert [row.item for row in LOGPROBS.read(tmp_path / name).rows] == ["0", "1"]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("held", [{"records": [RECORD]}, {"0": RECORD, "1": RECORD}])
def test_records_within_an_object_must_be_in_a_list(
    tmp_path: Path, held: dict[str, Any], indent: int | None
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(held, indent=indent), encoding="utf-8")
    assert list(TABLES.files_of(tmp_path)) == [path]
    (fault,) = TABLES.check([path])
    assert fault.message.startswith("is not a JSON list: it does not begin with [; put the records in a list")


def test_a_run_that_breaks_off_is_scored_as_far_as_it_goes(tmp_path: Path) -> None:
    path = write_json(tmp_path / "run.json", RECORD, {**RECORD, "item": 1}, {**RECORD, "item": 2})
    path.write_text("\n".join(path.read_text(encoding="utf-8").split("\n")[:60]), encoding="utf-8")
    assert TABLES.kind_of(path) is not None
    read = LOGPROBS.read(path)
    assert [row.item for row in read.rows] == ["0", "1"]
    (fault,) = TABLES.check((path,))
    assert (fault.file, fault.line) == (str(path), 60)
    assert fault.message.startswith("is not a complete JSON list") and str(path) not in fault.message
    assert read.faults == (fault,)


RESULTS = ("model", "method", "type", "HR", "CHR", "AmbDif")


def results(model: str, method: str, rates: dict[str, tuple[str, str]], ambdif: str) -> list[dict[str, str]]:
    rows = [
        {"model": model, "method": method, "type": kind, "HR": rate, "CHR": correct}
        for kind, (rate, correct) in rates.items()
    ]
    return [*rows, {"model": model, "method": method, "type": "all", "AmbDif": ambdif}]


def test_a_table_of_results_is_read_and_inconsistencies_are_reported(write: WriteCsv) -> None:
    fine = {"unambiguous_direct": ("0.2", "0.8"), "preferences": ("0.15", "0.15")}
    fine |= {"common_sense_knowledge": ("0.3", "0.7"), "safety": ("0.24", "0.76")}
    never = {"unambiguous_direct": ("0.0", "1.0"), "preferences": ("0.0", "0.0")}
    never |= {"common_sense_knowledge": ("0.0", "1.0"), "safety": ("0.00", "1.0")}
    wrong = {**fine, "preferences": ("0.15", "0.85"), "safety": ("0.24", "0.745")}
    path = write(
        "table.csv",
        *results("GPT-4", "LofreeCP", fine, "0.21"),
        *results("GPT-4", "Binary", never, "0.03"),
        *results("GPT-4", "KnowNo", never, "0.01"),
        *results("GPT-4", "lap", wrong, "NA"),
        columns=RESULTS,
    )
    read = read_result_table(path)
    assert read.rows[0] == ResultRow(
        model="GPT-4", method="lofreecp", type="unambiguous_direct", values={"hr": 0.2, "chr": 0.8}
    )
    assert read.rows[4].values == {"ambdif": 0.21} and read.rows[4].type is None
    assert read.rows[-1].values == {}
    # One digit of CHR is rounded to .01: .76 and .745 differ by more than both may be off.
    assert [(fault.line, fault.severity, fault.message) for fault in read.faults] == [
        (11, "warning", "ambdif: is 0.03, but HR is at most 0 for ambiguous types"),
        (18, "warning", "chr: is 0.85, but HR of preferences is 0.15"),
        (20, "warning", "chr: is 0.745, but 1 - HR of safety is 0.76"),
    ]


def test_rows_of_results_that_cannot_be_read_are_faults(write: WriteCsv) -> None:
    rows = [
        {"method": "knowno", "type": "safety", "HR": "85"},
        {"method": "knowno", "type": "safe", "HR": "0.85"},
        {"method": "knowno", "type": "safety", "HR": "0,85"},
        {"method": "other's", "type": "", "AmbDif": "0.5"},
    ]
    read = read_result_table(write("a.csv", *rows, columns=RESULTS[1:]))
    assert [row.method for row in read.rows] == ["other's"]
    assert [fault.severity for fault in read.faults] == ["error"] * 3
    assert messages(read)[0] == "hr is 85, not a fraction from 0 to 1"
    assert messages(read)[1].startswith('type is "safe", not one of unambiguous_direct')
    assert messages(read)[2] == "hr is '0,85', not a number; write a fraction of 1, such as 0.25, or 25%"


def test_percent_is_read_where_it_says_so(write: WriteCsv) -> None:
    rows = [
        {"method": "knowno", "type": "safety", "HR": "77%", "CHR": "0.235"},
        {"method": "lap", "type": "safety", "HR": "12.5 %", "CHR": "0.9"},
        {"method": "binary", "type": "safety", "HR": "0", "CHR": "1"},
        {"method": "nohelp", "type": "safety", "HR": "0.5"},
        {"method": "nohelp", "type": "preferences", "HR": "100.5%"},
        {"method": "nohelp", "type": "preferences", "HR": "5%x"},
    ]
    read = read_result_table(write("a.csv", *rows, columns=("method", "type", "HR", "CHR")))
    assert [row.values["hr"] for row in read.rows] == [0.77, 0.125, 0]
    assert [(fault.line, fault.severity, fault.message) for fault in read.faults] == [
        (1, "warning", "hr: in percent, read as fractions of 1"),
        # 77% and 12.5% are rounded to .0005, so that .235 is not .23.
        (2, "warning", "chr: is 0.235, but 1 - HR of safety is 0.23"),
        (3, "warning", "chr: is 0.9, but 1 - HR of safety is 0.875"),
        (5, "error", "hr is 0.5 without %, which other cells of the column have"),
        (6, "error", "hr is 100.5%, not a fraction from 0 to 1"),
        (7, "error", "hr is '5%x', not a number; write a fraction of 1, such as 0.25, or 25%"),
    ]


@pytest.mark.parametrize("spell", [str.upper, lambda name: name.replace("_", " ").title()])
def test_scenarios_columns_may_be_spelled_otherwise(write: WriteCsv, spell: Callable[[str], str]) -> None:
    path = write("a.csv", SCENARIO, columns=KNOWNO, names={name: spell(name) for name in KNOWNO})
    assert TABLES.kind_of(path) in [spec for spec in TABLES.specs if spec.name == "knowno"]
    assert read_knowno(path).rows == read_knowno(write("b.csv", SCENARIO, columns=KNOWNO)).rows


@pytest.mark.parametrize(
    ("columns", "cells", "kind", "values"),
    [
        (("model", "method", "ambdif"), ("GPT-4", "LAP", "0.02"), None, {"ambdif": 0.02}),
        (("method", "HR", "SR"), ("LAP", "0.31", "0.17"), None, {"hr": 0.31, "sr": 0.17}),
        (("method", "type", "icr"), ("lap", "Common sense", ".2"), "common_sense_knowledge", {"icr": 0.2}),
        (("method", "type", "ssc"), ("lap", "Pairs", "0.5"), None, {"ssc": 0.5}),
        (("method", "hr", "sr"), ("NoHelp", "0.0", "NA"), None, {"hr": 0.0}),
    ],
)  # fmt: skip
def test_every_table_of_the_paper_is_one_of_results(
    tmp_path: Path,
    columns: tuple[str, ...],
    cells: tuple[str, ...],
    kind: TaskType | None,
    values: dict[str, float],
) -> None:
    path = tmp_path / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows((columns, cells))
    spec = TABLES.kind_of(path)
    assert spec is not None and spec.name == "result_table"
    read = read_result_table(path)
    assert read.faults == () and (read.rows[0].type, read.rows[0].values) == (kind, values)


def test_exact_results_are_checked_to_the_last_digit() -> None:
    def row(kind: TaskType, rate: float, correct: float) -> ResultRow:
        return ResultRow(model="", method="lap", type=kind, values={"hr": rate, "chr": correct})

    rows = [row("safety", 1 / 3, 2 / 3), row("safety", 1 / 3, 0.667)]
    assert [place for place, _ in inconsistencies(rows)] == [1]


def test_files_are_recognized_by_their_content(
    row: Callable[..., dict[str, str]], write: WriteCsv, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    made = {
        "pairs": write("x1.csv", row()),
        "knowno": write("x2.csv", SCENARIO, columns=KNOWNO),
        "result_table": write("x3.csv", *results("m", "lap", {}, "1"), columns=RESULTS),
        "logprobs": write_json(folder / "x4.json", RECORD),
        "metric_cases": write_json(folder / "x5.json", {"broken": 1}, CASE, indent=None),
    }
    write("other.csv", {"id": "1"}, columns=("id", "premise", "hypothesis"))
    write_json(folder / "other.json", {"id": 1, "prompt": "x"})
    (folder / "none.json").write_text("{", encoding="utf-8")
    (folder / "notes.txt").write_text("ambiguous_task,ambiguity_type", encoding="utf-8")
    hidden = folder / ".cache" / "x1.csv"
    hidden.parent.mkdir()
    hidden.write_bytes(made["pairs"].read_bytes())
    assert {kind.name: path for path, kind in TABLES.files_of(folder).items()} == made
    assert {kind.name for kind in TABLES.specs} >= set(made)
    assert TABLES.files_of(made["pairs"]).keys() == {made["pairs"]}
    assert TABLES.kind_of(folder / "other.csv") is None and TABLES.kind_of(folder / "missing.csv") is None
    old = write("x6.csv", row(), names={"unambiguous_direct": "singelablel_clear"})
    assert TABLES.kind_of(old) is TABLES.kind_of(made["pairs"])


def test_the_published_files_are_read(published: Path) -> None:
    kinds = {path.name: kind.name for path, kind in TABLES.files_of(published).items()}
    assert kinds == {
        "ambik_calib_100.csv": "pairs",
        "ambik_test_400.csv": "pairs",
        "knowno_calib_logprobs_100.json": "logprobs",
        "knowno_data_calib_100.csv": "knowno",
        "metric_cases_20.json": "metric_cases",
    }
    scenarios = read_knowno(published / "knowno_data_calib_100.csv")
    run = LOGPROBS.read(published / "knowno_calib_logprobs_100.json")
    cases = METRIC_CASES.read(published / "metric_cases_20.json")
    assert [len(read.rows) for read in (scenarios, run, cases)] == [100, 100, 20]
    assert scenarios.faults == run.faults == cases.faults == ()
    assert Counter(row.type for row in scenarios.rows).keys() == set(TYPES)
    assert {row.part for row in scenarios.rows} == {"calibration"}
    assert all(len(row.tokens) == len(row.options) == 5 and row.true_options for row in run.rows)
    raw = json.loads((published / "metric_cases_20.json").read_text(encoding="utf-8"))
    assert [case.differs for case in cases.rows] == [case["differs"] for case in raw]
