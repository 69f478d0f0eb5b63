"""`askback import ambik-results`: decision files become runs without loss."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from logs import LogReader
from simulator.ambik import import_command as module
from simulator.ambik.data import load_pairs
from simulator.ambik.files.pairs import write_pairs_file
from simulator.ambik.import_command import import_ambik
from simulator.ambik.import_sources import read_sources
from simulator.ambik.reporting.exporting import write_run_lines
from simulator.ambik.reporting.groups import from_runs
from simulator.ambik.reporting.results import results_of
from simulator.ambik.trial_log import calibration_of, decisions, exchanges_of, options_of, played_of
from simulator.asking import read_asking
from simulator.commands.asking_measures import rows

from .imports import RUNS, THRESHOLD, brought, foreign, lines_of, reported, written
from .reports import report, sections


@pytest.fixture(scope="session")
def exported(log, tmp_path_factory):
    """All decisions of the log's runs, calibrations first."""
    path = tmp_path_factory.mktemp("exported") / "all.jsonl"
    with LogReader(log) as reader:
        write_run_lines(path, reader, RUNS)
    return path


@pytest.fixture(scope="session")
def imported(exported, tmp_path_factory):
    """A log that has been given them."""
    path = tmp_path_factory.mktemp("imported") / "log.sqlite"
    (result,) = brought(path, exported)
    assert not result.faults and not result.refused
    assert all(run.receipt.new and not run.differences for run in result.runs)
    assert all(run.receipt.added == run.receipt.episodes for run in result.runs)
    return path


@pytest.fixture
def call(call, monkeypatch):
    """Calls the command as from a terminal."""
    monkeypatch.setenv("COLUMNS", "400")
    app = typer.Typer()
    app.command()(import_ambik)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_exporting_an_import_gives_the_same_file(exported, imported, tmp_path):
    again = tmp_path / "again.jsonl"
    with LogReader(imported) as reader:
        write_run_lines(again, reader, RUNS)
    assert again.read_bytes() == exported.read_bytes()


@pytest.mark.parametrize("switches", [{}, {"target_success": 0.6, "quantile": "numpy_higher"}])
def test_a_report_tells_the_same_of_the_file_and_of_its_runs(exported, imported, switches):
    assert reported(imported, files=[exported], **switches) == reported(imported, RUNS, **switches)


def test_what_was_asked_and_scored_is_the_same(log, imported):
    with LogReader(log) as before, LogReader(imported) as after:
        assert rows(read_asking(before, RUNS).askings) == rows(read_asking(after, RUNS).askings)
        assert [exchange.before.asked for exchange in exchanges_of(played_of(after, ["kitchen"]))] == [
            exchange.before.asked for exchange in exchanges_of(played_of(before, ["kitchen"]))
        ]
        for run in RUNS:
            scores = [
                {(score.episode_id, score.metric): score.value for score in reader.scores(run_id=run)}
                for reader in (before, after)
            ]
            assert scores[0] == scores[1] and scores[0]
        then, now = (calibration_of(reader, "m-lap") for reader in (before, after))
        assert then == now and len(now.nonconformities) == now.n


def test_the_same_file_again_adds_nothing(exported, imported, call):
    with LogReader(imported) as reader:
        before = [len(reader.runs()), len(reader.events()), len(reader.scores(latest=False))]
    result = call(exported, "--log", imported)
    assert result.exit_code == 0 and result.stdout.count("nothing new") == len(RUNS) + 4
    with LogReader(imported) as reader:
        assert [len(reader.runs()), len(reader.events()), len(reader.scores(latest=False))] == before


