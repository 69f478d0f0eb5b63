"""`askback graph`: every machine as Mermaid text, with all its nodes."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import app
from simulator.errors import InputError
from simulator.runner.build import load_machine
from simulator.studies.graph import AFTER, BEFORE, WAYS_OUT

NODES = {
    "study": {*BEFORE, "task", *AFTER, *WAYS_OUT},
    "clarq": {"greet", "seek", "classify", "walk", "respond"},
    "handmethat": {"utter", "listen", "answer", "act"},
    "ambibench": {"label", "free_text", "all_at_once"},
    "ambient": {"qualify", "label", "judge", "relabel", "annotate", "generate", "true_false", "continue"}
    | {"nli", "paraphrase", "claim", "all_at_once"},
    "ambik": {"propose", "calibrate", "decide", "ask", "answer", "annotate"},
}


@pytest.mark.each("name", NODES)
def test_each_machine_prints_its_nodes(name: str) -> None:
    result = CliRunner().invoke(app.cli, ["graph", name])
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.output.splitlines()]
    assert "graph TD;" in lines
    drawn = {line.split("(")[0] for line in lines if "(" in line and line.endswith(")")}
    assert drawn == NODES[name]
    arrows = [line for line in lines if "->" in line]
    assert all(any(node in arrow for arrow in arrows) for node in NODES[name])


def test_benchmarks_hold_what_is_the_papers_alone() -> None:
    asked = {*BEFORE, *AFTER, *WAYS_OUT}
    for name in ("clarq", "handmethat", "ambibench", "ambient", "ambik"):
        assert not asked & set(load_machine(name).build_graph().nodes)


def test_a_machine_that_there_is_not() -> None:
    with pytest.raises(InputError, match="known are: clarq"):
        CliRunner().invoke(app.cli, ["graph", "chess"], catch_exceptions=False)
