"""The benchmark of `docs/add-a-benchmark.md`, as somebody would write it from that page alone."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest
from packages import BLOCKS, ROOT, guess_number, install, write_guess_number

MOST_LINES = 300
EXPECTING = """
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
import app
for line in sys.stdin.read().splitlines():
    sys.argv, told = ["askback", *__import__("shlex").split(line)], StringIO()
    with redirect_stdout(told), redirect_stderr(told):
        try:
            app.main()
        except SystemExit:
            pass
    print("$ " + line, told.getvalue(), sep="\\n")
"""


def sessions() -> list[tuple[str, list[str]]]:
    """The commands of the page, each with lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for _, language, text in BLOCKS:
        for line in text.splitlines() if language == "console" else ():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command of the page prints, after the package was installed."""
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
        [sys.executable, "-c", EXPECTING],
        input="\n".join(shlex.join(shlex.split(line)[1:]) for line in commands),
        env=environment, cwd=cwd, capture_output=True, text=True, timeout=400, check=True,
    )  # fmt: skip
    outputs = re.split(r"^\$ .*\n", done.stdout, flags=re.MULTILINE)[1:]
    return dict(zip(commands, outputs, strict=True))


def test_the_page_has_a_whole_package_of_few_lines():
    files = guess_number()
    assert "guess-number/guess_number/__init__.py" in files
    assert sum(len(text.splitlines()) for name, text in files.items() if "extras" not in name) <= MOST_LINES


@pytest.mark.slow
@pytest.mark.parametrize(("line", "expected"), [each for each in sessions() if each[1]])
def test_a_command_of_the_page_prints_what_stands_there(told, line, expected):
    printed = [" ".join(each.split()) for each in told[line].splitlines()]
    for each in expected:
        assert any(" ".join(each.split()) in row for row in printed), told[line]


@pytest.mark.slow
def test_no_command_of_the_page_crashes(told):
    assert not [line for line, output in told.items() if "Traceback" in output]