@pytest.mark.slow
def test_an_import_that_was_cut_off_is_completed(exported, tmp_path, monkeypatch):
    log, write_run = tmp_path / "log.sqlite", module.write_run

    def cut_off(episodes):
        yield next(episodes)
        raise KeyboardInterrupt

    def fail_at_m_lap(writer, run, episodes, **more):
        return write_run(writer, run, cut_off(episodes) if run.id == "m-lap" else episodes, **more)

    monkeypatch.setattr(module, "write_run", fail_at_m_lap)
    with pytest.raises(KeyboardInterrupt):
        brought(log, exported)
    monkeypatch.undo()
    (imported,) = brought(log, exported)
    added = {run.run.id: run.receipt.added for run in imported.runs}
    # One episode of the run was there before it was cut off.
    assert (added["m-knowno"], added["m-lap"], added["kitchen"]) == (0, 23, 24)
    assert reported(log, RUNS) == reported(log, files=[exported])


def test_a_run_of_the_same_name_gets_another_name(log, exported, tmp_path):
    """The log in which it was played has all names already."""
    copy = tmp_path / "log.sqlite"
    copy.write_bytes(log.read_bytes())
    (imported,) = brought(copy, exported)
    digest = imported.digest[:8]
    assert f"m-knowno-{digest}" in {run.run.id for run in imported.runs}
    with LogReader(copy) as reader:
        assert options_of(reader, f"m-knowno-{digest}").calibration.run == f"m-knowno-calibration-{digest}"
        assert options_of(reader, "m-knowno").calibration.run == "m-knowno-calibration"
    before, after = (
        reported(copy, [name])["table_9"]["tables"] for name in ("m-knowno", f"m-knowno-{digest}")
    )
    assert before == after


def test_a_calibration_of_the_same_name_that_gives_another_threshold_is_not_taken(log, exported, tmp_path):
    copy = tmp_path / "log.sqlite"
    copy.write_bytes(log.read_bytes())
    tests = [json.loads(line) for line in exported.read_text().splitlines()]
    tests = [line for line in tests if line["run_id"] == "m-knowno"]
    same = written(tmp_path / "same.jsonl", *tests)
    other = written(tmp_path / "other.jsonl", *({**line, "q_hat": 0.123} for line in tests))
    names = [brought(copy, path)[0].runs[0].run.id for path in (same, other)]
    with LogReader(copy) as reader:
        first, second = (options_of(reader, name).calibration for name in names)
        assert first.run == "m-knowno-calibration" and calibration_of(reader, names[0]).nonconformities
        assert second.run not in {run.id for run in reader.runs()}
        assert calibration_of(reader, names[1]).q_hat == 0.123


def test_foreign_lines_are_divided_by_robot_method_and_configuration(tmp_path, call):
    calibrating = foreign(20, skip=0, part="calibration")
    tests = [
        *foreign(6, part="test"),
        *foreign(6, part="test", generator="other/model"),
        *foreign(6, part="test", context="action_only", **THRESHOLD),
        *foreign(6, method="nohelp", action="take the mug"),
        *foreign(6, method="binary", action="take the mug", certainty="uncertain"),
    ]
    tests[12]["time"] = 1_700_000_000
    calibrating += foreign(20, skip=0, part="calibration", generator="other/model")
    file, log = written(tmp_path / "theirs.json", *calibrating, *tests), tmp_path / "log.sqlite"
    result = call(file, "--data", "builtin", "--log", log)
    assert (result.exit_code, result.stderr) == (0, "")
    runs = result.stdout.splitlines()[-1].removeprefix("Full report: askback report ambik ").split()
    assert runs == [
        "theirs-knowno-some-model-full_plan",
        "theirs-knowno-other-model-full_plan",
        "theirs-knowno-some-model-action_only",
        "theirs-nohelp-some-model-full_plan",
        "theirs-binary-some-model-full_plan",
    ]
    with LogReader(log) as reader:
        options_by_run = {run: options_of(reader, run) for run in runs}
        named = [
            None if options.calibration is None else options.calibration.run
            for options in options_by_run.values()
        ]
        assert named == [
            "theirs-knowno-some-model-full_plan-calibration",
            "theirs-knowno-other-model-full_plan-calibration",
            "",
            None,
            None,
        ]
        assert options_by_run[runs[2]].calibration.q_hat == THRESHOLD["q_hat"]
        assert reader.turns(reader.episodes(runs[1])[0].id)[0].created_at == "2023-11-14T22:13:20.000+00:00"
    with LogReader(log) as reader:
        first, second = map(sections, (report(reader, runs), report(files=[file], data="builtin")))
    assert first["table_9"]["tables"] == second["table_9"]["tables"]
    assert first["coverage"]["data"] == second["coverage"]["data"]
    assert first["asking"] == second["asking"]


