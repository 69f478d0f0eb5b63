"""Items built from examples."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from simulator.ambient.data import load_claims, load_examples
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.labels import Label
from simulator.ambient.prepare import annotate_items, claim_items, crowd_items, nli_items, true_false_items
from simulator.ambient.records import ClaimRecord
from simulator.errors import InputError


def example(id: str, *labels: Label, distractor: str = "A wet dog barked.") -> Example:
    return Example(
        id=id,
        premise="The dog barked.",
        hypothesis="It was loud.",
        premise_ambiguous=True,
        labels=frozenset(labels),
        disambiguations=tuple(
            Disambiguation(f"The dog barked, {place}.", "It was loud.", label)
            for place, label in enumerate(labels)
        ),
        distractors={"premise": distractor} if distractor else {},
    )


TWO = example("2", "neutral", "entailment")
MANY = [replace(TWO, id=str(number)) for number in range(600)]


def test_two_readings_get_a_distractor_and_every_slot_is_as_likely() -> None:
    items = crowd_items(MANY, seed=3)
    slots = Counter([candidate.label for candidate in item.candidates].index(None) for item in items)
    orders = Counter(
        tuple(candidate.sentence for candidate in item.candidates if candidate.label) for item in items
    )
    assert set(slots) == {0, 1, 2}
    assert all(160 <= count <= 240 for count in slots.values())  # 200 expected, sd 11.5
    assert len(orders) == 2
    assert all(250 <= count <= 350 for count in orders.values())  # 300 expected, sd 12.2
    for item in items:
        assert {(candidate.sentence, candidate.label) for candidate in item.candidates} == {
            ("The dog barked, 0.", "neutral"),
            ("The dog barked, 1.", "entailment"),
            ("A wet dog barked.", None),
        }
        assert (item.gold, item.side, item.task) == (TWO.labels, "premise", "crowd")
        assert item.id == f"{item.example_id}.premise"


def test_draws_depend_only_on_seed_and_id() -> None:
    items = {item.id: item for item in crowd_items(MANY, seed=3)}
    assert crowd_items(MANY[7:8], seed=3) == (items["7.premise"],)
    assert crowd_items(MANY, seed=4) != tuple(items.values())


def test_three_readings_get_none_and_of_four_three_are_shown() -> None:
    three, four = (
        example("3", "neutral", "entailment", "neutral"),
        example("4", "neutral", "entailment", "contradiction", "neutral", distractor=""),
    )
    for item in crowd_items([three, four], seed=0):
        assert len({candidate.sentence for candidate in item.candidates}) == 3
        assert all(candidate.label for candidate in item.candidates)


def test_only_one_side_may_be_ambiguous() -> None:
    plain = Example(id="p", premise="a", hypothesis="b", labels=frozenset({"neutral"}))
    both = replace(TWO, id="b", hypothesis_ambiguous=True)
    assert [item.example_id for item in crowd_items([plain, both, TWO], seed=0)] == ["2"]
    with pytest.raises(InputError, match="no example has exactly one ambiguous side"):
        crowd_items([plain, both], seed=0)


def test_given_distractors_go_first_and_missing_ones_are_named() -> None:
    bare = [example(str(number), "neutral", "entailment", distractor="") for number in range(7)]
    [item] = crowd_items([TWO], seed=0, distractors={("2", "premise"): "A seal barked."})
    assert "A seal barked." in [candidate.sentence for candidate in item.candidates]
    with pytest.raises(InputError, match=r"^examples 0, 1, 2, 3, 4 and 1 more: no distractor"):
        crowd_items(bare[:6], seed=0)


def test_an_example_without_a_distractor_that_can_be_shown_is_left_out_with_a_warning(caplog) -> None:
    bare = example("6", "neutral", "entailment", distractor="")
    same = example("5", "neutral", "entailment", distractor="The dog  barked.")
    items = crowd_items([bare, TWO, same], seed=0)
    assert [item.example_id for item in items] == ["2"]
    assert items == crowd_items([TWO], seed=0)
    warnings = [record.getMessage() for record in caplog.records]
    assert ["example 6: no distractor" in warnings[0], "example 5: the distractor is" in warnings[1]] == [
        True,
        True,
    ]


@pytest.mark.parametrize("distractor", ["The dog barked.", "The dog barked, 1."])
def test_a_distractor_that_is_a_reading_is_refused(distractor: str) -> None:
    with pytest.raises(InputError, match=r"^example 2: the distractor is the ambiguous sentence or one of"):
        crowd_items([TWO], seed=0, distractors={("2", "premise"): distractor})


def test_statements_are_made_of_every_flagged_sentence_with_its_distinct_rewrites() -> None:
    both = Example(
        id="b",
        premise="a",
        hypothesis="x",
        premise_ambiguous=True,
        hypothesis_ambiguous=True,
        labels=frozenset({"neutral", "entailment"}),
        disambiguations=(
            Disambiguation("b", "y", "neutral"),
            Disambiguation("c", "y", "entailment"),
            Disambiguation("c", "z", "neutral"),
        ),
    )
    first, second = true_false_items([both, Example(id="p", premise="a", hypothesis="b")])
    assert (first.id, first.side, first.sentence, first.rewrites) == ("b.premise", "premise", "a", ("b", "c"))
    assert (second.id, second.sentence, second.rewrites) == ("b.hypothesis", "x", ("y", "z"))


def test_linguists_get_unlabelled_pairs_and_predictions_need_labels() -> None:
    bare = Example(id="p", premise="a", hypothesis="b")
    assert [item.id for item in annotate_items([TWO, bare])] == ["2", "p"]
    assert nli_items([TWO])[0].pairs[0] == ("The dog barked.", "It was loud.")
    with pytest.raises(InputError, match=r"^example p: no labels"):
        nli_items([TWO, bare])


def test_claims_are_cleaned() -> None:
    record = ClaimRecord(
        id="1", claim='Says "taxes rose".', cleaned="", paraphrases=(), marks=frozenset("fa"), url="u"
    )
    [item] = claim_items([record])
    assert (item.cleaned, item.marks, item.url) == ("Taxes rose.", "af", "u")
    assert all(item.cleaned for item in claim_items(load_claims()))


def test_the_built_in_examples_make_items_for_crowdworkers() -> None:
    examples = load_examples()
    items = crowd_items(examples, seed=0)
    assert len(items) == sum(example.xor for example in examples)
    assert all(len(item.candidates) == 3 for item in items)
