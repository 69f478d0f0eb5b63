"""Files of a user's that are called like parts of Askback do not take their place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from logs import LogReader

pytestmark = pytest.mark.slow
COMMAND = Path(sys.executable).parent / "askback"
OURS = ("app", "askback", "logs", "personas", "simulator", "trees", "ui")
SCRIPT = """
import askback
run = askback.run("clarq", limit=1)
print(len(askback.load_log().frame(run)), "played")
"""
AGENT = """
class Leaver:
    def reply(self, view):
        return "Goodbye."
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder: modules and packages called like ours, which must not be imported."""
    for number, name in enumerate(OURS):
        path = tmp_path / (f"{name}/__init__.py" if number % 2 else f"{name}.py")
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise SystemExit(f'{__file__} was imported')\n", encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "my_agents.py").write_text(AGENT, encoding="utf-8")
    return tmp_path


def call(folder: Path, *line: str | Path) -> str:
    """Return the output of a command in the folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"ASKBACK_HOME": str(folder / "home"), "COLUMNS": "120"}
    environment.pop("ASKBACK_LOG", None)
    done = subprocess.run(
        [*map(str, line)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("line", [["--help"], ["run", "--help"], ["run", "clarq", "--help"]])
def test_the_command_is_ours(folder, line):
    assert "Usage: askback" in call(folder, COMMAND, *line)
    assert "Usage:" in call(folder, sys.executable, "-P", "-m", "app", *line)


def test_worker_processes_are_ours_and_a_user_s_agent_is_still_known(folder):
    seeker = ["--seeker", "python:my_agents:Leaver"]
    call(folder, COMMAND, "run", "clarq", "--limit", "2", "--workers", "2", "--run", "r", *seeker)
    with LogReader(folder / "home" / "log.sqlite") as reader:
        assert {ending.status for ending in reader.endings("r").values()} == {"completed"}
        assert len(reader.endings("r")) == 2


def test_a_script_is_played_by_ours_under_p(folder):
    assert call(folder, sys.executable, "-P", "script.py") == "1 played\n"


def test_folders_of_data_beside_a_script_are_no_packages(folder):
    beside = folder / "study"
    for name in OURS:
        (beside / name).mkdir(parents=True)
        (beside / name / "data.csv").write_text("", encoding="utf-8")
    (beside / "script.py").write_text(SCRIPT, encoding="utf-8")
    assert call(folder, sys.executable, beside / "script.py") == "1 played\n"
