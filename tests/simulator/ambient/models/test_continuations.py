from __future__ import annotations

import math

import pytest

from simulator.ambient.continuations import (
    STEMS,
    SampledOption,
    continuation_measures,
    kl_options,
    log_odds,
    one_sentence,
    ranks_first,
)
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.prepare import continue_items
from simulator.ambient.records import ContinuationOption, ContinuationRecord
from simulator.ambient.reporting.figures import log_odds_bars

EXAMPLE = Example(
    id="4",
    premise="My dog may be old.",
    hypothesis="The animal is old.",
    premise_ambiguous=True,
    hypothesis_ambiguous=True,
    labels=frozenset({"entailment", "neutral"}),
    disambiguations=(
        Disambiguation("My dog is old, I admit.", "The animal is old.", "entailment"),
        Disambiguation("My dog is old, I admit.", "The animal has aged.", "entailment"),
        Disambiguation("My dog is perhaps old.", "The animal has aged.", "neutral"),
    ),
)


def sampled(name: str, odds: list[float | None], *, text: str = " So.") -> SampledOption:
    """Return an option whose continuations have these log-odds."""
    return SampledOption(
        name=name,
        sentence=f"sentence {name}",
        continuations=(text,) * len(odds),
        own=tuple(None if value is None else value - 10 for value in odds),
        original=(-10.0,) * len(odds),
    )


def record(*kls: float | None, id: str = "1", num_conts: int = 100) -> ContinuationRecord:
    """Return an instance with estimates of its rewrites and, last, of the distractor."""
    names = [*(f"y{place}" for place in range(len(kls) - 1)), "d"]
    options = tuple(ContinuationOption(name, name, kl) for name, kl in zip(names, kls, strict=True))
    return ContinuationRecord(id=id, sentence="s", options=options, num_conts=num_conts)


def test_items_of_every_flagged_sentence() -> None:
    plain = Example(id="5", premise="p", hypothesis="h")
    items = continue_items([EXAMPLE, plain], seed=3)
    assert [(item.id, item.example_id, item.side) for item in items] == [
        ("4.premise", "4", "premise"),
        ("4.hypothesis", "4", "hypothesis"),
    ]
    first = items[0]
    assert first.rewrites == ("My dog is old, I admit.", "My dog is perhaps old.")
    assert first.distractor not in (first.sentence, *first.rewrites)
    assert first.distractor.startswith("My ")
    assert [name for name, _ in first.options] == ["y0", "y1", "d"]
    assert (first.stem, first.wanted, first.max_tokens) == ('"', 100, 60)
    assert items == continue_items([EXAMPLE], seed=3)
    many = {continue_items([EXAMPLE], seed=seed)[0].distractor for seed in range(9)}
    assert len(many) > 3
    instructed = continue_items([EXAMPLE], seed=3, stem=STEMS["instructed"], wanted=5)[0]
    assert (instructed.stem, instructed.wanted, instructed.max_tokens) == ("Write a story.\n\n", 5, 60)


@pytest.mark.each(
    ("text", "sentence"),
    [
        (" So it is. And so on.", " So it is."),
        (" Is it? Yes.", " Is it."),
        (" It is 3.5!", " It is 3."),
        (" no end", " no end."),
        ("!", "."),
        ("", "."),
    ],
)
def test_continuations_are_cut_to_a_sentence_with_a_full_stop(text: str, sentence: str) -> None:
    assert one_sentence(text) == sentence


def test_log_odds_per_continuation() -> None:
    option = SampledOption(
        name="d",
        sentence="s",
        continuations=(" A.", ".", " B.", " C.", " D."),
        own=(-4.0, -1.0, None, -3.0, -2.0),
        original=(-6.0, -9.0, -5.0, math.nan, -1.0),
    )
    assert log_odds(option) == (2, -1)


def test_lists_must_be_aligned() -> None:
    option = SampledOption(name="d", sentence="s", continuations=("a.",), own=(), original=())
    with pytest.raises(ValueError, match="shorter"):
        log_odds(option)


def test_estimates_come_from_equally_many_continuations() -> None:
    options = [sampled("y0", [1.0, 3.0]), sampled("d", [1.0, 2.0, 4.0, 8.0, None])]
    result = kl_options("7", "s", options, seed=1)
    assert (result.id, result.sentence, result.num_conts) == ("7", "s", 2)
    assert [(option.name, option.sentence) for option in result.options] == [
        ("y0", "sentence y0"),
        ("d", "sentence d"),
    ]
    assert result.options[0].kl == 2
    pairs = {(a + b) / 2 for a in (1, 2, 4, 8) for b in (1, 2, 4, 8) if a != b}
    drawn = {kl_options("7", "s", options, seed=seed).options[1].kl for seed in range(60)}
    assert drawn == pairs
    assert result == kl_options("7", "s", options, seed=1)


def test_an_option_without_continuations_leaves_no_estimates() -> None:
    result = kl_options("7", "s", [sampled("y0", [1.0]), sampled("d", [2.0], text=".")], seed=1)
    assert result.num_conts == 0
    assert [option.kl for option in result.options] == [None, None]
    assert kl_options("7", "s", [], seed=0).options == ()


def test_the_distractor_must_be_strictly_first() -> None:
    assert ranks_first(record(1.0, 2.0, 2.5))
    assert not ranks_first(record(1.0, 2.5, 2.5))
    assert not ranks_first(record(3.0, 2.0, 2.5))
    assert not ranks_first(record(1.0, None, 2.5))
    assert not ranks_first(record(1.0, math.nan, 2.5))
    assert not ranks_first(record(1.0, None))
    assert not ranks_first(record(1.0))


def test_measures_and_both_baselines() -> None:
    records = [
        record(1.0, 2.0, 2.5),
        record(1.0, None, 2.5, id="2"),
        record(1.0, 2.5, 2.5, id="3", num_conts=40),
        record(0.0, 1.0, 2.0, 3.0),
    ]
    measures = continuation_measures(records, [EXAMPLE, Example(id="5", premise="p", hypothesis="h")])
    assert (measures["accuracy"].value, measures["accuracy"].n, *measures["right"]) == (0.5, 4, 2, 4)
    assert (measures["ids"]["missing"], measures["ids"]["tied"]) == (["2"], ["3"])
    assert measures["random"].value == pytest.approx((3 / 3 + 1 / 4) / 4)
    assert measures["random_examples"].value == pytest.approx(1 / 4)
    assert measures["random_examples"].n == 1
    assert (measures["num_conts_min"].value, measures["num_conts_mean"].value) == (40, 85)
    assert measures["options"] == {2: 3, 3: 1}
    assert continuation_measures(records)["random_examples"] is None


def test_no_records_make_no_numbers() -> None:
    measures = continuation_measures([])
    assert measures["accuracy"] is measures["random"] is measures["num_conts_min"].value is None
    assert measures["options"] == {}


def test_histograms_share_their_bins() -> None:
    rewrite, distractor = log_odds_bars([sampled("y0", [0.0, 1.0, 1.0]), sampled("d", [2.0, 4.0])], bins=4)
    assert [*rewrite.categories] == [*distractor.categories] == ["0.0", "1.0", "2.0", "3.0"]
    assert ([*rewrite.y], [*distractor.y]) == ([1, 2, 0, 0], [0, 0, 1, 1])
    assert (rewrite.name, distractor.name) == ("y0 (mean 0.67)", "d (mean 3.00)")
    (empty,) = log_odds_bars([sampled("d", [])], bins=2)
    assert ([*empty.y], empty.name) == ([0, 0], "d")
