"""`askback score ambik`: published files give the known figures, and faults of files are reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator.ambik.data import load_pairs
from simulator.ambik.files.pairs import write_pairs_file
from simulator.ambik.terms import DEFAULT
from simulator.errors import InputError
from simulator.reporting.render import report_json

from .reports import report, sections

CASE = {
    "id": "c1",
    "metric": "HR",
    "input": {"set_size": 2, "type": "safety"},
    "expected_paper": 1,
    "repo_value": 1,
}


def scored(call, *arguments, code=0):
    result = call("score", *arguments, "--json")
    assert result.exit_code == code, (result.output, result.exception)
    return json.loads(result.stdout)


def data(report, name):
    """Return the data of a section for programs."""
    return sections(report)[name]["data"]


@pytest.fixture(scope="module")
def everything(published):
    """Return the report on the folder of published files, as JSON."""
    return report_json(report(files=[published]))


def test_files_of_pairs_are_counted_together(tmp_path):
    pairs = load_pairs()
    files = [
        write_pairs_file(tmp_path / "a.csv", pairs[:20]),
        write_pairs_file(tmp_path / "b.csv", pairs[20:30]),
    ]
    figures = report_json(report(files=files))
    (section,) = sections(figures).values()
    assert sum(section["data"]["types"].values()) == 30


def test_every_published_check_and_metric_case_is_in_the_json(everything, published):
    report = everything
    checks = {
        example["id"]: example["reproduced"]
        for example in json.loads((published.parent / "expected_examples.json").read_text())
        if example["work"] == "AmbiK"
    }
    values = data(report, "pairs-ambik")["checks"]
    assert set(checks) == set(values)
    assert values["B5.calibration_balance"] == checks["B5.calibration_balance"]
    assert values["B1.types_500"] == pytest.approx(checks["B1.types_500"])
    cases = json.loads((published / "metric_cases_20.json").read_text())
    found_cases = data(report, "metric_cases-metric_cases_20")["cases"]
    assert list(found_cases) == [case["id"] for case in cases]
    for case in cases:
        for mode, name in (("paper", "expected_paper"), ("reference", "repo_value")):
            values = found_cases[case["id"]][mode]
            assert values["equal"] and values["expected"] == case[name]
            if case[name] is None or isinstance(case[name], int | float):
                assert values["found"] == (None if case[name] is None else pytest.approx(case[name]))


def test_the_published_run_gives_its_thresholds(everything):
    run = data(everything, "knowno_run-knowno_calib_logprobs_100")
    rules = run["rules"]
    assert (run["n"], run["rank"], run["epsilon"]) == (100, 81, pytest.approx(0.2))
    assert {name: (rule["order"], round(rule["q_hat"], 6)) for name, rule in rules.items()} == {
        "merged.exact": (81, 0.840181),
        "merged.numpy_higher": (82, 0.843288),
        "merged.numpy_linear": (81, 0.840771),
        "raw_top5.exact": (81, 0.866477),
        "raw_top5.numpy_higher": (82, 0.867279),
        "raw_top5.numpy_linear": (81, 0.86663),
    }
    original = rules["raw_top5.numpy_higher"]
    assert original["help_rate"]["original"]["interval"]["value"] == pytest.approx(0.82)
    assert original["success_rate"]["interval"]["value"] == pytest.approx(0.82)
    # Left out, exactly those items are not covered whose own value is above the others' threshold.
    assert rules["merged.exact"]["left_out_coverage"]["value"] == pytest.approx(0.8)
    assert rules["merged.exact"]["left_out_coverage"]["n"] == 100


def test_another_target_moves_the_threshold_of_a_published_run(call, published):
    file = published / "knowno_calib_logprobs_100.json"
    run = data(scored(call, file, "--target-success", 0.9), "knowno_run-knowno_calib_logprobs_100")
    assert (run["rank"], run["rules"]["merged.exact"]["order"]) == (91, 91)


def test_a_case_with_a_different_value_is_reported(call, tmp_path):
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([CASE, {**CASE, "id": "c2", "expected_paper": 0}]))
    figures = data(scored(call, file, code=1), "metric_cases-cases")
    assert figures["equal"] == {"paper": 1, "reference": 2}
    assert not figures["cases"]["c2"]["paper"]["equal"]
    shown = call("score", file)
    assert "NOT: 1" in shown.stdout and shown.exit_code == 1
    assert "metric cases that do not have the paper's value: 1" in shown.stderr
    alone = data(scored(call, file, "--metrics", "reference"), "metric_cases-cases")
    assert alone["equal"] == {"reference": 2}


def test_matching_cases_exit_with_0_regardless_of_the_published_code(call, tmp_path):
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([CASE, {**CASE, "id": "c2", "repo_value": 0}]))
    assert data(scored(call, file), "metric_cases-cases")["equal"] == {"paper": 2, "reference": 1}
    assert "the paper's value" not in call("score", file).stderr


def test_good_cases_are_scored_next_to_faulty_ones(call, tmp_path):
    file = tmp_path / "cases.json"
    bad = {**CASE, "id": "c2", "input": {"set_size": "2", "type": "safety"}}
    file.write_text(json.dumps([CASE, bad, {**CASE, "id": "c3"}]))
    report = scored(call, file)
    assert list(data(report, "metric_cases-cases")["cases"]) == ["c1", "c3"]
    assert 'input.set_size is "2", not a whole number' in str(report["faults"])


def test_inconsistent_results_are_reported_with_their_line(call, tmp_path):
    file = tmp_path / "results.csv"
    file.write_text(
        "method,model,type,CHR,HR,AmbDif\n"
        "LofreeCP,LLaMA-2,preferences,0.15,1.0,\n"
        "KnowNo,LLaMA-3,safety,0.01,0.99,\n"
        "Binary,GPT-4,preferences,0.0,0.0,\nBinary,GPT-4,safety,1.0,0.0,\n"
        "Binary,GPT-4,common_sense_knowledge,1.0,0.0,\nBinary,GPT-4,all,,,0.03\n"
    )
    figures = data(scored(call, file), "result_table-results")
    assert [(row["line"], row["method"]) for row in figures["inconsistent"]] == [
        (2, "lofreecp"),
        (7, "binary"),
    ]
    shown = call("score", file).stdout
    assert "line 2, LofreeCP: chr: is 0.15, but HR of preferences is 1" in shown
    assert "half of the last digit" in shown


def test_a_table_in_percent_is_reported_and_loses_no_row(call, tmp_path):
    file = tmp_path / "results.csv"
    file.write_text("Method,HR,SR\nKnowNo,85%,79%\nLAP,31%,17%\nBinary,99%,NA\n")
    assert [result.get("hr") for result in data(scored(call, file), "result_table-results")["results"]] == [
        *(0.85, 0.31, 0.99)
    ]
    output = call("score", file)
    assert "left out" not in output.stdout and "hr, sr: in percent, read as fractions of 1" in output.stderr


def test_the_paper_s_own_table_fails_where_the_paper_does(call, tmp_path):
    from simulator.ambik.terms import TASK_TYPES, paper

    lines = ["method,model,type,CHR,HR"]
    for row in paper()["table_9"]:
        for place, kind in enumerate(TASK_TYPES):
            lines.append(f"{row['method']},{row['model']},{kind},{row['chr'][place]},{row['hr'][place]}")
    file = tmp_path / "table_9.csv"
    file.write_text("\n".join(lines) + "\n")
    figures = data(scored(call, file), "result_table-table_9")
    assert {(row["method"]) for row in figures["inconsistent"]} == {"lofreecp"}
    rows = {figures["results"][row["line"] - 2]["model"] for row in figures["inconsistent"]}
    assert "LLaMA-2" in rows


def test_several_thresholds_in_one_run_are_refused_as_such(call, tmp_path):
    line = {"run_id": "r", "method": "knowno", "member": "clear", "type": "unambiguous_direct"}
    line |= {"options": {"A": "wait"}, "token_table": [["A", -0.5]], "epsilon": 0.2, "rank": 17}
    line |= {"n_calibration": 20}
    file = tmp_path / "log.jsonl"
    lines = ({**line, "pair_id": str(place), "q_hat": q_hat} for place, q_hat in enumerate((0.7, 0.8)))
    file.write_text("\n".join(map(json.dumps, lines)))
    result = call("score", file)
    assert "r: the lines of knowno do not all have the same q_hat" in str(result.exception)


def test_what_cannot_be_read_ends_with_1(call, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "other.json").write_text('[{"a": 1}]')
    (tmp_path / "pairs.csv").write_text("id,environment_short,ambiguity_type,amb_shortlist\n1,mug,safety,\n")
    names = ("empty.csv", "other.json", "none.csv", "pairs.csv")
    result = call("score", *(tmp_path / name for name in names))
    assert result.exit_code == 1
    for message in (
        "empty.csv: is empty",
        "other.json: is not one of AmbiK's files",
        "none.csv: there is no such",
        "pairs.csv: no column environment_full, unambiguous_direct, ambiguous_task;",
    ):
        assert message in result.stderr


def test_a_switch_out_of_range_is_refused(call, tmp_path):
    result = call("score", tmp_path, "--target-success", "1.5")
    assert isinstance(result.exception, InputError) and "--target-success is 1.5" in str(result.exception)
    assert DEFAULT.target_success == 0.8


def test_everything_is_written(call, published, tmp_path):
    out = tmp_path / "out"
    result = call("score", published / "metric_cases_20.json", "--out", out)
    assert result.exit_code == 0
    assert {file.name for file in out.iterdir()} == {
        "report.json",
        "report.html",
        "metric_cases-metric_cases_20-cases.csv",
        "metric_cases-metric_cases_20-cases.tex",
    }
    (tmp_path / "file").write_text("")
    again = call("score", published / "metric_cases_20.json", "--out", Path(tmp_path / "file"))
    assert isinstance(again.exception, InputError)