def test_a_threshold_that_no_line_tells_is_that_of_the_calibration_in_another_file(tmp_path):
    calibrating = written(tmp_path / "a.jsonl", *foreign(20, skip=0, part="calibration"))
    tests = written(tmp_path / "b.jsonl", *foreign(6, part="test"))
    log = tmp_path / "log.sqlite"
    second, first = brought(log, tests, calibrating, data="builtin")
    assert [run.run.id for run in (*first.runs, *second.runs)] == ["a", "b"]
    with LogReader(log) as reader:
        calibrated = options_of(reader, "b").calibration
        assert calibrated.run == "a" and calibrated.n == 40
        assert calibration_of(reader, "b").q_hat == calibrated.q_hat


def test_without_any_threshold_every_line_is_left_out_and_reported(tmp_path, call):
    file = written(tmp_path / "a.jsonl", *foreign(2, part="test"))
    result = call(file, "--data", "builtin", "--log", tmp_path / "log.sqlite")
    assert result.exit_code == 1 and result.stdout == ""
    assert "4 lines of" in result.stderr and f"{file}:3: row {load_pairs()[21].id}" in result.stderr
    assert "q_hat is missing (with epsilon" in result.stderr
    assert "nothing was imported" in result.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pair_id": "nowhere"}, "the task is not available; name its data with --data"),
        ({"time": "yesterday"}, "time is 'yesterday', not a time (ISO 8601, or seconds since 1970)"),
        ({"time": float(10**30)}, "not a time"),
        ({"seed": "x"}, 'seed is "x", not a whole number'),
        ({"prediction_set": [1]}, "prediction_set[0] is 1, not a text"),
        ({"help": "yes"}, 'help is "yes", not true or false'),
        ({"icr": "high"}, 'icr is "high", not a number'),
        ({"decoding": [1]}, "decoding is [1], not an object"),
        ({"token_table": None}, "token_table is null, not a list"),
        ({"seat": "user", "typed_text": "The mug.", "episode_id": "e"}, "answers no question of its episode"),
        ({"seat": "user", "typed_text": "The mug."}, "episode_id is missing"),
    ],
)
def test_a_line_that_is_no_decision_is_a_fault_with_file_line_and_field(tmp_path, change, message):
    good = foreign(2, **THRESHOLD)
    file = written(tmp_path / "a.jsonl", *good[:2], {**good[2], **change}, good[3])
    (imported,) = brought(tmp_path / "log.sqlite", file, data="builtin")
    (fault,) = imported.faults
    assert (fault.file, fault.line) == (str(file), 3) and message in fault.message
    assert [(run.receipt.episodes, run.rows) for run in imported.runs] == [(3, 3)]


def test_a_line_that_cannot_be_scored_is_one_too(tmp_path):
    lap = foreign(2, method="lap", affordance={}, **THRESHOLD)
    lap[0]["affordance"] = {letter: {"context": 1, "prompt": 0.5} for letter in lap[0]["options"]}
    file = written(tmp_path / "a.jsonl", *lap)
    (imported,) = brought(tmp_path / "log.sqlite", file, data="builtin")
    assert [fault.line for fault in imported.faults] == [2, 3, 4]
    assert "has no affordance" in imported.faults[0].message
    assert imported.runs[0].receipt.episodes == 1


