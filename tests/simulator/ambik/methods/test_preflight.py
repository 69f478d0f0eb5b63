"""Missing capabilities of a server are found before anything is played; other methods are played."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer
from rich.console import Console

from logs import LogReader
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.methods import needs_of
from simulator.ambik.playing import Options
from simulator.ambik.runs import RUNS
from simulator.ambik.selection import KitchenSelection
from simulator.models import ModelOptions, Needs, PreflightFailed
from simulator.orders import RunOrder, play_order
from simulator.runner.command import RunSettings
from simulator.runner.options import HERE

sys.path.insert(0, str(Path(__file__).parents[3] / "faults"))

from hostile import completion, serving

MODEL = "openai/some"
OPTIONS = "A) take the mug\nB) take the cup\nC) take the bowl\nD) wait"


def bare(handler, body):
    """Ignore everything but the messages: no log-probabilities, one sample."""
    handler.send_json(completion({"model": "m"}, OPTIONS))


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with serving() as made:
        made.turn(bare)
        yield made


@pytest.fixture
def play(server, tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    log = tmp_path / "log.sqlite"

    def played(*methods):
        console = Console(record=True, width=200, quiet=False)
        order = RunOrder(
            benchmark=BENCHMARK,
            players={"robot": (MODEL,), "user": ("offline/item",)},
            selection=KitchenSelection(method=",".join(methods), limit=4, calibration_limit=2),
            rules=Options(samples=2),
            settings=RunSettings(
                log=log,
                models=ModelOptions(
                    base_url=server.url,
                    max_attempts=1,
                    cache_path=tmp_path / "cache.sqlite",
                ),
                engine=HERE,
            ),
            console=console,
        )
        try:
            runs = play_order(RUNS, order)
        except typer.Exit:
            runs = ()
        with LogReader(log) as reader:
            return runs, console.export_text(), [run.config["options"]["method"] for run in reader.runs()]

    return played


def test_methods_say_what_they_need_of_whom():
    assert needs_of("knowno", "a", "b") == {"a": Needs(), "b": Needs(top_logprobs=5)}
    assert needs_of("lap", "a") == {"a": Needs(top_logprobs=5)}
    assert needs_of("lofreecp", "a", "b") == {"a": Needs(samples=True)}
    assert needs_of("lofreecp", "a", samples=1) == needs_of("nohelp", "a", "b") == {"a": Needs()}
    assert needs_of("binary", "a", "b") == {"a": Needs(), "b": Needs()}


def test_a_method_whose_need_the_server_lacks_is_left_out_with_the_reason_and_others_are_played(server, play):
    runs, output, methods = play("all")
    assert methods == ["lofreecp", "lofreecp", "binary", "nohelp"] and len(runs) == 3
    assert "KnowNo with openai/some is left out" in output and "LAP with openai/some is left out" in output
    assert "log-probabilities" in output
    asked = [body for body in server.asked if body.get("logprobs")]
    assert len(asked) == 1  # for the need of both methods, and never in an episode


def test_samples_are_drawn_one_by_one_of_a_server_that_gives_one(server, play):
    runs, output, methods = play("lofreecp")
    assert methods == ["lofreecp", "lofreecp"] and len(runs) == 1
    assert "failed" not in output
    # Before anything is played, and once as each of the two runs begins.
    assert sum(body.get("n", 1) > 1 for body in server.asked) <= 3


def test_a_method_that_was_named_and_cannot_be_played_is_a_failure(play):
    runs, output, methods = play("knowno", "nohelp")
    assert (runs, methods) == ((), ["nohelp"])
    assert "KnowNo with openai/some is left out" in output


def test_where_nothing_can_be_played_the_reason_is_the_error(server, play):
    with pytest.raises(PreflightFailed, match="log-probabilities"):
        play("knowno", "lap")
    assert len(server.asked) == 1
