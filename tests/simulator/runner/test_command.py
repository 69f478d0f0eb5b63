"""What every `askback run BENCHMARK` does, apart from any benchmark's command line."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import typer
from rich.console import Console

from logs import LogReader
from simulator.clarq.data import load_items
from simulator.clarq.room import ROOM
from simulator.errors import InputError
from simulator.models import Budget
from simulator.runner import command
from simulator.runner.command import (
    RunRequest,
    RunSettings,
    play,
    read_ranges,
    run_name,
)
from simulator.runner.model_flags import ModelFlags
from simulator.runner.model_options import model_options


@pytest.fixture
def wanted(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    return RunRequest(
        room=ROOM,
        seats={"seeker": "offline/seeker", "provider": "offline/experts"},
        items=tuple(load_items("builtin", "en", limit=2)),
        manner=RunSettings(log=tmp_path / "log.sqlite"),
        shown={"success": "S"},
    )


def reached(wanted, *, workers=None, **models):
    return replace(wanted.manner, workers=workers, models=model_options(wanted.manner.log, **models))


@pytest.fixture
def console():
    return Console(record=True, width=100, quiet=False)


def test_a_run_is_played_and_the_same_again_continues_it(wanted, console):
    run = play(wanted, console)
    assert play(wanted, console) == run
    assert play(replace(wanted, manner=replace(wanted.manner, seed=1)), console) != run
    assert f"run {run} in" in console.export_text()
    with LogReader(wanted.manner.log) as reader:
        assert len(reader.episodes(run)) == 2
        assert reader.run(run).config["base_url"] is None
        assert reader.run(run).config["prompts"]


def test_what_comes_afterwards_is_opened_before_anything_is_played(wanted, console):
    seen = []

    @asynccontextmanager
    async def afterwards(reader, log):
        seen.append(len(reader.runs()))

        async def rest(run_id):
            seen.append(len(reader.endings(run_id)))

        yield rest

    play(replace(wanted, afterwards=afterwards), console)
    assert seen == [0, 2]


def test_ctrl_c_leaves_a_log_that_the_same_command_continues(wanted, console, monkeypatch):
    async def interrupted(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(command, "run_batch", interrupted)
        with pytest.raises(typer.Exit) as exit:
            play(wanted, console)
    assert exit.value.exit_code == 130
    assert "The same command continues" in console.export_text()
    with LogReader(wanted.manner.log) as reader:
        assert len(reader.endings(play(wanted, console))) == 2


def test_mistakes_are_told_before_the_log_is_made(wanted, console):
    person = {"seeker": "person", "provider": "offline/experts"}
    shared = replace(wanted, manner=reached(wanted, workers=2, budget=1.0))
    for wrong, named in ((replace(wanted, seats=person), "askback app"), (shared, "--budget")):
        with pytest.raises(InputError, match=named):
            play(wrong, console)
    assert not wanted.manner.log.exists()


def test_how_models_are_reached(wanted, tmp_path):
    assert model_options(wanted.manner.log).cache_path == tmp_path / "home" / "cache.sqlite"
    assert model_options(wanted.manner.log, cache=False).cache_path is None
    assert isinstance(model_options(wanted.manner.log, budget=0.0).budget, Budget)
    with pytest.raises(InputError, match=r"gone\.yaml"):
        model_options(wanted.manner.log, prices=tmp_path / "gone.yaml")


def test_a_batch_of_answers_has_enough_episodes_to_be_full(wanted, console, monkeypatch):
    places = []

    async def batch(*arguments, concurrency, **named):
        places.append(concurrency)

    monkeypatch.setattr(command, "run_batch", batch)
    for together in (1, 16):
        play(replace(wanted, manner=reached(wanted, together=together)), console)
    play(replace(wanted, manner=reached(wanted, together=4)), console)
    assert places == [8, 16, 8]


def test_answers_written_together_are_another_run(wanted, console):
    alone = play(wanted, console)
    together = play(replace(wanted, manner=reached(wanted, together=16)), console)
    with LogReader(wanted.manner.log) as reader:
        assert "together" not in reader.run(alone).config
        assert reader.run(together).config["together"] == 16


def test_a_name_given_to_several_runs_tells_them_apart():
    two = [("openai/a:x", "one"), ("offline/b", "one")]
    four = [(who, what) for who, _ in two for what in ("one", "two")]
    assert run_name(None, two[0], two) is None
    assert run_name("n", two[0], two[:1]) == "n"
    assert [run_name("n", each, two) for each in two] == ["n-a-x", "n-b"]
    assert [run_name("n", each, four) for each in four] == ["n-a-x-one", "n-a-x-two", "n-b-one", "n-b-two"]
    assert run_name("n", ("offline/b", ""), [("offline/b", ""), ("offline/b", "knowno")]) == "n"


def test_what_is_said_of_all_runs_is_said_of_each(wanted):
    said = {"seed": 3, "concurrency": 4, "workers": 1}
    models = ModelFlags(base_url="http://here", cache=False, together=6).options(wanted.manner.log)
    several = RunSettings(log=wanted.manner.log, models=models, repeats=2, name="n", **said)
    one = several.called("n-one")
    assert one == replace(several, name="n-one") and one.models is several.models
    assert (one.log, one.repeats, several.name, one.places) == (wanted.manner.log, 2, "n", 6)
    assert {name: getattr(one, name) for name in said} == said
    assert (one.models.base_url, one.models.cache_path) == ("http://here", None)


def test_numbers_and_ranges():
    assert read_ranges("--types", "1-3, 7,7", "1-10") == [1, 2, 3, 7, 7]
    for wrong in ("", "3-1", "a", "1-", "-1", "1,,2"):
        with pytest.raises(InputError, match=f"^--types {wrong!r}: write numbers and ranges, such as 1-10.$"):
            read_ranges("--types", wrong, "1-10")
