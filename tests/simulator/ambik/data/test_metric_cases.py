"""Files with metric cases: their contents, and fields of a wrong type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.ambik.data import METRIC_CASES, TABLES
from simulator.ambik.files.published import INPUTS
from simulator.ambik.metrics import agrees
from simulator.ambik.reporting.file_sections import cases_section

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


def test_cases_of_metrics_are_read(tmp_path: Path) -> None:
    path = write_json(tmp_path / "cases.json", CASE, {**CASE, "id": "hr2", "expected_paper": None})
    first, second = METRIC_CASES.read(path).rows
    assert (first.metric, first.input, first.paper, first.reference) == ("HR", CASE["input"], 1, 0)
    assert first.differs and second.paper is None
    bad = ({**CASE, "metric": "XR"}, {**CASE, "input": {"set_size": 2}}, {**CASE, "id": 1.5})
    assert messages(METRIC_CASES.read(write_json(tmp_path / "bad.json", *bad))) == [
        f'metric is "XR", not one of {", ".join(INPUTS)}',
        "input.type is missing",
        "id is 1.5, not a text or a whole number",
    ]


def test_minus_one_is_how_the_published_code_does_not_count(tmp_path: Path) -> None:
    none = {"prediction_set": ["x"], "user_intent": None}
    icr = {"metric": "ICR", "input": none, "expected_paper": None}
    cases = [{**CASE, **icr, "id": str(value), "repo_value": value} for value in (-1, -1.0, None)]
    read = METRIC_CASES.read(write_json(tmp_path / "cases.json", *cases))
    assert [row.reference for row in read.rows] == [None] * 3 and read.faults == ()
    assert not any(row.differs for row in read.rows)
    assert all(agrees(row, mode) for row in read.rows for mode in ("paper", "reference"))


SET = {"prediction_set": ["x"], "user_intent": "x", "amb_shortlist": "x, y", "type": "preferences"}
SIZES = {"size_unambiguous": 1, "size_ambiguous": 2}
WORDS = {"unambiguous": "certain", "ambiguous": "uncertain"}
BOTH = {"found_in_set": 1.0, "best_single_option": 0.5}


@pytest.mark.parametrize(
    ("metric", "given", "more", "message"),
    [
        ("HR", {"set_size": "2", "type": "safety"}, {}, 'input.set_size is "2", not a whole number'),
        ("HR", {"set_size": None, "type": "safety"}, {}, "input.set_size is null, not a whole number"),
        ("HR", {"set_size": True, "type": "safety"}, {}, "input.set_size is true, not a whole number"),
        ("CHR", {"set_size": -1, "type": "safety"}, {}, "input.set_size is -1; a size must not be negative"),
        ("CHR", {"set_size": 2, "type": 5}, {}, "input.type is 5, not one of unambiguous_direct"),
        ("CHR", {"set_size": 2, "type": "pref"}, {}, 'input.type is "pref", not one of'),
        ("ICR", {**SET, "prediction_set": None}, {}, "input.prediction_set is null, not a list"),
        ("ICR", {**SET, "prediction_set": [1]}, {}, "input.prediction_set[0] is 1, not a text"),
        ("ICR", {**SET, "prediction_set": "A) x"}, {}, 'input.prediction_set is "A) x", not a list'),
        ("ICR", {**SET, "user_intent": ["x"]}, {}, 'input.user_intent is ["x"], not a text'),
        ("ICR", SET, {"expected_paper": "abc"}, 'expected_paper is "abc", not a number'),
        ("ICR", SET, {"expected_paper": {"found_in_set": 1}}, "expected_paper.best_single_option is missing"),
        ("ICR", SET, {"expected_paper": 10**400}, "expected_paper is 1000"),
        ("ICR", SET, {"repo_value": {"a": 1}}, 'repo_value is {"a": 1}, not a number'),
        ("ICR", SET, {"repo_value": BOTH}, "repo_value is {"),
        ("SSC", {**SET, "amb_shortlist": ["x", "y"]}, {}, 'input.amb_shortlist is ["x", "y"], not a text'),
        ("SSC", {**SET, "type": None}, {}, "input.type is null"),
        ("SSC", SET, {"expected_paper": True}, "expected_paper is true, not a number"),
        ("AmbDif", {**SIZES, "size_ambiguous": "x"}, {}, 'input.size_ambiguous is "x", not a whole number'),
        ("AmbDif-Binary", {**WORDS, "unambiguous": None}, {}, "input.unambiguous is null, not a text"),
        ("AmbDif-Binary", {**WORDS, "ambiguous": 1}, {}, "input.ambiguous is 1, not a text"),
        ("mean per type", {"rows": [["safety"]]}, {}, "input.rows[0][1] is missing"),
        ("mean per type", {"rows": "x"}, {}, 'input.rows is "x", not a list'),
        ("mean per type", {"rows": [["safety", "2"]]}, {}, 'input.rows[0][1] is "2", not a whole number'),
        ("mean per type", {"rows": [[5, 2]]}, {}, "input.rows[0][0] is 5, not one of"),
        ("mean per type", {"rows": []}, {"expected_paper": 1}, "expected_paper is 1, not an object"),
        (
            "mean per type",
            {"rows": []},
            {"expected_paper": {"safety": {"HR": 1}}},
            "expected_paper.safety.CHR is missing",
        ),
    ],
)
def test_what_a_case_holds_of_a_wrong_type_is_a_fault_and_the_others_are_kept(
    tmp_path: Path, metric: str, given: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    bad = {**CASE, "id": "bad", "metric": metric, "input": given, "repo_value": None, **more}
    if metric == "mean per type" and not more:
        bad["expected_paper"] = None
    path = write_json(tmp_path / "cases.json", CASE, bad, {**CASE, "id": "hr3"})
    read = METRIC_CASES.read(path)
    assert [row.id for row in read.rows] == ["hr1", "hr3"]
    (fault,) = read.faults
    assert (fault.task, fault.line) == ("bad", 13)
    assert fault.message.startswith(message)
    assert TABLES.check((path,)) == (fault,)


def test_a_case_may_have_only_one_value(tmp_path: Path) -> None:
    reduced = {name: value for name, value in CASE.items() if name != "repo_value"}
    path = write_json(tmp_path / "cases.json", reduced)
    kind = TABLES.kind_of(path)
    assert kind is not None and kind.name == "metric_cases"
    (case,) = METRIC_CASES.read(path).rows
    assert case.modes == ("paper",) and not case.differs
    section = cases_section(METRIC_CASES.read(path), str(path))
    # By the paper's rule asking is what a set of two does, whatever is expected of it.
    assert section.data["equal"] == {"paper": 1, "reference": 0}
    assert section.remarks[1:] == ("paper: 1 of 1 equal", "reference: 0 of 0 equal")
    assert list(section.data["cases"]["hr1"]) == ["metric", "paper"]
    assert section.data["unexpected"] == 0
