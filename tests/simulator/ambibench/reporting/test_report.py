"""Test the report of runs and its command."""

from __future__ import annotations

import csv
import json
from statistics import fmean

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from simulator import catalog
from simulator.ambibench.coding import CODING, Mark
from simulator.ambibench.generation import generate_instruction, generate_multiple, generate_verbalise
from simulator.ambibench.records import read_trial_file
from simulator.ambibench.reporting import report
from simulator.ambibench.reporting.frame import means
from simulator.ambibench.reporting.report import read_results
from simulator.commands.report import report_command
from simulator.errors import InputError
from simulator.frames import Frames
from simulator.reports import build_report, print_run_report


@pytest.fixture(scope="module")
def log(shared_desk, skilled, typed, says, table):
    """Runs of one model and of people; the model's 4.2 has ties."""
    desk = shared_desk
    desk.play("m", generate_multiple(1, per_cell=1), "openai/m", skilled(0.8))
    desk.play("m-people", generate_multiple(1, per_cell=1)[:4], "person", typed(0.9))
    desk.play("i", generate_instruction(1, per_cell=1), "openai/m", lambda *_: table(X=0.5, Y=0.5))
    desk.play("i", generate_instruction(2, per_cell=1)[:1], "openai/m", skilled(1), status="failed")
    episodes = desk.play("v", generate_verbalise(1, per_cell=1), "openai/m", lambda *_: says("animals"))
    for rater in ("ann", "bo"):
        for episode in episodes:
            desk.put(CODING.judgment(episode, rater, Mark(category="correct"), submission=episode))
    return desk


@pytest.fixture
def askback(log):
    """Run the command on the log and return its output."""
    app = typer.Typer()
    app.command()(report_command(catalog.find("ambibench")))

    def run(*words, alone=False):
        path = [] if "--log" in words else ["--log", str(log.path)]
        result = CliRunner().invoke(app, [*map(str, words), *path], env={"COLUMNS": "100"})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout if alone else result.output

    return run


def test_a_report_holds_trials_endings_and_agreement(log):
    runs = ["m", "m-people", "i", "v"]
    results = read_results(log.reader, runs)
    assert len(results.trials) == len(results.frame) == 240 + 80 + 12 + 12
    endings = build_report(catalog.find("ambibench"), Frames(log=log.reader, runs=tuple(runs))).endings
    assert endings.statuses == {"completed": 12 + 4 + 12 + 12, "failed": 1}
    assert list(endings.failures.values()) == [1]
    assert [agreed.observed.value for agreed in results.agreements] == [1]
    estimate = means(results.frame, "correct", ("actor", "setting"))["openai/m", "multiple"]
    model = [record.correct for record in results.trials if record.run_id == "m"]
    assert (estimate.value, estimate.n) == (pytest.approx(fmean(model)), 240)


def test_rules_may_be_chosen_again(log):
    for tie, accuracy in ((None, 0), ("half", 0.5), ("wrong", 0)):
        results = read_results(log.reader, ["i"], settings=report.Settings(tie=tie))
        assert means(results.frame, "correct", "actor")["openai/m"].value == accuracy


def test_the_terminal_shows_a_table_per_setting(log):
    console = Console(width=80, record=True)
    frames = Frames(log=log.reader, runs=("m", "m-people", "i", "v"))
    print_run_report(console, build_report(catalog.find("ambibench"), frames))
    text = console.export_text()
    for content in (
        "Accuracy: multiple examples (4.3), all k",
        "Accuracy by k: multiple examples (4.3)",
        "Accuracy: instruction and two examples (4.2), uninformative",
        "Share of outputs that name the task",
        "Agreement of raters",
        "People's sessions",
        "1 failed",
        "oracle (exact)",
    ):
        assert content in text
    assert "Accuracy per prompt" not in text
    assert "cells and prompts: in JSON" in text


def test_what_is_reported_is_read_once(askback, monkeypatch, tmp_path):
    read = []

    def counted(*runs, **options):
        read.append(runs)
        return read_results(*runs, **options)

    monkeypatch.setattr(report, "read_results", counted)
    askback("m", "--trials", tmp_path / "trials.jsonl")
    assert len(read) == 1


def test_the_command_prints_the_report(askback):
    text = askback("m", "m-people", "--actor", "openai/*=the model")
    assert "the model" in text
    assert "openai/m" not in text


def table(report, section, name):
    """A table of a report in JSON."""
    (tables,) = [each["tables"] for each in report["sections"] if each["name"] == section]
    (match,) = [each for each in tables if each.get("name") == name]
    return match


def test_tables_in_other_forms(askback):
    plain = json.loads(askback("m", "v", "--table", "json"))
    assert {"multiple", "verbalise", "agreement", "labels"} <= {each["name"] for each in plain["sections"]}
    assert table(plain, "multiple", "curve")["rows"][4]["oracle (exact)"] == 0.96875
    latex = askback("m", "--table", "latex")
    assert r"\label{tab:multiple-accuracy}" in latex
    assert "k,openai/m,openai/m_low,openai/m_high,openai/m_n" in askback("m", "--format", "csv")
    assert "Accuracy by k" in askback("m", "--table", "text")


