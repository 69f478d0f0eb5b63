"""Fixtures that call commands and find published data."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer
from click.testing import Result
from shared_data import SHARED
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))  # ambient_rows

from ambient_rows import Call

from simulator.ambient.benchmark import BENCHMARK
from simulator.ambient.importing.runs import import_ambient
from simulator.commands.report import files_command, report_command
from simulator.commands.run import run_command

COMMANDS = {
    "run": run_command(BENCHMARK),
    "score": files_command(BENCHMARK),
    "report": report_command(BENCHMARK),
    "import": import_ambient,
}


@pytest.fixture(scope="session")
def published() -> Path:
    """Return the folder of published data."""
    folder = SHARED
    if not (folder / "ambient" / "results").is_dir():
        pytest.skip(f"no published results in {folder / 'ambient'}; set ASKBACK_SHARED")
    return folder


@pytest.fixture(autouse=True)
def no_registered_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def call() -> Call:
    """Return a function that calls a command as from a terminal."""

    def called(command: str, *arguments: object) -> Result:
        app = typer.Typer()
        app.command()(COMMANDS[command])
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return called
