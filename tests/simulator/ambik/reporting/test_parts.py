"""Pairs added in 2025 are reported separately, with their oddities; and a caution about LAP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.ambik.coverage import report_of
from simulator.ambik.data import load_pairs
from simulator.ambik.files.pairs import write_pairs_file
from simulator.ambik.items import PairItem
from simulator.ambik.predicting import calibrate
from simulator.ambik.records import Affordance, Decision
from simulator.ambik.reporting.groups import Group, added_statement, baseline_groups, split_by_kind
from simulator.ambik.selection import KitchenSelection
from simulator.ambik.terms import DEFAULT
from simulator.errors import InputError


def added(pair):
    """A pair as they were added in 2025: the ambiguous plan twice, no other wording, no variants."""
    return replace(
        pair, indirect="", variants=(), clear_plan=pair.ambiguous_plan, shortlist=(), take_ambiguous=None
    )


PAIRS = [pair if place % 2 else added(pair) for place, pair in enumerate(load_pairs("builtin", "test")[:8])]


def group(version="2025"):
    made = [
        Decision(
            episode_id=f"{pair.id}.{member}",
            run="r",
            item=PairItem(pair=pair, member=member),
            method="offline",
            generator="offline/kitchen",
            action=pair.clear_step,
            chosen=(pair.clear_step,),
            asked=False,
        )
        for pair in PAIRS
        for member in ("ambiguous", "clear")
    ]
    return Group(
        source="r",
        method="offline",
        robot="offline/kitchen",
        version=version,
        settings=DEFAULT,
        decisions=tuple(made),
    )


def test_decisions_on_added_pairs_are_a_group_of_their_own_with_its_oddities():
    released, new = split_by_kind([group()])
    assert [len(group.decisions) for group in (released, new)] == [8, 8]
    assert [group.conditions for group in (released, new)] == ["", "added 2025"]
    assert (
        "4 pairs of the kind added in 2025 are reported separately. 4 of them have the ambiguous plan"
        in added_statement(new)
    )
    assert added_statement(released) == ""
    assert len(baseline_groups([released, new])) == 8


def test_one_part_may_be_selected_and_other_data_are_not_divided():
    assert [len(part.decisions) for part in split_by_kind([group()], "added")] == [8]
    assert [part.part for part in split_by_kind([group("paper")], "released")] == ["released"]
    whole = group("paper")
    assert split_by_kind([whole]) == (whole,)


def test_a_run_may_be_of_one_part(tmp_path):
    file = write_pairs_file(tmp_path / "a.csv", [replace(pair, options=()) for pair in PAIRS])
    clear = KitchenSelection(data=str(file), member="clear")
    counts = {
        part: len(clear.model_copy(update={"part": part}).tests()) for part in ("all", "released", "added")
    }
    assert counts == {"all": 8, "released": 4, "added": 4}
    whole = write_pairs_file(tmp_path / "b.csv", PAIRS[1:2])
    with pytest.raises(InputError, match="have no added test pairs of the types"):
        KitchenSelection(data=str(whole), member="clear", part="added").tests()


@pytest.mark.parametrize(("context", "cautioned"), [(0.0, True), (1.0, False)])
def test_right_options_without_affordance_are_a_caution(context, cautioned):
    pair = replace(load_pairs("builtin", "calibration")[0], variants=())
    right = next(option for option in pair.options if "wooden" in option)
    decisions = [
        Decision(
            episode_id=str(number),
            run="c",
            item=PairItem(pair=replace(pair, id=f"p{number}"), member="ambiguous", part="calibration"),
            method="lap",
            options={"A": right, "B": "wait"},
            tokens=(("A", -0.1), ("B", -2.0)),
            affordance={"A": Affordance(context, 0.9), "B": Affordance(1.0, 0.9)},
        )
        for number in range(5)
    ]
    calibration = calibrate(decisions, DEFAULT)
    assert calibration.unaffordable == (5 if cautioned else 0)
    warnings = " ".join(map(str, report_of(calibration, (), DEFAULT).warnings))
    assert ("for 5 of 5 calibration items the right options have affordance 0" in warnings) == cautioned
