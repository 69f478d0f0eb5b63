"""Test the frame of trials."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.ambibench.generation import generate_instruction, generate_multiple
from simulator.ambibench.records import TrialRecord
from simulator.ambibench.reporting.frame import present, select, sessions, trial_frame, without_flagged
from simulator.ambibench.trial_log import trials_of_runs


@pytest.fixture(scope="module")
def played(shared_desk, skilled, typed):
    """People, two models and an oracle on some prompts of 4.2."""
    items = generate_instruction(1, per_cell=1)
    for seat in ("offline/oracle", "openai/b", "openai/a"):
        shared_desk.play(seat, items, seat, skilled(0.5))
    shared_desk.play("study", items, "person", typed(0.5))
    return trials_of_runs(shared_desk.reader, ["offline/oracle", "openai/b", "study", "openai/a"])


def test_people_come_first_then_models_as_they_appear_then_oracles(played):
    assert present(trial_frame(played), "actor") == ["people", "openai/b", "openai/a", "offline/oracle"]
    assert present(trial_frame(played), "role") == ["human", "model", "oracle"]


def test_actors_may_be_called_otherwise_and_put_together(played):
    named = trial_frame(played, {"openai/*": "others", "openai/a": "the one", "person": "humans"})
    assert present(named, "actor") == ["humans", "others", "the one", "offline/oracle"]
    frame = trial_frame(played, {"openai/*": "both"})
    assert len(select(frame, actor="both")) == 24


def test_columns_hold_what_trials_say(played):
    frame = trial_frame(played)
    here = select(frame, actor="openai/a", feature="negation", format="qa")
    matching = [
        record
        for record in played
        if (record.actor_id, record.salient_feature, record.format) == ("openai/a", "negation", "qa")
    ]
    assert len(here) == len(matching) == 1
    for name in ("correct", "strict"):
        assert here[name].tolist() == [
            matching[0].correct if name == "strict" else getattr(matching[0], name)
        ]
    assert here["valid"].tolist() == [matching[0].p_valid]
    assert here["bayes"].tolist() == [0.5]
    assert np.isnan(here["seconds"]).all()
    assert set(select(frame, actor="people")["seconds"].tolist()) == {2.0}
    assert present(here, "k") == [3]
    assert present(here, "pair") == ["propn_negation"]


def test_several_levels_and_unknown_ones(played):
    frame = trial_frame(played)
    assert len(select(frame, feature=("subject", "location"))) == 16
    assert len(select(frame, actor="nobody")) == 0
    assert len(select(frame, setting="multiple")) == 0


def test_a_trial_that_comes_twice_counts_once(played):
    assert len(trial_frame((*played, *played))) == len(trial_frame(played)) == 48


def test_trials_without_a_name_are_all_kept():
    line = {
        "setting": "multiple",
        "prompt_id": "p",
        "actor_kind": "model",
        "actor_id": "m",
        "salient_feature": "subject",
        "format": "qa",
        "instruction_kind": "uninformative",
        "k": 1,
        "gold": "X",
        "correct": 1.0,
    }
    frame = trial_frame([TrialRecord(**line), TrialRecord(**line)])
    assert len(frame) == 2
    assert np.isnan(frame["bayes"]).all()


def test_the_oracles_two_readings(desk, skilled):
    desk.play("run", generate_multiple(2, per_cell=1)[:6], "openai/m", skilled(1))
    records = trials_of_runs(desk.reader, ["run"])
    frame = trial_frame(records)
    rows = sorted(records, key=lambda row: (row.prompt_id, row.k))
    assert frame["bayes"].tolist() == [{0.5: 0.5, 1.0: 1.0}[row.oracle_p] for row in rows]
    assert frame["literal"].tolist() == [1.0 if row.oracle_identified else 0.5 for row in rows]
    assert (frame["bayes"] >= frame["literal"]).all()


# People's sessions


@pytest.fixture
def study(desk, typed, says):
    """Sessions of 4.3 (good, left early, fast, invalid) and a good one of 4.2."""
    items = generate_multiple(3, per_cell=1)
    nonsense = lambda item, trial, random: says("cat" if trial.k > 9 else str(trial.gold))  # noqa: E731
    episodes = [
        *desk.play("study", items[:1], "person", typed(1)),
        *desk.play("study", items[1:2], "person", typed(0), answers=19, status=None),
        *desk.play("study", items[2:3], "person", typed(0), seconds=0.79),
        *desk.play("study", items[3:4], "person", nonsense),
        *desk.play("short", generate_instruction(3, per_cell=1)[:1], "person", typed(1), seconds=0.8),
    ]
    return episodes, trial_frame(trials_of_runs(desk.reader, ["study", "short"]))


def test_sessions_are_flagged(study):
    episodes, frame = study
    table = sessions(frame).set_index("session")
    assert table.loc[episodes, "flags"].tolist() == ["", "unfinished", "fast", "invalid", ""]
    assert table.loc[episodes, "answers"].tolist() == [20, 19, 20, 20, 1]
    assert table.loc[episodes[2], "seconds"] == 0.79
    assert table.loc[episodes[3], "invalid"] == pytest.approx(11 / 20)
    assert table.loc[episodes[3], "accuracy"] == pytest.approx(9 / 20)


def test_half_of_the_answers_invalid_is_not_more_than_half(desk, says):
    half = lambda item, trial, random: says("cat" if trial.k > 10 else "X")  # noqa: E731
    desk.play("study", generate_multiple(4, per_cell=1)[:1], "person", half)
    table = sessions(trial_frame(trials_of_runs(desk.reader, ["study"])))
    assert table[["invalid", "flags"]].to_numpy().tolist() == [[0.5, ""]]


def test_results_without_flagged_sessions_keep_everybody_else(study, desk, skilled):
    episodes, _ = study
    desk.play("run", generate_multiple(3, per_cell=1)[:2], "openai/m", skilled(1))
    frame = trial_frame(trials_of_runs(desk.reader, ["study", "short", "run"]))
    unflagged = without_flagged(frame)
    assert sorted(unflagged["session"].dropna().unique()) == sorted((episodes[0], episodes[4]))
    assert len(select(unflagged, role="model")) == 40
    assert len(unflagged) == 40 + 20 + 1