def test_figures_and_tables_are_written_and_what_lacks_is_said(askback, tmp_path):
    text = askback(
        "m", "m-people", "v", "--out", tmp_path, "--suffix", "svg,csv", "--figure", "3,5", "--figure", "8"
    )
    names = {path.name for path in tmp_path.iterdir()}
    assert {
        "figure-3.svg",
        "figure-3.csv",
        "figure-5.svg",
        "multiple-curve.csv",
        "multiple-curve.tex",
    } <= names
    assert not [name for name in names if "figure-8" in name or name.startswith(".")]
    assert f"wrote {tmp_path / 'figure-3.svg'}" in text
    assert "figure 8: no models in setting wug: askback run ambibench --setting wug" in text
    assert "figure 3:" not in text
    rows = list(csv.DictReader((tmp_path / "figure-3.csv").read_text().splitlines()))
    assert {row["series"] for row in rows} == {"people", "openai/m", "oracle (exact)", "chance"}


def test_probabilities_that_add_up_to_more_than_1_are_told_and_drawn(askback, desk, table, tmp_path):
    desk.play("loud", generate_multiple(1, per_cell=1)[:2], "openai/m", lambda *_: table(X=0.8, Y=0.6))
    out = tmp_path / "figures"
    output = " ".join(askback("loud", "--out", out, "--suffix", "csv", "--log", desk.path).split())
    assert (
        "loud: answers with probabilities that add up to more than 1 (each is divided by the sum): 40"
        in output
    )
    with (out / "figure-7.csv").open(encoding="utf-8", newline="") as file:
        assert {round(float(row["y"]), 9) for row in csv.DictReader(file) if row["y"]} == {1}


def test_trials_go_out_and_come_back(askback, log, tmp_path):
    path = tmp_path / "trials.jsonl"
    text = askback("m", "m-people", "--trials", path)
    assert f"wrote {path}: 320 trials\n" in text
    assert read_trial_file(path).rows == read_results(log.reader, ["m", "m-people"]).trials
    # The same trials from the log and from the file count once; a file alone needs no log.
    whole = json.loads(askback("m", "m-people", "--table", "json"))
    both = json.loads(askback("m", "m-people", "--from", path, "--table", "json"))
    for words in (("--from", path), (path,)):
        alone = json.loads(askback(*words, "--table", "json", "--log", tmp_path / "none.sqlite"))
        assert both["sections"] == whole["sections"]
        assert alone["sections"] == [each for each in whole["sections"] if each["name"] != "metrics"]


@pytest.mark.parametrize("form", ["json", "csv", "latex"])
def test_tables_for_other_programs_stand_alone(askback, tmp_path, form):
    path = tmp_path / "trials.jsonl"
    words = ("m", "--trials", path, "--table", form)
    assert askback(*words, alone=True) == askback("m", "--table", form)
    assert f"wrote {path}: 240 trials\n" in askback(*words)


def test_the_terminal_shows_every_k(desk, skilled):
    desk.play("long", generate_multiple(3, per_cell=1, length=25)[:2], "openai/m", skilled(0.8))
    console = Console(width=80, record=True)
    frames = Frames(log=desk.reader, runs=("long",))
    print_run_report(console, build_report(catalog.find("ambibench"), frames))
    lines = [line.split() for line in console.export_text().splitlines()]
    # A table that is too wide is shown in blocks that each begin with k.
    assert [line[0] for line in lines if line and line[0].isdigit()].count("25") >= 2, "curve and validity"


def test_results_from_elsewhere_stand_beside_ones_own(askback, tmp_path):
    path = tmp_path / "other.jsonl"
    line = {
        "setting": "multiple",
        "salient_feature": "negation",
        "format": "qa",
        "instruction_kind": "uninformative",
        "actor_kind": "model",
        "actor_id": "somebody/else",
        "gold": "Y",
        "raw_answer": "Y",
    }
    path.write_text("\n".join(json.dumps({**line, "k": k, "prompt_id": "theirs"}) for k in range(1, 21)))
    plain = table(json.loads(askback("m", "--from", path, "--table", "json")), "multiple", "curve")
    assert plain["rows"][7]["somebody/else"]["value"] == 1
    assert plain["rows"][7]["openai/m"]["n"] == 12


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Name runs"),
        (("m", "--figure", "3"), "--figure needs --out"),
        (("m", "--suffix", "gif"), "--suffix gif: figures can be written as png, svg, pdf, html, csv, json"),
        (("m", "--figure", "1", "--out", "x"), "--figure 1: there is no such figure"),
        (("m", "--actor", "openai/m"), "write NAME=LABEL"),
        (("--from", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
    ],
)
def test_what_cannot_be(askback, words, message):
    with pytest.raises(InputError) as caught:
        askback(*words)
    assert message in str(caught.value)
