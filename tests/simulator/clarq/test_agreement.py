from dataclasses import replace

import numpy as np
import pytest

from logs.rows import Judgment
from simulator.clarq.reports import (
    cluster_kappa,
    error_section,
    finished_reviews,
    measures,
    reviewer_answers,
    success_answers,
)
from simulator.clarq.review import DONE, PROVIDER_ERROR, REVIEW_SUCCESS, SEEKER_FAILURE
from simulator.clarq.score import SUCCESS, score_run
from simulator.stats import cohen_kappa, wilson

TURNS = {"a": [2, 4, 6, 8], "b": [2, 4, 6, 8, 10, 12]}


class Marks:
    """Judgments with increasing times."""

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


def errors_of(marks):
    return error_section(finished_reviews(marks.rows, TURNS), TURNS)


def compared(marks):
    """Return Ann's and Bob's differing answers by question, and the table of their agreement."""
    answers = reviewer_answers(finished_reviews(marks.rows, TURNS), TURNS, "ann", "bob")
    differing = {}
    for answer in answers:
        differing.setdefault(answer.question.split()[0], []).append(answer[1:4])
    return differing, measures(answers).rows if answers else []


def test_errors_are_counted_per_hundred_provider_turns(marks):
    marks.error("a", "ann", 2, type=1)
    marks.error("b", "ann", 4, type=2, hallucination=True)
    marks.error("b", "ann", 6, type=1)
    marks.add("b", "ann", SEEKER_FAILURE, node="1", failure="hidden")
    marks.done("a", "ann")
    marks.done("b", "ann", success=False)
    section = errors_of(marks)
    errors, reasons = (table.rows for table in section.tables)
    assert section.remarks[0].startswith("10 provider turns in 2 dialogues")
    assert [(error.split(" ·")[0], count) for error, count, _ in errors] == [
        ("Type 1", 2),
        ("Type 2", 1),
        ("Hallucination", 1),
    ]
    first = errors[0][2]
    assert first.value == pytest.approx(20)
    # One error in 4 turns and one in 6: resampling dialogues, the rate lies between the two.
    assert (first.low, first.high) == (pytest.approx(100 / 6), pytest.approx(25))
    assert reasons == (("Hidden in a summary", 1),)


def test_unfinished_reviews_do_not_count(marks):
    marks.error("a", "ann", 2, type=1)
    assert errors_of(marks) is None


def test_a_correction_removes_the_error(marks):
    marks.error("a", "ann", 2, type=1)
    marks.error("a", "ann", 2, type=0)
    marks.done("a", "ann")
    rates = [(count, rate) for _, count, rate in errors_of(marks).tables[0].rows]
    assert [(count, rate.value, rate.low) for count, rate in rates] == [(0, 0, 0)] * 3
    assert rates[0][1].high == pytest.approx(100 * wilson(0, 4).high)


def test_agreement_is_about_what_both_have_finished(marks):
    marks.error("a", "ann", 2, type=1)
    marks.error("a", "bob", 2, type=2)
    marks.error("a", "ann", 4, type=1)
    marks.error("a", "bob", 4, type=1, hallucination=True)
    marks.add("a", "ann", SEEKER_FAILURE, node="3", failure="hidden")
    marks.done("a", "ann", success=False)
    assert compared(marks) == ({}, [])
    marks.done("a", "bob", success=True)
    marks.done("b", "ann")
    answers, table = compared(marks)
    assert answers == {
        "Provider": [("a", "type_1", "type_2"), ("a", "type_1", "type_1"), *[("a", "type_0", "type_0")] * 2],
        "Hallucination": [("a", "no", "no"), ("a", "no", "yes"), *[("a", "no", "no")] * 2],
        "Reason": [("a", "hidden", "none")],
        "Success": [("a", "no", "yes")],
    }
    _, n, observed, kappa = table[0]
    assert n == observed.n == 4
    assert observed.value == pytest.approx(3 / 4)
    assert kappa.value == pytest.approx(cohen_kappa(["1", "1", "0", "0"], ["2", "1", "0", "0"]))
    assert table[3][3] is None


def test_automatic_against_manual_success(put, log, reader, lamp, marks):
    whole = put(log, lamp, ("1", "2", "2.1", "2.1.1", "3"))
    part = put(log, lamp, ("1", "Hm."), repeat=1)
    scored = score_run(reader, "run")
    assert success_answers(scored, marks.rows) == []
    marks.add(whole, "ann", REVIEW_SUCCESS, success=False)
    marks.add(whole, "ann", REVIEW_SUCCESS, success=True)
    marks.add(part, "ann", REVIEW_SUCCESS, success=True)
    marks.add(part, "provider", SUCCESS, success=False)
    marks.add("elsewhere", "ann", REVIEW_SUCCESS, success=True)
    answers = success_answers(scored, marks.rows)
    assert [answer[1:] for answer in answers] == [
        (whole, "yes", "yes", False),
        (part, "no", "yes", True),
        (part, "no", "no", True),
    ]
    ((_, n, observed, _),) = measures(answers).rows
    assert (n, observed.value) == (3, pytest.approx(2 / 3))


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
    # All answers on a dialogue agree or disagree: there are 10 observations rather than 100.
    first = [str(place % 2) for place in range(100)]
    second = [label if place // 10 % 2 else "01"[label == "0"] for place, label in enumerate(first)]
    whole = cluster_kappa(first, second, [place // 10 for place in range(100)])[1]
    single = cluster_kappa(first, second, list(range(100)))[1]
    assert whole.high - whole.low > 2 * (single.high - single.low)


def test_kappa_where_only_one_answer_is_given():
    observed, kappa = cluster_kappa(["no"] * 4, ["no"] * 4, [0, 0, 1, 1])
    assert (observed.value, observed.high, kappa) == (1, 1, None)
    assert observed.low == pytest.approx(wilson(2, 2).low)  # two dialogues
    with pytest.raises(ValueError, match="non-empty"):
        cluster_kappa([], [], [])


def test_reviews_of_episodes_without_turns_are_left_out(marks):
    marks.done("gone", "ann")
    assert errors_of(marks) is None
    marks.rows = [replace(row, episode_id="a") for row in marks.rows]
    assert errors_of(marks).remarks[0].startswith("4 provider turns in 1 dialogues")
