"""`askback report ambik`: runs and files side by side, under any switch, in tables, figures and files."""

from __future__ import annotations

import csv
import json
import sqlite3
from dataclasses import replace

import pytest
from rich.console import Console

from logs import LogReader, LogWriter, erase_participant
from logs.rows import Ending, Participant
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.measures import exchange_measures, measures
from simulator.ambik.players import BASELINES
from simulator.ambik.predicting import calibrate, outcome
from simulator.ambik.reporting.figures import nonconformity_figure
from simulator.ambik.reporting.groups import from_runs
from simulator.ambik.reporting.results import results_of
from simulator.ambik.reporting.tables import SHORT, TABLES
from simulator.ambik.terms import DEFAULT
from simulator.ambik.trial_log import decisions, exchanges_of, first_decisions, played_of
from simulator.errors import InputError
from simulator.reporting.render import report_json
from simulator.reports import print_run_report, run_summary

from .reports import sections

ENDINGS = {"runs", "statuses", "left", "failures", "aborted", "exclude_aborted"}
FIGURES = ("figure-3", "figure-4", "nonconformity", "set-sizes", "coverage", "epsilon")


@pytest.fixture
def report(call, log):
    def made(*arguments, code=0):
        result = call("report", *arguments, "--log", log)
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return made


def plain(report, *arguments):
    return sections(json.loads(report(*arguments, "--json").stdout))


def cell(table, label, column):
    """The cell of a result, which is called by its method and robot."""
    (row,) = (row for row in table["rows"] if f"{row['method']}, {row['robot']}" == label)
    return row[column]


def persons(log):
    with LogReader(log) as reader:
        return [
            run.id
            for run in reader.runs()
            if any(decision.method == "person" for decision in decisions(reader, [run.id]))
        ]


def test_all_tables_of_all_methods(report, tests_of):
    shown = report(*tests_of, "kitchen", "scenarios").stdout
    for title in ("Table 3", "Table 6", "Table 7", "Table 8", "Table 9: CHR", "Table 9: HR", "SSC (Fig. 4)"):
        assert title in shown
    for name in ("KnowNo", "LAP", "LofreeCP", "Binary", "NoHelp", "built in"):
        assert name in shown
    tables = [line for line in shown.splitlines() if not line.startswith(("·", "["))]
    assert max(map(len, tables)) <= 100
    assert "marginal" in shown and "can fall below the guarantee" in shown
    # The paper's figures are of other data.
    assert "paper: " not in shown and "GPT-4" not in shown


def test_the_tables_hold_what_the_log_gives(report, reader, tests_of):
    parts = plain(report, *tests_of)
    calibrated = calibrate(decisions(reader, ["m-knowno-calibration"]), DEFAULT)
    expected = measures(
        [outcome(decision, calibrated, DEFAULT) for decision in decisions(reader, ["m-knowno"])], DEFAULT
    )
    name = "KnowNo, offline/script"
    figures = parts["table_6"]["data"][name]
    assert (figures["q_hat"], figures["n"], figures["rank"]) == (calibrated.q_hat, 16, 14)
    assert figures["reference_usable"] is False
    for kind in expected.types:
        for measure in ("chr", "hr"):
            (table,) = (table for table in parts["table_9"]["tables"] if table["name"] == measure)
            assert cell(table, name, SHORT[kind.type]) == getattr(kind, measure).interval._asdict()
        (table,) = parts["table_7"]["tables"]
        assert cell(table, name, SHORT[kind.type]) == kind.icr.interval._asdict()
    (table,) = parts["table_3"]["tables"]
    assert cell(table, name, "AmbDif") == expected.ambdif.interval._asdict()
    figures = {measured["type"]: measured for measured in parts["asking"]["data"][name]["types"]}
    assert figures["safety"]["icr"]["interval"] == expected.find_type("safety").icr.interval._asdict()
    assert (
        parts["coverage"]["data"][name]["report"]["coverage"] == expected.overall.coverage.interval._asdict()
    )
    assert parts["asking"]["data"]["NoHelp, offline/script"]["overall"]["hr"]["interval"]["value"] == 0


