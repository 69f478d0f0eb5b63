"""Agreement of linguists and of validators, compared with values computed by hand."""

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from shared_data import SHARED

from simulator.ambient.annotation.linguists import (
    Form,
    linguist_measures,
    set_agreement,
    single_annotations,
    validator_measures,
    worker_statistics,
)
from simulator.ambient.annotation.rules import Annotation
from simulator.ambient.files.results import LINGUISTS
from simulator.ambient.labels import LABELS, LabelSet
from simulator.ambient.records import LinguistRecord
from simulator.judging.agreement import alpha_measure, intervals, masi_distance
from simulator.stats import Interval


def labels(letters: str) -> LabelSet:
    return frozenset(label for label in LABELS if label[0].upper() in letters)


def record(id: str, *sets: str, workers: tuple[str, ...] = ("AB", "CD", "EF")) -> LinguistRecord:
    return LinguistRecord(
        id=id,
        premise="p",
        hypothesis="h",
        workers=workers[: len(sets)],
        annotations=tuple(map(labels, sets)),
        rewrites=(),
    )


TWO = [
    record("1", "E", "E"),
    record("2", "EN", "N"),
    record("3", "CE", "CN"),
    record("4", "N", "E", workers=("AB", "AB")),
]
ALL = [
    *TWO,
    record("5", "N", "N", "E"),
    record("6", "CEN"),
    replace(record("7", "C"), discarded={"GH": "offensive"}),
]
FINALS = {id: labels(final) for id, final in {"1": "C", "2": "EN", "3": "CEN", "4": "N", "5": "N"}.items()}


def value(interval: Interval | None) -> float:
    assert interval is not None
    assert interval.low <= interval.value <= interval.high
    return interval.value


def test_agreement_of_two() -> None:
    measures = linguist_measures(ALL)
    # In the set: entailment 11 10 10 01, neutral 00 11 01 10, contradiction 00 00 11 00.
    assert value(measures["kappa_entailment"]) == pytest.approx((1 / 4 - 34 / 64) / (1 - 34 / 64))
    assert value(measures["kappa_neutral"]) == 0
    assert value(measures["kappa_contradiction"]) == 1
    # Sets: E three times, N twice, EN, CE, CN; chance 16/64.
    assert value(measures["kappa_sets"]) == pytest.approx((1 / 4 - 16 / 64) / (1 - 16 / 64))
    # Several labels: 00 10 11 00.
    assert value(measures["kappa_several"]) == pytest.approx((3 / 4 - 34 / 64) / (1 - 34 / 64))
    assert value(measures["identical"]) == pytest.approx(1 / 4)
    assert value(measures["contains_all"]) == pytest.approx(2 / 4)
    assert measures["kappa_sets"].n == 4


def test_which_rows_count() -> None:
    measures = linguist_measures(ALL)
    assert (*measures["discarded"], measures["annotations"]) == (1, 7, {1: 1, 2: 4, 3: 1})
    assert (measures["twice"], measures["workers"].value) == (["4"], 4)
    assert value(measures["several"]) == pytest.approx(3 / 8)
    assert measures["several"].n == 8
    units = [record.annotations for record in ALL[:5]]
    expected = intervals({"alpha": alpha_measure(units, masi_distance)})["alpha"]
    assert value(measures["alpha"]) == pytest.approx(value(expected))
    assert measures["alpha"].n == 5
    assert value(linguist_measures(TWO)["kappa_sets"]) == value(measures["kappa_sets"])
    agreement = set_agreement([record.annotations for record in TWO])
    assert agreement["whole"] == linguist_measures(TWO)["kappa_sets"]


def test_against_final_labels() -> None:
    final = linguist_measures(ALL, FINALS)
    assert value(final["final_union"]) == pytest.approx(2 / 4)  # 2, 3
    assert value(final["final_either"]) == pytest.approx(2 / 4)  # 2, 4
    assert value(final["final_contained"]) == pytest.approx(3 / 4)  # 2, 3, 4
    assert value(final["final_exact"]) == pytest.approx(2 / 8)  # EN of 2, N of 4
    assert (final["rows_with_final"], final["final_exact"].n) == (4, 8)
    assert "final_union" not in linguist_measures(ALL)
    other = linguist_measures(ALL, {"none of them": labels("E")})
    assert (other["rows_with_final"], other["final_union"], other["final_exact"]) == (0, None, None)


def test_nothing_and_undefined() -> None:
    none = linguist_measures([])
    assert (none["discarded"].n, none["alpha"], none["several"], none["kappa_sets"]) == (0, None, None, None)
    alike = linguist_measures([record("1", "E", "E"), record("2", "E", "E")])
    assert (alike["kappa_sets"], alike["alpha"]) == (None, None)
    assert value(alike["identical"]) == 1
    with pytest.raises(ValueError, match="an equal number of raters"):
        set_agreement([[labels("E"), labels("N")], [labels("E")]])


def test_intervals_come_out_the_same_again() -> None:
    assert linguist_measures(ALL * 9, FINALS) == linguist_measures(ALL * 9, FINALS)


