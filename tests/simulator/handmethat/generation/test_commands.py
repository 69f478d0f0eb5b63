"""`askback generate handmethat` and `askback stats handmethat`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app import cli
from simulator.errors import InputError
from simulator.handmethat.items import Task
from simulator.handmethat.statistics import facts_of, statistics, summarise

SMALL = ("--templates", "3,31,33,66", "--workers", "1")


def ask(*args: str) -> str:
    result = CliRunner().invoke(cli, args)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_episodes_are_generated_and_reported(tmp_path: Path) -> None:
    args = ("generate", "handmethat", "--out", str(tmp_path / "out"), "--episodes", "4", *SMALL)
    log = ("--levels", "2:1,3:1", "--into-log", "--log", str(tmp_path / "log.sqlite"))
    output = ask(*args, *log)
    for words in ("Per episode", "plan length", "Levels and quest types", "Goal templates:", "CPU"):
        assert words in output
    assert "All episodes existed already" in ask(*args, *log)
    assert (tmp_path / "log.sqlite").exists()
    figures = json.loads(ask("stats", "handmethat", "--data", str(tmp_path / "out"), "--json"))
    assert figures["levels"] == {"2": 2, "3": 2}
    with pytest.raises(InputError, match="generated with episodes 4, not 5"):
        ask(*args[:-5], "5", *SMALL, *log)


def test_statistics_of_a_profile(tmp_path: Path) -> None:
    out = tmp_path / "stats.csv"
    args = ("stats", "handmethat", "--profile", "v2", "--episodes", "5", *SMALL)
    assert ask(*args, "--csv", "--out", str(out)) == ""
    rows = list(csv.reader(io.StringIO(out.read_text())))
    assert rows[0][:4] == ["group", "name", "episodes", "mean"]
    spreads = {row[1]: row for row in rows if row[0] == "spread"}
    assert {"plan", "shown", "objects", "pool", "words", "meant", "said", "useful"} <= set(spreads)
    assert sum(int(row[2]) for row in rows if row[0] == "level") == 5
    assert "Rejections" in ask(*args, "--seed", "1")


@pytest.mark.each(
    ("args", "message"),
    [
        (("--data", "builtin", "--profile", "v2"), "cannot be used together"),
        (("--json", "--csv"), "cannot be used together"),
        (("--data", "builtin", "--out", "x"), "add --json or --csv"),
        (("--profile", "v3"), "must be one of v1, v2, paper"),
        (("--levels", "5:1"), "--levels"),
        (("--templates", "2", "--quest-mix", "change_state:1"), "can serve change_state"),
    ],
)
def test_wrong_options_are_refused(args: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask("stats", "handmethat", *args)


def test_the_statistics_are_right_on_numbers_worked_out_by_hand(task: Task) -> None:
    summary = summarise("plan", [1, 2, 3, 4])
    assert (summary["mean"], summary["least"], summary["most"]) == (2.5, 1, 4)
    assert summary["sd"] == pytest.approx((5 / 3) ** 0.5)
    assert summary["quantiles"] == pytest.approx((1.15, 1.75, 2.5, 3.25, 3.85))
    assert summarise("plan", [7])["sd"] == 0
    facts = facts_of(task, pool=3, strict=True)
    assert (facts.plan, facts.shown, facts.specifiers) == (2, 2, 1)
    assert facts.meant == len(task.in_meaning) and facts.said == len(task.in_utterance)
    figures = statistics([facts, facts_of(task)], {"no plan": 2, "no level": 5})
    assert (figures["levels"], figures["quests"], figures["goals"]) == ({2: 2}, {"bring_me": 2}, {64: 2})
    assert list(figures["rejections"]) == ["no level", "no plan"]
    pool = next(summary for summary in figures["spreads"] if summary["measure"] == "pool")
    assert (pool["episodes"], pool["mean"]) == (1, 3)
    assert not [summary for summary in figures["spreads"] if summary["measure"] in ("subgoals", "demo")]
