"""Test `askback train ambibench` end to end, with a tiny model."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import app
from logs import LogReader
from simulator.ambibench.files import item_line
from simulator.ambibench.generation import generate_finetune
from simulator.errors import InputError
from simulator.jsonlines import write_lines

FOLD = "subject_location"


def train(*words):
    return CliRunner().invoke(
        app.cli, ["train", "ambibench", *map(str, words)], catch_exceptions=False, env={"COLUMNS": "200"}
    )


@pytest.fixture(autouse=True)
def at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("words", [(), ("--control", "--method", "full")])
def test_it_trains_plays_the_pair_held_out_and_says_what_it_found(base, tmp_path, words):
    variant = "control" if words else "ambiguous"
    write_lines(tmp_path / "some.jsonl", map(item_line, generate_finetune(0, FOLD, variant)[::14]))
    log = tmp_path / "log.sqlite"
    result = train(
        "--fold", FOLD, "--model", f"transformers/{base}", "--data", "some.jsonl", "--rate", "0.01",
        "--per-cell", "1", "--threads", "1", "--log", log, *words,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "20 prompts, 1 epochs; loss of the last label" in result.output
    folder = tmp_path / f"ambibench-{FOLD}-{variant}"
    facts = json.loads((folder / "askback.json").read_text())
    assert (facts["fold"], facts["variant"], facts["examples"]) == (FOLD, variant, 20)
    with LogReader(log) as reader:
        runs = reader.runs()
        assert [run.config["seats"]["participant"] for run in runs] == [
            f"transformers/{base}",
            f"transformers/{folder.name}",
        ]
        # Both tasks of the pair in both formats, twenty labels each.
        assert [len(list(reader.turns_of_run(run.id))) for run in runs] == [4, 4]
        scores = [{score.episode_id: score.value for score in reader.scores(run_id=run.id)} for run in runs]
    assert all(scores)


def test_for_a_service_it_writes_the_file(tmp_path):
    result = train("--fold", FOLD, "--model", "openai/davinci-002", "--out", "train.jsonl")
    assert result.exit_code == 0 and "Wrote 272 prompts to train.jsonl" in result.output
    lines = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    assert len(lines) == 272 and {tuple(line) for line in lines} == {("prompt", "completion")}
    assert {line["completion"] for line in lines} == {"X", "Y", " X", " Y"}


def test_what_cannot_be_trained_is_said_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match=r"--submit is for openai/"):
        train("--fold", FOLD, "--model", "transformers/x", "--submit")
    with pytest.raises(InputError, match="has no weights on this machine"):
        train("--fold", FOLD, "--model", "anthropic/claude")
    assert [*tmp_path.iterdir()] == []
