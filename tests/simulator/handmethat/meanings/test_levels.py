"""A(.) and the levels (spec 6.3, 8)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.handmethat.generation.generate import Hardness, groundings_of, level_of
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.handmethat.profiles import load_profiles

V2 = load_profiles()["v2"]


def _objects(*entities: int) -> list[tuple[int, str | None]]:
    return [(entity, None) for entity in entities]


def test_groundings_of_a_meaning(household, places):
    world, state = household(
        {"apple#0": "table", "apple#1": "sink", "jar#0": "table", "pen#0": "jar#0"}, dusty=["jar#0"]
    )
    index, targets = world.index, places(world.entity("sofa"), world.entity("jar#0"))

    def grounded(quest, description, argument=None):
        return groundings_of(world, state, Meaning(quest, describe(description), argument), targets)

    assert grounded("bring_me", {"type": "apple"}) == ((index["apple#0"], None), (index["apple#1"], None))
    assert grounded("bring_me", {"ontop": "table"}) == ((index["jar#0"], None), (index["apple#0"], None))
    # Only the direct container counts.
    assert grounded("bring_me", {"inside": "jar#0"}) == ((index["pen#0"], None),)
    # A pen has no dust, so that it is not clean either.
    assert grounded("change_state", {"dusty": True}, "clean") == ((index["jar#0"], "clean"),)
    assert grounded("change_state", {"dusty": False}, "clean") == ()
    assert grounded("move_to", {"type": "pen"}, "sofa") == ((index["pen#0"], "sofa"),)
    assert grounded("move_to", {"type": "apple"}) == tuple(
        (index[apple], place) for apple in ("apple#0", "apple#1") for place in ("sofa", "jar#0")
    )
    assert len(grounded("bring_me", {})) == 4


@pytest.mark.each(
    ("meant", "spoken", "heard", "level"),
    [
        # A(G) = {1, 2, 3}
        (_objects(1, 2), _objects(1, 2), _objects(1, 2), Hardness(1, True)),
        (_objects(1, 2), _objects(2, 1), _objects(3), Hardness(1, True)),
        (_objects(1, 2, 3), _objects(1, 2, 3, 4), _objects(1), Hardness(2, True)),
        (_objects(1, 2), _objects(1, 2, 3, 4), _objects(1, 2), Hardness(3, True)),
        (_objects(1), _objects(1, 2, 3, 4), _objects(1, 2), Hardness(4, True)),
        (_objects(1), _objects(1, 2, 3, 4), _objects(2, 3), Hardness(4, False)),
        (_objects(1, 2), _objects(1, 2, 3, 4), _objects(1), Hardness(4, False)),
        (_objects(1, 2), _objects(1, 2, 3, 4), _objects(2, 3), Hardness(4, False)),
    ],
)
def test_levels_by_hand(meant, spoken, heard, level):
    useful = _objects(1, 2, 3)
    assert level_of(meant, spoken, heard, useful, V2) == level
    strict = level_of(meant, spoken, heard, useful, replace(V2, strict_level4=True))
    assert strict == (level if level.strict else None)


def test_level_three_may_leave_out_useless_readings():
    meant, spoken, heard = _objects(1, 2), _objects(1, 2, 3, 4), _objects(1, 2, 4)
    assert level_of(meant, spoken, heard, _objects(1, 2, 3), V2) == Hardness(4, True)
    assert level_of(meant, spoken, heard, _objects(1, 2, 3), replace(V2, useful_reading=True)) == Hardness(
        3, True
    )


def test_arguments_count():
    to_sofa, anywhere = [(1, "sofa")], [(1, "sofa"), (1, "sink")]
    assert level_of(to_sofa, anywhere, to_sofa, to_sofa, V2) == Hardness(2, True)
    assert level_of(to_sofa, anywhere, to_sofa, anywhere, V2) == Hardness(3, True)
