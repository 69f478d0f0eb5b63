"""Extensions in a package of one file with entry points: a metric, a chart, a model, a seat."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

import askback
from logs import LogReader
from simulator import catalog
from simulator.benchmark import ReportSpec
from simulator.commands.compare import comparison
from simulator.commands.report import report_command
from simulator.commands.score import score_command
from simulator.errors import InputError
from simulator.fields import Fields
from simulator.figures import Bars, Figure, Panel
from simulator.frames import Frames
from simulator.reporting import Section, write_report
from simulator.reports import build_report

from .conftest import forget

MODULE = '''
from simulator.models import Capabilities, Completion
from simulator.models.keys import Identity


def shouts(item, turns, judgments):
    """A metric: the number of turns that end in an exclamation mark; None without turns."""
    return sum(turn.text.endswith("!") for turn in turns) if turns else None


class Loud:
    """A seat."""

    def reply(self, view):
        return "Is it a cat!"


class Whisper:
    """A model that says its own name."""

    ignored = frozenset()
    capabilities = Capabilities()

    def __init__(self, model, options):
        self.identity = Identity("whisper", model)
        self.name = self.identity.name

    async def complete(self, request):
        return Completion(text=f"Is it {self.identity.model}?")

    async def score(self, request):
        raise NotImplementedError

    async def close(self):
        pass
'''
POINTS = """
[askback.scorers]
shouts = my_extension:shouts

[askback.seats]
loud = my_extension:Loud

[askback.models]
whisper = my_extension:Whisper
"""


@pytest.fixture
def log(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty log, with the extension installed."""
    site = tmp_path / "site"
    about = site / "my_extension-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "my_extension.py").write_text(MODULE, encoding="utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-extension\nVersion: 1.0\n", "utf-8")
    (about / "entry_points.txt").write_text(POINTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(catalog, "_REGISTERED", {})
    forget()
    yield tmp_path / "log.sqlite"
    sys.modules.pop("my_extension", None)
    forget()


@pytest.mark.parametrize("benchmark", ["twenty_questions", "clarq"])
def test_a_metric_needs_a_function_and_an_entry_point(log, benchmark, capsys):
    seat = "asker" if benchmark == "twenty_questions" else "seeker"
    first, second = (
        askback.run(benchmark, limit=2, log=log, name=f"{benchmark}-{number}", **{seat: who})
        for number, who in enumerate(("plugin/loud", catalog.find(benchmark).seat(seat).usual))
    )
    for run in (first, second):
        score_command(run, log=log)
    with LogReader(log) as reader:
        frame = askback.load_log(log).frame()
        shouts = frame.groupby("run")["shouts"].sum()
        assert shouts[first] > shouts[second]
        # From now on it is like any other metric.
        table = (
            build_report(catalog.find(benchmark), Frames(log=reader, runs=(first, second)))
            .sections[0]
            .tables[0]
        )
        assert "shouts" in [head.name for head in table.heads]
        _, differences = comparison(reader, [first, second], ["shouts"]).sections[0].tables
        assert [row[0] for row in differences.rows] == ["shouts"]
    rows = len(askback.load_log(log).frame())
    score_command(first, log=log)
    assert len(askback.load_log(log).frame()) == rows


def test_a_seat_needs_a_class_and_an_entry_point(log):
    run = askback.run("twenty_questions", asker="plugin/loud", limit=3, rules={"questions": 2}, log=log)
    with askback.load_log(log) as read:
        assert set(read.frame(run)["seat.asker"]) == {"plugin/loud"}
        turns = read.turns(run)
        assert set(turns.loc[turns["seat"] == "asker", "text"]) == {"Is it a cat!"}
    with pytest.raises(InputError, match="installed plugins: loud"):
        askback.run("twenty_questions", asker="plugin/quiet", log=log)


def test_a_model_needs_a_class_and_an_entry_point(log):
    run = askback.run("twenty_questions", asker="whisper/alive", limit=2, rules={"questions": 2}, log=log)
    with askback.load_log(log) as read, LogReader(log) as reader:
        turns = read.turns(run)
        assert set(turns.loc[turns["seat"] == "asker", "text"]) == {"Is it alive?"}
        # Its calls are logged and cached like those of other models.
        calls = list(reader.model_calls(run_id=run))
        assert {call.model for call in calls} == {"whisper/alive"}
        assert len(calls) == (turns["seat"] == "asker").sum()
    with pytest.raises(InputError, match=r"known:.*whisper/…"):
        askback.run("twenty_questions", asker="murmur/alive", log=log)


def lengths(data: Frames) -> Section | None:
    """A chart: the mean number of turns in the episodes of each run."""
    if data.episodes.empty:
        return None
    means = data.episodes.groupby("run")["turns"].mean()
    bars = Bars("turns", [*means.index], [*means])
    figure = Figure("lengths", "Turns", [Panel("", "", "turns", [bars], y_range=None)])
    return Section(name="lengths", title="Lengths", figures=[figure])


def test_a_chart_is_a_function(log, tmp_path):
    charted = replace(catalog.find("twenty_questions"), name="charted", reports=(lengths,))
    run = askback.run(charted, limit=2, log=log)
    with LogReader(log) as reader:
        report = build_report(charted, Frames(log=reader, runs=(run,)))
    assert [section.name for section in report.sections] == ["metrics", "lengths"]
    written = {path.name for path in write_report(report, tmp_path / "out")}
    assert {"lengths.png", "lengths.svg", "lengths.pdf", "lengths.csv"} <= written
    assert run in (tmp_path / "out" / "lengths.csv").read_text("utf-8")
    assert 'alt="Turns"' in (tmp_path / "out" / "report.html").read_text("utf-8")


class Lines(Fields):
    """Settings of a report: which turns it shows, and a file for them."""

    seat: Annotated[str | None, typer.Option("--only", help="turns of this seat")] = None
    lines: Path | None = Field(None, description="write the turns into this file")


def spoken(data: Frames) -> Section:
    """Return a section with the texts of one seat or of all seats, one per line."""
    turns = data.turns
    shown = turns if data.settings.seat is None else turns[turns["seat"] == data.settings.seat]
    return Section(name="spoken", title="Spoken", text="\n".join(shown["text"]), data={"turns": len(shown)})


def write_lines(data: Frames) -> Iterator[Path]:
    """Write all turns to a file if one is named."""
    if data.settings.lines is not None:
        data.settings.lines.write_text("\n".join(data.turns["text"]), encoding="utf-8")
        yield data.settings.lines


def test_the_settings_of_a_report_are_options_of_its_command(log, tmp_path):
    spec = ReportSpec(settings=lambda: Lines, write=write_lines)
    benchmark = replace(
        catalog.find("twenty_questions"), name="spoken", commands={}, reports=(spoken,), report=spec
    )
    run = askback.run(benchmark, limit=1, log=log)
    cli = typer.Typer()
    cli.command()(report_command(benchmark))
    arguments = [run, "--log", str(log), "--only", "asker", "--lines", str(tmp_path / "lines.txt")]
    result = CliRunner().invoke(cli, [*arguments, "--format", "json"])
    assert result.exit_code == 0, result.output
    section = json.loads(result.stdout)["sections"][1]
    assert section["data"]["turns"] == len(section["text"].splitlines())
    all_lines = (tmp_path / "lines.txt").read_text("utf-8").splitlines()
    assert 0 < section["data"]["turns"] < len(all_lines)
    shown = CliRunner().invoke(cli, arguments)
    assert section["text"].splitlines()[0] in shown.stdout
