"""Scores out of hand-made turns."""

from __future__ import annotations

import pandas as pd
import pytest

from logs.rows import Turn
from simulator.errors import InputError
from simulator.handmethat.benchmark import BENCHMARK
from simulator.handmethat.score import score_episode, score_rows
from simulator.reports import present_metrics


def turns(*commands, **options):
    payload = {"kind": "utterance", "mode": "partial", "protocol": "free", "limit": 40, **options}
    first = Turn(episode_id="e", number=0, seat="human", text="Hand me that.", payload=payload)
    moves = [
        Turn(episode_id="e", number=n, seat="robot", text=command, payload={"command": command})
        for n, command in enumerate(commands, start=1)
    ]
    return [first, *moves]


def test_success_counts_from_a_hundred_down(kitchen, lamp):
    scores = score_episode(kitchen, turns(*lamp))
    assert (scores.success, scores.score, scores.raw_sum) == (True, 96, 96)
    assert (scores.moves, scores.moves_of_success, scores.over) == (4, 4, "success")
    assert (scores.level, scores.quest, scores.mode) == (2, "bring_me", "partial")
    later = score_episode(kitchen, turns("look", "dance", *lamp))
    assert (later.score, later.moves_of_success, later.invalid) == (94, 6, 1)


def test_every_failure_costs_forty(kitchen, wrong):
    stopped = score_episode(kitchen, turns(*wrong, "stop"))
    assert (stopped.success, stopped.score, stopped.raw_sum) == (False, -40, -5)
    assert stopped.moves_of_success is None
    cut = score_episode(kitchen, turns(*["look"] * 50))
    assert (cut.score, cut.raw_sum, cut.moves, cut.over) == (-40, -40, 40, "limit")


def test_questions_cost_either_way(kitchen, lamp):
    ask = ("question: which type do you mean", "question: can you say it clearly")
    scores = score_episode(kitchen, turns(*ask, *lamp))
    assert (scores.questions, scores.question_cost) == (2, 40)
    assert (scores.score, scores.raw_sum, scores.moves) == (56, 56, 6)
    lost = score_episode(kitchen, turns(ask[0], "stop"))
    assert (lost.score, lost.raw_sum) == (-50, -11)


def test_refused_questions_are_not_counted(kitchen):
    ask = "question: which type do you mean"
    scores = score_episode(kitchen, turns(ask, ask, "stop", max_questions=1))
    assert (scores.questions, scores.question_cost, scores.invalid) == (1, 10, 1)


def test_moving_and_changing_are_tested_by_their_own_rules(moving):
    way = ["move to refrigerator", "open refrigerator", "pick up apple", "move to table"]
    assert score_episode(moving, turns(*way, "put apple onto table")).score == 95
    assert not score_episode(moving, turns(*way[:3], "move to sofa", "put apple onto sofa")).success


def test_turns_without_an_instruction_are_refused(kitchen):
    with pytest.raises(InputError, match="instruction"):
        score_episode(kitchen, turns("look")[1:])


def test_rows_have_a_metric_each(kitchen, lamp):
    rows = score_rows("e", score_episode(kitchen, turns(*lamp)))
    assert {row.metric: row.value for row in rows} == {
        "success": 1,
        "score": 96,
        "raw_sum": 96,
        "moves": 4,
        "moves_of_success": 4,
        "questions": 0,
        "question_cost": 0,
    }
    assert all(row.details["level"] == 2 for row in rows)
    assert {row.value for row in score_rows("e", score_episode(kitchen, turns()))} == {0, -40, None}


def test_an_episode_keeps_the_prices_at_which_it_was_played(kitchen, lamp):
    """Once a question cost ten points whatever it named, and could be of any length."""
    first, second = "question: is it the lamp or the apple?", f"question: is it {'very ' * 60} red?"
    played = turns(first, second, *lamp)
    now = score_episode(kitchen, played)
    assert (now.question_cost, now.questions) == (30, 2)
    for turn in played[1:3]:
        turn.payload["heard"] = "type"
    then = score_episode(kitchen, played)
    assert (then.question_cost, then.score, then.raw_sum) == (20, now.score + 10, now.raw_sum + 10)
    limited = score_episode(kitchen, turns(second, *lamp, longest=256))
    assert (limited.questions, limited.invalid, limited.score) == (0, 1, 95)


def test_of_the_scores_only_success_is_a_share(kitchen, lamp):
    """A run without questions has a question cost of 0 points, which is no share of 0 %."""
    scored = [row.metric for row in score_rows("e", score_episode(kitchen, turns(*lamp)))]
    frame = pd.DataFrame([dict.fromkeys(scored, 0.0)])
    assert [metric.name for metric in present_metrics(BENCHMARK, frame) if metric.is_share] == ["success"]
