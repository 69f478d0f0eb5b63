"""The installed benchmarks and their parts."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import simulator
from logs import LogWriter
from logs.rows import Run
from simulator import catalog
from simulator.commands.score import score_app, score_command
from simulator.errors import InputError
from simulator.runner.build import load_machine

BENCHMARKS = sorted(path.parent.name for path in Path(simulator.__path__[0]).glob("*/benchmark.py"))


@pytest.mark.each("name", BENCHMARKS)
def test_a_benchmark_has_a_machine_and_a_scorer(name):
    assert load_machine(name).name == name
    scorer = catalog.find(name).scorer
    assert scorer is None or callable(scorer())


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(InputError, match="'chess'; known are: clarq, handmethat"):
        load_machine("chess")


def test_a_run_of_an_unknown_benchmark_is_not_scored(tmp_path):
    log = tmp_path / "log.sqlite"
    with LogWriter(log, durable=False) as writer:
        writer.put(Run(id="night", benchmark="chess", setup="L2L", seed=0, config={}))
    with pytest.raises(InputError, match="night cannot be scored here"):
        score_command("night", log=log)


def test_a_name_that_is_no_command_is_a_run_to_be_scored(tmp_path):
    log = tmp_path / "log.sqlite"
    with LogWriter(log, durable=False) as writer:
        writer.put(Run(id="night", benchmark="chess", setup="L2L", seed=0, config={}))
    cli = typer.Typer()
    cli.add_typer(score_app, name="score")
    for line in (["night"], ["run", "night"], ["--json", "night"]):
        error = CliRunner().invoke(cli, ["score", *line, "--log", str(log)]).exception
        assert "night cannot be scored here" in str(error)


def test_others_may_score_where_that_takes_longer_than_reading(tmp_path):
    log = tmp_path / "log.sqlite"
    with LogWriter(log, durable=False) as writer:
        writer.put(Run(id="night", benchmark="clarq", setup="L2L", seed=0, config={}))
    with pytest.raises(InputError, match="leave out --executor and --workers"):
        score_command("night", workers=2, log=log)
