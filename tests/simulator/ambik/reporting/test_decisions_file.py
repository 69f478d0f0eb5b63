"""Decision logs as files: they are restored unchanged, and faults are reported by line and field."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from simulator.ambik.data import TABLES, load_pairs
from simulator.ambik.files.decisions import is_decision, read_decisions, with_items
from simulator.ambik.reporting.exporting import form_lines
from simulator.ambik.trial_log import decisions

KNOWNO = {
    "run_id": "r",
    "pair_id": "p1",
    "member": "ambiguous",
    "type": "preferences",
    "method": "knowno",
    "generator": "some/model",
    "options": {"A": "take the mug", "B": "take the cup"},
    "token_table": [["A", -0.5], ["B", -1.0]],
    "q_hat": 0.7,
    "n_calibration": 20,
    "epsilon": 0.2,
    "rank": 17,
    "prediction_set": ["take the mug"],
}


def read(tmp_path, *lines, name="log.jsonl"):
    path = tmp_path / name
    text = "\n".join(map(json.dumps, lines)) if name.endswith("l") else json.dumps(lines)
    path.write_text(text)
    return read_decisions(path)


@pytest.mark.parametrize(
    "run",
    [
        "m-knowno",
        "m-knowno-calibration",
        "m-lap",
        "m-lofreecp",
        "m-binary",
        "m-nohelp",
        "scenarios",
        "kitchen",
    ],
)
def test_what_the_log_holds_comes_back(reader, tmp_path, run):
    result = read(tmp_path, *form_lines(reader, run, self_contained=True))
    assert result.faults == () and all(row.known for row in result.rows)
    firsts = {row.decision.episode_id: row for row in reversed(result.rows)}
    logged = decisions(reader, [run])
    assert len(firsts) == len(logged)
    for decision in logged:
        back = firsts[decision.episode_id].decision
        # What was answered stands with the question.
        assert replace(back, seconds=None, asked=None) == replace(decision, seconds=None, asked=None)
        assert firsts[decision.episode_id].calibrates == run.endswith("calibration")


def test_a_bare_line_is_read_without_its_task(tmp_path):
    (line,) = read(tmp_path, KNOWNO, name="log.json").rows
    assert not line.known and not line.calibrates
    assert (line.decision.item.id, line.decision.item.type) == ("p1.ambiguous", "preferences")
    assert (line.threshold.q_hat, line.threshold.n) == (0.7, 20)
    assert line.decision.tokens == (("A", -0.5), ("B", -1.0))


def test_a_line_takes_its_task_from_data_of_the_same_type(tmp_path):
    (line,) = read(tmp_path, KNOWNO).rows
    pair = replace(next(pair for pair in load_pairs() if pair.type == "preferences"), id="p1")
    (row,) = with_items([line], {"p1": pair}, {})
    assert row.known and row.decision.item.pair == pair
    (other,) = with_items([line], {"p1": replace(pair, type="safety")}, {})
    assert not other.known


def test_an_infinite_threshold_is_a_text(tmp_path):
    (line,) = read(tmp_path, {**KNOWNO, "q_hat": "inf"}).rows
    assert math.isinf(line.threshold.q_hat)


def test_without_a_target_that_of_the_threshold_is_used(tmp_path):
    (line,) = read(tmp_path, {**KNOWNO, "epsilon": 0.4, "rank": 13}).rows
    assert line.settings.target_success == 0.6
    (line,) = read(tmp_path, {**KNOWNO, "epsilon": 0.4, "settings": {"target_success": 0.5}}).rows
    assert line.settings.target_success == 0.5
    for change in ({"q_hat": None, "epsilon": 0.4}, {"q_hat": "inf", "epsilon": 0}):
        (line,) = read(tmp_path, {**KNOWNO, **change}).rows
        assert line.settings.target_success == 0.8


def test_rounding_in_a_logarithm_and_no_right_option_are_no_faults(tmp_path):
    (line,) = read(tmp_path, {**KNOWNO, "token_table": [["A", 1e-6]], "right": []}).rows
    assert line.decision.tokens == (("A", 1e-6),)
    assert line.decision.right == ()


def test_a_conformal_line_without_threshold_or_set_calibrates(tmp_path):
    (line,) = read(tmp_path, {**KNOWNO, "q_hat": None, "prediction_set": []}).rows
    assert line.calibrates
    (line,) = read(tmp_path, {**KNOWNO, "part": "calibration"}).rows
    assert line.calibrates


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "guess"}, 'method is "guess", not one of knowno'),
        ({"member": "both"}, 'member is "both"'),
        (
            {"type": "unambiguous_direct"},
            "type is unambiguous_direct, which does not fit the member ambiguous",
        ),
        ({"member": None}, "member is missing"),
        ({"token_table": [["A"]]}, "token_table[0][1] is missing"),
        ({"token_table": [["A", 0.5]]}, "token_table[0][1] is 0.5; the logarithm"),
        ({"token_table": [["A", 2e-6]]}, "token_table[0][1] is 2e-06; the logarithm"),
        ({"token_table": [["A", None]]}, "token_table[0][1] is null, not a number"),
        ({"token_table": [["A", -(10**400)]]}, "token_table[0][1] is -1000"),
        ({"right": [["A"]]}, 'right[0] is ["A"], not a text'),
        ({"right": ["F"]}, "right has 'F', which is not an option"),
        ({"right": 5}, "right is 5, not a list"),
        ({"right": "AB"}, 'right is "AB", not a list'),
        ({"right": {}}, "right is {}, not a list"),
        ({"q_hat": 10**400}, "q_hat: is too large for a number; write inf for infinity"),
        ({"epsilon": 10**400}, "epsilon is 1000"),
        ({"epsilon": 20}, "epsilon is 20, not between 0 and 1"),
        ({"method": "lofreecp", "samples": {"wait": 3}, "draws": -5}, "draws is -5; it must not be negative"),
        ({"token_table": None}, "token_table is null, not a list"),
        ({"options": {}}, "options is empty"),
        ({"filled_options": ["E"]}, "filled_options has 'E'"),
        ({"q_hat": "much"}, "q_hat"),
        ({"rank": None}, "rank is null"),
        ({"settings": {"temperature": -1}}, "settings"),
        ({"part": "training"}, 'part is "training"'),
        ({"method": "lap"}, "affordance is missing"),
        (
            {"method": "lap", "affordance": {"A": {"context": 1, "prompt": 70}}},
            "affordance.A.prompt is 70, not between 0 and 1",
        ),
        ({"method": "lofreecp"}, "samples is missing"),
        (
            {"method": "lofreecp", "samples": {"wait": 0}},
            "samples has an answer with a count below 1",
        ),
        ({"method": "binary", "certainty": None}, "certainty is null, not a text"),
        ({"method": "binary", "certainty": "certain", "help": "yes"}, 'help is "yes", not true or false'),
        ({"token_table": {"A": "x"}}, 'is "x", not a number'),
        ({"item": {"kind": "pair"}}, "item"),
    ],
)
def test_faults_name_line_and_field(tmp_path, change, message):
    result = read(tmp_path, KNOWNO, {**KNOWNO, "pair_id": "p2", **change})
    assert [row.decision.item.id for row in result.rows] == ["p1.ambiguous"]
    (fault,) = result.faults
    assert (fault.line, fault.task) == (2, "p2")
    assert message in fault.message


@pytest.mark.parametrize(
    ("certainty", "read_as"),
    [("Certain", "certain"), (" UNCERTAIN\n", "uncertain"), ("Uncertain.", "invalid"), ("", "invalid")],
)
def test_certainty_is_read_as_from_a_model(tmp_path, certainty, read_as):
    (line,) = read(tmp_path, {**KNOWNO, "method": "Binary", "certainty": certainty, "flags": None}).rows
    assert line.decision.certainty == read_as
    assert line.decision.flags == (("invalid_certainty",) if read_as == "invalid" else ())


def test_other_programs_write_names_and_tables_in_other_ways(tmp_path):
    (plain,) = read(tmp_path, KNOWNO).rows
    other = {
        **KNOWNO,
        "method": "KnowNo",
        "member": "Ambiguous",
        "type": "Preferences",
        "token_table": {"A": -0.5, "B": -1.0},
    }
    assert read(tmp_path, other).rows[0].decision == plain.decision
    for outputs in ({"choose": "A"}, [{"role": "choose", "text": "A"}]):
        (line,) = read(tmp_path, {**KNOWNO, "raw_outputs": outputs}).rows
        assert line.decision.raw == (("choose", "A"),)
    (line,) = read(tmp_path, {**KNOWNO, "raw_outputs": ["A", "B"]}).rows
    assert line.decision.raw == (("", "A"), ("", "B"))


def test_decisions_of_several_seeds_are_several(tmp_path):
    result = read(tmp_path, {**KNOWNO, "seed": 1}, {**KNOWNO, "seed": 2})
    assert len(result.rows) == 2 and result.faults == ()


def test_without_a_part_that_of_the_pair_is_used(tmp_path):
    (line,) = read(tmp_path, {**KNOWNO, "q_hat": None, "prediction_set": []}).rows
    assert line.calibrates and line.decision.item.part == "calibration"
    pair = replace(next(pair for pair in load_pairs() if pair.type == "preferences"), id="p1")
    for taken, part in ((None, "test"), (True, "calibration")):
        (row,) = with_items([line], {"p1": replace(pair, take_ambiguous=taken)}, {})
        assert (row.calibrates, row.decision.item.part) == (part == "calibration", part)
    (calibrating,) = read(tmp_path, {**KNOWNO, "part": "calibration"}).rows
    (row,) = with_items([calibrating], {"p1": replace(pair, take_ambiguous=None)}, {})
    assert row.calibrates and row.decision.item.part == "calibration"


def test_the_same_decision_twice_is_a_fault(tmp_path):
    result = read(tmp_path, KNOWNO, KNOWNO)
    assert len(result.rows) == 1 and [fault.message for fault in result.faults] == ["repeats line 1"]


def test_forms_and_answers_are_passed_over(tmp_path):
    result = read(tmp_path, KNOWNO, {"pair_id": "p1", "seat": "user", "typed_text": "The mug."})
    assert (len(result.rows), result.faults) == (1, ())


def test_the_kind_is_recognized_by_the_content(tmp_path):
    assert is_decision(KNOWNO) and not is_decision({"pair_id": "p1"})
    assert is_decision({"pair_id": "p1", "method": "nohelp", "action": "take the mug"})
    assert is_decision({"pair_id": "p1", "method": "person", "marked": ["take the mug"]})
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(KNOWNO))
    assert TABLES.kind_of(path).name == "decisions"
