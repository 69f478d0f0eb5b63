"""Output on a run in addition to its benchmark's tables."""

from __future__ import annotations

import pytest
from rich.console import Console

from logs import ModelUsage
from simulator.reporting import RunEndings
from simulator.runner.run_summary import AGAIN, print_endings, print_problems, print_usage, runs_and_files
from trees.faults import Fault


@pytest.fixture
def console():
    return Console(record=True, width=100, quiet=False)


def test_the_head_of_a_report(console):
    print_endings(
        console, ["r", "s"], RunEndings(statuses={"failed": 2, "completed": 1}, failures={"no [server]": 2})
    )
    print_endings(console, ["t"], RunEndings(statuses={}, failures={}))
    assert console.export_text() == (
        f"\nr s  1 completed, 2 failed\n2 failed: no [server]\n{AGAIN}\n\nt  nothing played yet\n"
    )


def test_only_the_commonest_reasons_are_listed(console):
    failures = {f"reason {number}": 20 - number for number in range(11)}
    print_endings(console, ["r"], RunEndings(statuses={"failed": 165}, failures=failures))
    lines = console.export_text().splitlines()
    assert lines[2] == "20 failed: reason 0" and lines[9] == "13 failed: reason 7"
    assert lines[10:] == ["33 failed for other reasons (askback report … --json has all)", AGAIN]


def test_who_withdrew_is_told_in_a_word(console):
    print_endings(console, ["r"], RunEndings(statuses={"completed": 2, "erased": 3}, failures={}))
    assert console.export_text() == "\nr  2 completed, 3 erased\n"


def test_what_has_no_price_is_not_told_to_cost_nothing(console):
    usage = {"errors": 0, "input_tokens": 1, "output_tokens": 1, "seconds": 1.0}
    print_usage(console, [ModelUsage(model="m", calls=3, cached=1, cost=0.0, unpriced=2, **usage)])
    print_usage(console, [ModelUsage(model="n", calls=2, cached=0, cost=0.25, unpriced=0, **usage)])
    print_usage(console, [ModelUsage(model="o", calls=5, cached=0, cost=0.25, unpriced=1, **usage)])
    assert console.export_text() == (
        "m: 3 calls, 1 from the cache, 2 at unknown cost\nn: 2 calls, 0 from the cache, $0.2500\n"
        "o: 5 calls, 0 from the cache, $0.2500, 1 at unknown cost\n"
    )


def test_what_is_there_is_a_file_and_the_rest_are_runs(tmp_path):
    (tmp_path / "a.csv").touch()
    named = [str(tmp_path / "a.csv"), "run-1", str(tmp_path), str(tmp_path / "gone.csv")]
    runs, files = runs_and_files(named)
    assert runs == ["run-1", str(tmp_path / "gone.csv")]
    assert files == [tmp_path / "a.csv", tmp_path]


def test_what_is_wrong_with_files_goes_to_the_other_stream(capsys, tmp_path):
    faulty = Fault("a.csv", "7", 3, "format", "[no] text")
    warned = Fault("a.csv", "", 0, "odd", "two kinds", "warning")
    many = [faulty, warned, "a and b differ", *[faulty] * 60]
    print_problems("AmbiX", many, ["b.csv is empty"], [tmp_path / "c"], ["out.tex"])
    output = capsys.readouterr()
    lines = output.err.splitlines()
    assert output.out == ""
    assert lines[:2] == ["wrote out.tex", f"{tmp_path / 'c'}: skipped; not a file of AmbiX"]
    assert lines[2:5] == [
        "62 faults; the rows are left out:",
        "  a.csv:3: row 7: [no] text",
        "  a and b differ",
    ]
    assert lines[-4:] == [
        "  … and 12 more (--json has them all)",
        "1 warning:",
        "  a.csv: two kinds",
        "b.csv is empty",
    ]
    print_problems("AmbiX", [], [])
    assert capsys.readouterr().err == ""


def test_one_fault_and_one_warning_are_told_as_one(capsys):
    print_problems(
        "AmbiX", [Fault("a.csv", "", 3, "x", "bad"), Fault("a.csv", "", 4, "y", "odd", "warning")], []
    )
    lines = capsys.readouterr().err.splitlines()
    assert "1 fault; the row is left out:" in lines and "1 warning:" in lines
