from __future__ import annotations

import math

import pytest

from simulator.ambient.claims import (
    THRESHOLD,
    claim_measures,
    clean_claim,
    distinct_paraphrases,
    explanation,
    is_flagged,
    paraphrase_prompt,
    predicted_set,
    score,
    score_paraphrases,
    second_highest,
    stored_differences,
)
from simulator.ambient.items import ClaimItem
from simulator.ambient.records import ClaimRecord, Paraphrase


def record(*scores, marks=None, stored=None, id="1"):
    return ClaimRecord(
        id=id,
        claim="Says taxes rose.",
        cleaned="Taxes rose.",
        paraphrases=tuple(Paraphrase(f"text {at}", score) for at, score in enumerate(scores)),
        marks=None if marks is None else frozenset(marks),
        stored_score=stored,
    )


@pytest.mark.each(
    ("claim", "cleaned"),
    [
        ("Says that taxes rose (a lot).", "Taxes rose a lot."),
        ("Says the mayor “lied”.", "The mayor lied."),
        ('"we built 40 bridges"', "We built 40 bridges"),
        ("Mayor Hale Says that it was so.", "Mayor Hale  it was so."),
        ("says it rose", "Says it rose"),
        ("ÉTÉ est long", "ÉTÉ est long"),
        ("über all", "Über all"),
        ("iPhones cost more", "IPhones cost more"),
        ("Says", ""),
    ],
)
def test_a_claim_is_cleaned_of_its_attribution(claim, cleaned):
    assert clean_claim(claim) == cleaned


def test_the_prompt_ends_where_the_paraphrase_begins():
    item = ClaimItem(id="1", claim="Says taxes rose.", cleaned="Taxes rose.")
    assert paraphrase_prompt(item).text == "Paraphrase the text.\n\nTaxes rose.\nParaphrase:"


def test_paraphrases_are_kept_once_and_empty_ones_and_echoes_dropped():
    written = [" It rose.", "It rose.\n", "", "  ", "Taxes rose.", "It grew."]
    assert distinct_paraphrases(written, "Taxes rose.") == ("It rose.", "It grew.")
    assert distinct_paraphrases(written) == ("It rose.", "Taxes rose.", "It grew.")


def test_the_threshold_is_that_of_table_11_as_a_probability():
    assert pytest.approx(1 / (1 + math.exp(1.97))) == THRESHOLD
    assert not is_flagged(record(THRESHOLD))
    assert is_flagged(record(math.nextafter(THRESHOLD, 1)))


def test_a_claim_has_the_score_of_its_most_ambiguous_paraphrase():
    assert score(record(0.1, 0.4, 0.2).paraphrases) == 0.4
    assert explanation(record(0.1, 0.4, 0.2)).text == "text 1"
    assert explanation(record(0.1)) is None
    assert score(record().paraphrases) is None
    assert not is_flagged(record(), -1.0)


def test_flagged_means_more_than_one_label_for_some_paraphrase():
    class Fixed:
        def probabilities(self, pairs):
            assert pairs == [("Taxes rose.", "It rose."), ("Taxes rose.", "It grew.")]
            return [
                {"contradiction": 0.01, "entailment": 0.9, "neutral": 0.1},
                {"contradiction": 0.5, "entailment": 0.02, "neutral": 0.3},
            ]

    first, second = score_paraphrases(Fixed(), "Taxes rose.", ("It rose.", "It grew."))
    assert (first.score, second.score) == (0.1, 0.3)
    assert predicted_set(first) == {"entailment"}
    assert predicted_set(second) == {"contradiction", "neutral"}
    assert predicted_set(Paraphrase("It rose.", 0.3)) is None
    assert second_highest({"contradiction": 0.5, "entailment": 0.5, "neutral": 0.1}) == 0.5


def test_precision_and_recall_for_ambiguity():
    records = [
        record(0.9, marks="a"),
        record(0.9, marks="f"),
        record(0.9, marks="af"),
        record(0.01, marks="a"),
        record(0.01, marks="f"),
        record(marks="a"),
        record(0.9),
    ]
    measures = claim_measures(records)
    counts = [measures[key].value for key in ("unmarked", "unscored", "flagged", "ambiguous")]
    assert (measures["n"], *counts) == (6, 1, 1, 3, 4)
    assert measures["precision"].value == pytest.approx(2 / 3)
    assert measures["precision"].n == 3
    assert measures["recall"].value == pytest.approx(2 / 4)
    assert measures["recall"].low < 0.5 < measures["recall"].high


def test_shares_without_denominator_are_undefined():
    measures = claim_measures([record(0.01, marks="f")])
    assert (measures["precision"], measures["recall"]) == (None, None)


def test_stored_scores_are_compared_with_the_rows_own():
    same, other, none = record(0.4, stored=0.4), record(0.4, stored=0.41), record(stored=0.3)
    assert stored_differences([same, other, none, record(0.2)]) == ((other, 0.4), (none, None))
