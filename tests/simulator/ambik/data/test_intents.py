"""The grammar of intents: the rules of the specification one by one, and general properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambik.intents import (
    LONGEST,
    Alternative,
    Concept,
    Intent,
    acceptable,
    is_found,
    parse_intent,
    parse_variants,
    realises,
)

LETTERS = "abcdeGHIJ é"
words = st.text(LETTERS, min_size=1, max_size=8).map(str.strip).filter(bool)
inner = st.builds(lambda first, second: f"{first}-{second}", words, words)
alternatives = st.lists(words | inner, min_size=1, max_size=3)
concepts = st.builds(
    lambda texts, negative: Concept(tuple(Alternative(text) for text in texts), negative),
    alternatives,
    st.booleans(),
)
actions = st.text(LETTERS + "-,.", max_size=40)


def written(concept: Concept) -> str:
    return "-" * concept.negative + "|".join(alternative.text for alternative in concept.alternatives)


def texts(intent: Intent) -> list[tuple[bool, list[tuple[str, bool]]]]:
    return [
        (concept.negative, [(alt.text, alt.absent) for alt in concept.alternatives])
        for concept in intent.concepts
    ]


@pytest.mark.each(
    ("intent", "action", "count", "total"),
    [
        ("glass", "pick up the glass food container", 1, 1),
        ("heat, oven", "preheat the oven to 180 degrees", 2, 2),
        ("tray, -oven mitts", "take the tray out with a towel", 2, 2),
        ("tray, -oven mitts", "take the tray out with Oven  Mitts", 1, 2),
        ("fridge|refrigerator", "put the milk into the refrigerator", 1, 1),
        ("BBQ sauce", "grab the bbq\n sauce", 1, 1),
        ("wash,peel", "peel the carrot", 1, 2),
        ("-cold|iced", "pour the iced tea", 0, 1),
        ("-cold|iced", "pour the hot tea", 1, 1),
        ("hot|-sugar", "stir the sugar into the tea", 0, 1),
        ("hot|-sugar", "pour the tea", 1, 1),
        ("hot|-sugar", "stir the sugar into the hot tea", 1, 1),
        ("low-fat milk", "take the low-fat milk", 1, 1),
    ],
)
def test_a_concept_is_found_by_any_alternative_and_a_negative_one_by_none(
    intent: str, action: str, count: int, total: int
) -> None:
    parsed = parse_intent(intent)
    assert (sum(is_found(concept, action) for concept in parsed.concepts), len(parsed.concepts)) == (
        count,
        total,
    )
    assert realises(parsed, action) is (count == total)


def test_odd_forms_are_read_and_reported() -> None:
    parsed = parse_intent(" --oven mitts , , cup||Cup | , jar|-lid|--")
    assert texts(parsed) == [
        (True, [("oven mitts", False)]),
        (False, [("cup", False), ("Cup", False)]),
        (False, [("jar", False), ("lid", True)]),
    ]
    assert tuple(map(str, parsed.warnings)) == (
        "'--oven mitts': several leading hyphens are read as one",
        "'cup||Cup |': an empty alternative is left out",
        "'jar|-lid|--': a hyphen inside a concept negates only one alternative",
    )
    # The hyphen stands before a later alternative, though the first one is empty.
    assert texts(parse_intent("|-lid")) == [(False, [("lid", True)])]
    assert parse_intent("red mug").warnings == ()


@pytest.mark.each("text", ["1. Wash it.\n2. Peel it.", "x" * (LONGEST + 1), "", " , ", "-", "|"])
def test_text_in_the_wrong_column_is_no_intent(text: str) -> None:
    parsed = parse_intent(text)
    assert parsed.malformed and not parsed.concepts and parsed.text == text
    assert not realises(parsed, text)


def test_outer_blanks_and_line_breaks_do_not_make_an_intent_malformed() -> None:
    assert not parse_intent("\nred mug \n").malformed
    assert not parse_intent(" " * LONGEST + "red mug").malformed
    assert not parse_intent("x" * LONGEST).malformed


def test_variants_are_one_intent_a_line() -> None:
    variants = parse_variants("red mug, fill\n\n blue mug \n")
    assert [len(variant.concepts) for variant in variants] == [2, 1]
    assert parse_variants("") == ()
    assert acceptable(variants, "take the blue mug")
    assert not acceptable(variants, "take the red mug")
    assert not acceptable((), "take the red mug")


@given(st.lists(concepts, min_size=1, max_size=4))
def test_what_is_written_by_the_grammar_is_read_so(given_concepts: list[Concept]) -> None:
    parsed = parse_intent(", ".join(map(written, given_concepts)))
    assert parsed.concepts == tuple(given_concepts)
    assert not parsed.malformed and not parsed.warnings


@given(st.text(max_size=250))
def test_reading_never_fails_and_keeps_the_text(text: str) -> None:
    parsed = parse_intent(text)
    assert parsed.text == text
    assert parsed.malformed is (not parsed.concepts)
    for concept in parsed.concepts:
        assert concept.alternatives
        for alternative in concept.alternatives:
            assert alternative.text == alternative.text.strip() != "" and not set(alternative.text) & set(
                ",|\n"
            )


@given(st.text("ab-|, ", max_size=30))
def test_blanks_around_signs_do_not_matter(text: str) -> None:
    loose = text.replace(",", " ,  ").replace("|", " | ")
    assert texts(parse_intent(f"  {loose} ")) == texts(parse_intent(text))


@given(concepts, actions)
def test_letter_case_and_runs_of_blanks_do_not_matter(concept: Concept, action: str) -> None:
    assert is_found(concept, action) == is_found(concept, f" {action.upper()}\n".replace(" ", " \t "))


@given(concepts, actions, actions)
def test_more_text_finds_positive_concepts_and_loses_negative_ones(
    concept: Concept, action: str, more: str
) -> None:
    # Outer blanks are not significant, so the text goes on after a sign that is part of no blank.
    before, after = is_found(concept, action), is_found(concept, f"{action}.{more}")
    assert after <= before if concept.negative else before <= after


@given(st.lists(concepts, min_size=1, max_size=4), actions)
def test_an_action_realises_an_intent_if_all_its_concepts_are_found(
    given_concepts: list[Concept], action: str
) -> None:
    intent = Intent("", tuple(given_concepts))
    assert realises(intent, action) is all(is_found(concept, action) for concept in given_concepts)
    assert acceptable((intent, intent), action) is realises(intent, action)


@given(st.lists(alternatives, min_size=1, max_size=4))
def test_an_action_that_says_one_alternative_of_each_realises_it(given_texts: list[list[str]]) -> None:
    intent = parse_intent(", ".join("|".join(alternatives) for alternatives in given_texts))
    assert realises(intent, "; ".join(alternatives[-1] for alternatives in given_texts))