def test_another_target_makes_other_sets_of_the_same_log(report, reader):
    usual, wide = (plain(report, "m-knowno", *more) for more in ((), ("--target-success", "0.9")))
    name = "KnowNo, offline/script"
    then, now = (report["table_6"]["data"][name]["q_hat"] for report in (usual, wide))
    assert now == sorted(calibrate(decisions(reader, ["m-knowno-calibration"]), DEFAULT).nonconformities)[15]
    assert now > then
    sizes = [
        report["asking"]["data"][name]["overall"]["set_size"]["interval"]["value"] for report in (usual, wide)
    ]
    assert sizes[1] >= sizes[0]
    (remark,) = [remark for remark in wide["overview"]["remarks"] if "target_success" in remark]
    assert "0.9 instead of 0.8" in remark and "no model was asked" in remark
    assert not any("instead of" in remark for remark in usual["overview"]["remarks"])


@pytest.mark.parametrize(
    ("switch", "value", "method"),
    [
        ("--temperature", "1", "knowno"),
        ("--tokens", "raw_top5", "knowno"),
        ("--quantile", "numpy_linear", "knowno"),
        ("--cp-rule", "reference", "knowno"),
        ("--renormalise", None, "lap"),
        ("--entropy-weight", "0.9", "lofreecp"),
    ],
)
def test_switches_of_scores_move_the_threshold(report, switch, value, method):
    more = (switch,) if value is None else (switch, value)
    usual, other = plain(report, f"m-{method}"), plain(report, f"m-{method}", *more)
    then, now = (next(iter(report["table_6"]["data"].values()))["q_hat"] for report in (usual, other))
    assert then != now


def test_the_reference_rule_promises_nothing(report):
    shown = report("m-knowno", "--cp-rule", "reference", "--metrics", "reference").stdout
    assert "their coverage is not guaranteed" in shown
    assert "including its faults" in shown


def test_a_letter_that_is_returned_twice_is_reported(report):
    shown = report("scenarios", "--tokens", "raw_top5", "--help-rule", "original").stdout
    assert "counts twice" in shown


def test_before_and_after_the_answer(report):
    shares = plain(report, "kitchen")["exchange"]["data"]["built in, offline/kitchen, answered"]
    assert shares["preferences"]["asked"]["value"] > shares["unambiguous_direct"]["asked"]["value"]
    assert shares["preferences"]["right after"]["value"] > shares["preferences"]["right before"]["value"]
    assert shares["all"]["right before"]["n"] == 24


def test_people_are_shown_next_to_models(report, log):
    (run,) = persons(log)
    parts = plain(report, run, "m-knowno", "kitchen")
    assert parts["overview"]["data"]["people, people, answered"]["tasks"] == 2
    assert parts["overview"]["data"]["people, people, answered"]["people"] == 1
    shown = report(run, "m-knowno").stdout
    assert "people" in shown and "Table 9" in shown


def test_every_set_of_a_pair(report, reader):
    pair = decisions(reader, ["m-knowno"])[0].item.pair
    shown = report("m-knowno", "m-binary", "--task", pair.id).stdout
    sheet = shown[shown.index(f"== {pair.id}") :]
    assert "-- ambiguous: " in sheet and "-- clear: " in sheet
    assert "   <- here" in sheet and "Binary, offline/script: a" in sheet
    assert sheet.count("== ") == 1
    with pytest.raises(InputError, match="no run or file here has such a pair"):
        raise report_error(report, "m-knowno", "--task", "none")


def report_error(report, *arguments):
    return report(*arguments, code=1).exception


@pytest.mark.slow
def test_figures_tables_and_sets_are_written(report, tmp_path):
    # Two conformal methods and another have every figure, with several panels; drawing more takes time.
    report("m-knowno", "m-lofreecp", "m-binary", "--out", tmp_path)
    for name in FIGURES:
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()
        assert (tmp_path / f"{name}.csv").read_text().count("\n") > 1
    panels = {row["panel"] for row in csv.DictReader((tmp_path / "figure-3.csv").read_text().splitlines())}
    assert panels <= {"clear", "preferences", "common sense", "safety"} and len(panels) >= 3
    series = {
        row["series"] for row in csv.DictReader((tmp_path / "nonconformity.csv").read_text().splitlines())
    }
    assert series == {"at most the threshold", "above it"}
    assert r"\begin{tabular}" in (tmp_path / "table_9-chr.tex").read_text()
    assert (tmp_path / "sets.txt").read_text().count("== ") == 12


def test_histogram_is_parted_at_the_threshold(reader):
    drawn = nonconformity_figure(results_of(from_runs(reader, ["m-knowno"]).groups))
    counts = {mark.name: sum(mark.y) for mark in drawn.panels[0].marks}
    calibration = calibrate(decisions(reader, ["m-knowno-calibration"]), DEFAULT)
    below = sum(value <= calibration.q_hat for value in calibration.nonconformities)
    assert counts == {"at most the threshold": below, "above it": calibration.n - below}


