"""Test that counts of a single item have no interval: the variance between items is unknown."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from app import cli
from simulator.figures import Column, Table
from simulator.stats import Interval

RUNS = {
    "clarq": ("--seeker", "offline/seeker", "--provider", "offline/experts", "--lang", "en"),
    "handmethat": ("--robot", "offline/asker:1"),
    "ambik": ("--calibration-limit", "20"),
}


def nulls(value: Any, path: str = "") -> set[str]:
    """Return the paths of intervals without ends; fail if an interval has no width."""
    if isinstance(value, list):
        return {place for each in value for place in nulls(each, path)}
    if not isinstance(value, dict):
        return set()
    if {"value", "low", "high"} <= value.keys():
        assert value["low"] is None or value["low"] < value["high"], path
        return {path} if value["low"] is None and value["high"] is None else set()
    return {place for key, each in value.items() for place in nulls(each, f"{path}.{key}")}


def test_no_report_gives_a_count_of_one_item_an_interval(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")

    def ask(*arguments: str) -> str:
        answered = CliRunner().invoke(cli, [*arguments, "--log", str(tmp_path / "log.sqlite")])
        assert answered.exit_code == 0, answered.output
        return answered.stdout

    printed = {
        name: ask("run", name, "--limit", "1", "--repeat", "2", "--run", name, *options)
        for name, options in RUNS.items()
    }
    assert re.search(
        r"^en +\d .* \d\.\d\d – \(n = 1\) +\d+\.\d – \(n = 1\)", printed["clarq"], re.MULTILINE
    ), printed["clarq"]
    assert "85.0 –" in printed["handmethat"]
    assert "3.00\n" in (kitchen := ask("report", "ambik", "ambik")) or "3.00 – (n = 1)" in kitchen
    assert "– (n = 1)" in printed["ambik"]
    scores = {name: json.loads(ask("score", "run", name, "--json")) for name in ("clarq", "handmethat")}
    assert {place.rpartition(".")[2] for place in nulls(scores["clarq"])} == {"D", "L"}
    counts = {place.rpartition(".")[2] for place in nulls(scores["handmethat"])}
    assert counts == {
        "score",
        "moves",
        "moves of success",
        "questions",
        "question cost",
        "raw sum",
        "raw_sum",
    }
    asking = json.loads(ask("report", "asking", "handmethat", "--json"))
    assert any(place.endswith("questions") for place in nulls(asking))
    table = ask("report", "handmethat", "handmethat", "--format", "csv").splitlines()
    row = dict(zip(table[0].split(","), table[1].split(","), strict=True))
    assert (row["score"], row["score_low"], row["score_high"]) == ("85.0", "", "")
    assert (row["success_low"] != "", row["moves_low"]) == (True, "")


def test_tables_write_a_dash():
    table = Table([Column("D", 1)], [[Interval(5.0, None, None, 1)]])
    assert table.to_csv() == "D,D_low,D_high,D_n\n5.0,,,1\n"
    assert "5.0 -- (n = 1)" in table.to_latex()
    (row,) = json.loads(json.dumps(table.plain()))["rows"]
    assert row == {"D": {"value": 5.0, "low": None, "high": None, "n": 1}}
    assert Interval(0.5, 0.25, 1.0, 9).times(100).bracketed() == "50.00 [25.00, 100.00]"
    assert Interval(2.0, None, None, 1).reach == (2.0, 2.0)
    assert pytest.approx(Interval(0.5, 0.25, 1.0, 9).times(100)[:3]) == (50, 25, 100)
