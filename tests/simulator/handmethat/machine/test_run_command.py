"""`askback run handmethat`, `askback score` and `askback report handmethat`."""

from __future__ import annotations

import json
import sys

import pytest
from episode_files import write_file

import app
from logs import LogReader
from simulator.errors import InputError
from simulator.handmethat.runs import EpisodeSelection, parse_levels


@pytest.fixture
def askback(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("ASKBACK_LOG", raising=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["askback", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            app.main()
        output = capsys.readouterr()
        return int(exit.value.code or 0), output.out, output.err

    return run


def table(report, section, name):
    """Rows of a table of a report in JSON."""
    (tables,) = [each["tables"] for each in report["sections"] if each["name"] == section]
    (rows,) = [each["rows"] for each in tables if each["name"] == name]
    return rows


def test_play_score_and_report(askback, data, tmp_path):
    for questions in (0, 1):
        command = ("run", "handmethat", "--robot", f"offline/asker:{questions}", "--data", data)
        status, out, _ = askback(*command, "--mode", "both", "--run", f"asker{questions}")
        assert status == 0, out
        assert "8 completed" in out or "16 completed" in out
    with LogReader(tmp_path / "home" / "log.sqlite") as reader:
        runs = [run.id for run in reader.runs()]
        before = len(reader.scores(run_id="asker1-full"))
        assert len(reader.episodes("asker1-full")) == 8
    assert runs == ["asker0-partial", "asker0-full", "asker1-partial", "asker1-full"]
    status, out, _ = askback("score", "asker1-full", "--json")
    assert status == 0
    (first, *_) = table(json.loads(out), "levels", "exact")
    assert (first["level"], first["success"]["value"]) == ("1", 1)
    with LogReader(tmp_path / "home" / "log.sqlite") as reader:
        assert len(reader.scores(run_id="asker1-full")) == before, "the same scores are not appended again"
    status, out, _ = askback("report", "handmethat", *runs, "--format", "json")
    gains = [row for row in table(json.loads(out), "gains", "gains") if row["level"] is None]
    assert [(gain["mode"], gain["fewer"], gain["more"]) for gain in gains] == [
        ("partial", 0, 1),
        ("full", 0, 1),
    ]
    assert gains[1]["success"]["n"] == 8
    (section,) = [each for each in json.loads(out)["sections"] if each["name"] == "errors"]
    (errors,) = section["tables"][0]["rows"]
    assert (errors["seat"], errors["player"], errors["language"]) == ("human", "offline/giver", "en")
    assert errors["wrong answers"]["n"] == 90
    for form in ("csv", "latex", "text"):
        status, out, _ = askback("report", "handmethat", *runs, "--format", form)
        assert status == 0
        assert "asker" in out
    assert askback("report", "handmethat", *runs, "--out", tmp_path / "report")[0] == 0
    assert "asker" in (tmp_path / "report" / "levels-paper.tex").read_text()


def test_the_same_command_continues(askback, data, tmp_path):
    command = ("run", "handmethat", "--robot", "offline/random", "--turn-limit", 3, "--data", data)
    first = askback(*command, "--per-level", 1, "--levels", "2-3", "--run", "r")
    again = askback(*command, "--per-level", 1, "--levels", "2-3", "--run", "r")
    assert (first[0], again[0]) == (0, 0)
    assert "2 truncated" in first[1]
    with LogReader(tmp_path / "home" / "log.sqlite") as reader:
        assert len(reader.episodes("r")) == 2
        assert sorted(item.data["level"] for item in reader.items("r")) == [2, 3]
    assert askback(*command, "--run", "r")[0] == 1, "another configuration"


def test_a_sample_is_seeded_balanced_and_reported(askback, data, tmp_path):
    command = ("run", "handmethat", "--robot", "offline/expert", "--data", data, "--workers", 1)
    for run, options in (
        ("level", ("--per-level", 1)),
        ("some", ("--limit", 4)),
        ("other", ("--limit", 4, "--seed", 3)),
    ):
        status, out, _ = askback(*command, *options, "--run", run)
        assert status == 0, out
        assert "4 episodes: 1 of level 1, 1 of level 2, 1 of level 3, 1 of level 4; 4 bring_me" in out
        assert "drawn from 8 episodes" in out
    with LogReader(tmp_path / "home" / "log.sqlite") as reader:
        names = {run: {item.name for item in reader.items(run)} for run in ("level", "some", "other")}
    assert names["level"] == names["some"] != names["other"]
    _, out, _ = askback("report", "handmethat", "level", "other")
    assert "level: 4 episodes" in out
    assert "4 in all, equal shares of levels; quest types and templates in proportion; seed 3" in out
    _, out, _ = askback("report", "handmethat", "level", "--format", "json")
    (items,) = [section for section in json.loads(out)["sections"] if section["name"] == "items"]
    assert items["data"]["samples"]["level"]["per_level"] == 1
    assert items["data"]["items"]["level"] == {
        "levels": {"1": 1, "2": 1, "3": 1, "4": 1},
        "quests": {"bring_me": 4},
        "templates": 1,
    }


def test_runs_in_two_languages_are_two_runs(askback, data, tmp_path):
    for language in ("en", "zh"):
        command = (
            "run",
            "handmethat",
            "--data",
            data,
            "--lang",
            language,
            "--levels",
            "2",
            "--run",
            language,
        )
        assert askback(*command)[0] == 0
    with LogReader(tmp_path / "home" / "log.sqlite") as reader:
        (chinese, english) = (reader.episodes(run)[0] for run in ("zh", "en"))
        assert (chinese.language, english.language) == ("zh", "en")
        assert chinese.item_hash != english.item_hash
        assert reader.turns(chinese.id)[0].text != reader.turns(english.id)[0].text


def test_wrong_options_are_reported_in_one_sentence(askback, data):
    for arguments, named in (
        (("--data", "gone"), "gone"),
        (("--data", data, "--levels", "5"), "level 5"),
        (("--data", data, "--levels", "3-1"), "--levels"),
        (("--data", data, "--robot", "person"), "askback app"),
        (("--data", data, "--robot", "offline/nobody"), "offline/asker"),
        (("--data", data, "--robot", "drrn:gone.pt"), "drrn:gone.pt"),
    ):
        status, _, error = askback("run", "handmethat", *arguments)
        assert status == 1
        assert error.startswith("askback: ") and error.count(". ") == 0
        assert named in error
    askback("run", "handmethat", "--data", data, "--per-level", 1, "--levels", 1, "--run", "r")
    status, _, error = askback("score", "r", "--judge", "openai/x")
    assert (status, "no judge" in error) == (1, True)
    status, _, error = askback("report", "handmethat", "gone")
    assert (status, "gone" in error) == (1, True)


def test_levels():
    assert parse_levels("1-4") == (1, 2, 3, 4)
    assert parse_levels("4,2") == (2, 4)
    for wrong in ("", "0", "x", "2-"):
        with pytest.raises(InputError, match="--levels"):
            parse_levels(wrong)


def test_a_sample_per_level_takes_what_exists(task, tmp_path):
    write_file(task, tmp_path)
    drawn = EpisodeSelection(data=str(tmp_path), per_level=3)
    assert [item.id for item in drawn.draw()] == [task.id]
    assert [item.id for item in drawn.model_copy(update={"levels": "1,2"}).draw()] == [task.id]
    with pytest.raises(InputError, match="contain no episode"):
        drawn.model_copy(update={"levels": "1,3"}).draw()
    with pytest.raises(InputError, match="neither 'builtin'"):
        EpisodeSelection(data=str(tmp_path / "elsewhere"), per_level=3).draw()
