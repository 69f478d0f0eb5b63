"""Test that scores are pure functions of an item and its turns."""

from __future__ import annotations

from math import log

import pytest

from logs.rows import Judgment, Turn
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.coding import KIND
from simulator.ambibench.generation import (
    generate_aws,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.prompt import trials
from simulator.ambibench.score import category, score_rows, score_trials

EPISODE = generate_multiple(2, per_cell=1)[0]
SINGLE = generate_instruction(2, per_cell=1)[0]


def turn(number: int, text: str, **payload: object) -> Turn:
    return Turn(episode_id="e", number=number, seat="participant", text=text, payload=dict(payload))


def written(texts: list[str], *, person: bool) -> list[Turn]:
    return [
        turn(n, text, kind="answer", k=trial.k, person=person)
        for n, (text, trial) in enumerate(zip(texts, trials(EPISODE), strict=True))
    ]


def values(rows: object) -> dict[str, float | None]:
    return {row.metric: row.value for row in rows}  # type: ignore[attr-defined]


def test_right_wrong_invalid_and_small_letters() -> None:
    texts = [example.label for example in EPISODE.examples]
    texts[0] = "Y" if texts[0] == "X" else "X"
    texts[1] = "banana"
    texts[2] = texts[2].lower()
    person = values(score_rows("e", EPISODE, written(texts, person=True)))
    assert person["accuracy"] == pytest.approx(18 / 20)
    assert person["strict"] == pytest.approx(17 / 20)
    assert person["valid"] == pytest.approx(19 / 20)
    model = values(score_rows("e", EPISODE, written(texts, person=False)))
    assert model["accuracy"] == pytest.approx(17 / 20)
    assert model["valid"] == pytest.approx(18 / 20)


def test_what_no_answer_changes_is_a_metric_of_the_item() -> None:
    answers = ([label] * len(trials(EPISODE)) for label in ("X", "Y", "x", "no idea"))
    scored = [values(score_rows("e", EPISODE, written(texts, person=True))) for texts in answers]
    same = {metric for metric in scored[0] if len({each[metric] for each in scored}) == 1}
    assert same == BENCHMARK.item_metrics


def test_turns_that_answer_nothing_do_not_count() -> None:
    turns = [turn(0, "yes", kind="consent"), turn(1, "ready", kind="ready")]
    turns += [turn(2, EPISODE.examples[0].label, kind="answer", k=1, person=True)]
    (trial,) = score_trials(EPISODE, turns)
    assert (trial.k, trial.correct, trial.oracle) == (1, 1, 0.5)
    assert values(score_rows("e", EPISODE, turns[:2])) == {}


def test_a_table_is_read_by_the_mode_that_is_asked_for() -> None:
    gold = SINGLE.examples[2].label
    table = [["so", log(0.5)], [gold, log(0.2)], [f" {gold}", log(0.2)]]
    turns = [turn(0, "so", kind="answer", k=3, table=table)]
    assert values(score_rows("e", SINGLE, turns))["accuracy"] == 0
    assert values(score_rows("e", SINGLE, turns, mode="forced"))["accuracy"] == 1
    (trial,) = score_trials(SINGLE, turns)
    assert trial.p_valid == pytest.approx(0.4) and not trial.valid
    assert {row.version for row in score_rows("e", SINGLE, turns, tie="half")} == {"1-strip-half"}


def test_buckets_are_sorted_by_rule_and_names_by_raters() -> None:
    bucket, named = generate_aws(0, per_name=1)[0], generate_verbalise(0, per_cell=1)[0]
    turns = [turn(0, " aws s3 mb s3://bucket-for-x --region us-east-1", kind="text")]
    assert category(bucket, turns) == "other"
    assert values(score_rows("e", bucket, turns)) == {"same": 0, "other": 1, "invalid": 0}
    named_turns = [turn(0, "leaders", kind="text")]
    assert score_rows("e", named, named_turns) == ()

    def mark(rater: str, value: str) -> Judgment:
        return Judgment(id=rater, episode_id="e", annotator=rater, kind=KIND, value={"category": value})

    first, other, third = mark("ann", "correct"), mark("ben", "other"), mark("cyd", "correct")
    assert category(named, named_turns, [first]) == "correct"
    assert category(named, named_turns, [first, other]) is None
    assert values(score_rows("e", named, named_turns, [first, other, third])) == {"named": 1}
