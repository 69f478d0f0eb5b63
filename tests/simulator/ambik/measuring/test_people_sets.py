"""Comparison of people's sets with prediction sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simulator.ambik.data import load_pairs
from simulator.ambik.items import PairItem
from simulator.ambik.people_sets import MEASURES, compare_sets, elements, people_sets_table
from simulator.ambik.predicting import outcome
from simulator.ambik.records import Decision, Outcome
from simulator.ambik.terms import DEFAULT

PAIR = next(pair for pair in load_pairs() if pair.id == "k001")
ITEM = PairItem(pair=PAIR, member="ambiguous", part="calibration", options=PAIR.options)
GLASS, WOOD, FORK, CERAMIC = PAIR.options


def person(
    *marked: str, who: str = "ann", item: PairItem = ITEM, asked: bool = False, **fields: Any
) -> Decision:
    return Decision(
        episode_id=f"{who}/{item.id}",
        run="study",
        item=item,
        method="person",
        generator=who,
        chosen=marked,
        action="" if asked else marked[0],
        asked=asked,
        **fields,
    )


def model(*predicted: str, item: PairItem = ITEM, covered: bool | None = True, **fields: Any) -> Outcome:
    bare = replace(item, options=(), part="test")
    decision = Decision(episode_id="m", run="r1", item=bare, method="knowno", **fields)
    return Outcome(decision=decision, predicted=predicted, help=len(predicted) > 1, covered=covered)


def test_sets_of_the_same_task_are_compared() -> None:
    comparison = compare_sets(
        [person(GLASS, WOOD, CERAMIC, asked=True)], [model(f"B) {WOOD.lower()}", GLASS)]
    )
    (pair,) = comparison.pairs
    assert pair.values == {
        "jaccard": 2 / 3,
        "jaccard_text": 2 / 3,
        "people_in_model": 0,
        "model_in_people": 1,
        "people_size": 3,
        "model_size": 2,
        "people_several": 1,
        "people_ask": 1,
        "model_asks": 1,
        "several_as_asked": 1,
        "people_covered": 1,
        "model_covered": 1,
    }
    assert (comparison.people_alone, comparison.models_alone, comparison.not_people) == (0, 0, 0)


def test_other_words_for_the_same_objects_are_the_same_action() -> None:
    other = model("put the wooden bowl onto the kitchen table", "sing")
    comparison = compare_sets([person(WOOD)], [other])
    assert comparison.pairs[0].values["jaccard"] == 1 / 2
    assert comparison.pairs[0].values["jaccard_text"] == 0
    assert elements(other, "objects") == {("kitchen table", "wooden bowl"), "sing"}


def test_what_is_acceptable_is_asked_of_both() -> None:
    comparison = compare_sets([person(FORK)], [model(GLASS, covered=None)])
    assert comparison.pairs[0].values["people_covered"] == 0
    (row, *_) = comparison.rows
    assert row["measures"]["model_covered"] is None
    assert row["measures"]["people_covered"] is not None and row["measures"]["people_covered"].n == 1


def test_empty_sets_do_not_count_where_they_mean_nothing() -> None:
    comparison = compare_sets([person(WOOD)], [model()])
    row = comparison.rows[0]["measures"]
    assert row["model_in_people"] is None
    assert row["people_in_model"] is not None and row["people_in_model"].value == 0
    assert row["jaccard"] is not None and row["jaccard"].value == 0
    nothing = compare_sets([replace(person(WOOD), chosen=(), asked=True)], [model()])
    assert nothing.rows[0]["measures"]["jaccard"] is None


def test_only_the_same_task_in_the_same_dialogue_is_compared() -> None:
    clear = replace(ITEM, member="clear")
    other = replace(ITEM, pair=replace(PAIR, id="k999"))
    people = [
        person(WOOD),
        person(WOOD, item=clear),
        person(WOOD, dialogue="after"),
        person(WOOD, item=other),
    ]
    models = [model(WOOD), model(WOOD, item=replace(ITEM, pair=replace(PAIR, step=1)))]
    comparison = compare_sets(people, models)
    assert [pair.item for pair in comparison.pairs] == [ITEM]
    assert (comparison.people_alone, comparison.models_alone) == (3, 1)


def test_decisions_that_are_no_persons_are_left_out_and_counted() -> None:
    robot = replace(person(WOOD), method="offline")
    comparison = compare_sets([robot, replace(person(WOOD), chosen=None)], [model(WOOD)])
    assert (comparison.pairs, comparison.rows, comparison.not_people, comparison.models_alone) == (
        (),
        (),
        2,
        1,
    )


def test_rows_are_by_run_and_type_with_intervals_over_pairs() -> None:
    others = [replace(ITEM, pair=pair) for pair in load_pairs()[:6]]
    people = [person("Do this.", "Do that.", who=who, item=item) for item in others for who in ("ann", "bob")]
    models = [model(*["Do this.", "Do that.", "Do more."][:n], item=item) for n, item in enumerate(others, 1)]
    comparison = compare_sets(
        people,
        [*models, *(replace(decision, decision=replace(decision.decision, run="r2")) for decision in models)],
    )
    whole = [row for row in comparison.rows if row["type"] == "all"]
    assert [(row["run"], row["items"], row["people"], row["decisions"]) for row in whole] == [
        ("r1", 6, 2, 12),
        ("r2", 6, 2, 12),
    ]
    types = {row["type"]: row["decisions"] for row in comparison.rows if row["run"] == "r1"}
    assert types["all"] == 12 == sum(types.values()) - 12
    overlap = whole[0]["measures"]["jaccard"]
    assert overlap is not None and overlap.n == 12
    assert overlap.value == pytest.approx((1 / 2 + 1 + 4 * 2 / 3) / 6)
    assert overlap.low < overlap.value < overlap.high
    asks = whole[0]["measures"]["several_as_asked"]
    assert asks is not None and asks.value == pytest.approx(5 / 6)


def test_the_table_has_every_measure() -> None:
    comparison = compare_sets([person(WOOD, GLASS)], [model(WOOD)])
    table = people_sets_table(comparison)
    assert len(table.heads) == 6 + len(MEASURES)
    assert table.rows[0][:6] == ("r1", "KnowNo", "all", 1, 1, 1)
    assert [row[2] for row in table.rows] == ["all", "preferences"]
    assert "coverage, model_high" in table.to_csv().splitlines()[0]


def test_the_sets_of_people_are_made_as_everywhere() -> None:
    decision = person(WOOD, "do nothing")
    assert (
        compare_sets([decision], [model(WOOD)]).pairs[0].person.predicted
        == outcome(decision, None, DEFAULT).predicted
        == (WOOD,)
    )
