"""Disks that are full, logs that have lost everything, folders that cannot be written: a sentence each."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from rich.console import Console
from typer.testing import CliRunner

import app
from logs import LogError, LogReader, LogWriter, NotALog, connect, writer
from logs.connect import check_writable
from simulator.clarq.data import load_items
from simulator.clarq.machine import MACHINE
from simulator.errors import InputError
from simulator.runner.command import RunRequest, RunSettings, play
from simulator.runner.options import HERE
from ui import command
from ui.server import _log, add_health


class Full(sqlite3.OperationalError):
    """SQLite's error once the disk is full."""

    sqlite_errorname = "SQLITE_FULL"


@pytest.fixture
def full_for_a_moment(monkeypatch):
    """The disk is full for one group of rows; what comes after it fits again."""
    real, groups = writer.insert_group, []

    def insert_group(connection, entries, shortener):
        groups.append(len(entries))
        if len(groups) == 2:  # the first holds the run
            raise Full("database or disk is full")
        return real(connection, entries, shortener)

    monkeypatch.setattr(writer, "insert_group", insert_group)


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 8])
def test_of_a_full_disk_the_first_error_is_told(full_for_a_moment, tmp_path, monkeypatch, concurrency):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    request = RunRequest(
        machine=MACHINE,
        seats={"seeker": "offline/seeker", "provider": "offline/experts"},
        items=tuple(load_items("builtin", "en")[:20]),
        settings=RunSettings(log=tmp_path / "log.sqlite", engine=HERE, concurrency=concurrency),
    )
    with pytest.raises(LogError, match="The disk is full") as caught:
        play(request, Console(quiet=True))
    assert "not in the log" not in str(caught.value)
    run = play(request, Console(quiet=True))
    with LogReader(tmp_path / "log.sqlite") as reader:
        assert len(reader.endings(run)) == 20


def test_an_empty_file_is_no_new_log(tmp_path):
    path = tmp_path / "log.sqlite"
    path.touch()
    for opening in (lambda: LogWriter(path, durable=True), lambda: LogReader(path)):
        with pytest.raises(NotALog, match=r"empty \(0 bytes\).*Restore a backup"):
            opening()
    assert path.stat().st_size == 0
    path.unlink()
    LogWriter(path, durable=True).close()
    LogReader(path).close()


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("error", [Killed(), OSError("the disk knows no links")])
def test_a_log_that_was_being_made_is_no_empty_file(tmp_path, monkeypatch, error):
    path = tmp_path / "log.sqlite"

    def broken(*names: object) -> None:
        assert not path.exists()
        raise error

    with monkeypatch.context() as patched, suppress(Killed):
        patched.setattr(os, "link", broken)
        LogWriter(path, durable=True).close()
    assert path.exists() != isinstance(error, Killed)
    LogWriter(path, durable=True).close()
    LogReader(path).close()
    assert not [*tmp_path.glob(f".{path.name}*")]


def test_the_app_says_in_a_sentence_that_its_folder_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.setattr(command, "_serve", lambda *serving, **means: pytest.fail("the app has started"))
    result = CliRunner().invoke(app.cli, ["app", "--port", "7997", "--log", str(tmp_path / "log.sqlite")])
    assert isinstance(result.exception, InputError)
    assert "is not writable" in str(result.exception) and "ASKBACK_HOME" in str(result.exception)


def test_the_app_does_not_start_on_a_log_that_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "log.sqlite"
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path))
    monkeypatch.setattr(connect, "_MAKING_SECONDS", 0.1)
    monkeypatch.setattr(command, "_serve", lambda *serving, **means: pytest.fail("the app has started"))
    LogWriter(path, durable=True).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = CliRunner().invoke(app.cli, ["app", "--port", "7997", "--log", str(path)])
    assert isinstance(result.exception, LogError)
    assert "Another program is using the file" in str(result.exception)


def test_health_tries_a_write(tmp_path, monkeypatch):
    logged: list[str] = []
    # Not by caplog: what other tests do to logging is not to decide this one.
    monkeypatch.setattr(_log, "error", lambda message, *values: logged.append(message % values))
    path = tmp_path / "log.sqlite"
    LogWriter(path, durable=True).close()
    before = path.read_bytes()[:100]
    check_writable(path)
    assert path.read_bytes()[:24] == before[:24]

    def ask():
        return health_of(path).get("/health")

    assert (ask().status_code, ask().json()) == (200, {"status": "ok"})
    path.unlink()
    answer = ask()
    assert answer.status_code == 503
    assert answer.json() == {"status": "failing", "problem": "the log cannot be written"}
    assert any(str(path) in line for line in logged)


def test_health_is_tried_now_and_then_only(tmp_path):
    path = tmp_path / "gone.sqlite"
    client = health_of(path)
    assert client.get("/health").json()["problem"] == "the log cannot be written"
    LogWriter(path, durable=True).close()
    assert client.get("/health").status_code == 503
    assert health_of(path).get("/health").status_code == 200


def health_of(path):
    """The browser of a server that has just been started on a log."""
    server = FastAPI()
    add_health(server, path)
    return TestClient(server)
