from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count, product
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.studies import Cell, Place, Study
from simulator.studies.files import Assignment
from simulator.studies.quota import Quota, count_taken, has_room, next_cell, quota_of

START = datetime(2026, 3, 1, tzinfo=UTC)
HALF_AN_HOUR = timedelta(minutes=30)
DESIGN = tuple(product(("subject", "location", "negation"), ("arrow", "qa"), ("x", "y")))


def study(**changed: Any) -> Study:
    base = {"id": "s", "title": "t", "benchmark": "handmethat", "seat": "robot", "participants": 12}
    return Study.model_validate({key: value for key, value in {**base, **changed}.items() if value})


def place(number: int, cell: Cell | None, **changed: Any) -> Place:
    whole = Place(
        id=f"study-s/{number:05d}",
        number=number,
        participant=f"p{number}",
        state="reserved",
        cell=cell,
        seed=0,
        attempt=0,
        since=START,
        moved_at=START,
    )
    return replace(whole, **changed)


def draw(quota: Quota, places: list[Place], seed: int = 0, now: datetime = START) -> Cell | None:
    return next_cell(quota, count_taken(places, now, HALF_AN_HOUR), seed=seed)


@pytest.mark.each("seed", range(5))
def test_a_design_fills_evenly_at_every_moment(seed: int) -> None:
    quota = quota_of(study(participants=48), DESIGN)
    places: list[Place] = []
    while (cell := draw(quota, places, seed + len(places))) is not None:
        places.append(place(len(places) + 1, cell))
        given = [place.cell for place in places if place.cell]
        for finer in range(1, 4):
            counts = Counter(cell[:finer] for cell in given)
            sizes = [counts[cell] for cell in dict.fromkeys(cell[:finer] for cell in DESIGN)]
            assert max(sizes) - min(sizes) <= 1, finer
        for part in (1, 2):
            halves = Counter(cell[part] for cell in given)
            assert abs(2 * max(halves.values()) - len(given)) <= 2
    assert len(places) == 48
    assert set(Counter(place.cell for place in places).values()) == {4}


def test_who_is_first_is_drawn() -> None:
    quota = quota_of(study(), DESIGN)
    assert draw(quota, [], 1) == draw(quota, [], 1)
    assert len({draw(quota, [], seed) for seed in range(100)}) == len(DESIGN)


def test_a_total_is_spread_and_the_rest_drawn() -> None:
    spread = [quota_of(study(participants=8, seed=seed), DESIGN).wanted for seed in range(1, 30)]
    assert all(sum(targets.values()) == 8 and set(targets.values()) == {2, 3} for targets in spread)
    assert len({tuple(targets.values()) for targets in spread}) == 3


def test_numbers_by_condition_and_by_item() -> None:
    by_name = quota_of(study(participants={"subject": 3, "location/arrow": 2, "location/qa": 1}), DESIGN[:8])
    assert by_name.total == 6
    by_item = quota_of(study(participants=None, judgments_per_item=9, conditions=["i1", "i2"]))
    assert by_item.wanted == {("i1",): 9, ("i2",): 9}


@pytest.mark.each(
    ("changed", "cells", "message"),
    [
        ({}, None, "there are no conditions"),
        ({}, [("a",), ("a",)], "two of the conditions are the same"),
        ({"participants": {"a": 1}}, [("a",), ("b",)], "b has no number"),
        ({"participants": {"a": 1, "a/x": 1}}, [("a", "x")], "a/x has several numbers"),
        ({"participants": {"a": 1, "b": 1}}, [("a",)], "there is no condition b"),
    ],
)
def test_a_design_that_cannot_be(changed: dict[str, Any], cells: list[Cell] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        quota_of(study(**changed), cells)


def test_what_counts() -> None:
    a: Cell = ("a",)
    places = [
        place(1, a, state="completed"),
        place(2, a, state="started"),
        place(3, a, state="started", moved_at=START - timedelta(minutes=31)),
        place(4, a, state="completed", moved_at=START - timedelta(days=1)),
        place(5, a, state="returned"),
        place(6, a, state="expired"),
        place(7, None, state="withdrawn"),
    ]
    counts = count_taken(places, START, HALF_AN_HOUR)
    assert counts == {a: 3}
    four = Quota((a,), {a: 4})
    assert has_room(four, counts, a)
    assert draw(four, places) == a
    three = Quota((a,), {a: 3})
    assert not has_room(three, counts, a)
    assert draw(three, places) is None
    assert draw(three, places, now=START + timedelta(hours=1)) == a


def test_a_cell_is_given_once_to_a_person() -> None:
    quota = Quota((("a",), ("b",)), {("a",): 2, ("b",): 1})
    assert next_cell(quota, Counter(), seed=0, had=[("a",)]) == ("b",)
    assert next_cell(quota, Counter({("b",): 1}), seed=0, had=[("a",)]) is None


def test_coarse_cells_come_before_fine_ones() -> None:
    quota = Quota((("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")), {("a",): 9, ("b",): 9})
    given = [("a", "x"), ("a", "y"), ("b", "y"), ("b", "y"), ("b", "y")]
    places = [place(number, cell) for number, cell in enumerate(given)]
    assert {draw(quota, places, seed) for seed in range(20)} == {("a", "x")}


def test_a_study_may_finish_items_or_draw_them() -> None:
    quota = Quota((("a",), ("b",), ("c",)), {("a",): 2, ("b",): 2, ("c",): 2})
    drawn: dict[str, list[Cell]] = {"finish_items": [], "random": []}
    for order, cells in drawn.items():
        for seed in count():
            cell = next_cell(quota, Counter(cells), seed=seed, order=cast(Assignment, order))
            if cell is None:
                break
            cells.append(cell)
    finished = drawn["finish_items"]
    assert finished[0::2] == finished[1::2] and len(set(finished)) == 3
    # Any order fills the design, and no cell gets more than its number.
    assert Counter(drawn["random"]) == Counter(finished)
    firsts = {next_cell(quota, Counter([("a",)]), seed=seed, order="random") for seed in range(20)}
    assert firsts == set(quota.cells)


@given(
    targets=st.dictionaries(st.sampled_from("abc"), st.integers(0, 6), min_size=1),
    states=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from("xy"),
            st.sampled_from(["reserved", "started", "completed", "returned", "expired"]),
            st.integers(0, 60),
        ),
        max_size=20,
    ),
    seed=st.integers(0, 100),
)
@settings(max_examples=150, deadline=None)
def test_the_least_filled_free_cell_is_chosen(
    targets: dict[str, int], states: list[tuple[str, str, Any, int]], seed: int
) -> None:
    """The rule written down a second time, on any places whatever."""
    quota = Quota(tuple(product(targets, "xy")), {(name,): count for name, count in targets.items()})
    places = [
        place(number, (coarse, fine), state=state, moved_at=START - timedelta(minutes=minutes))
        for number, (coarse, fine, state, minutes) in enumerate(states)
        if coarse in targets
    ]
    filled = [
        entry.cell
        for entry in places
        if entry.cell
        and (entry.state == "completed" or (entry.live and entry.moved_at >= START - timedelta(minutes=30)))
    ]
    free = {
        name: sum(cell[0] == name for cell in filled)
        for name, count in targets.items()
        if sum(cell[0] == name for cell in filled) < count
    }
    chosen = draw(quota, places, seed)
    if not free:
        assert chosen is None
        return
    assert chosen is not None
    assert free[chosen[0]] == min(free.values())
    assert filled.count(chosen) == min(filled.count((chosen[0], fine)) for fine in "xy")
