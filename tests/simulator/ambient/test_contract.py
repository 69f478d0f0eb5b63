"""Labels, label sets, examples and items: the basis of all other parts."""

from __future__ import annotations

import pytest

from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.items import Candidate, ContinueItem, CrowdItem, NliItem
from simulator.ambient.labels import LABEL_SETS, LABELS, format_labels, letters, parse_label, parse_labels
from simulator.ambient.records import CrowdRecord, GenerationRecord, TrueFalseRecord
from simulator.errors import InputError

SOUP = Example(
    id="7_c",
    premise="The soup is not very hot.",
    hypothesis="The soup is cold.",
    premise_ambiguous=True,
    labels=frozenset({"neutral", "contradiction"}),
    disambiguations=(
        Disambiguation("The soup is at most a little hot.", "The soup is cold.", "neutral"),
        Disambiguation("The soup is hot, but not very.", "The soup is cold.", "contradiction"),
        Disambiguation("The soup is at most a little hot.", "The soup is cold.", "neutral"),
    ),
)


def test_labels_are_read_in_any_order_and_written_in_one() -> None:
    assert parse_labels("neutral, entailment") == {"entailment", "neutral"}
    assert parse_labels("neutral|contradiction", "|") == {"contradiction", "neutral"}
    assert parse_labels("") == frozenset()
    assert format_labels(["neutral", "contradiction"]) == "contradiction, neutral"
    assert letters({"neutral", "entailment", "contradiction"}) == "CEN"


@pytest.mark.each("text", ["Neutral", "neutral; entailment", "neutral,,entailment", "maybe"])
def test_unknown_labels_are_named(text: str) -> None:
    with pytest.raises(InputError, match="labels are contradiction, entailment, neutral"):
        parse_labels(text)


def test_there_are_seven_sets() -> None:
    assert [letters(labels) for labels in LABEL_SETS] == ["C", "E", "N", "CE", "CN", "EN", "CEN"]
    assert [parse_label(label) for label in LABELS] == list(LABELS)


def test_an_example_knows_its_ambiguous_sides_and_distinct_rewrites() -> None:
    assert SOUP.curated
    assert SOUP.ambiguous
    assert SOUP.xor
    assert SOUP.sides == ("premise",)
    assert SOUP.rewrites("premise") == ("The soup is at most a little hot.", "The soup is hot, but not very.")
    assert SOUP.rewrites("hypothesis") == ("The soup is cold.",)


def test_a_candidate_takes_the_place_of_the_ambiguous_sentence() -> None:
    candidates = (Candidate("It rains.", "entailment"), Candidate("It snows.", None))
    item = CrowdItem(
        id="1.hypothesis",
        example_id="1",
        premise="Water falls.",
        hypothesis="It is wet weather.",
        side="hypothesis",
        candidates=candidates,
    )
    assert item.sentence == "It is wet weather."
    assert item.pair(1) == ("Water falls.", "It snows.")
    assert item.task == "crowd"


def test_options_of_a_continuation_end_with_the_distractor() -> None:
    item = ContinueItem(
        id="1", example_id="1", side="premise", sentence="a", rewrites=("b", "c"), distractor="z"
    )
    assert item.options == (("y0", "b"), ("y1", "c"), ("d", "z"))


def test_the_original_pair_is_predicted_before_its_readings() -> None:
    pairs = NliItem(id="7_c", example=SOUP).pairs
    assert pairs[0] == (SOUP.premise, SOUP.hypothesis)
    assert len(pairs) == 4


def test_true_slots_and_the_distractor_follow_from_the_labels() -> None:
    record = CrowdRecord(
        id="1",
        premise="a",
        hypothesis="b",
        side="premise",
        interpretations=("x", "y", "z"),
        labels=("neutral", None, "entailment"),
        original=("neutral",),
        relabelled=(("neutral",), ("neutral",), ("entailment",)),
        plausible=((True,), (False,), (True,)),
    )
    assert record.true_slots == (0, 2)
    assert record.distractor == 1


def test_no_prediction_is_wrong() -> None:
    given = {"id": "1", "side": "premise", "disambiguation": "d", "template": 2, "answer": False}
    assert TrueFalseRecord(**given, prediction=False).correct
    assert not TrueFalseRecord(**given, prediction=None).correct


def test_a_generation_is_compared_with_the_ambiguous_side() -> None:
    record = GenerationRecord(
        id="1",
        premise="p",
        hypothesis="h",
        premise_ambiguous=False,
        hypothesis_ambiguous=True,
        prompt="",
        generation="",
        gold={},
    )
    assert record.original == "h"
