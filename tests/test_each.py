"""The mark `each`: one test of many cases leaves none out and hides no failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CASES = """
import pytest

@pytest.mark.each("number", [1, pytest.param(2, id="two"), 3])
def test_one_name(number):
    assert number < 2

@pytest.mark.each("first, second", [(1, 1), (2, 2)])
@pytest.mark.parametrize("third", [1, 3])
async def test_two_names(first, second, third):
    assert first == second != third
"""


@pytest.fixture
def outcome(tmp_path: Path):
    """Run the cases in a project of their own; what is printed."""
    conftest = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nmarkers = each\n", encoding="utf-8")

    def run(*options: str, **files: str) -> str:
        for name, cases in files.items():
            (tmp_path / f"test_{name}.py").write_text(cases, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:langsmith_plugin",
        ]
        return subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        ).stdout

    return run


def test_all_cases_run_and_those_that_fail_are_told_together(outcome) -> None:
    printed = outcome(cases=CASES)
    assert "2 failed, 1 passed" in printed
    assert "2 of 3 cases failed" in printed and "1 of 2 cases failed" in printed
    for case in ("{'number': 2}", "{'number': 3}", "{'first': 1, 'second': 1}"):
        assert f"Case: {case}" in printed
    assert "3 failed, 4 passed" in outcome("--apart", cases=CASES)


def test_cases_that_could_be_left_out_are_refused(outcome) -> None:
    test = 'import pytest\n@pytest.mark.each("a", {})\ndef test_a(a): pass\n'
    once, marked = "iter([1])", "[pytest.param(1, marks=pytest.mark.skip)]"
    printed = outcome(once=test.format(once), marked=test.format(marked))
    assert "2 errors" in printed
    assert printed.count("`each` takes lists, and no marks of cases") >= 2
