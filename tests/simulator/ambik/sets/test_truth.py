"""Right options: lines of variants, the setting for clear members, and KnowNo's rule."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from simulator.ambik.items import Pair, Scenario
from simulator.ambik.records import Decision
from simulator.ambik.terms import DEFAULT, Settings
from simulator.ambik.truth import acceptable_options, expected_type, fits

CLEAR_INTENT = Settings(calibration_truth="intent_for_clear")
MakeDecision = Callable[..., Decision]
MakePair = Callable[..., Pair]


def test_all_concepts_of_one_line_of_the_variants(make_pair: MakePair, make_decision: MakeDecision) -> None:
    pair = make_pair(intent="glass mug, tea", variants="glass, tea\nclay, tea")
    options = {"A": "tea in the glass mug", "B": "tea in the clay mug", "C": "the glass mug", "D": "tea"}
    for member in ("ambiguous", "clear"):
        decision = make_decision(pair, member, "calibration", options=options)
        assert acceptable_options(decision, DEFAULT) == {"A", "B"}
    clear = make_decision(pair, "clear", "calibration", options=options)
    assert acceptable_options(clear, CLEAR_INTENT) == {"A"}
    ambiguous = make_decision(pair, "ambiguous", "calibration", options=options)
    assert acceptable_options(ambiguous, CLEAR_INTENT) == {"A", "B"}
    answered = make_decision(pair, "ambiguous", "calibration", options=options, dialogue="after")
    assert acceptable_options(answered, CLEAR_INTENT) == {"A"}


def test_phrases_of_the_test_part_are_not_for_scoring(
    make_pair: MakePair, make_decision: MakeDecision
) -> None:
    pair = make_pair(intent="glass", variants="The clay mug\nThe glass one")
    assert acceptable_options(make_decision(pair), DEFAULT) == {"A"}
    own = make_pair(intent="glass", variants="glass\nclay", options=("take the clay mug",))
    assert acceptable_options(make_decision(own), DEFAULT) == {"A", "B"}


def test_without_variants_the_intent_counts_and_without_that_nothing_is_known(
    make_pair: MakePair, make_decision: MakeDecision
) -> None:
    assert acceptable_options(make_decision(make_pair(), part="calibration"), DEFAULT) == {"A"}
    assert acceptable_options(make_decision(make_pair(intent=None)), DEFAULT) is None
    broken = make_pair(intent="take\nthe mug", variants="glass")
    assert acceptable_options(make_decision(broken), DEFAULT) is None
    assert acceptable_options(make_decision(broken, part="calibration"), DEFAULT) == {"A"}


def test_fillers_are_never_right_and_the_fifth_option_only_if_no_other_is(
    make_pair: MakePair, make_decision: MakeDecision
) -> None:
    pair = make_pair(intent="-clay")
    options = {"A": "do nothing", "B": "take the clay mug", "C": "an option not listed here"}
    assert acceptable_options(make_decision(pair, options=options), DEFAULT) == {"C"}
    with_right = options | {"D": "take the pear"}
    assert acceptable_options(make_decision(pair, options=with_right), DEFAULT) == {"D"}
    without = {"A": "do nothing", "B": "take the clay mug"}
    assert acceptable_options(make_decision(pair, options=without), DEFAULT) == frozenset()


def test_samples_actions_and_peoples_sets_are_known_by_their_texts(make_decision: MakeDecision) -> None:
    samples = {"take the glass mug": 3, "take the pot": 1}
    drawn = make_decision(method="lofreecp", samples=samples)
    assert acceptable_options(drawn, DEFAULT) == {"take the glass mug"}
    decision = make_decision(method="binary", action="use the glass mug")
    assert acceptable_options(decision, DEFAULT) == {"use the glass mug"}
    person = make_decision(method="person", chosen=("a glass mug", "a pot"))
    assert acceptable_options(person, DEFAULT) == {"a glass mug"}


def test_a_file_that_says_what_is_right_is_believed(make_decision: MakeDecision) -> None:
    assert acceptable_options(make_decision(right=("D",)), DEFAULT) == {"D"}
    assert acceptable_options(make_decision(right=()), DEFAULT) == frozenset()


def test_an_answered_task_is_judged_as_a_clear_one(
    make_decision: MakeDecision, make_scenario: Callable[..., Scenario]
) -> None:
    assert expected_type(make_decision()) == "preferences"
    assert expected_type(make_decision(member="clear")) == "unambiguous_direct"
    assert expected_type(make_decision(dialogue="after")) == "unambiguous_direct"
    assert expected_type(make_decision(scenario=make_scenario())) is None


BOTH = ("clean sponge", "dirty sponge with food residue", "plum")
DIRTY = ("dirty sponge with food residue", "plum", "pear")


@pytest.mark.each(
    ("location", "intended", "objects", "option", "fit"),
    [
        # picking up: an intended object, one object at most, nowhere to put it
        ("pick-up", ("pear",), ("plum", "pear"), "pick up the pear", True),
        ("pick-up", ("Pear",), ("plum", "Pear"), "B) Pick up the PEAR and give it to me.", True),
        ("pick-up", ("pear",), ("plum", "pear"), "pick up the plum", False),
        ("pick-up", ("pear",), ("plum", "pear"), "pick up the pear and the plum", False),
        ("pick-up", ("pear", "plum"), ("plum", "pear"), "pick up the plum", True),
        ("pick-up", ("pear",), ("plum", "pear"), "pick up the pear and put it in the top drawer", False),
        ("pick-up", ("pear",), ("plum", "pear"), "put the pear in the compost bin", False),
        ("pick-up", ("pear",), ("plum", "pear"), "put the pear into the microwave", False),
        ("pick-up", ("pear",), ("plum", "pear"), "put the pear on the cooktop", False),
        ("pick-up", ("pear",), ("plum", "pear"), "an option not listed here", False),
        ("pick-up", ("pear",), ("plum", "pear"), "do nothing", False),
        ("pick-up", ("plum soda",), ("plum", "plum soda"), "pick up the plum soda", True),
        ("pick-up", ("plum",), ("plum", "plum soda"), "pick up the plum soda", False),
        ("pick-up", ("pear",), ("plum", "pear"), "pick up the pear from the cabinet", True),
        # drawers, bins, appliances: an intended object and the text of the target
        ("top drawer", ("pear",), ("plum", "pear"), "open the top drawer and put the pear in it", True),
        ("top drawer", ("pear",), ("plum", "pear"), "open the bottom drawer and put the pear in it", False),
        ("top drawer", ("pear",), ("plum", "pear"), "open the top drawer and put the plum in it", False),
        ("compost", ("pear",), ("plum", "pear"), "put the pear in the compost bin", True),
        ("compost", ("pear",), ("plum", "pear"), "put the pear in the landfill bin", False),
        ("recycling bin", ("pear",), ("plum", "pear"), "put the pear in the recycling bin", True),
        ("microwave", ("clay bowl",), ("clay bowl", "microwave"), "put the clay bowl in the microwave", True),
        ("cooktop", ("wok",), ("wok", "induction cooktop"), "put the wok on the cooktop", True),
        # another object: the part before "and" or a direction names what, the part after it where
        ("plum", ("pear",), ("plum", "pear"), "pick up the pear and put it beside the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "pick up the plum and put it beside the pear", False),
        ("plum", ("pear",), ("plum", "pear"), "put the pear next to the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "move the plum near the pear", False),
        ("plum", ("pear",), ("plum", "pear"), "bring the pear to the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "bring the plum to the pear", False),
        ("plum", ("pear",), ("plum", "pear"), "push the pear into the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "set the pear onto the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "push the pear toward the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "push the pear towards the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "push the plum towards the pear", False),
        ("plum", ("pear",), ("plum", "pear"), "put the pear under the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "leave the pear at the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "leave the pear by the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "leave the pear beside the plum", True),
        ("plum", ("pear",), ("plum", "pear"), "pick up the pear and put it near the fruit", False),
        ("plum", ("pear",), ("plum", "pear"), "pick up the pear", False),
        ("plum", ("pear",), ("plum", "pear"), "pick up the pear plum", False),
        # sponges
        ("pick-up", ("clean sponge",), BOTH, "pick up the clean sponge", True),
        ("pick-up", ("clean sponge",), BOTH, "pick up the dirty sponge with food residue", False),
        ("pick-up", ("clean sponge",), BOTH, "pick up the sponge", False),
        ("pick-up", ("clean sponge",), BOTH, "pick up the clean sponge, not the dirty one", False),
        ("pick-up", ("dirty sponge with food residue",), BOTH, "pick up the dirty sponge", True),
        ("pick-up", ("dirty sponge with food residue",), DIRTY, "pick up the sponge", True),
        ("pick-up", ("dirty sponge with food residue",), DIRTY, "pick up the clean sponge", True),
        ("pick-up", ("dirty sponge with food residue",), DIRTY, "pick up the dirty sponge", True),
        ("pick-up", ("dirty sponge with food residue",), DIRTY, "clean the dirty sponge", False),
        ("landfill", ("dirty sponge with food residue",), DIRTY, "put the sponge in the landfill bin", True),
    ],
)  # fmt: skip
def test_what_fits_a_scenario(
    location: str,
    intended: tuple[str, ...],
    objects: tuple[str, ...],
    option: str,
    fit: bool,
    make_scenario: Callable[..., Scenario],
) -> None:
    scenario = make_scenario(location=location, intended=intended, objects=objects)
    assert fits(scenario, option) is fit


def test_if_nothing_fits_the_option_not_listed_is_right(
    make_decision: MakeDecision, make_scenario: Callable[..., Scenario]
) -> None:
    options = {"A": "pick up the plum", "B": "an option not listed here", "C": "do nothing"}
    scenario = make_scenario()
    assert acceptable_options(make_decision(scenario=scenario, options=options), DEFAULT) == {"B"}
    fitting = options | {"D": "pick up the pear"}
    assert acceptable_options(make_decision(scenario=scenario, options=fitting), DEFAULT) == {"D"}


def test_a_scenario_that_does_not_say_what_is_wanted_tells_of_no_option_that_it_is_wrong(
    make_decision: MakeDecision, make_scenario: Callable[..., Scenario]
) -> None:
    options = {"A": "pick up the plum", "B": "an option not listed here"}
    unknown = make_decision(scenario=make_scenario(intended=()), options=options)
    assert acceptable_options(unknown, DEFAULT) is None
    assert acceptable_options(replace(unknown, right=("A",)), DEFAULT) == {"A"}


def test_the_rule_in_words_finds_what_the_published_run_calls_right(
    published: Callable[[str], Path], make_scenario: Callable[..., Scenario]
) -> None:
    with published("knowno_data_calib_100.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {int(row["id"]): row for row in csv.DictReader(file)}
    records = json.loads(published("knowno_calib_logprobs_100.json").read_text(encoding="utf-8"))
    both = [record for record in records if record["item"] in rows]
    assert len(both) > 30
    for record in both:
        row = rows[record["item"]]
        scenario = make_scenario(
            objects=tuple(row["environment_short"].split(", ")),
            intended=tuple(row["intent_object"].split(", ")),
            location=row["intent_location"],
        )
        right = [letter for letter, text in record["options"].items() if fits(scenario, text)]
        assert (right or [record["not_listed_option"]]) == record["true_options"], record
