"""Objects named in a sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulator.ambik.items import Pair, Scenario
from simulator.ambik.naming import (
    bare,
    context_affordance,
    is_filler,
    is_not_listed,
    names_any,
    names_in,
    vocabulary,
)


@pytest.mark.each(
    ("text", "names", "expected"),
    [
        ("Put the Glass  Mug away", ["glass mug"], ["glass mug"]),
        ("fill the tea kettle", ["tea", "kettle", "tea kettle"], ["tea kettle"]),
        ("fill the tea kettle with tea", ["tea", "tea kettle"], ["tea kettle", "tea"]),
        ("take the green tea kettle", ["green tea", "tea kettle"], ["tea kettle"]),
        ("steak on a pancake", ["tea", "pan", "cake"], []),
        ("take two mugs and the dishes", ["mug", "dish"], ["mug", "dish"]),
        ("take the oat-milk", ["oat-milk", "milk"], ["oat-milk"]),
        ("take the pear, then the plum", ["plum", "pear"], ["pear", "plum"]),
        ("take the pear and the pear", ["pear"], ["pear"]),
        ("take it", [], []),
        ("take it", ["", " "], []),
    ],
)
def test_names_are_complete_words_and_the_longer_one_counts(
    text: str, names: list[str], expected: list[str]
) -> None:
    assert list(names_in(text, names)) == expected
    assert list(names_in(text, names[::-1])) == expected


def test_a_wanted_name_is_not_found_inside_that_of_something_else() -> None:
    assert names_any("take the orange", ["orange"], ["orange soda"])
    assert not names_any("take the orange soda", ["orange"], ["orange soda"])
    assert names_any("take the orange soda", ["orange"])


def test_all_that_an_option_names_must_be_there() -> None:
    words = ("rice cooker", "mug", "Glass Mug", "sink")
    assert context_affordance("put the glass mug into the sink", ["glass mug", "sink"], words) == 1
    assert context_affordance("put the glass mug into the sink", ["steel mug", "sink"], words) == 0
    assert context_affordance("put the mug into the sink", ["glass mug", "sink"], words) == 1
    assert context_affordance("switch the rice cooker on", ["rice", "sink"], words) == 0
    assert context_affordance("dance", ["glass mug"], words) == 1
    assert context_affordance("take the frying pan", ["glass mug"], ()) == 1


@pytest.mark.each(
    ("option", "there"),
    [
        ("fill the pot with water and put it on the stove", 1),
        ("take the Greek yogurt", 1),
        ("slice the potatoes", 1),
        ("add a cup of flour", 1),
        ("add olive oil to the bowl", 0),
        ("take the rice cooker", 0),
        ("drink the tea", 0),
    ],
)
def test_what_tasks_name_as_people_do_counts_as_there(option: str, there: int) -> None:
    things = ("Greek yogurt cup", "potato", "rice", "tea kettle", "flour", "sink")
    words = (
        *things,
        "Greek yogurt",
        "cup",
        "water",
        "stove",
        "pot",
        "olive oil",
        "bowl",
        "rice cooker",
        "tea",
    )
    assert context_affordance(option, things, words) == there


def test_the_vocabulary_is_of_all_scenes_and_the_appliances(
    make_pair: Callable[..., Pair], make_scenario: Callable[..., Scenario]
) -> None:
    names = vocabulary([make_pair(), make_pair("p2", objects=("clay mug", "wok")), make_scenario()])
    assert {"wok", "glass mug", "fridge", "tea kettle", "plum"} <= set(names)
    assert len(names) == len(set(names))


def test_fillers_and_the_option_that_none_is_right() -> None:
    assert is_filler("D) Do nothing.") and is_filler("do nothing")
    assert not is_filler("do nothing but wait")
    assert is_not_listed("E) an option not listed here") and not is_not_listed("list the options")
    assert bare("1. Take it. ") == "take it" and bare("1.5 l of milk") == "1.5 l of milk"
