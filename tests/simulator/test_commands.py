from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import typer
from task_files import file_name, write_published, write_yaml
from typer.testing import CliRunner

from simulator import catalog, datasets
from simulator.benchmark import Checker
from simulator.clarq import data
from simulator.commands import files as commands
from simulator.commands.files import check_files
from simulator.errors import InputError
from trees import Background, Node, Task, Tree
from trees.checks import RULES, SET_RULES
from trees.faults import Fault

APP = typer.Typer()
APP.command("check")(commands.check)
APP.add_typer(commands.data_app, name="data")
RUN = CliRunner()
TASK = Task(
    id="bread-1",
    type=25,
    language="en",
    background=Background("baker", "baking bread"),
    tree=Tree("Bake it.", (Node("1", "Use rye.", "Which flour."), Node("2", "Wait an hour.", "How long."))),
    prompt="You bake.",
)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty Askback folder, and ClarQ as the only benchmark with files."""
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(catalog, "installed", lambda: (catalog.find(data.BENCHMARK),))


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    path = tmp_path / "spoilt.yaml"
    write_yaml(path, [TASK])
    path.write_text(path.read_text("utf-8").replace("Wait", "'Jax: Wait").replace("hour.", "hour.'"), "utf-8")
    return path


def test_builtin_tasks_are_checked_by_default() -> None:
    result = RUN.invoke(APP, ["check"])
    assert result.exit_code == 0
    assert result.output == "No faults.\n"


def test_faults_are_printed_one_a_line_with_file_line_and_task(spoilt: Path) -> None:
    result = RUN.invoke(APP, ["check", str(spoilt)])
    line = spoilt.read_text("utf-8").splitlines().index("  text: 'Jax: Wait an hour.'") + 1
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"error: {spoilt}:{line}: task bread-1: begins with the speaker (Jax:) [speaker-prefix]",
        "errors: 1, warnings: 0",
    ]


def test_faults_as_json(spoilt: Path) -> None:
    result = RUN.invoke(APP, ["check", "--json", str(spoilt)])
    assert result.exit_code == 1
    (fault,) = json.loads(result.output)
    assert Fault(**fault).code == "speaker-prefix"
    assert json.loads(RUN.invoke(APP, ["check", "--json"]).output) == []


def test_a_terminal_gets_a_table(spoilt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    result = RUN.invoke(APP, ["check", str(spoilt)])
    assert result.exit_code == 1
    assert "speaker-prefix" in result.output
    assert "message" in result.output
    assert f"error: {spoilt}" not in result.output


def test_warnings_alone_are_no_failure(tmp_path: Path) -> None:
    write_yaml(tmp_path / "x.yaml", [Task(**{**vars(TASK), "tree": Tree("Bake it.", TASK.tree.nodes[:1])})])
    result = RUN.invoke(APP, ["check", str(tmp_path)])
    assert result.exit_code == 0
    assert "errors: 0, warnings: 1" in result.output


def test_rules_are_listed() -> None:
    output = RUN.invoke(APP, ["check", "--rules"]).output
    for rule in (*RULES, *SET_RULES):
        assert rule.code in output


def test_what_cannot_be_checked_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("", encoding="utf-8")
    faults = check_files([tmp_path, tmp_path / "notes.txt", tmp_path / "none.yaml"])
    assert [fault.message.split(";")[0] for fault in faults] == [
        "nothing to check here",
        "does not exist",
        "nothing to check here",
    ]


def test_each_file_goes_to_one_checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_yaml(tmp_path / "x.yaml", [TASK])
    (tmp_path / "study.toml").write_text("", encoding="utf-8")
    seen: list[Path] = []

    def find(path: Path) -> tuple[Path, ...]:
        return tuple(sorted(path.iterdir()))

    def check(files: object) -> tuple[Fault, ...]:
        assert isinstance(files, list)
        seen.extend(files)
        return ()

    checkers = [data.checker(), Checker("all files", find, check)]
    monkeypatch.setattr(commands, "all_checkers", lambda: checkers)
    assert check_files([tmp_path]) == ()
    assert seen == [tmp_path / "study.toml"]


def test_data_are_added_listed_and_removed(tmp_path: Path) -> None:
    (tmp_path / "source" / "English").mkdir(parents=True)
    write_published(tmp_path / "source" / "English" / file_name(25), [TASK])
    assert "No data are registered" in RUN.invoke(APP, ["data", "list"]).output
    help = " ".join(RUN.invoke(APP, ["data", "add", "--help"], env={"COLUMNS": "400"}).output.split())
    assert "the benchmark's page in docs/ says whether completeness is checked" in help
    refused = RUN.invoke(APP, ["data", "add", "clarq", str(tmp_path / "source")])
    assert isinstance(refused.exception, InputError)
    added = RUN.invoke(APP, ["data", "add", "clarq", str(tmp_path / "source"), "--partial", "--name", "mine"])
    assert added.exit_code == 0
    assert "Registered as 'mine'" in added.output
    assert "instead of" in added.output
    again = RUN.invoke(APP, ["data", "add", "clarq", str(tmp_path / "source"), "--partial", "--name", "mine"])
    assert "'mine' has not changed" in again.output
    listed = RUN.invoke(APP, ["data", "list"], env={"COLUMNS": "80"}).output
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in listed.splitlines() if "│" in line]
    assert "".join(row[-1] for row in cells) == str(tmp_path / "source"), "a path is wrapped, not cut"
    assert [row[0] for row in cells if row[0]] == ["mine"] and "…" not in listed
    (mine,) = datasets.list_all()
    write_published(
        tmp_path / "source" / "English" / file_name(25), [dataclasses.replace(TASK, prompt="You bake it.")]
    )
    other = ["data", "add", "clarq", str(tmp_path / "source"), "--partial", "--name", "mine"]
    refused = RUN.invoke(APP, other)
    assert isinstance(refused.exception, InputError)
    assert "'mine' is the name of other data (clarq, from " in str(refused.exception)
    assert "choose another name with --name" in str(refused.exception)
    assert datasets.list_all() == (mine,) and mine.folder.is_dir()
    replaced = RUN.invoke(APP, [*other, "--replace"])
    assert "Registered as 'mine'" in replaced.output and not mine.folder.exists()
    assert RUN.invoke(APP, ["data", "remove", "mine"]).output == "Removed mine.\n"
    assert "No data are registered" in RUN.invoke(APP, ["data", "list"]).output


def test_other_benchmarks_take_no_data(tmp_path: Path) -> None:
    result = RUN.invoke(APP, ["data", "add", "clark", str(tmp_path)])
    assert isinstance(result.exception, InputError)
    assert "known are clarq" in str(result.exception)
