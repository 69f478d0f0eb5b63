"""Every command is where `app.py` says, has the help that is listed, and imports what it needs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pkgutil import resolve_name

import pytest
from typer.testing import CliRunner

import app
from simulator.errors import InputError
from simulator.registry import CHECKERS, CHECKS, REGISTER, ROOMS

HEAVY = ("gradio", "langgraph", "matplotlib", "numpy", "openai", "scipy", "torch")
PLAYING = ("gradio", "langgraph", "torch")
LIGHT = {
    **dict.fromkeys(("--help", "run --help", "check --help", "check", "data list", "log list"), HEAVY),
    **dict.fromkeys(("study list", "report ambik --help", "stats ambik --help"), PLAYING),
}
PLACES = {
    "study": "simulator.studies.command:study_app",
    "data": "simulator.commands:data_app",
    "log": "logs.cli:log_app",
}
PROBE = """
import sys
import app
try:
    app.main()
except SystemExit as exit:
    assert not exit.code, exit.code
print(sorted(set(sys.modules) & set({heavy!r})), file=sys.stderr)
"""


@pytest.mark.parametrize("line", LIGHT)
def test_a_command_imports_only_what_it_needs(line, tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path))
    probe = [sys.executable, "-c", PROBE.format(heavy=LIGHT[line]), *line.split()]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")


@pytest.mark.parametrize("name", [*app.COMMANDS, *app.GROUPS])
def test_a_command_says_what_it_is_for(name):
    told = CliRunner().invoke(app.cli, [*name.split(), "--help"], env={"COLUMNS": "200"}, prog_name="askback")
    assert told.exit_code == 0, told.output
    assert f"Usage: askback {name} [OPTIONS]" in told.output


@pytest.mark.parametrize("name", app.COMMANDS)
def test_the_help_that_is_listed_is_that_of_the_command(name):
    place, listed = app.COMMANDS[name]
    assert listed == (inspect.getdoc(resolve_name(place)) or "").splitlines()[0]


@pytest.mark.parametrize("name", PLACES)
def test_the_help_that_is_listed_is_that_of_the_group(name):
    assert app.GROUPS[name].info.help == resolve_name(PLACES[name]).info.help


def test_what_benchmarks_bring_is_where_it_is_said_to_be(tmp_path):
    kinds = [checker().kind for checker in CHECKERS]
    assert len({*kinds}) == len(kinds) == 6
    for name, register in REGISTER.items():
        with pytest.raises(InputError, match="gone"):
            register(tmp_path / "gone", name, False)
    for name, room in ROOMS.items():
        for study in room.builtin():
            assert study.benchmark == name
            assert room.cells(study)
            CHECKS[name](study)
