"""Test trials in files that contradict their probabilities."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from simulator.ambibench.records import TrialRecord, read_trial_file, recorded_rule, score_again, write_trials
from simulator.ambibench.reporting.report import read_results
from simulator.errors import InputError

TRIAL = TrialRecord(
    run_id="r",
    prompt_id="p",
    actor_kind="model",
    actor_id="m",
    setting="multiple",
    salient_feature="location",
    format="arrow",
    instruction_kind="uninformative",
    k=1,
    gold="X",
    top_logprobs=[("Y", -0.2), ("X", -2.0)],
    answer="X",
    correct=1.0,
    valid=True,
)


def test_probabilities_count_and_what_they_contradict_is_counted(tmp_path: Path) -> None:
    right = replace(TRIAL, top_logprobs=[("X", -0.2), ("Y", -2.0)])
    write_trials(tmp_path / "trials.jsonl", [right, TRIAL, replace(TRIAL, prompt_id="q")])
    results = read_results(None, files=[tmp_path / "trials.jsonl"])
    assert [trial.correct for trial in results.trials] == [1, 0, 0]
    assert [trial.answer for trial in results.trials] == ["X", "Y", "Y"]
    (fault,) = results.faults
    assert (fault.line, fault.code) == (2, "correct") and fault.message.endswith(": 2")


def test_an_empty_table_contradicts_nothing(tmp_path: Path) -> None:
    bare = replace(TRIAL, top_logprobs=[])
    assert score_again(bare) == bare
    write_trials(tmp_path / "trials.jsonl", [bare])
    assert read_results(None, files=[tmp_path / "trials.jsonl"]).faults == ()


@pytest.mark.parametrize(("correct", "rule"), [(0, ("strip", "wrong")), (0.5, ("strip", "half"))])
def test_a_tie_may_count_what_it_will(correct: float, rule: tuple[str, str]) -> None:
    tied = replace(TRIAL, top_logprobs=[("Y", -0.5), ("X", -0.5)], correct=correct)
    assert recorded_rule(tied) == rule
    assert score_again(tied).correct == correct


def test_a_mode_that_is_noted_is_the_one_that_counts() -> None:
    # By two tokens alone it would be right.
    other = replace(TRIAL, top_logprobs=[("Z", -0.1), ("X", -2.0)])
    assert recorded_rule(other) == ("forced", "wrong")
    assert recorded_rule(replace(other, score_mode="strip")) is None


def test_a_text_that_contradicts_its_trial_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    write_trials(path, [TRIAL])
    fields = json.loads(path.read_text()) | {"top_logprobs": None, "answer": "", "raw_answer": "X"}
    path.write_text(json.dumps(fields | {"correct": 0}))
    with pytest.raises(InputError, match="'correct' is 0, but 'raw_answer' is 'X'"):
        read_trial_file(path)
