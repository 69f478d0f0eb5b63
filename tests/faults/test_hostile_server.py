"""Runs against a server that does its worst: nothing is lost, nothing is believed, nobody waits for long."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import app
from logs import LogReader
from logs.export import export_log
from logs.rows import ModelCall

sys.path.insert(0, str(Path(__file__).parent))

from hostile import MALFORMED, echo_401, good, hang, retry_after_a_day, serving, set_at

RUN = ("run", "ambibench", "--setting", "instruction", "--kind", "informative", "--model", "openai/m")
KEY = "sk-verysecretkey0123456789"


@pytest.fixture
def server():
    with serving() as running:
        yield running


@pytest.fixture
def play(server, tmp_path, monkeypatch):
    """Runs a command as the command line does; what was printed, and the status."""
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def run(*options, url=None, limit=1):
        named = () if "--run" in options else ("--run", "r")
        arguments = [*RUN, "--limit", str(limit), "--base-url", url or server.url, "--no-cache", *named]
        log = ("--log", str(tmp_path / "log.sqlite"), "--concurrency", "2")
        result = CliRunner().invoke(app.cli, [*arguments, *options, *log])
        problem = result.exception
        if problem is not None and not isinstance(problem, SystemExit):
            assert type(problem).__module__.startswith(("simulator", "logs")), repr(problem)
        return result.output + ("" if problem is None else str(problem)), result.exit_code

    return run


def statuses(tmp_path, run):
    """Return the statuses of the latest attempts of a run's episodes."""
    with LogReader(tmp_path / "log.sqlite") as reader:
        endings = reader.endings(run)
        return [endings[episode.id].status for episode in reader.episodes(run, latest=True)]


@pytest.mark.slow
def test_every_answer_that_is_none_is_malformed_and_the_run_goes_on(server, play, tmp_path):
    """One run: an item for each thing that can be wrong, then a good server plays what is left."""
    wrong = []
    for name, behaviour in MALFORMED.items():
        server.turn(behaviour, first=1)  # the preflight is answered well
        output, code = play("--run", name, "--repeat", "1")
        with LogReader(tmp_path / "log.sqlite") as reader:
            endings = list(reader.endings(name).values())
            rows = [call for call in reader.model_calls(run_id=name) if call.error]
        if code != 1 or "Traceback" in output or not endings:
            wrong.append((name, code, output[-300:]))
        elif {ending.status for ending in endings} != {"failed"} or not rows:
            wrong.append((name, [ending.status for ending in endings], len(rows)))
        elif {row.error for row in rows} != {"Malformed"}:
            wrong.append((name, [row.error for row in rows]))
    assert wrong == []
    assert (tmp_path / "log.sqlite").stat().st_size < 5_000_000

    server.turn(good)
    for name in MALFORMED:
        output, code = play("--run", name)
        if (code, statuses(tmp_path, name)) != (0, ["completed"]):
            wrong.append((name, code, output[-300:]))
    assert wrong == []


def test_a_server_that_gives_no_log_probabilities_is_asked_once(server, play, tmp_path):
    for name, behaviour in (
        ("none", set_at("choices", 0, "logprobs", value=None)),
        ("empty", set_at("choices", 0, "logprobs", value={"content": []})),
    ):
        server.turn(behaviour)
        output, code = play("--run", name, limit=50)
        assert (code, server.requests) == (1, 1)
        assert "log-probabilities" in output and "Nothing was played" in output
        with LogReader(tmp_path / "log.sqlite") as reader:
            assert reader.runs() == []


def test_a_server_that_asks_to_wait_a_day_stops_the_run_at_once(server, play, tmp_path):
    server.turn(retry_after_a_day, first=3)
    output, code = play(limit=20)
    assert code == 1
    assert "asks for a pause of 24 h" in output and "the same command continues" in output
    server.turn(good)
    output, code = play(limit=20)
    assert (code, statuses(tmp_path, "r")) == (0, ["completed"] * 20)


@pytest.mark.slow
def test_a_silent_server_stops_the_run_after_some_timeouts(server, play):
    server.turn(hang, first=1)
    output, code = play("--timeout", "1", limit=50)
    assert code == 1
    assert "has not answered" in output and "the same command continues" in output
    assert server.requests <= 10
    server.turn(hang)
    output, code = play("--timeout", "1", "--run", "other")
    assert code == 1 and "Nothing was played" in output


def test_keys_and_passwords_are_nowhere(server, play, tmp_path, caplog):
    """Not in the log, its export, what is printed, or the cache, whatever the server repeats."""
    secrets = (KEY, "pass%40word", "pass@word", "tok-abcdefgh12345678", "queryvalue99")
    address = server.url.replace("http://", f"http://someone:{secrets[1]}@").replace(
        "/v1", f"/{secrets[3]}/v1?key={secrets[4]}"
    )
    caplog.set_level(logging.DEBUG)
    heard = []
    for number, (behaviour, first) in enumerate(
        ((echo_401, 0), (echo_401, 1), (set_at("choices", 0, "message", "content", value=f"X {KEY}"), 1))
    ):
        server.turn(behaviour, first=first)
        output, _ = play("--run", f"run-{number}", url=address)
        heard.append(output)
    path = tmp_path / "log.sqlite"
    with LogReader(path) as reader:
        rows = [call for run in reader.runs() for call in reader.model_calls(run_id=run.id)]
        export_log(reader, tmp_path / "export")
    assert any("***" in str(call.response) for call in rows if isinstance(call, ModelCall))
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {file.name for file in files} >= {"log.sqlite", "model_calls.jsonl"}
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("simulator")]
    for secret in secrets:
        assert [file.name for file in files if secret.encode() in file.read_bytes()] == []
        assert secret not in "".join(heard) + "".join(ours)


def test_a_name_with_a_password_is_refused_without_repeating_it(server, play, tmp_path):
    output, code = play("--model", "openai/m@http://someone:passphrase@127.0.0.1:1/v1")
    assert code == 1
    assert "no password" in output and "passphrase" not in output
