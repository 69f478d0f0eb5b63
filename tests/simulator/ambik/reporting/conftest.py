"""A log with runs of all methods, the built-in robot and people; and a function that calls the commands."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import Result
from kitchen_pages import seen
from rich.console import Console
from shared_data import SHARED
from typer.testing import CliRunner

from logs import LogReader, LogWriter
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.data import load_pairs
from simulator.ambik.items import Pair
from simulator.ambik.playing import Options
from simulator.ambik.runs import RUNS
from simulator.ambik.selection import KitchenSelection
from simulator.ambik.sessions import AmbikSessions
from simulator.commands.report import files_command, report_command
from simulator.models import Completion, ModelOptions, TokenLogprob
from simulator.models.base import Request
from simulator.orders import RunOrder, play_order
from simulator.runner.command import RunSettings
from simulator.runner.options import HERE
from simulator.seats import Reply
from simulator.seeds import derive_seed

METHODS = ("knowno", "lap", "lofreecp", "binary", "nohelp")
PAIRS, CALIBRATING = 12, 16


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of AmbiK's published data."""
    folder = SHARED / "ambik"
    if not folder.is_dir():
        pytest.skip(f"no published data in {folder}; ASKBACK_SHARED names the folder that holds data/ambik")
    return folder


def _cook() -> Callable[[Request], Any]:
    """A model that knows the built-in pairs: it writes their options, and likes the first one best."""
    by_task: dict[str, Pair] = {}
    for pair in load_pairs():
        by_task |= {pair.clear: pair, pair.ambiguous: pair}

    def answer(request: Request) -> Any:
        text = request.messages[-1].content
        pair = next((pair for task, pair in by_task.items() if task in text), None)
        options = list(pair.options) if pair else ["wait"]
        drawn = random.Random(derive_seed(request.seed or 0, text))
        drawn.shuffle(options)
        match request.purpose.rpartition(".")[2]:
            case "generate":
                return "\n".join(
                    f"{letter}) {option}" for letter, option in zip("ABCD", options, strict=False)
                )
            case "generate_one":
                return options[0]
            case "certainty":
                return drawn.choice(["certain", "uncertain"])
            case "choose":
                table = tuple((token, -0.2 - 8 * drawn.random()) for token in ("A", "B", "C", "D", "The"))
            case _:
                table = (("True", -0.1 - drawn.random()), ("False", -2.0))
        best = max(table, key=lambda pair: pair[1])
        return Completion(text=best[0], logprobs=(TokenLogprob(*best, table),))

    return answer


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log; ``m-…`` are the methods' runs, ``kitchen`` the built-in robot's, which may ask."""
    path = tmp_path_factory.mktemp("ambik") / "log.sqlite"
    patch = pytest.MonkeyPatch()
    patch.setenv("ASKBACK_HOME", str(path.parent / "home"))

    def play(robot: str, *methods: str, name: str, data: dict[str, Any] | None = None, **rules: Any) -> None:
        order = RunOrder(
            benchmark=BENCHMARK,
            players={"robot": (robot,), "user": ("offline/item",)},
            selection=KitchenSelection(
                method=",".join(methods) or "all",
                **(data or {"limit": 2 * PAIRS, "calibration_limit": CALIBRATING}),
            ),
            rules=Options(samples=2, **rules),
            settings=RunSettings(log=path, models=ModelOptions(script=_cook()), engine=HERE, name=name),
            console=Console(quiet=True),
        )
        play_order(RUNS, order)

    play("offline/script", *METHODS, name="m")
    play("offline/kitchen", name="kitchen", questions=1)
    scenarios = {"dataset": "knowno", "limit": 8, "calibration_limit": 10}
    play("offline/script", "knowno", name="scenarios", data=scenarios)
    asyncio.run(_person(path))
    patch.undo()
    return path


async def _person(path: Path) -> None:
    writer, reader = LogWriter(path, durable=False, group_seconds=0.0), LogReader(path)
    sessions = AmbikSessions(BENCHMARK, writer, reader, lambda name: None, env={})
    for kind in ("preferences", "unambiguous_direct"):
        episode = await sessions.start(seat="robot", others={"user": "offline/item"}, rules={"type": kind})
        view = await sessions.view(episode, "robot")
        while view.stage != "done":
            reply = Reply(text="ready")
            if view.stage == "task":
                shown = seen(view)
                asks = {"marked": list(shown.options[:2]), "ask": "Which of the two?"}
                reply = Reply(move=asks if shown.may_ask else {"marked": [], "act": shown.options[0]})
            view = await sessions.submit(episode, "robot", reply, number=view.number)
    episode = await sessions.start(seat="annotator", others={}, rules={})
    view = await sessions.view(episode, "annotator")
    while view.stage != "done":
        reply = Reply(text="ready")
        if view.stage == "task":
            reply = Reply(move={"delete": "It is absurd."})
        view = await sessions.submit(episode, "annotator", reply, number=view.number)
    reader.close()
    writer.close()


@pytest.fixture(scope="session")
def reader(log: Path) -> Any:
    with LogReader(log) as reader:
        yield reader


@pytest.fixture(scope="session")
def tests_of(reader: LogReader) -> tuple[str, ...]:
    """The test runs of the five methods."""
    return tuple(f"m-{method}" for method in METHODS)


@pytest.fixture(autouse=True)
def no_registered_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def call() -> Callable[..., Result]:
    """Calls ``score`` or ``report`` as from a terminal."""
    app = typer.Typer()
    app.command("score")(files_command(BENCHMARK))
    app.command("report")(report_command(BENCHMARK))

    def called(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return called
