from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.generation import (
    Difference,
    generation_measures,
    gold_differences,
    gold_rewrites,
    item_scores,
    stored_differences,
)
from simulator.ambient.records import GenerationRecord

EXAMPLE = Example(
    id="1",
    premise="a b.",
    hypothesis="h",
    premise_ambiguous=True,
    labels=frozenset({"entailment", "neutral"}),
    disambiguations=(
        Disambiguation("a first.", "h", "entailment"),
        Disambiguation("a d.", "h", "neutral"),
        Disambiguation("a c.", "h", "entailment"),
    ),
)
RECORD = GenerationRecord(
    id="1",
    premise="a b.",
    hypothesis="h",
    premise_ambiguous=True,
    hypothesis_ambiguous=False,
    prompt="p",
    generation="1. a c. Then the claim is true.\n2. a b. Then the claim is inconclusive.",
    gold={"entailment": "a c.", "neutral": "a d."},
    stored_rewrites={"entailment": "a c.", "neutral": "a b.", "contradiction": None},
    stored_edit_f1=0.5,
)
COPIES = replace(
    RECORD, id="2", generation="1. a b. Then the claim is true.", stored_rewrites=None, stored_edit_f1=None
)
RESTATES = replace(COPIES, id="3", generation="1. a b, so c. Then the claim is true.")
SILENT = replace(COPIES, id="4", generation=" ")
CHATTY = replace(COPIES, id="5", generation="It depends.")


def test_of_several_rewrites_of_a_label_the_last_is_gold() -> None:
    assert gold_rewrites(EXAMPLE, "premise") == {"entailment": "a c.", "neutral": "a d."}


def test_scores_are_means_over_items_whatever_was_written() -> None:
    records = (RECORD, COPIES, RESTATES, SILENT, CHATTY)
    assert item_scores(records) == pytest.approx((1 / 2, 0, 1 / 3, 0, 0))
    measures = generation_measures(records)
    assert measures["edit_f1"].value == pytest.approx(1 / 6)
    assert measures["edit_f1"].n == measures["empty"].n == 5
    assert (measures["empty"].value, measures["unparsable"].value) == (1, 1)
    assert measures["rewrites"] == {0: 2, 1: 2, 2: 1}
    assert measures["warnings"] == {"empty": 1, "no_list": 1}


def test_patterns_are_reported_both_ways() -> None:
    measures = generation_measures((RECORD, COPIES, RESTATES, SILENT, CHATTY))
    assert measures["pattern_empty"].value == pytest.approx(2 / 5)
    assert measures["pattern_copied"].value == pytest.approx(2 / 4)
    assert measures["pattern_copied"].n == 4
    assert measures["pattern_restated"].value == pytest.approx(3 / 5)
    assert measures["pattern_restated_found"].value == pytest.approx(1 / 5)


def test_both_parsers_are_reported() -> None:
    odd = replace(RECORD, generation="1) a c. Then the claim is true\n2) a d. then the claim is inconclusive")
    measures = generation_measures([odd])
    assert (measures["edit_f1"].value, measures["edit_f1_robust"].value) == (0, 1)
    assert generation_measures([odd], "robust")["rewrites"] == {2: 1}
    assert generation_measures([odd], "robust")["edit_f1"] == measures["edit_f1_robust"]


def test_no_records_make_no_numbers() -> None:
    measures = generation_measures([])
    assert measures["empty"].n == 0
    assert [measures[key] for key in ("edit_f1", "edit_f1_robust", "pattern_copied")] == [None] * 3


def test_stored_values_are_compared() -> None:
    assert stored_differences([RECORD]) == ()
    near = replace(RECORD, stored_edit_f1=0.5 + 9e-10)
    assert stored_differences([near]) == ()
    off = replace(RECORD, stored_edit_f1=0.5 + 2e-9)
    assert stored_differences([off]) == (Difference("1", "edit_f1", 0.5 + 2e-9, 0.5),)
    other = replace(RECORD, stored_rewrites={"entailment": "a c."})
    assert stored_differences([other]) == (
        Difference(
            "1", "predicted_rewrites", {"entailment": "a c."}, {"entailment": "a c.", "neutral": "a b."}
        ),
    )
    assert stored_differences([replace(RECORD, stored_rewrites=None, stored_edit_f1=None)]) == ()


def test_uncut_continuations_are_scored_as_they_were() -> None:
    uncut = replace(RECORD, generation=f"{RECORD.generation}\n\nContext: x\n1. y Then the claim is false.")
    assert stored_differences([uncut]) == ()


def test_rows_are_compared_with_the_dataset() -> None:
    assert gold_differences([RECORD], [EXAMPLE]) == set()
    for change in ({"gold": {"entailment": "a first."}}, {"hypothesis": "g"}, {"premise": "g"}, {"id": "9"}):
        moved = replace(RECORD, **change)
        assert gold_differences([RECORD, moved], [EXAMPLE]) == {moved.id}
