from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambient.generate_command import balanced_indices, may_be_ambiguous, predicted_labels
from simulator.ambient.labels import LABEL_SETS, LABELS
from simulator.ambient.pool import filters
from simulator.ambient.pool.filters import (
    CLEANED,
    DUPLICATES,
    FILTERS,
    REFERENCE_FILTERS,
    Lists,
    SampledPair,
    filter_pairs,
    filters_of,
    load_lists,
    plain,
)

LISTS = load_lists()
GOOD = ("Some of the cats sleep.", "All of the cats sleep.")
SHOWN = (("The lamp is red.", "The lamp is on."),)


def dropped_by(premise, hypothesis, which="reference"):
    """Return the names of all filters that would drop a pair."""
    drawn = SampledPair(premise, hypothesis, shown=SHOWN)
    return [name for name, drops in filters_of(which).items() if drops(drawn)]


@pytest.mark.each(
    ("premise", "hypothesis", "names"),
    [
        (*GOOD, []),
        ("Cats.", "All of the cats sleep.", []),
        ("Cat.", "All of the cats sleep.", ["shorter than 5 characters"]),
        ("All of the cats sleep.", "Cat.", ["shorter than 5 characters"]),
        ("The cat, sleeps!", "the CAT sleeps", ["premise equals hypothesis", "only listed words swapped"]),
        (*SHOWN[0], ["copies an example of its prompt"]),
        ("The lamp is red.", "The lamp is off.", []),
        ("Sentence 1 of it is long.", "It is short.", ["listed phrase"]),
        ("It is short.", "See https://a.b now.", ["listed phrase"]),
        ("Basilicas are old.", "As an aide he failed.", []),
        ("I think that it rains.", "It rains.", ["listed stem before the hypothesis"]),
        ("It is not true that Bo sings!", "Bo sings.", ["listed stem before the hypothesis"]),
        ("I think that it rains today.", "It rains.", []),
        ("He lost his hat.", "She lost her hat.", ["only listed words swapped"]),
        ("A man lost the hat.", "The woman lost a hat.", ["only listed words swapped"]),
        ("He lost his hat.", "She found her hat.", []),
        ("He lost his hat.", "She lost it.", []),
        ("Does it rain?", "It pours now.", ["question mark"]),
        ("He said it rains.", "It pours now.", ['the word "said"']),
        ("It was unsaid then.", "It pours now.", []),
    ],
)
def test_each_filter_drops_its_own(premise, hypothesis, names):
    assert dropped_by(premise, hypothesis) == names


def test_the_reference_has_two_filters_more():
    assert list(filters_of("default")) == list(FILTERS)
    assert list(filters_of("reference")) == [*FILTERS, *REFERENCE_FILTERS]
    assert dropped_by("He said: is it so?", "It pours now.", "default") == []


def test_counts_refer_to_the_pairs_left_by_earlier_filters():
    pairs = [
        SampledPair(*GOOD),
        SampledPair(*GOOD),
        SampledPair("Cat.", "cat."),  # too short, and equal
        SampledPair("A cat sleeps.", "a cat sleeps"),
        SampledPair("The cat is in.", "Sentence 2: it is."),
        SampledPair(f'"{GOOD[0]}"', GOOD[1]),
        SampledPair("(Cat)", "It is a cat."),
        SampledPair("He said it rains.", "It pours."),
    ]
    result = filter_pairs(pairs)
    assert [sampled.pair for sampled in result.pairs] == [GOOD, ("He said it rains.", "It pours.")]
    assert {name: number for name, number in result.dropped.items() if number} == {
        DUPLICATES: 1,
        "shorter than 5 characters": 1,
        "premise equals hypothesis": 1,
        "listed phrase": 1,
        CLEANED: 2,
    }
    assert len(pairs) == len(result.pairs) + sum(result.dropped.values())
    reference = filter_pairs(pairs, "reference")
    assert reference.dropped['the word "said"'] == 1 and len(reference.pairs) == 1


def test_a_pair_that_becomes_one_of_its_prompt_is_dropped():
    premise, hypothesis = SHOWN[0]
    result = filter_pairs([SampledPair(f"“{premise}”", hypothesis, shown=SHOWN)])
    assert result.pairs == () and result.dropped[CLEANED] == 1


