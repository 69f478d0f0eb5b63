from __future__ import annotations

from itertools import product

import pytest

from simulator.ambibench.features import (
    FEATURES,
    PAIRS,
    VALUES,
    Hypothesis,
    hypotheses,
    pair_of,
    value_code,
    value_name,
)


def test_pairs_and_codes_are_the_papers() -> None:
    assert dict(PAIRS) == {
        "subject_location": ("subject", "location"),
        "religious_pronoun": ("religious", "pronoun"),
        "propn_negation": ("propn", "negation"),
    }
    # Spec section 1: `true` of negation means that there is none.
    assert VALUES["negation"] == ("affirmation", "negation")
    assert VALUES["subject"] == ("human", "animal")
    assert VALUES["location"] == ("indoor", "outdoor")
    assert VALUES["religious"] == ("religious", "secular")
    assert VALUES["pronoun"] == ("he", "she")
    assert VALUES["propn"] == ("proper", "common")


@pytest.mark.each("feature", FEATURES)
def test_each_feature_is_in_its_pair(feature: str) -> None:
    assert feature in PAIRS[pair_of(feature)]


@pytest.mark.each("feature", FEATURES)
@pytest.mark.each("value", [True, False])
def test_values_have_names(feature: str, value: bool) -> None:
    assert value_code(feature, value_name(feature, value)) is value


def test_an_unknown_value_is_refused() -> None:
    with pytest.raises(ValueError, match="pronoun must be he or she, not 'They'"):
        value_code("pronoun", "They")


@pytest.mark.each("pair", PAIRS)
def test_a_pair_has_four_hypotheses_that_label_differently(pair: str) -> None:
    four = hypotheses(pair)
    assert len(set(four)) == 4
    answers = {
        tuple(hypothesis.label(a, b) for a, b in product((True, False), repeat=2)) for hypothesis in four
    }
    assert len(answers) == 4


def test_labels_follow_the_salient_value() -> None:
    she = Hypothesis("pronoun", False)
    assert she.value == "she"
    assert [she.label(True, b) for b in (True, False)] == ["Y", "X"]
    human = Hypothesis("subject", True)
    assert [human.label(a, False) for a in (True, False)] == ["X", "Y"]
