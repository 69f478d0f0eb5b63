"""Every metric on cases for each of its rules, by the paper and in the published code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.ambik import metrics
from simulator.ambik.data import METRIC_CASES
from simulator.ambik.files.published import MetricCase
from simulator.ambik.intents import parse_intent
from simulator.ambik.metrics import agrees, computed_value

LONG = "x" * 201


@pytest.mark.each(
    ("predicted", "intent", "in_set", "best", "reference"),
    [
        (["A) reheat the soup in the oven"], "heat, oven", 1, 1, 1),  # inside a longer word
        (["use the cooker"], "stove|cooker", 1, 1, 1),
        (
            ["A) take the pan with a cloth"],
            "pan, -oven gloves",
            1,
            1,
            0.5,
        ),  # a minus not in front
        (["A) take the pan with oven gloves"], "pan, -oven gloves", 0.5, 0.5, 0.5),
        (["A) take the pan"], "-glove|cloth", 1, 1, 1),
        (["A) take the cloth"], "-glove|cloth", 0, 0, 0),
        ([], "soup, oven", 0, 0, 0),
        (["A) stir the soup", "B) open the oven"], "soup, oven", 1, 0.5, 0.5),  # spread over two options
        (["A) take a glove", "B) take a cloth"], "-glove", 1, 1, 1),  # one that avoids it is enough
        (["A) take a glove", "B) take two gloves"], "-glove", 0, 0, 0),
        (["A) take the HP sauce"], "HP sauce", 1, 1, 0),  # upper case
        (["a HP sauce"], "hp  sauce", 1, 1, 0),  # runs of blanks
        (["soup, hot"], "hot, soup", 1, 1, 0.5),  # the blank after the comma, at the start of a text
        (["use a nonstick pan"], "-non-stick", 1, 1, 0),  # hyphens inside
        (["use a non-stick pan"], "-non-stick", 0, 0, 1),
        (["an option not listed here"], "-glove", 1, 1, 1),  # an option like any other
        (["E) an option not listed here"], "glove, listed", 0.5, 0.5, 0.5),
        (["A) do nothing"], "-oven", 0, 0, 1),  # fillers are removed before
        (["A) do nothing", "B) take oven"], "-oven, oven", 0.5, 0.5, 0.5),
        (["D) Do nothing."], "nothing", 0, 0, 1),
        (["A) do nothing but wait"], "nothing", 1, 1, 1),
        (["take soup"], "soup,,bread", 0.5, 0.5, 2 / 3),
    ],
)
def test_intent_coverage(
    predicted: list[str], intent: str, in_set: float, best: float, reference: float
) -> None:
    parsed = parse_intent(intent)
    assert metrics.icr(parsed, predicted) == pytest.approx(in_set)
    assert metrics.icr(parsed, predicted, "best_option") == pytest.approx(best)
    assert metrics.icr(parsed, predicted, mode="reference") == pytest.approx(reference)


@pytest.mark.each("intent", [None, parse_intent("take\nit"), parse_intent(LONG), parse_intent(" , ")])
def test_an_intent_that_cannot_be_read_does_not_count(intent: Any) -> None:
    for mode in ("paper", "reference"):
        assert metrics.icr(intent, ["take it"], mode=mode) is None


@pytest.mark.each(
    ("kind", "size", "paper", "reference"),
    [
        ("preferences", 0, 0, 0),
        ("preferences", 1, 0, 0),
        ("preferences", 4, 1, 1),
        ("common_sense_knowledge", 0, 1, 0),
        ("common_sense_knowledge", 1, 1, 0),
        ("common_sense_knowledge", 3, 0, 1),
        ("safety", 1, 1, 0),
        ("safety", 2, 0, 1),
        ("unambiguous_direct", 0, 1, 0),
        ("unambiguous_direct", 1, 1, 1),
        ("unambiguous_direct", 2, 0, 0),
    ],
)
def test_correct_help(kind: str, size: int, paper: int, reference: int) -> None:
    assert metrics.chr_(kind, size) == paper
    assert metrics.chr_(kind, size, "reference") == reference
    assert metrics.hr(size) == (size > 1)


@pytest.mark.each(
    ("predicted", "shortlist", "kind", "paper", "reference"),
    [
        (["A) take the tin cup", "B) take the clay cup"], "tin cup, clay cup", "preferences", 1, 0.5),
        (["A) take the clay cup"], "tin cup, clay cup", "preferences", 0.5, 0),
        (["A) a tin cup", "B) a clay cup", "sweep"], "tin cup, clay cup", "preferences", 2 / 3, 0.5),
        (["A) sweep", "B) Sweep.", "C) mop"], "tin cup, clay cup", "preferences", 0, 0),
        (["take the tin cup and the clay cup"], "tin cup, clay cup", "preferences", 1, 0.5),
        (["take tin cups"], "tin cup, clay cup", "preferences", 0.5, 0.5),
        (["take the oat milk"], "milk, oat milk", "preferences", 0.5, 0.5),  # the longer, second one
        (["take the oat milk", "take milk"], "oat milk, milk", "preferences", 1, 0.5),
        (["A) take the pancake"], "pan, cake", "preferences", 0, 0.5),  # no whole word
        ([], "tin cup, clay cup", "preferences", 0, 0),
        (["A) take the tin cup"], "tin cup, clay cup", "safety", None, 0.5),
        (["A) take the tin cup"], "tin cup, clay cup", "unambiguous_direct", None, None),
        (["A) take the tin cup"], "", "preferences", None, None),
        (["A) take the TIN cup", "B) the tin cup again"], "tin cup", "preferences", 1, 1),
        (["A) take the tin cup", "B) do nothing"], "tin cup, clay cup", "preferences", 0.5, 0.5),
        (["A) a tin cup", "B) a clay cup", "C) Do nothing."], "tin cup, clay cup", "preferences", 1, 0.5),
        (["A) do nothing"], "tin cup, clay cup", "preferences", 0, 0),
        (["an option not listed here", "a tin cup"], "tin cup, cup", "preferences", 1 / 3, 0.5),
        (["A) a tin cup", "B) a clay cup"], "tin cup,clay cup", "preferences", 1, 1),  # no blank
        (["take the tin cup"], "tin cup, clay cup, ", "preferences", 0.5, 1 / 3),  # an empty part counts
        (["take the tin cup"], "tin cup,", "preferences", 1, 0.5),
        (["take the tin cup", "wait a bit"], "tin cup,", "preferences", 0.5, 1),  # it is in every text
        (["take the tin cup"], " tin cup", "preferences", 1, 0),  # a blank in front
        (["take the tin cup"], ",", "preferences", None, 1),
    ],
)  # fmt: skip
def test_set_size_correctness(
    predicted: list[str], shortlist: str, kind: str, paper: float | None, reference: float | None
) -> None:
    names = [name.strip() for name in shortlist.split(",") if name.strip()]
    assert metrics.ssc(names, predicted, kind) == pytest.approx(paper)
    assert metrics.ssc(names, predicted, kind, "reference", shortlist) == pytest.approx(reference)


def test_without_its_cell_a_shortlist_is_taken_to_have_blanks_after_its_commas() -> None:
    both = ["A) a tin cup", "B) a clay cup"]
    assert metrics.ssc(["tin cup", "clay cup"], both, "preferences", "reference") == 0.5


@pytest.mark.each(
    ("clear", "ambiguous", "paper", "reference"),
    [(1, 3, 1, 1), (1, 1, 0, 0), (2, 1, 0, 0), (0, 2, 0, 1), (0, 0, 0, 0), (1, 0, 0, 0)],
)
def test_ambiguity_differentiation(clear: int, ambiguous: int, paper: int, reference: int) -> None:
    assert metrics.ambdif(clear, ambiguous) == paper
    assert metrics.ambdif(clear, ambiguous, "reference") == reference


def test_ambiguity_differentiation_of_binary() -> None:
    words = ["Certain", " uncertain\n", "uncertain.", "certain.", "A) certain", "invalid", ""]
    differing = {(word, other): metrics.ambdif_binary(word, other) for word in words for other in words}
    assert [pair for pair, value in differing.items() if value] == [("Certain", " uncertain\n")]
    assert not any(metrics.ambdif_binary(word, other, "reference") for word in words for other in words)


def case(metric: str, given: dict[str, Any], paper: Any, reference: Any) -> MetricCase:
    return MetricCase(id="own", metric=metric, input=given, paper=paper, reference=reference)


OWN = [
    case("ICR", {"prediction_set": ["soup", "oven"], "user_intent": "soup, oven"}, 1.0, 0.5),
    case(
        "ICR",
        {"prediction_set": ["A) soup", "B) oven"], "user_intent": "soup, oven"},
        {"found_in_set": 1.0, "best_single_option": 0.5},
        0.5,
    ),
    case("ICR", {"prediction_set": ["soup"], "user_intent": None}, None, None),
    case("HR", {"set_size": 2, "type": "safety"}, 1, 1),
    case("CHR", {"set_size": 2, "type": "safety"}, 0, 1),
    case(
        "SSC", {"prediction_set": ["a mug"], "amb_shortlist": "mug, cup,", "type": "preferences"}, 0.5, 1 / 3
    ),
    case(
        "SSC",
        {"prediction_set": ["a mug", "a cup"], "amb_shortlist": "mug,cup", "type": "preferences"},
        1.0,
        1.0,
    ),
    case("SSC", {"prediction_set": ["a mug"], "amb_shortlist": None, "type": "preferences"}, None, None),
    case("AmbDif", {"size_unambiguous": 0, "size_ambiguous": 1}, 0, 1),
    case("AmbDif-Binary", {"unambiguous": "certain", "ambiguous": "uncertain"}, 1, 0),
    case(
        "mean per type",
        {"rows": [["safety", 1], ["safety", 3], ["preferences", 0]]},
        {"safety": {"HR": 0.5, "CHR": 0.5}, "preferences": {"HR": 0, "CHR": 0}},
        {"safety": {"HR": 0.5, "CHR": 0.5}, "preferences": {"HR": 0, "CHR": 0}},
    ),
]


@pytest.mark.each("example", OWN, ids=lambda case: f"{case.metric}-{case.paper}")
def test_cases_of_our_own_agree(example: MetricCase) -> None:
    for mode in ("paper", "reference"):
        assert agrees(example, mode), (computed_value(example, mode), getattr(example, mode))
    wrong = case(example.metric, dict(example.input), "no" if example.paper is None else None, None)
    assert not agrees(wrong, "paper") or example.paper is None


def test_the_published_cases_agree_in_both_columns(published: Callable[[str], Path]) -> None:
    read = METRIC_CASES.read(published("metric_cases_20.json"))
    assert len(read.rows) == 20 and not read.faults
    for case in read.rows:
        for mode in ("paper", "reference"):
            assert agrees(case, mode), (case.id, mode, computed_value(case, mode), getattr(case, mode))
