"""Runs that are played beside a program: started, stopped, gone on with; nothing is lost or doubled by it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from logs import LogReader, LogWriter
from simulator import catalog
from simulator.commands.run import run_form
from simulator.errors import ConflictError, InputError
from simulator.runner.processes import RunProcesses, start_events

FORM = run_form(catalog.find("clarq"), ["openai/gpt-4o"])
CHOSEN = {"limit": 6, "repeat": 30, "concurrency": 1, "run": "mine"}


def wait(until: Callable[[], Any], seconds: float = 120) -> Any:
    end = time.monotonic() + seconds
    while not (value := until()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return value


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunProcesses]:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=True):
        pass
    processes = RunProcesses(path)
    yield processes
    processes.close()


def rows(path: Path, run: str) -> list[Any]:
    """Everything that was said in a run, by item and repeat, and how it ended."""
    with LogReader(path) as reader:
        endings = reader.endings(run)
        return sorted(
            (
                played.episode.item_hash,
                played.episode.repeat,
                [(turn.seat, turn.text) for turn in played.turns],
                endings[played.episode.id].status,
            )
            for played in reader.turns_of_run(run)
        )


@pytest.mark.slow
def test_a_run_that_is_stopped_and_gone_on_with_has_the_rows_of_one_that_was_not(
    runs: RunProcesses, tmp_path: Path
) -> None:
    path, values = tmp_path / "log.sqlite", FORM.read_values(CHOSEN)
    assert values == CHOSEN
    with LogReader(path) as reader:
        first = runs.start(FORM.words(values))
        with pytest.raises(ConflictError, match="already"):
            runs.start(FORM.words(values))
        wait(lambda: start_events(reader) and reader.progress("mine").done >= 3)
        assert runs.stop(first.id).state == "stopped"
        stopped = reader.progress("mine").done
        assert 3 <= stopped < 180
        event = start_events(reader)["mine"]
        assert event.details == {"options": CHOSEN, "process": first.id}
        # What the log knows of the command is enough to go on.
        second = runs.start(FORM.words(FORM.read_values(event.details["options"])))
        wait(lambda: second.state != "playing")
        assert second.state == "done", second.output_tail
        assert reader.progress("mine").done == 180
    whole = runs.start(FORM.words({**values, "run": "whole"}))
    wait(lambda: whole.state != "playing")
    assert rows(path, "mine") == rows(path, "whole")


def test_a_run_that_cannot_be_played_says_why_and_others_are_not_stopped(runs: RunProcesses) -> None:
    failed = runs.start(["run", "clarq", "--data=nowhere"])
    wait(lambda: failed.state != "playing")
    assert failed.state == "failed" and "nowhere" in failed.output_tail
    with pytest.raises(InputError, match="not started here"):
        runs.stop(1)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"seeker": "python:os:system"}, "seeker: must be one of offline/seeker"),
        ({"seeker": "script:/etc/passwd"}, "seeker"),
        ({"seeker": "openai/gpt-4o@http://attacker.example"}, "seeker"),
        ({"provider": ["offline/experts"]}, "provider"),
        ({"data": "/etc"}, "data: must be one of builtin"),
        ({"data": "../secrets"}, "data"),
        ({"judge": "openai/other"}, "judge: names a file, or a model"),
        ({"types": "/etc/passwd"}, "types: names a file"),
        ({"types": "1\n--log=/x"}, "types: must be a single line"),
        ({"types": "1" * 201}, "types: must be a single line"),
        ({"run": "--log=/tmp/x"}, "run: must consist of letters"),
        ({"run": "../x"}, "run: must consist of letters"),
        ({"limit": 0}, "limit: must be from 1"),
        ({"limit": 1.5}, "limit: must be a whole number"),
        ({"limit": "1"}, "limit: must be a whole number"),
        ({"limit": True}, "limit: must be a whole number"),
        ({"limit": float("nan")}, "limit: must be a whole number"),
        ({"temperature": float("inf")}, "temperature: must be a number"),
        ({"multi": "yes"}, "multi: must be yes or no"),
        ({"turn_limit": -1}, "turn_limit"),
        ({"log": "/tmp/x"}, "log: no such option"),
        ({"base_url": "http://169.254.169.254"}, "base_url: no such option"),
        ({"prices": "/etc/passwd"}, "prices: no such option"),
        ({"help": True}, "help: no such option"),
    ],
)
def test_only_what_is_declared_and_offered_is_taken(values: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        FORM.read_values(values)


def test_the_command_is_what_was_chosen_beside_the_usual() -> None:
    values = {"seeker": "offline/seeker:careful", "lang": "en", "limit": 5, "types": "1-3", "multi": True}
    assert FORM.words(FORM.read_values(values)) == [
        *("run", "clarq", "--seeker=offline/seeker:careful", "--limit=5", "--types=1-3", "--multi"),
    ]


def test_every_benchmark_has_a_form_whose_seats_have_somebody(tmp_path: Path) -> None:
    for benchmark in catalog.installed():
        form = run_form(benchmark, [])
        seats = [option for group, option in form.fields if group == "seats"]
        assert seats and all(option.choices for option in seats)
        assert form.read_values({option.name: option.value for option in seats}) == {}
