"""Mistakes on the command line: one sentence that names what is wrong and the way out, and status 1."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

import app
import simulator
from logs import LogReader
from simulator.clarq.machine import MACHINE
from simulator.studies.files import find_studies
from ui.command import read_studies

SIMULATOR = Path(simulator.__file__).parent
HOUSEHOLD = b"id: h\ntitle: H\nbenchmark: handmethat\nseat: lamp\nparticipants: 4\n"
FILES = {"words.txt": b"not JSON", "noise.bin": bytes(range(128, 256)), "household.yaml": HOUSEHOLD}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ASKBACK_LOG", "ASKBACK_PERSONAS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def askback(monkeypatch: pytest.MonkeyPatch, command: str) -> int:
    """The exit status of `askback <command>`."""
    monkeypatch.setattr(sys, "argv", ["askback", *command.split()])
    with pytest.raises(SystemExit) as exit:
        app.main()
    return int(exit.value.code or 0)


MISTAKES = [
    ("run clarq --log words.txt/log.sqlite", ["words.txt", "--log"]),
    ("run clarq --log noise.bin", ["noise.bin", "--log"]),
    ("run clarq --limit 1 --prices gone.yaml", ["gone.yaml"]),
    ("run clarq --limit 1 --prices noise.bin", ["noise.bin"]),
    ("run clarq --limit 1 --seeker script:gone.yaml", ["gone.yaml"]),
    ("run clarq --limit 1 --seeker replay/gone", ["'gone'", "name"]),
    ("run clarq --limit 1 --judge nobody/knows", ["nobody/knows", "openai/"]),
    ("run clarq --seeker openai/gpt-4o", ["OPENAI_API_KEY"]),
    ("run clarq --types 5-2", ["--types", "1-10"]),
    ("run clarq --types 99", ["99", "1 to 31"]),
    ("run clarq --data clarq", ["askback data add clarq"]),
    ("import clarq-results gone.json", ["gone.json"]),
    ("import clarq-results words.txt", ["words.txt", "JSON"]),
    ("train clarq-ranker gone.json", ["gone.json"]),
    ("audit provider words.txt", ["words.txt", "JSON"]),
    ("data add clarq words.txt", ["words.txt", "zip"]),
    ("data add chess words.txt", ["chess", "clarq", "handmethat"]),
    ("score night --log gone.sqlite", ["gone.sqlite", "--log"]),
    ("study new clarq-h2l words.txt/mine.yaml", ["words.txt/mine.yaml", "cannot be written"]),
    ("app --port 7997 --study gone.yaml", ["gone.yaml", "neither a file nor a known study"]),
    ("app --port 7997 --items clarq=gone", ["'gone'", "askback data list"]),
]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "run handmethat --mode foo",
            "Invalid value for '--mode': 'foo' is not one of 'full', 'partial', 'both'.",
        ),
        ("export out --format foo", "Invalid value for '--format': 'foo' is not one of 'jsonl', 'csv',"),
        ("run clarq --limit many", "Invalid value for '--limit': is \"many\", not a whole number"),
        (
            "run clarq --limit 0",
            "Invalid value for '--limit': is \"0\"; it must be greater than or equal to 1",
        ),
    ],
)
def test_a_wrong_value_is_told_in_our_words(folder, monkeypatch, capsys, command, message):
    assert askback(monkeypatch, command) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("command", "named"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_one_sentence(folder, monkeypatch, capsys, command, named):
    assert askback(monkeypatch, command) == 1
    output = capsys.readouterr()
    assert len(output.err.splitlines()) == 1
    assert output.err.startswith("askback: ")
    assert all(word in output.err for word in named)
    assert "[Errno" not in output.err


@pytest.mark.parametrize(
    "option", ["--lang xx", "--mode foo", "--split foo", "--limit 0", "--concurrency 0", "--budget -1"]
)
def test_a_value_that_there_is_not_is_refused(folder, monkeypatch, capsys, option):
    assert askback(monkeypatch, f"run clarq --limit 1 {option}") == 2
    assert option.split()[0] in capsys.readouterr().err
    assert not (folder / "home" / "log.sqlite").exists()


def test_a_wrong_judge_is_told_before_anything_is_played(folder, monkeypatch):
    assert askback(monkeypatch, "run clarq --limit 1 --judge nobody/knows") == 1
    with LogReader(folder / "home" / "log.sqlite") as reader:
        assert not reader.runs()


def test_an_unusable_folder_of_askback_s_own(folder, monkeypatch, capsys):
    monkeypatch.setenv("ASKBACK_HOME", str(folder / "words.txt"))
    assert askback(monkeypatch, f"data add clarq {folder}") == 1
    assert "ASKBACK_HOME" in capsys.readouterr().err


def test_a_run_with_failures_says_why_and_the_same_command_plays_them_again(folder, monkeypatch, capsys):
    def broken(*arguments):
        raise RuntimeError("the scales are out of order")

    with monkeypatch.context() as during:
        during.setattr(type(MACHINE), "score", broken)
        assert askback(during, "run clarq --limit 2") == 1
    output = capsys.readouterr().out
    assert "2 failed: RuntimeError: the scales are out of order" in output
    assert "same command" in output
    assert askback(monkeypatch, "run clarq --limit 2") == 0
    assert "2 completed" in capsys.readouterr().out


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_app_names_a_log_that_it_cannot_make(folder, monkeypatch, capsys):
    assert askback(monkeypatch, f"app --log words.txt/log.sqlite --port {free_port()}") == 1
    assert "words.txt" in capsys.readouterr().err
    assert askback(monkeypatch, "app --port 99999") == 2


@pytest.mark.parametrize(
    ("file", "named"), [("gone.yaml", ["gone.yaml"]), ("household.yaml", ["study 'h'", "handmethat", "lamp"])]
)
def test_the_app_names_a_study_that_it_cannot_hold(folder, monkeypatch, capsys, file, named):
    assert askback(monkeypatch, f"app --study {file} --port {free_port()}") == 1
    message = " ".join(capsys.readouterr().err.split())
    assert all(name in message for name in named)


def test_study_files_go_to_their_benchmarks():
    benchmarks = ("ambibench", "ambient", "ambik")
    files = [file for name in benchmarks for file in find_studies(SIMULATOR / name / "studies")]
    grouped = read_studies(files)
    counts = {name: len(studies) for name, studies in grouped.items() if studies}
    assert counts == {"ambibench": 3, "ambient": 2, "ambik": 4}
    assert all(study.benchmark == name for name, group in grouped.items() for study in group)
    assert read_studies(None) == {}
    assert [study.id for study in read_studies([Path("clarq-h2l")])["clarq"]] == ["clarq-h2l"]
