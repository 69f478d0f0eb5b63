"""One rule for all benchmarks: an episode that a failing seat aborted is an unsuccessful one."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app import cli
from logs import LogReader, LogWriter
from logs.rows import Ending

sys.path.insert(0, str(Path(__file__).parents[2] / "ui" / "research"))  # markup

from markup import office_at, page_at

WHY = "it said nothing"
PLAYED = {
    "clarq": ("seeker", ["clarq", "--limit", "4"]),
    "handmethat": ("robot", ["handmethat", "--per-level", "1", "--robot", "offline/expert"]),
    "ambibench": ("participant", ["ambibench", "--limit", "4", "--setting", "multiple"]),
    "ambient": ("annotator", ["ambient", "--task", "generate", "--limit", "4"]),
    "ambik": ("robot", ["ambik", "--limit", "6", "--model", "offline/kitchen", "--questions", "1"]),
}

PAGE = {"en": "a seat said nothing, broke the rules or refused", "zh": "没有作答、违反规则或拒绝回答而中止"}


@pytest.fixture
def askback(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "160")

    def run(log, *arguments, code=0):
        result = CliRunner().invoke(cli, [*map(str, arguments), "--log", str(log)])
        assert result.exit_code == code, (result.output, result.exception)
        return result.stdout

    return run


def broken_off(source, target, run_id, seat, *, every=False):
    """Copy a run in which the seat fell silent before its first move: in its first episode, or in all."""
    with LogReader(source) as reader, LogWriter(target, durable=False) as log:
        log.put(reader.run(run_id))
        for item in reader.items(run_id):
            log.put(item)
        for number, played in enumerate(reader.turns_of_run(run_id)):
            episode, aborted = played.episode, every or not number
            log.put(episode)
            for turn in played.turns:
                if aborted and turn.seat == seat:
                    break
                log.put(turn)
            if aborted:
                ending = Ending(episode_id=episode.id, status="aborted", cause=seat, message=WHY)
            else:
                ending = replace(reader.ending(episode.id))
                for score in reader.scores(episode_id=episode.id):
                    log.put(score)
            log.put(ending)
        return number + 1


def page(log, run, language):
    """Return the page with a run's scores."""
    with LogReader(log) as reader, LogWriter(log, durable=False) as writer:
        return page_at(office_at(writer, reader), "/research/run", f"run={run}", language)["html"]


def table(report, section, name):
    """Rows of a table of a report in JSON."""
    (tables,) = [each["tables"] for each in report["sections"] if each["name"] == section]
    (rows,) = [each["rows"] for each in tables if each.get("name") == name]
    return rows


def headline(benchmark, report):
    """A share of successes, and over how many episodes it is."""
    match benchmark:
        case "clarq":
            share = table(report, "dialogues", "by_language")[0]["S"]
        case "handmethat":
            rows = table(report, "levels", "exact")
            share = next(row["success"] for row in rows if row["level"] == "all")
        case "ambibench":
            (share,) = (row["accuracy"] for row in table(report, "labels", "labels"))
        case "ambient":
            share = table(report, "generate", "measures")[0]["value"]
        case _:
            (share,) = (each["data"]["exchange"]["right after"] for each in report["sections"])
    return share["value"], share["n"]


@pytest.mark.parametrize("benchmark", PLAYED)
def test_a_silent_seat_lowers_the_headline_and_is_told_beside_it(askback, tmp_path, benchmark):
    seat, command = PLAYED[benchmark]
    source, target = tmp_path / "played.sqlite", tmp_path / "log.sqlite"
    askback(source, "run", *command, "--run", "r")
    with LogReader(source) as reader:
        (run,) = [logged.id for logged in reader.runs()]
    whole, n = headline(benchmark, json.loads(askback(source, "score", run, "--json")))
    episodes = broken_off(source, target, run, seat)
    report = json.loads(askback(target, "score", run, "--json"))
    value, counted = headline(benchmark, report)
    without = json.loads(askback(target, "score", run, "--json", "--exclude-aborted"))
    remaining, left = headline(benchmark, without)
    assert report["aborted"] == without["aborted"] == {f"{seat}: {WHY}": 1}
    assert report["statuses"]["aborted"] == 1
    assert counted == n
    assert left == n - 1
    assert value == pytest.approx(remaining * left / counted)
    assert value < whole or whole == 0
    printed = askback(target, "score", run)
    assert f"1 aborted: {seat}: {WHY}" in printed
    assert "They count as unsuccessful" in printed
    assert "excluded from the scores" in askback(target, "score", run, "--exclude-aborted")
    with LogReader(target) as reader:
        assert len({score.episode_id for score in reader.scores(run_id=run)}) == episodes - 1
    for language, sentence in PAGE.items():
        assert sentence in page(target, run, language)
        assert sentence not in page(source, run, language)


@pytest.mark.parametrize("benchmark", PLAYED)
def test_a_run_whose_episodes_all_were_aborted_scores_nothing_but_failures(askback, tmp_path, benchmark):
    seat, command = PLAYED[benchmark]
    source, target = tmp_path / "played.sqlite", tmp_path / "log.sqlite"
    askback(source, "run", *command, "--run", "r")
    with LogReader(source) as reader:
        (run,) = [logged.id for logged in reader.runs()]
    episodes = broken_off(source, target, run, seat, every=True)
    report = json.loads(askback(target, "score", run, "--json"))
    assert report["aborted"] == {f"{seat}: {WHY}": episodes}
    value, _ = headline(benchmark, report)
    assert value == 0
    # The same command goes on with the run: nothing is left to be played, and nothing came of it.
    printed = askback(target, "run", *command, "--run", "r", code=1)
    assert f"{episodes} aborted" in printed
