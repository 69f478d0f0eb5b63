"""Measures of crowdworkers' votes, compared with values by hand and an independent implementation."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from shared_data import SHARED

from simulator.ambient.crowd import (
    TIES,
    Tie,
    agrees,
    count_labels,
    crowd_measures,
    is_plausible,
    slot_votes,
    wins,
)
from simulator.ambient.files.results import CROWD
from simulator.ambient.labels import Label
from simulator.ambient.records import CrowdRecord
from simulator.stats import Interval

PUBLISHED = SHARED / "ambient" / "crowdworker_annotations_first60.jsonl"
NAMES: dict[str, Label] = {"C": "contradiction", "E": "entailment", "N": "neutral"}


def votes(text: str) -> tuple[Label, ...]:
    return tuple(NAMES[letter] for letter in text)


def row(labels: str, original: str, *slots: tuple[str, int]) -> CrowdRecord:
    """Return a record from labels of slots (- for the distractor), votes, and numbers of yes votes."""
    return CrowdRecord(
        id="7",
        premise="premise",
        hypothesis="hypothesis",
        side="premise",
        interpretations=("one", "two", "three"),
        labels=tuple(NAMES.get(letter) for letter in labels),
        original=votes(original),
        relabelled=tuple(votes(given) for given, _ in slots),
        plausible=tuple(tuple(worker < yes for worker in range(len(given))) for given, yes in slots),
    )


A = row("E-N", "EEEEENNNC", ("E" * 9, 9), ("NNNNNCCCC", 3), ("EEEENNNNC", 8))
B = row("ECN", "N" * 9, ("EEEEEENNN", 5), ("CCCCEEEEN", 9), ("N" * 9, 9))
C = row("-EN", "CCCEEENNN", ("C" * 9, 0), ("E" * 9, 4), ("NNNNNEEEE", 9))
D = row("EN-", "E" * 9, ("EEEENNNCC", 9), ("NNNNNEECC", 9), ("N" * 9, 9))
ROWS = [A, B, C, D]


def value(interval: Interval | None) -> float:
    assert interval is not None
    low, high = interval.reach
    assert low <= interval.value <= high
    return interval.value


def test_every_measure_by_hand() -> None:
    measured = crowd_measures(ROWS)
    # Yes of A 9, 8; B 5, 9, 9; C 4, 9; D 9, 9.
    assert value(measured["true_plausible"]) == pytest.approx(71 / 81)
    # A 3, C 0, D 9; B has no distractor.
    assert value(measured["distractor_plausible"]) == pytest.approx(12 / 27)
    assert value(measured["accepts_all"]) == pytest.approx((8 + 5 + 4 + 9) / 36)
    # Contradiction, entailment, neutral: (1, 5, 3), (0, 0, 9), (3, 3, 3), (0, 9, 0).
    observed, chance = (26 + 72 + 18 + 72) / 72 / 4, (4**2 + 17**2 + 15**2) / 36**2
    assert value(measured["kappa_original"]) == pytest.approx((observed - chance) / (1 - chance))
    # (0, 9, 0), (1, 4, 4), (0, 6, 3), (4, 4, 1), (0, 0, 9), (0, 9, 0), (0, 4, 5), (2, 4, 3), (2, 2, 5).
    observed = (72 + 24 + 36 + 24 + 72 + 72 + 32 + 20 + 24) / 72 / 9
    chance = (9**2 + 42**2 + 30**2) / 81**2
    assert value(measured["kappa_disambiguated"]) == pytest.approx((observed - chance) / (1 - chance))
    measures = (
        *(measured["kappa_original"], measured["kappa_disambiguated"], measured["true_plausible"]),
        *(measured["distractor_plausible"], measured["accepts_all"], measured["agreement"]),
    )
    assert [measure.n for measure in measures if measure] == [4, 9, 9, 3, 4, 4]
    assert (measured["left_out"], measured["readings"], measured["three_readings"]) == (0, 9, 1)
    assert (measured["workers"], measured["raters"]["original"], measured["raters"]["disambiguated"]) == (
        {9: 4},
        9,
        9,
    )
    assert not measured["undefined"]


@pytest.mark.each(
    ("tie", "agreeing"),
    [
        # A ties entailment with neutral, which is meant; B contradiction, which is meant, with entailment.
        # C has a reading that 4 of 9 find possible. D has a plurality of 4.
        ("first", [B, D]),
        ("strict", [D]),
        ("lenient", [A, B, D]),
        ("majority", []),
    ],
)
def test_agreement_under_each_rule_for_ties(tie: Tie, agreeing: list[CrowdRecord]) -> None:
    assert [row for row in ROWS if agrees(row, tie)] == agreeing
    measured = crowd_measures(ROWS, tie)
    assert value(measured["agreement"]) == pytest.approx(len(agreeing) / 4)
    assert measured["tie"] == tie


def test_ties() -> None:
    three_ways = votes("CCCEEENNN")
    assert [tie for tie in TIES if wins(three_ways, "contradiction", tie)] == ["first", "lenient"]
    assert [tie for tie in TIES if wins(three_ways, "neutral", tie)] == ["lenient"]
    assert [tie for tie in TIES if wins(votes("NNNNNEEEE"), "neutral", tie)] == list(TIES)
    assert not any(wins(votes("NNNNNEEEE"), "entailment", tie) for tie in TIES)
    assert is_plausible([True, True, False])
    assert not is_plausible([True, False])


def test_kappa_is_of_rows_with_the_usual_number_of_workers() -> None:
    few = row("E-N", "EE", ("EE", 2), ("NN", 1), ("NC", 0))
    measured, full = crowd_measures([*ROWS, few]), crowd_measures(ROWS)
    assert value(measured["kappa_original"]) == pytest.approx(value(full["kappa_original"]))
    assert value(measured["kappa_disambiguated"]) == pytest.approx(value(full["kappa_disambiguated"]))
    assert (measured["other_raters"]["original"], measured["other_raters"]["disambiguated"]) == (1, 2)
    assert (measured["raters"]["original"], measured["workers"]) == (9, {2: 1, 9: 4})
    assert value(measured["true_plausible"]) == pytest.approx((71 / 9 + 1) / 11)
    assert (measured["alpha_original"].n, full["alpha_original"] and full["alpha_original"].n) == (5, 4)
    assert measured["alpha_original"].value != value(full["alpha_original"])


def test_rows_without_votes_and_measures_that_are_undefined() -> None:
    empty = row("E-N", "", ("", 0), ("", 0), ("", 0))
    measured = crowd_measures([*ROWS, empty])
    assert measured["left_out"] == 1
    assert measured == {**crowd_measures(ROWS), "left_out": 1}
    nothing = crowd_measures([empty])
    assert nothing["agreement"] is None
    assert set(nothing["undefined"].values()) == {"no row has votes"}
    assert len(nothing["undefined"]) == 10
    alike = crowd_measures([row("ECN", "EE", ("EE", 2), ("EE", 2), ("EE", 2))])
    assert set(alike["undefined"]) == {
        *("kappa_original", "kappa_disambiguated", "alpha_original", "alpha_disambiguated"),
        *("kappa_with_distractor", "distractor_plausible", "distractor_plausible_told_apart"),
    }
    assert alike["kappa_original"] is None
    judged = crowd_measures([replace(A, original=(), origin="m/x")])
    assert "kappa_original" in judged["undefined"]
    assert value(judged["true_plausible"]) == pytest.approx(17 / 18)


def test_intervals_come_out_the_same_again() -> None:
    assert crowd_measures(ROWS * 5) == crowd_measures(ROWS * 5)


def test_vote_table() -> None:
    first, distractor, _ = slot_votes(A)
    assert count_labels(A.original) == {"contradiction": 1, "entailment": 5, "neutral": 3}
    assert (first.sentence, first.label, first.plausible, first.workers) == ("one", "entailment", 9, 9)
    assert first.votes == {"contradiction": 0, "entailment": 9, "neutral": 0}
    assert (distractor.label, distractor.plausible) == (None, 3)


def brute(rows: Sequence[dict[str, Any]], tie: str) -> dict[str, float]:
    """Compute the measures of spec 5.3 directly from a file's fields, vote by vote."""
    true = [(r, j) for r in rows for j in range(3) if r["labels"][j] is not None]
    two = [r for r in rows if sum(label is not None for label in r["labels"]) == 2]

    def fleiss(subjects: list[list[str]]) -> float:
        pairs = [
            sum(a == b for i, a in enumerate(s) for b in s[:i]) / (len(s) * (len(s) - 1) / 2)
            for s in subjects
        ]
        votes = Counter(vote for s in subjects for vote in s)
        chance = sum((count / votes.total()) ** 2 for count in votes.values())
        return (sum(pairs) / len(pairs) - chance) / (1 - chance)

    def right(r: dict[str, Any], j: int) -> bool:
        plausible, counts = r[f"d{j + 1}_gold"], Counter(r[f"q{j + 1}_gold"])
        if plausible.count(True) <= plausible.count(False):
            return False
        best = sorted(label for label, count in counts.items() if count == max(counts.values()))
        label: str = r["labels"][j]
        agreed: dict[str, bool] = {
            "first": best[0] == label,
            "strict": best == [label],
            "lenient": label in best,
            "majority": counts[label] >= 5,
        }
        return agreed[tie]

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    workers = range(9)
    slots = [[j for j in range(3) if r["labels"][j] is not None] for r in rows]
    return {
        "kappa_original": fleiss([r["q0_gold"] for r in rows]),
        "kappa_disambiguated": fleiss([r[f"q{j + 1}_gold"] for r, j in true]),
        "true_plausible": mean([sum(r[f"d{j + 1}_gold"]) / 9 for r, j in true]),
        "distractor_plausible": mean([sum(r[f"d{int(r['distractor_idx']) + 1}_gold"]) / 9 for r in two]),
        "accepts_all": mean(
            [
                sum(all(r[f"d{j + 1}_gold"][w] for j in js) for w in workers) / 9
                for r, js in zip(rows, slots, strict=True)
            ]
        ),
        "agreement": mean([float(all(right(r, j) for j in js)) for r, js in zip(rows, slots, strict=True)]),
    }


@pytest.mark.skipif(not PUBLISHED.is_file(), reason=f"no votes at {PUBLISHED}; set ASKBACK_SHARED")
@pytest.mark.parametrize("tie", TIES)
def test_published_votes_are_measured_as_by_brute_force(tie: Tie) -> None:
    rows = [json.loads(line) for line in PUBLISHED.read_text(encoding="utf-8").splitlines()]
    measured = crowd_measures(CROWD.read(PUBLISHED).rows, tie)
    for name, expected in brute(rows, tie).items():
        assert value(measured[name]) == pytest.approx(expected, abs=1e-12), name
