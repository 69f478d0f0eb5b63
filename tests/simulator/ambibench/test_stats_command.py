from __future__ import annotations

import io
import json
import re
import time
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from simulator.ambibench import statistics as module
from simulator.ambibench.files import item_line
from simulator.ambibench.generation import generate_aws, generate_instruction, generate_multiple
from simulator.ambibench.statistics import patience, sample_statistics, stats_command
from simulator.errors import InputError
from simulator.jsonlines import write_lines

APP = typer.Typer()
APP.command()(stats_command)
RUN = CliRunner()


def stats(*options: str) -> Result:
    return RUN.invoke(APP, options, catch_exceptions=False)


def test_a_drawn_sample_passes_and_is_shown() -> None:
    result = stats("--sentences", "9600", "--seed", "3")
    assert result.exit_code == 0
    assert result.output.count("C3.wordlists: 10 of 10 lists equal; 0 sentences outside the templates") == 2
    assert "C2.oracle_4.2: 0.5 uninformative, 1 informative" in result.output
    assert "WRONG" not in result.output
    assert re.search(r"all +240 \(4800\) +240 \(4800\) +480 \(9600\)", result.output)
    assert re.search(r"propn_negation +3200 +\d+ +2000", result.output)
    assert max(map(len, result.output.splitlines())) <= 80


def test_so_many_sentences_are_drawn_or_a_few_more() -> None:
    for asked, drawn in ((1, 240), (240, 240), (241, 480)):
        episodes, prompts = sample_statistics(asked, 0).values()
        assert episodes.sentences == drawn
        assert prompts.prompts == 24


def test_json() -> None:
    result = stats("--sentences", "2400", "--json")
    episodes, prompts = json.loads(result.output).values()
    assert episodes["passed"] and prompts["passed"]
    assert prompts["oracle"] == {"uninformative": 0.5, "informative": 1.0}
    assert {words["name"]: set(words) for words in episodes["lists"]}["human"] == {
        "name",
        "counts",
        "unseen",
        "p",
    }


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_lines(path, map(item_line, [*generate_instruction(0, per_cell=2), *generate_aws(0, per_name=1)]))
    result = stats("--data", str(path))
    assert result.exit_code == 0
    assert re.search(r"all +12 \(36\) +12 \(36\) +24 \(72\)", result.output)


def test_a_loaded_file_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_lines(path, map(item_line, [prompt for prompt in generate_multiple(0, per_cell=30) if prompt.x_is]))
    result = stats("--data", str(path))
    assert result.exit_code == 1
    assert re.search(r"^WRONG +polarity: subject: human is X \(p = ", result.output, re.M)
    result = stats("--data", str(path), "--json")
    assert result.exit_code == 1
    (checked,) = json.loads(result.output).values()
    assert checked["passed"] is False
    # Whoever wants no test to fail can ask for that.
    assert stats("--data", str(path), "--alpha", "0").exit_code == 0


def test_a_file_without_labels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_lines(path, map(item_line, generate_aws(0, per_name=1)))
    with pytest.raises(InputError, match="contain no prompt with labels"):
        stats("--data", str(path))


def test_only_what_takes_long_shows_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=60)
    with patience(console, "Counting"):
        pass
    assert out.getvalue() == ""
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    with patience(console, "Counting"):
        deadline = time.monotonic() + 60
        while "Counting" not in out.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "Counting" in out.getvalue()
