"""Commands and functions that are imported when they are asked for."""

from __future__ import annotations

import sys

import pytest
import typer
from typer.testing import CliRunner

from simulator.deferred import deferred, later

MODULE = """
import typer

group = typer.Typer(help="Both of them.")

@group.command("one")
def one(name: str, times: int = 1) -> None:
    "Say a name."
    typer.echo(" ".join([name] * times))
"""


@pytest.fixture
def cli(tmp_path, monkeypatch):
    """A command line with two deferred entries, whose module is not there before `write` is called."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "said_later", raising=False)
    cli = typer.Typer(add_completion=False)
    cli.add_typer(deferred("said_later:one", "Say a name."), name="say")
    cli.add_typer(deferred("said_later:group", "Both of them."), name="both")

    def run(*words, written=True):
        if written:
            (tmp_path / "said_later.py").write_text(MODULE, encoding="utf-8")
        return CliRunner().invoke(cli, words, prog_name="askback")

    return run


def test_a_list_of_commands_imports_none_of_them(cli):
    listed = cli("--help", written=False)
    assert listed.exit_code == 0
    assert "Say a name." in listed.output and "Both of them." in listed.output
    assert isinstance(cli("say", "Ann", written=False).exception, ModuleNotFoundError)


def test_a_command_is_called_by_the_name_that_it_was_given(cli):
    assert cli("say", "Ann", "--times", "2").output == "Ann Ann\n"
    assert cli("both", "one", "Ann").output == "Ann\n"
    assert "Usage: askback say [OPTIONS]" in cli("say", "--help").output
    result = cli("say")
    assert result.exit_code == 2
    assert "Usage: askback say" in result.output and "Missing argument" in result.output
    assert "Did you mean 'say'" in cli("sai").output


def test_a_function_is_imported_when_it_is_called(cli, capsys):
    call = later("said_later:one")
    cli("--help")
    call("Ann", times=2)
    assert capsys.readouterr().out == "Ann Ann\n"
