"""The benchmark of `docs/add-a-benchmark.md`, built from that page alone."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest
from packages import BLOCKS, ROOT, guess_number, install, write_guess_number

MAX_LINES = 300
RUN_COMMANDS = """
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
import app
for line in sys.stdin.read().splitlines():
    sys.argv, output = ["askback", *__import__("shlex").split(line)], StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        try:
            app.main()
        except SystemExit:
            pass
    print("$ " + line, output.getvalue(), sep="\\n")
"""


def sessions() -> list[tuple[str, list[str]]]:
    """The commands on the page, each with the output lines shown there."""
    commands: list[tuple[str, list[str]]] = []
    for _, language, text in BLOCKS:
        for line in text.splitlines() if language == "console" else ():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
    return commands


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The output of each command on the page, run with the package installed."""
    folder, target = tmp_path_factory.mktemp("page"), tmp_path_factory.mktemp("site")
    install(write_guess_number(folder), target, folder / "building")
    cwd = folder / "guess-number"
    (cwd / "hm.yaml").write_text("- hm\n", encoding="utf-8")
    odd = "items_of: guess_number\nitems:\n- {name: odd, hint: a number, number: 99}\n"
    (cwd / "odd.yaml").write_text(odd, encoding="utf-8")
    environment = os.environ | {
        "ASKBACK_HOME": str(folder / "home"),
        "PYTHONPATH": f"{target}{os.pathsep}{ROOT}",
        "COLUMNS": "200",
    }
    commands = [line for line, _ in sessions() if line.startswith("askback ")]
    done = subprocess.run(
        [sys.executable, "-c", RUN_COMMANDS],
        input="\n".join(shlex.join(shlex.split(line)[1:]) for line in commands),
        env=environment, cwd=cwd, capture_output=True, text=True, timeout=400, check=True,
    )  # fmt: skip
    return dict(zip(commands, re.split(r"^\$ .*\n", done.stdout, flags=re.MULTILINE)[1:], strict=True))


def test_the_page_contains_a_complete_and_short_package():
    files = guess_number()
    assert "guess-number/guess_number/__init__.py" in files
    assert sum(len(text.splitlines()) for name, text in files.items() if "extras" not in name) <= MAX_LINES


@pytest.mark.slow
@pytest.mark.parametrize(("line", "expected"), [each for each in sessions() if each[1]])
def test_a_command_prints_the_output_shown_on_the_page(outputs, line, expected):
    printed = [" ".join(row.split()) for row in outputs[line].splitlines()]
    for row in expected:
        assert any(" ".join(row.split()) in other for other in printed), outputs[line]


@pytest.mark.slow
def test_no_command_of_the_page_crashes(outputs):
    assert not [line for line, output in outputs.items() if "Traceback" in output]