def test_lists_are_read_from_their_table(monkeypatch):
    lists = Lists(phrases=("cats",), swaps=(frozenset({"red", "blue"}),))
    monkeypatch.setattr(filters, "load_lists", lambda: lists)
    assert filter_pairs([SampledPair(*GOOD)]).pairs == ()
    assert filter_pairs([SampledPair("A red hat.", "A blue hat.")]).pairs == ()
    assert len(filter_pairs([SampledPair("He lost his hat.", "She lost her hat.")]).pairs) == 1


def test_lists_that_come_along_are_in_small_letters():
    words = [*LISTS.phrases, *LISTS.stems, *(word for group in LISTS.swaps for word in group)]
    assert words == [word.lower() for word in words]
    assert all(len(pair) == 2 for pair in LISTS.enclosing)


SENTENCES = st.text(alphabet="ab ().\"'", max_size=9)


@given(st.lists(st.tuples(SENTENCES, SENTENCES), max_size=12))
def test_remaining_pairs_pass_all_filters_and_counts_add_up(pairs):
    result = filter_pairs(SampledPair(*pair) for pair in pairs)
    assert len(pairs) == len(result.pairs) + sum(result.dropped.values())
    assert len({sampled.pair for sampled in result.pairs}) == len(result.pairs)
    assert not any(drops(sampled) for sampled in result.pairs for drops in FILTERS.values())
    assert filter_pairs(result.pairs).pairs == result.pairs


def test_plain_text():
    assert plain(" It's  RAINING, “now”! ") == "its raining now"


# --- ambiguity and balancing ---------------------------------------------------------------------------


def shares(contradiction, entailment, neutral):
    return dict(zip(LABELS, (contradiction, entailment, neutral), strict=True))


def test_two_labels_have_to_be_likely():
    assert may_be_ambiguous(shares(0.9, 0.05, 0.0))
    assert not may_be_ambiguous(shares(0.9, 0.05, 0.0), "reference")
    assert may_be_ambiguous(shares(0.9, 0.051, 0.0), "reference")
    assert not may_be_ambiguous(shares(0.99, 0.049, 0.04))


def test_predicted_sets():
    probabilities = shares(0.05, 0.045, 0.9)
    assert predicted_labels(probabilities) == {"contradiction", "neutral"}
    assert predicted_labels(probabilities, "reference") == set(LABELS)


def sets_of(text):
    names = {"C": "contradiction", "E": "entailment", "N": "neutral"}
    return [frozenset(names[letter] for letter in word) for word in text.split()]


def balanced(text, which="default", seed=0):
    words = text.split()
    return Counter(words[place] for place in balanced_indices(sets_of(text), seed=seed, which=which))


def test_default_balancing_keeps_what_has_both_and_as_many_of_the_others():
    counts = balanced("CE CEN EN EN EN CN CN N E CE")
    assert counts == {"CE": 2, "CEN": 1, "EN": 2, "CN": 2}
    assert balanced("EN EN CE") == {"CE": 1}


def test_reference_balancing_makes_both_labels_equally_frequent():
    assert balanced("CE CEN CN CN EN EN EN", "reference") == {"CE": 1, "CEN": 1, "CN": 2, "EN": 2}
    assert balanced("CN CN EN", "reference") == {"CN": 2, "EN": 1}


@given(st.lists(st.sampled_from(LABEL_SETS), max_size=40), st.integers(0, 5))
def test_balancing_counts_and_descends_from_the_seed(sets, seed):
    for which in ("default", "reference"):
        places = balanced_indices(sets, seed=seed, which=which)
        assert places == balanced_indices(sets, seed=seed, which=which)
        assert places == sorted(set(places))
        both = [place for place, labels in enumerate(sets) if {"contradiction", "entailment"} <= labels]
        assert set(both) <= set(places)
    by_label = Counter(label for place in places for label in sets[place])
    lacking = by_label["contradiction"] - by_label["entailment"]
    spare = [place for place, labels in enumerate(sets) if "entailment" in labels and place not in places]
    assert lacking == 0 or (lacking > 0 and not spare)


def test_which_ones_are_drawn_depends_on_the_seed():
    sets = sets_of("CN " + "EN " * 30)
    assert len({tuple(balanced_indices(sets, seed=seed)) for seed in range(8)}) > 1