def test_lines_that_are_there_twice_are_left_out_or_played_twice(tmp_path):
    lines = foreign(2, **THRESHOLD)
    file = written(tmp_path / "a.jsonl", *lines, *lines[:2])
    (refused,) = brought(tmp_path / "log.sqlite", file, data="builtin")
    assert refused.runs[0].receipt.episodes == 4
    assert [(fault.line, fault.severity) for fault in refused.faults] == [(5, "error"), (6, "error")]
    log = tmp_path / "kept.sqlite"
    (doubled,) = brought(log, file, data="builtin", duplicates="keep")
    assert doubled.runs[0].receipt.episodes == 6
    assert [(fault.line, fault.severity) for fault in doubled.faults] == [(5, "warning"), (6, "warning")]
    with LogReader(log) as reader:
        assert sorted(episode.repeat for episode in reader.episodes("a")) == [0, 0, 0, 0, 1, 1]
    (again,) = brought(log, file, data="builtin", duplicates="keep")
    assert again.runs[0].receipt.added == 0


def test_stored_sets_and_scores_that_differ_are_reported_and_kept(tmp_path, call):
    lines = foreign(1, method="nohelp", action="take the mug", help=False, hr=0.0, episode_id="e")
    lines[0] |= {"prediction_set": ["take the cup"], "chr": None, "help": True, "hr": 1, "episode_id": "f"}
    file, log = written(tmp_path / "a.jsonl", *lines), tmp_path / "log.sqlite"
    result = call(file, "--data", "builtin", "--log", log)
    assert result.exit_code == 0
    assert "4 stored values of a differ from the recomputed ones" in result.stdout
    assert "line 1: prediction_set is stored as ['take the cup'] but recomputed as ['take the mug']" in (
        result.stdout
    )
    assert "line 1: hr is stored as 1 but recomputed as 0" in result.stdout
    (first, second) = lines_of(log, "a")
    assert (first["prediction_set"], second["prediction_set"]) == (["take the cup"], ["take the mug"])


def test_a_set_given_by_letters_is_read_as_its_texts(tmp_path):
    (line,) = foreign(1, **THRESHOLD)[:1]
    file = written(tmp_path / "a.json", {**line, "prediction_set": list("ABCD"), "q_hat": 0.99})
    (imported,) = brought(tmp_path / "log.sqlite", file, data="builtin")
    assert imported.runs[0].differences == ()
    (made,) = lines_of(tmp_path / "log.sqlite", "a")
    assert made["prediction_set"] == list(line["options"].values())


def other_texts(folder):
    """Data in which the built-in pairs have another answer."""
    return write_pairs_file(
        folder / "other.csv", [replace(pair, answer="Whichever.") for pair in load_pairs()]
    )


def test_the_same_file_with_other_texts_is_another_import(tmp_path, call):
    file, log = written(tmp_path / "a.jsonl", *foreign(2, **THRESHOLD)), tmp_path / "log.sqlite"
    brought(log, file, data="builtin")
    changed = [{**line, "time": "2026-01-01T00:00:00+00:00"} for line in lines_of(log, "a")]
    pairs = written(tmp_path / "pairs.jsonl", *changed)
    assert brought(log, pairs)[0].runs[0].run.id == "a-" + read_sources([pairs]).files[0].digest[:8]
    refused = call(file, "--data", other_texts(tmp_path), "--log", log)
    assert refused.exit_code == 1
    assert "the log has another import of this file, 'a', with other lines or other" in refused.stderr
    result = call(file, "--data", "builtin", "--log", log, "--run", "mine")
    assert result.exit_code == 0 and "run mine in" in result.stdout


@pytest.mark.slow
def test_the_published_run_becomes_a_calibration_that_tells_its_thresholds(published, tmp_path, call):
    log, file = tmp_path / "log.sqlite", published / "knowno_calib_logprobs_100.json"
    result = call(published, "--log", log)
    assert result.exit_code == 0 and "100 lines, 100 episodes" in result.stdout
    assert "62 of 100 decisions have only the number of their scenario" in result.stdout
    run = file.stem
    with LogReader(log) as reader:
        made = decisions(reader, [run])
        assert sum(bool(decision.item.scenario.task) for decision in made) == 38
        assert all(decision.right for decision in made)
        write_run_lines(tmp_path / "a.jsonl", reader, [run])
    with LogReader(log) as reader:
        both = report(reader, [run]), report(files=[file])
    of_run, of_file = (made.section(f"knowno_run-{run}") for made in both)
    assert of_run.data["rules"] == of_file.data["rules"] and of_run.tables == of_file.tables
    brought(tmp_path / "new.sqlite", tmp_path / "a.jsonl")
    assert lines_of(tmp_path / "new.sqlite", run) == lines_of(log, run)