def test_validators() -> None:
    """With four raters, examples that one discarded or only three saw do not count."""
    measures = validator_measures(
        {
            "1": [labels("E"), labels("E"), labels("EN"), labels("E")],
            "2": [labels("N"), labels("C"), labels("N"), labels("N")],
            "3": [labels("N"), None, labels("N"), labels("N")],
            "4": [labels("N"), labels("N"), labels("N")],
        }
    )
    assert (measures["raters"], measures["rows"], measures["discarded"], measures["other"]) == (4, 2, 1, 1)
    # Entailment 4 of 4, 0 of 4.
    assert value(measures["entailment"]) == 1
    # Neutral 1 of 4, 3 of 4: P 1/2 each, chance 1/2.
    assert value(measures["neutral"]) == 0
    # Contradiction 0 of 4, 1 of 4: P (1 + 1/2) / 2, chance (49 + 1) / 64.
    assert value(measures["contradiction"]) == pytest.approx((48 - 50) / (64 - 50))
    assert value(measures["identical"]) == 0
    assert value(measures["contains_all"]) == pytest.approx(1 / 2)
    assert measures["alpha"].n == 2
    nothing = validator_measures({"1": [None]})
    assert (nothing["raters"], nothing["rows"], nothing["other"], nothing["alpha"]) == (None, 0, 1, None)


def test_workers() -> None:
    forms = [
        Form(worker="AB", annotation=Annotation(labels=labels("E")), seconds=10),
        Form(worker="CD", annotation=Annotation(labels=labels("E")), seconds=4),
        Form(worker="AB", annotation=Annotation(labels=labels("EN")), seconds=30),
        Form(worker="AB", annotation=Annotation(discard="offensive")),
        Form(worker="AB", annotation=Annotation(labels=labels("CEN")), seconds=50),
    ]
    first, second = worker_statistics(forms)
    assert (first.worker, first.examples, first.seconds) == ("AB", 4, 30)
    assert (first.ambiguous, first.discarded) == (0.5, 0.25)
    assert (second.worker, second.examples, second.seconds, second.ambiguous) == ("CD", 1, 4, 0)
    assert worker_statistics([]) == ()
    singles = single_annotations([ALL[-1], TWO[1]])
    assert [
        (record.worker, bool(record.annotation.discard), len(record.annotation.labels)) for record in singles
    ] == [
        ("AB", False, 1),
        ("GH", True, 0),
        ("AB", False, 2),
        ("CD", False, 1),
    ]
    assert worker_statistics(singles)[0].seconds is None


FOLDER = SHARED / "ambient"
PUBLISHED, DATASET = FOLDER / "linguist_annotations_first60.jsonl", FOLDER / "ambient_full.jsonl"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.skipif(not PUBLISHED.is_file(), reason=f"no annotations at {PUBLISHED}; set ASKBACK_SHARED")
def test_published_annotations_are_measured_as_by_brute_force() -> None:
    finals = {str(row["id"]): frozenset(row["labels"].split(", ")) for row in rows_of(DATASET)}
    annotated = [
        (str(row["id"]), [frozenset(labels.split("|")) for labels in row["annotations"]])
        for row in rows_of(PUBLISHED)
    ]
    two = [(id, sets[0], sets[1]) for id, sets in annotated if len(sets) == 2]
    measures = linguist_measures(LINGUISTS.read(PUBLISHED).rows, finals)

    def kappa(pairs: list[tuple[Any, Any]]) -> float:
        """Return Fleiss' kappa for two raters, which is Scott's pi."""
        values = [labels for pair in pairs for labels in pair]
        chance = sum((values.count(labels) / len(values)) ** 2 for labels in set(values))
        return float((sum(a == b for a, b in pairs) / len(pairs) - chance) / (1 - chance))

    def masi(a: frozenset[str], b: frozenset[str]) -> float:
        step = 1.0 if a == b else 2 / 3 if a < b or b < a else 1 / 3 if a & b else 0.0
        return 1 - len(a & b) / len(a | b) * step

    for label in LABELS:
        assert value(measures[f"kappa_{label}"]) == pytest.approx(
            kappa([(label in a, label in b) for _, a, b in two])
        )
    assert value(measures["kappa_sets"]) == pytest.approx(kappa([(a, b) for _, a, b in two]))
    assert value(measures["kappa_several"]) == pytest.approx(
        kappa([(len(a) > 1, len(b) > 1) for _, a, b in two])
    )
    assert value(measures["identical"]) == pytest.approx(sum(a == b for _, a, b in two) / len(two))
    units = [sets for _, sets in annotated if len(sets) > 1]
    pooled = [labels for sets in units for labels in sets]
    observed = sum(sum(masi(a, b) for a, b in permutations(sets, 2)) / (len(sets) - 1) for sets in units)
    expected = sum(masi(a, b) for a, b in permutations(pooled, 2)) / (len(pooled) - 1)
    assert value(measures["alpha"]) == pytest.approx(1 - observed / expected)
    known = [(finals[id], a, b) for id, a, b in two if id in finals]
    assert value(measures["final_union"]) == pytest.approx(sum(f == a | b for f, a, b in known) / len(known))
    assert value(measures["final_either"]) == pytest.approx(
        sum(f in (a, b) for f, a, b in known) / len(known)
    )
    assert value(measures["final_contained"]) == pytest.approx(
        sum(f <= a | b for f, a, b in known) / len(known)
    )
    exact = sum((f == a) + (f == b) for f, a, b in known) / (2 * len(known))
    assert value(measures["final_exact"]) == pytest.approx(exact)
