from dataclasses import replace

import numpy as np
import pytest

from logs.rows import Judgment, Turn
from simulator.clarq.reporting.agreement import (
    agreement,
    cluster_kappa,
    error_rates,
    reviewers,
    success_agreement,
)
from simulator.clarq.review import DONE, PROVIDER_ERROR, REVIEW_SUCCESS, SEEKER_FAILURE
from simulator.clarq.score import SUCCESS, score_run
from simulator.stats import cohen_kappa, wilson


def turns(episode, count):
    """`count` provider turns after the greeting, each after a seeker's."""
    seats = ["provider", *["seeker", "provider"] * count]
    return [Turn(episode_id=episode, number=n, seat=seat, text="") for n, seat in enumerate(seats)]


TURNS = {"a": turns("a", 4), "b": turns("b", 6)}


class Marks:
    """Judgments written down in order."""

    def __init__(self):
        self.rows = []

    def add(self, episode, who, kind, turn=None, **value):
        key = str(len(self.rows))
        self.rows.append(
            Judgment(
                id=key, episode_id=episode, annotator=who, kind=kind, value=value, turn_number=turn, key=key
            )
        )

    def error(self, episode, who, turn, type=0, hallucination=False):
        self.add(episode, who, PROVIDER_ERROR, turn, type=type, node=None, hallucination=hallucination)

    def done(self, episode, who, success=True):
        self.add(episode, who, REVIEW_SUCCESS, success=success)
        self.add(episode, who, DONE, done=True)


@pytest.fixture
def marks():
    return Marks()


def test_errors_are_counted_per_hundred_provider_turns(marks):
    marks.error("a", "ann", 2, type=1)
    marks.error("b", "ann", 4, type=2, hallucination=True)
    marks.error("b", "ann", 6, type=1)
    marks.add("b", "ann", SEEKER_FAILURE, node="1", failure="hidden")
    marks.done("a", "ann")
    marks.done("b", "ann", success=False)
    found = error_rates(marks.rows, TURNS)
    assert (found.turns, found.dialogues) == (10, 2)
    assert {rate.error: rate.count for rate in found.rates} == {"type_1": 2, "type_2": 1, "hallucination": 1}
    first = found.rates[0].per_100
    assert first.value == pytest.approx(20)
    # One error of 4 turns, one of 6: resampled whole, the rate lies between those of the two dialogues.
    assert (first.low, first.high) == (pytest.approx(100 / 6), pytest.approx(25))
    assert found.failures == {"hidden": 1}


def test_unfinished_reviews_do_not_count(marks):
    marks.error("a", "ann", 2, type=1)
    found = error_rates(marks.rows, TURNS)
    assert (found.rates, found.turns, found.dialogues) == ((), 0, 0)
    assert reviewers(marks.rows) == ()


def test_a_correction_takes_the_error_back(marks):
    marks.error("a", "ann", 2, type=1)
    marks.error("a", "ann", 2, type=0)
    marks.done("a", "ann")
    rates = error_rates(marks.rows, TURNS).rates
    assert [(rate.count, rate.per_100.value, rate.per_100.low) for rate in rates] == [(0, 0, 0)] * 3
    assert rates[0].per_100.high == pytest.approx(100 * wilson(0, 4).high)


def test_agreement_is_about_what_both_have_finished(marks):
    marks.error("a", "ann", 2, type=1)
    marks.error("a", "bob", 2, type=2)
    marks.error("a", "ann", 4, type=1)
    marks.error("a", "bob", 4, type=1, hallucination=True)
    marks.add("a", "ann", SEEKER_FAILURE, node="3", failure="hidden")
    marks.done("a", "ann", success=False)
    assert agreement(marks.rows, TURNS, "ann", "bob") == ()
    marks.done("a", "bob", success=True)
    marks.done("b", "ann")
    found = {one.question: one for one in agreement(marks.rows, TURNS, "ann", "bob")}
    assert list(found) == ["provider_error", "hallucination", "seeker_failure", "success"]
    errors = found["provider_error"]
    assert errors.observed.n == 4
    assert errors.observed.value == pytest.approx(3 / 4)
    labels = (["1", "1", "0", "0"], ["2", "1", "0", "0"])
    assert errors.kappa.value == pytest.approx(cohen_kappa(*labels))
    (differing,) = errors.disagreements
    assert (differing.episode_id, differing.turn_number) == ("a", 2)
    assert (differing.first, differing.second) == ("type_1", "type_2")
    assert [one.turn_number for one in found["hallucination"].disagreements] == [4]
    (why,) = found["seeker_failure"].disagreements
    assert (why.node, why.first, why.second) == ("3", "hidden", "none")
    (verdict,) = found["success"].disagreements
    assert (verdict.first, verdict.second) == ("no", "yes")
    assert reviewers(marks.rows) == ("ann", "bob")


def test_automatic_against_manual_success(put, log, reader, lamp, marks):
    whole = put(log, lamp, ("1", "2", "2.1", "2.1.1", "3"))
    part = put(log, lamp, ("1", "Hm."), repeat=1)
    scored = score_run(reader, "run")
    assert success_agreement(scored, marks.rows) is None
    marks.add(whole, "ann", REVIEW_SUCCESS, success=False)
    marks.add(whole, "ann", REVIEW_SUCCESS, success=True)
    marks.add(part, "ann", REVIEW_SUCCESS, success=True)
    marks.add(part, "provider", SUCCESS, success=False)
    marks.add("elsewhere", "ann", REVIEW_SUCCESS, success=True)
    found = success_agreement(scored, marks.rows)
    assert found.observed.n == 3
    assert found.observed.value == pytest.approx(2 / 3)
    (differing,) = found.disagreements
    assert (differing.episode_id, differing.first, differing.second) == (part, "no", "yes")
    assert differing.flagged


def test_kappa_equals_cohens_and_its_interval_holds_it():
    random = np.random.default_rng(7)
    first = [str(label) for label in random.integers(0, 3, 120)]
    second = [label if random.random() < 0.7 else str(random.integers(0, 3)) for label in first]
    clusters = [place // 6 for place in range(120)]
    observed, kappa = cluster_kappa(first, second, clusters)
    assert observed.value == pytest.approx(np.mean([a == b for a, b in zip(first, second, strict=True)]))
    assert kappa.value == pytest.approx(cohen_kappa(first, second))
    assert kappa.low < kappa.value < kappa.high
    assert cluster_kappa(first, second, clusters) == (observed, kappa)


def test_clusters_widen_the_interval():
    # Whole dialogues agree or disagree: there are 10 observations rather than 100.
    first = [str(place % 2) for place in range(100)]
    second = [label if place // 10 % 2 else "01"[label == "0"] for place, label in enumerate(first)]
    whole = cluster_kappa(first, second, [place // 10 for place in range(100)])[1]
    single = cluster_kappa(first, second, list(range(100)))[1]
    assert whole.high - whole.low > 2 * (single.high - single.low)


def test_kappa_where_only_one_answer_is_given():
    observed, kappa = cluster_kappa(["no"] * 4, ["no"] * 4, [0, 0, 1, 1])
    assert (observed.value, observed.high, kappa.value) == (1, 1, 1)
    assert observed.low == pytest.approx(wilson(2, 2).low)  # two dialogues
    with pytest.raises(ValueError, match="not empty"):
        cluster_kappa([], [], [])


def test_reviews_of_episodes_without_turns_are_left_out(marks):
    marks.done("gone", "ann")
    assert error_rates(marks.rows, TURNS).dialogues == 0
    rows = [replace(row, episode_id="a") for row in marks.rows]
    assert error_rates(rows, TURNS).dialogues == 1