def test_records_of_the_split_test_become_tests_of_their_calibration(tmp_path):
    options = {
        "A": "pick up the pear",
        "B": "pick up the plum",
        "C": "do nothing",
        "D": "an option not listed here",
    }
    records = [
        {
            "item": number,
            "split": "calib" if number < 9 else "test",
            "options": options,
            "not_listed_option": "D",
            "true_options": ["AB"[number % 2]],
            "top_tokens": ["A", "B"],
            "top_logprobs": [-0.1 * (number + 1), -1.5],
        }
        for number in range(12)
    ]
    file, log = tmp_path / "run.json", tmp_path / "log.sqlite"
    file.write_text(json.dumps(records))
    (imported,) = brought(log, file)
    assert not imported.faults
    assert [run.receipt.episodes for run in imported.runs if run not in imported.tests] == [9]
    assert [run.receipt.episodes for run in imported.tests] == [3]
    with LogReader(log) as reader:
        calibrating, tests = (run.run.id for run in imported.runs)
        assert options_of(reader, tests).calibration.run == calibrating
        assert options_of(reader, tests).calibration.n == 9
        results = results_of(from_runs(reader, [tests]).groups)
        assert [len(result.outcomes) for result in results] == [3]


def test_other_files_are_refused_with_a_way_out(tmp_path, call):
    (tmp_path / "table.csv").write_text("method,model,type,CHR,HR\nKnowNo,GPT-4,safety,1.0,0.0\n")
    (tmp_path / "empty.jsonl").write_text("")
    files = [tmp_path / name for name in ("table.csv", "empty.jsonl", "gone.jsonl")]
    result = call(*files, tmp_path, "--log", tmp_path / "log.sqlite")
    assert result.exit_code == 1
    for message in (
        "table.csv: contains results of methods, not decisions; give it to `askback score ambik`",
        "empty.jsonl: is empty",
        "gone.jsonl: there is no such file or folder",
        f"{tmp_path}: contains no AmbiK decisions to import",
    ):
        assert message in result.stderr
    assert not (tmp_path / "log.sqlite").exists()


def test_tasks_without_decisions_are_refused_and_a_file_that_breaks_off_names_its_line(
    tmp_path, call, published
):
    pairs, cut = published / "ambik_test_400.csv", tmp_path / "cut.csv"
    cut.write_bytes(pairs.read_bytes()[:20_000])
    result = call(pairs, cut, "--log", tmp_path / "log.sqlite")
    assert result.exit_code == 1 and not result.stdout
    way = "contains pairs of tasks; register them with `askback data add ambik`"
    assert f"{pairs}: {way}\n" in result.stderr
    assert f"{cut}: {way}; line 105: is not CSV: unexpected end of data" in result.stderr


def test_calibrations_among_which_cannot_be_chosen_are_refused(tmp_path):
    calibrating = [line for run in "ab" for line in foreign(4, skip=0, part="calibration", run_id=run)]
    file = written(tmp_path / "c.jsonl", *calibrating, *foreign(2, part="test", **THRESHOLD))
    (imported,) = brought(tmp_path / "log.sqlite", file, data="builtin")
    assert {run.run.id for run in imported.runs} == {"a", "b"}
    assert (
        len(imported.faults) == 4
        and "which of several calibrations applies (a, b)" in imported.faults[0].message
    )
    named = foreign(2, part="test", calibration_run="b", **THRESHOLD)
    file = written(tmp_path / "d.jsonl", *calibrating, *named)
    (imported,) = brought(tmp_path / "log.sqlite", file, data="builtin", name="more")
    assert not imported.faults
    with LogReader(tmp_path / "log.sqlite") as reader:
        assert options_of(reader, "more-d").calibration.run == "more-b"
