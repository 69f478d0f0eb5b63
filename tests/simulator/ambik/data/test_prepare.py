"""Items from pairs, scenarios and drafts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.files.pairs import read_pair
from simulator.ambik.items import Pair, Scenario
from simulator.ambik.selection import calibration_items, draft_items, pair_items, scenario_items
from simulator.ambik.terms import Part
from simulator.errors import InputError
from simulator.jsonlines import Row


@pytest.fixture
def pair(row: object) -> Pair:
    cells = {name: text for name, text in row().items() if text}  # type: ignore[operator]
    return read_pair(Row(cells), "7")


def test_both_members_of_each_pair_are_played(pair: Pair) -> None:
    items = pair_items([pair, replace(pair, id="8")])
    assert [item.id for item in items] == ["7.ambiguous", "7.clear", "8.ambiguous", "8.clear"]
    assert [item.type for item in items[:2]] == ["preferences", "unambiguous_direct"]
    assert {item.part for item in items} == {"test"}
    assert [item.id for item in pair_items([pair], members=("clear",))] == ["7.clear"]


def test_options_are_the_pairs_own(pair: Pair) -> None:
    own = replace(pair, options=("Take the red mug.",))
    assert [item.options for item in pair_items([own])] == [("Take the red mug.",)] * 2
    assert pair_items([pair])[0].options == ()


def test_calibration_takes_the_member_that_the_data_name(pair: Pair) -> None:
    rows = [replace(pair, id="a", take_ambiguous=True), replace(pair, id="b", take_ambiguous=False), pair]
    items = calibration_items(rows)
    assert [(item.id, item.part) for item in items] == [
        ("a.ambiguous", "calibration"),
        ("b.clear", "calibration"),
    ]
    with pytest.raises(InputError, match="no pair says which member to calibrate on"):
        calibration_items([pair])


def test_pairs_in_which_there_is_nothing_to_decide_are_left_out(pair: Pair) -> None:
    nowhere, outside = replace(pair, id="a", step=None), replace(pair, id="b", step=2)
    half = replace(pair, id="c", ambiguous_plan=pair.ambiguous_plan[:1])
    rows = [nowhere, outside, half, pair]
    assert [item.id for item in pair_items(rows)] == ["7.ambiguous", "7.clear"]
    assert [item.id for item in pair_items(rows, members=("clear",))] == ["c.clear", "7.clear"]
    # Each calibration row needs the one member that is taken.
    taken = [replace(half, id="d", take_ambiguous=False), replace(half, id="e", take_ambiguous=True)]
    assert [item.id for item in calibration_items(taken)] == ["d.clear"]
    with pytest.raises(InputError, match=r"pairs a, b: no plan line at the index \(end_of_ambiguity\)"):
        pair_items([nowhere, outside])
    assert pair_items([]) == ()


def scenario(id: str, part: Part | None = None) -> Scenario:
    return Scenario(
        id=id,
        objects=("x",),
        scene="an x",
        task="t",
        intended=("x",),
        location="pick-up",
        type="unsafe",
        part=part,
    )


def test_the_first_scenarios_by_number_are_for_calibration_unless_they_say_what_they_serve() -> None:
    mixed = [scenario("10"), scenario("x"), scenario("9"), scenario("2", "test")]
    parts = {item.scenario.id: item.part for item in scenario_items(mixed, calibration=2)}
    assert parts == {"10": "test", "x": "test", "9": "calibration", "2": "test"}
    parts = {item.scenario.id: item.part for item in scenario_items(mixed, calibration=2, split="first")}
    assert parts == {"10": "test", "x": "test", "9": "calibration", "2": "calibration"}
    assert [item.id for item in scenario_items(mixed)][:2] == ["knowno-10", "knowno-x"]


def test_everything_built_in_can_be_played() -> None:
    pairs = load_pairs()
    assert len(pair_items(pairs)) == 2 * len(pairs)
    assert len(calibration_items(pairs)) == len(load_pairs(part="calibration"))
    drafts = load_drafts()
    assert [item.id for item in draft_items(drafts)] == [f"draft-{draft.id}" for draft in drafts]
