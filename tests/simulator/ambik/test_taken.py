"""An action is right if it does what is wanted and names no alternative."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared_data import SHARED

from simulator.ambik.data import load_pairs
from simulator.ambik.intents import realises
from simulator.ambik.players import baseline_exchanges
from simulator.ambik.selection import pair_items
from simulator.ambik.truth import bare_action, fulfils, is_right

PAIRS = {pair.id: pair for pair in load_pairs("builtin")}


@pytest.mark.each(
    ("pair", "action", "right"),
    [
        ("k001", "Set the wooden bowl down on the kitchen table.", True),
        ("k001", "Set a bowl down (in the wooden bowl).", False),
        ("k001", "Set the wooden bowl and the glass bowl down.", False),
        ("k001", "Set the wooden bowl or the ceramic one down.", False),
        ("k001", "Set the wooden bowl down and lay the soup spoon next to it.", True),
        ("k010", "Boil the eggs for ten minutes.", True),
        ("k010", "Boil the eggs for five, seven or ten minutes.", False),
        ("k022", "Drain the pasta in the colander.", True),
        ("k024", "Crack three of the brown eggs into the mixing bowl.", True),
        ("k049", "Put the used cups into the dishwasher.", True),
        ("k049", "Put the used cups into the dishwasher, the oven and the sink.", False),
    ],
)
def test_what_counts_as_right(pair, action, right):
    assert fulfils(PAIRS[pair], action) is right


def test_brackets_of_the_tasks_own_stay_and_an_answer_that_is_pasted_does_not_count():
    assert bare_action("Wash it (twice).") == "Wash it  ."
    assert bare_action("Wash it (twice).", task_texts=["2. Wash it (twice)."]) == "Wash it (twice)."
    assert bare_action("Pour milk. Oat milk, as always.", ["Oat milk, as always."]) == "Pour milk."
    assert not fulfils(PAIRS["k007"], "Top the coffee up with milk. Oat milk.", ["Oat milk."])


def _shares(pairs):
    items = [item for item in pair_items(pairs) if item.pair.intent and not item.pair.intent.malformed]
    shares = {}
    for name, held in baseline_exchanges(items).items():
        rights = [
            bool(
                is_right(
                    exchange.before.item, exchange.after.action, [answer for _, answer in exchange.questions]
                )
            )
            for exchange in held
        ]
        shares[name] = sum(rights) / len(rights)
    return shares


@pytest.mark.parametrize("data", ["builtin", str(SHARED / "ambik" / "ambik_calib_100.csv")])
def test_who_lists_everything_or_copies_the_step_is_right_no_more_often_than_who_acts(data):
    if data != "builtin" and not Path(data).is_file():
        pytest.skip(f"published data not found at {data}; set ASKBACK_SHARED")
    pairs = load_pairs(data, "all")
    shares = _shares(pairs)
    assert shares["lists everything"] < shares["copies the step"] < shares["never asks"]
    assert shares["lists everything"] < 0.3


@pytest.mark.parametrize("data", ["builtin", str(SHARED / "ambik")])
def test_the_clear_plans_own_step_is_right_wherever_it_holds_the_intent(data):
    if data != "builtin" and not Path(data).is_dir():
        pytest.skip(f"published data not found at {data}; set ASKBACK_SHARED")
    pairs = [pair for pair in load_pairs(data, "all") if pair.intent and not pair.intent.malformed]
    wrong = [
        (pair.id, pair.clear_step)
        for pair in pairs
        if pair.intent and realises(pair.intent, pair.clear_step) and not fulfils(pair, pair.clear_step)
    ]
    assert len(wrong) <= len(pairs) / 100, wrong


def test_an_additional_alternative_is_wrong():
    listed = [(pair, other) for pair in PAIRS.values() for other in pair.shortlist if pair.intent]
    besides = [
        (pair.id, other)
        for pair, other in listed
        if pair.intent
        and not realises(pair.intent, other)
        and fulfils(pair, f"{pair.clear_step.rstrip('.')} and the {other}.")
    ]
    assert listed
    assert not besides
