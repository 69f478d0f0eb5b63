"""Behaviour of `askback run` common to all benchmarks, apart from their command lines."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import typer
from rich.console import Console

from logs import LogReader
from simulator.clarq.data import load_items
from simulator.clarq.machine import MACHINE
from simulator.errors import InputError
from simulator.models import Budget
from simulator.runner import command
from simulator.runner.command import RunRequest, RunSettings, play, read_ranges, run_name
from simulator.runner.options import HERE, Engine, ModelFlags


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    return RunRequest(
        machine=MACHINE,
        seats={"seeker": "offline/seeker", "provider": "offline/experts"},
        items=tuple(load_items("builtin", "en")[:2]),
        settings=RunSettings(log=tmp_path / "log.sqlite"),
        shown={"success": "S"},
    )


def reached(asked, **models):
    return replace(asked.settings, models=ModelFlags(**models).options(asked.settings.log))


@pytest.fixture
def console():
    return Console(record=True, width=100, quiet=False)


def test_a_run_is_played_and_the_same_again_continues_it(asked, console):
    run = play(asked, console)
    assert play(asked, console) == run
    assert play(replace(asked, settings=replace(asked.settings, seed=1)), console) != run
    assert f"run {run} in" in console.export_text()
    with LogReader(asked.settings.log) as reader:
        assert len(reader.episodes(run)) == 2
        assert reader.run(run).config["base_url"] is None
        assert reader.run(run).config["prompts"]


def test_what_comes_afterwards_is_opened_before_anything_is_played(asked, console):
    seen = []

    @asynccontextmanager
    async def afterwards(reader, log):
        seen.append(len(reader.runs()))

        async def rest(run_id):
            seen.append(len(reader.endings(run_id)))

        yield rest

    play(replace(asked, afterwards=afterwards), console)
    assert seen == [0, 2]


def test_ctrl_c_leaves_a_log_that_the_same_command_continues(asked, console, monkeypatch):
    async def interrupted(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(command, "run_batch", interrupted)
        with pytest.raises(typer.Exit) as exit:
            play(asked, console)
    assert exit.value.exit_code == 130
    assert "the same command continues" in console.export_text()
    with LogReader(asked.settings.log) as reader:
        assert len(reader.endings(play(asked, console))) == 2


def test_mistakes_are_told_before_the_log_is_made(asked, console):
    person = {"seeker": "person", "provider": "offline/experts"}
    with pytest.raises(InputError, match="askback app"):
        play(replace(asked, seats=person), console)
    with pytest.raises(InputError, match="--executor"):
        Engine(executor="elsewhere")
    assert not asked.settings.log.exists()


def test_how_models_are_reached(asked, tmp_path):
    assert ModelFlags().options(asked.settings.log).cache_path == tmp_path / "home" / "cache.sqlite"
    assert ModelFlags(cache=False).options(asked.settings.log).cache_path is None
    assert isinstance(ModelFlags(budget=0.0).options(asked.settings.log).budget, Budget)
    with pytest.raises(InputError, match=r"gone\.yaml"):
        ModelFlags(prices=tmp_path / "gone.yaml").options(asked.settings.log)


def test_a_batch_of_answers_has_enough_episodes_to_be_full(asked, console, monkeypatch):
    places = []

    async def batch(*arguments, concurrency, **named):
        places.append(concurrency)

    monkeypatch.setattr(command, "run_batch", batch)
    for together in (1, 16):
        play(replace(asked, settings=reached(asked, together=together)), console)
    play(replace(asked, settings=reached(asked, together=4)), console)
    assert places == [8, 16, 8]


def test_answers_written_together_are_another_run(asked, console):
    alone = play(asked, console)
    together = play(replace(asked, settings=reached(asked, together=16)), console)
    with LogReader(asked.settings.log) as reader:
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


def test_what_is_said_of_all_runs_is_said_of_each(asked):
    shared = {"seed": 3, "concurrency": 4, "engine": HERE}
    models = ModelFlags(base_url="http://here", cache=False, together=6).options(asked.settings.log)
    several = RunSettings(log=asked.settings.log, models=models, repeats=2, name="n", **shared)
    single = replace(several, name="n-one")
    assert single.models is several.models
    assert (single.log, single.repeats, several.name, single.places) == (asked.settings.log, 2, "n", 6)
    assert {name: getattr(single, name) for name in shared} == shared
    assert (single.models.base_url, single.models.cache_path) == ("http://here", None)


def test_numbers_and_ranges():
    assert read_ranges("--types", "1-3, 7,7", "1-10") == [1, 2, 3, 7, 7]
    for wrong in ("", "3-1", "a", "1-", "-1", "1,,2"):
        with pytest.raises(
            InputError, match=f"^--types {wrong!r}: expected numbers and ranges, such as 1-10.$"
        ):
            read_ranges("--types", wrong, "1-10")