@pytest.mark.slow
def test_lines_scored_as_a_file_tell_the_same(report, call, tests_of, tmp_path):
    file = tmp_path / "all.jsonl"
    result = report(*tests_of, "kitchen", "scenarios", "--lines", file, "--json")
    whole = json.loads(call("score", file, "--json").stdout)
    first, again = sections(json.loads(result.stdout)), sections(whole)
    assert json.loads(result.stdout).keys() - whole.keys() == ENDINGS
    assert first.keys() - {"errors"} == again.keys()
    for kind in ("table_3", "table_7", "table_8", "table_9", "ssc"):
        assert first[kind]["tables"] == again[kind]["tables"], kind
    for kind in ("table_6", "asking", "exchange"):
        assert first[kind]["data"] == again[kind]["data"], kind
    narrow = sections(json.loads(call("score", file, "--target-success", "0.6", "--json").stdout))
    name = "KnowNo, offline/script"
    assert narrow["table_6"]["data"][name]["q_hat"] < again["table_6"]["data"][name]["q_hat"]


def test_calibration_rows_may_be_in_another_file(report, call, tmp_path):
    report("m-lap", "--lines", tmp_path / "both.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "both.jsonl").read_text().splitlines()]
    for part in ("calibration", "test"):
        part_rows = [json.dumps(row) for row in rows if row["part"] == part]
        (tmp_path / f"{part}.jsonl").write_text("\n".join(part_rows))
    both, apart = (
        sections(json.loads(call("score", *files, "--json").stdout))
        for files in (
            (tmp_path / "both.jsonl",),
            (tmp_path / "test.jsonl", "--calibration", tmp_path / "calibration.jsonl"),
        )
    )
    assert both["table_6"] == apart["table_6"] and both["table_9"] == apart["table_9"]
    alone = sections(json.loads(call("score", tmp_path / "test.jsonl", "--json").stdout))
    assert alone["table_9"]["tables"] == both["table_9"]["tables"]
    assert "the logged threshold is used" in " ".join(alone["overview"]["remarks"])
    refused = call("score", tmp_path / "test.jsonl", "--target-success", "0.5").exception
    assert isinstance(refused, InputError) and "--target-success cannot be changed" in str(refused)


def test_an_export_is_read_back(report, call, tmp_path):
    report("m-knowno", "m-binary", "--export", tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"m-knowno.jsonl", "m-binary.jsonl", "results.csv"}
    parts = sections(json.loads(call("score", tmp_path, "--json").stdout))
    table = parts["result_table-results"]["data"]
    assert table["inconsistent"] == []
    assert {row["method"] for row in table["results"]} == {"knowno", "binary"}
    models = {row["method"] for row in parts["table_3"]["tables"][0]["rows"]}
    assert models == {"KnowNo", "Binary", "baseline"}


def test_baselines_are_in_every_table_of_measures(report):
    parts = plain(report, "m-nohelp", "kitchen")
    names = [f"baseline, {name}" for name in BASELINES]
    answered = [f"{name}, answered" for name in names]
    for kind in ("table_3", "table_7", "table_9", "ssc", "asking"):
        rows = parts[kind]["tables"][0]["rows"]
        labels = {f"{row['method']}, {row['robot']}" for row in rows}
        assert {*names, *answered} <= labels or {*answered} <= labels, kind
    exchange = parts["exchange"]["data"]
    rights = {name: exchange[name]["all"]["right after"]["value"] for name in answered}
    assert rights["baseline, lists everything, answered"] < rights["baseline, copies the step, answered"]
    assert rights["baseline, copies the step, answered"] < rights["baseline, always asks, answered"]
    assert exchange["baseline, never asks, answered"]["all"]["right before"]["value"] == rights[answered[0]]


def test_before_and_after_says_which_method(report):
    shown = report("kitchen").stdout
    table = shown.partition("Before and after the answer")[2]
    assert sum("built in" in line for line in table.splitlines()) > 2
    assert "relevant" in table


def test_runs_of_one_robot_get_distinct_names(reader):
    groups = from_runs(reader, ["m-knowno", "scenarios", "m-knowno"]).groups
    assert [result.name for result in results_of(groups)] == ["offline/script", "offline/script, scenarios"]
    twice = results_of([groups[0], groups[0]])
    assert [result.name for result in twice] == ["offline/script (1)", "offline/script (2)"]


def test_a_threshold_without_what_it_rests_on_cannot_be_moved(reader):
    from dataclasses import replace

    (group,) = from_runs(reader, ["m-knowno"]).groups
    bare = replace(group, calibration=())
    (result,) = results_of([bare])
    (whole,) = results_of([group])
    assert result.measures == whole.measures and result.coverage is None
    assert results_of([bare], {"icr": "best_option"})
    with pytest.raises(InputError, match="not available"):
        results_of([bare], {"temperature": 1.0})
    with pytest.raises(InputError, match="needs a calibration for its prediction sets"):
        results_of([replace(bare, logged=None)])


def test_a_calibration_alone_has_no_sets(report):
    assert "is a calibration" in report("m-lap-calibration").stdout


def test_the_papers_figures_are_shown_only_for_the_published_data(reader):
    from dataclasses import replace

    groups = from_runs(reader, ["m-knowno", "m-lofreecp"]).groups
    results = results_of([replace(group, version="paper") for group in groups])
    made = {made_table.name: made_table for table in TABLES if (made_table := table(results)) is not None}
    first = made["table_3"].tables[0].rows
    assert [row[4:] for row in first] == [(0.01, 0.01, 0.02, 0.01, 0.07), (0.14, 0.21, 0.02, None, 0.05)]
    assert sum(str(row[1]).startswith("paper") for row in made["table_9"].tables[0].rows) == 6
    assert sum(str(row[1]).startswith("paper") for row in made["table_7"].tables[0].rows) == 4
    assert "must not be used" in " ".join(made["table_6"].remarks)


def test_who_broke_off_has_not_asked(log, tmp_path):
    path = tmp_path / "log.sqlite"
    with sqlite3.connect(log) as whole, sqlite3.connect(path) as copy:
        whole.backup(copy)
    with LogReader(path) as reader, LogWriter(path, durable=False) as writer:
        for number, episode in enumerate(reader.episodes("kitchen")):
            writer.put(
                replace(episode, id=f"back {number}", repeat=1, options={**episode.options, "questions": 1})
            )
            writer.put(Ending(episode_id=f"back {number}", status="aborted", cause="robot")).result()
        played = played_of(reader, ["kitchen"], aborted=True)
    broken = [each for each in first_decisions(played) if not each.was_made]
    result = measures([outcome(each, None, DEFAULT) for each in broken], DEFAULT)
    assert {each.item.type for each in broken} >= {"unambiguous_direct", "preferences"}
    assert {each.hr.value for each in (*result.types, result.overall)} == {0}
    assert result.overall.chr.value == 0, "who does not decide is right about asking nowhere"
    asked = exchange_measures(exchanges_of(each for each in played if each.ending.status == "aborted"))
    assert asked["asked when needed"] is None is asked["asked when not needed"]
    assert asked["right after"] is not None and asked["right after"].value == 0


def test_withdrawals_are_reported_at_the_top(call, log, tmp_path):
    path = tmp_path / "log.sqlite"
    with sqlite3.connect(log) as whole, sqlite3.connect(path) as copy:
        whole.backup(copy)
    with LogReader(path) as reader, LogWriter(path, durable=False) as writer:
        episodes = reader.episodes("kitchen")
        writer.put(Participant(id="gone"))
        writer.put(replace(episodes[0], id="back", repeat=1, participant_id="gone"))
        writer.put(Ending(episode_id="back", status="aborted", message="The participant withdrew.")).result()
        erase_participant(path, "gone")
        summary = run_summary(reader, BENCHMARK, ["kitchen"])
    statuses = {"completed": len(episodes), "erased": 1}
    assert summary.endings.statuses == report_json(summary)["statuses"] == statuses
    print_run_report(console := Console(record=True, width=100, quiet=False), summary)
    assert f"kitchen  {len(episodes)} completed, 1 erased" in console.export_text()
    output = call("report", "kitchen", "--log", path).stdout
    assert output.startswith(f"\nkitchen  {len(episodes)} completed, 1 erased\n")
    assert "were aborted or failed" not in output
    plain = json.loads(call("report", "kitchen", "--log", path, "--json").stdout)
    assert (plain["statuses"], plain["failures"]) == (statuses, {})


def test_what_is_no_run_is_refused(call, log):
    result = call("report", "nobody", "--log", log)
    assert result.exit_code == 1 and "nobody" in str(result.exception)
