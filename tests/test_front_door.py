"""Every command is where `app.py` says, has the help that is listed, and imports what it needs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.metadata import EntryPoint, version
from pkgutil import resolve_name

import pytest
from typer.testing import CliRunner

import app
from simulator import catalog
from simulator.ambibench import players as ambibench_players
from simulator.ambient import players as ambient_players
from simulator.ambient.likelihoods import PREFIX
from simulator.ambik.players import ITEM, ROBOTS
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.commands.derived import benchmark_commands
from simulator.commands.files import all_checkers
from simulator.errors import InputError
from simulator.handmethat.players.robots import ExpertRobot, RandomRobot
from simulator.studies.known import builtin_studies
from simulator.studies.material import material_of

HEAVY = ("gradio", "langgraph", "numpy", "openai", "scipy", "torch", "vl_convert")
PLAYING = ("gradio", "langgraph", "torch")
LIGHT = {
    **dict.fromkeys(("--help", "run --help", "check --help", "check", "data list", "log list"), HEAVY),
    **dict.fromkeys(
        [f"run {name} --help" for name in ("clarq", "handmethat", "ambibench", "ambient", "ambik")],
        (*PLAYING, "pandas", "openai"),
    ),
    **dict.fromkeys(("study list", "report ambik --help", "stats ambik --help"), PLAYING),
}
PLACES = {
    "study": "simulator.studies.command:study_app",
    "data": "simulator.commands.files:data_app",
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


def test_every_benchmark_has_the_common_commands():
    expected = {f"{verb} {name}" for name in catalog.names() for verb in ("run", "report", "stats")}
    assert expected <= benchmark_commands().keys()


@pytest.mark.slow
@pytest.mark.parametrize("line", LIGHT)
def test_a_command_imports_only_what_it_needs(line, tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path))
    probe = [sys.executable, "-c", PROBE.format(heavy=LIGHT[line]), *line.split()]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")


COMMANDS = {**app.COMMANDS, **benchmark_commands()}


@pytest.mark.slow
@pytest.mark.each("name", [*COMMANDS, *app.GROUPS])
def test_a_command_says_what_it_is_for(name):
    result = CliRunner().invoke(
        app.cli, [*name.split(), "--help"], env={"COLUMNS": "200"}, prog_name="askback"
    )
    assert result.exit_code == 0, result.output
    assert f"Usage: askback {name} [OPTIONS]" in result.output


@pytest.mark.each("name", [name for name in COMMANDS if isinstance(COMMANDS[name].place, str)])
def test_the_help_that_is_listed_is_that_of_the_command(name):
    place, listed = COMMANDS[name]
    assert listed == (inspect.getdoc(resolve_name(place)) or "").splitlines()[0]


@pytest.mark.each("name", PLACES)
def test_the_help_that_is_listed_is_that_of_the_group(name):
    assert app.GROUPS[name].info.help == resolve_name(PLACES[name]).info.help


def test_helps_name_who_is_built_in():
    built_in = {
        ("clarq", "seeker"): ["offline/seeker"],
        ("clarq", "provider"): [OfflineExperts.name],
        ("handmethat", "robot"): [ExpertRobot.name, RandomRobot.name, "offline/heuristic"],
        ("ambibench", "participant"): ambibench_players.PLAYERS,
        ("ambient", "annotator"): [*ambient_players.PLAYERS, PREFIX],
        ("ambik", "robot"): ROBOTS,
        ("ambik", "user"): [ITEM],
    }
    missing = [
        (place, player)
        for place, players in built_in.items()
        for player in players
        if player not in catalog.find(place[0]).seat(place[1]).known
    ]
    assert missing == []


def test_what_benchmarks_bring_is_where_it_is_said_to_be(tmp_path):
    kinds = [checker.kind for checker in all_checkers()]
    assert len({*kinds}) == len(kinds) == len(catalog.installed()) + 4, "studies, fleets, words, stray items"
    for benchmark in catalog.installed():
        assert benchmark.register is not None
        with pytest.raises(InputError, match="gone"):
            benchmark.register(tmp_path / "gone", benchmark.name, False)
        for study in builtin_studies(benchmark.name):
            material = material_of(study)
            assert material is not None and material.benchmark == benchmark.name
            material.check()


def test_the_version_is_that_of_the_package():
    result = CliRunner().invoke(app.cli, ["--version"])
    assert (result.exit_code, result.output) == (0, f"askback {version('askback')}\n")


def test_commands_of_a_benchmark_that_cannot_be_imported_say_why(monkeypatch):
    points = {**catalog._points(catalog.BENCHMARKS)}
    points["broken"] = EntryPoint("broken", "no_such_package:BENCHMARK", catalog.BENCHMARKS)
    monkeypatch.setattr(catalog, "_points", lambda group: points)
    commands = benchmark_commands()
    assert {"run clarq", "run broken", "report broken", "stats broken"} <= set(commands)
    for name in ("run broken", "report broken", "stats broken"):
        assert "no_such_package" in commands[name].help
        with pytest.raises(InputError, match="No module named 'no_such_package'"):
            commands[name].place()


def test_an_option_of_the_version_before_is_named_and_works(capsys):
    assert app.replace_deprecated(["app", "--handmethat", "a folder", "--port", "1"]) == [
        *("app", "--items=handmethat=a folder", "--port", "1")
    ]
    assert "--items=handmethat=a folder" in capsys.readouterr().err.replace("\n", " ")
    assert app.replace_deprecated(["app", "--ambik=x"]) == ["app", "--items=ambik=x"]
    assert app.replace_deprecated(["run", "clarq", "--ambik", "x"]) == ["run", "clarq", "--ambik", "x"]
