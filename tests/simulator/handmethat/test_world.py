"""The hierarchy, sampled households and the state."""

from __future__ import annotations

import json
from random import Random

import pytest
from shared_data import shared_path

from simulator.errors import InputError
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import NOTHING, location_of


def test_the_hierarchy_has_the_published_counts() -> None:
    kinds = hierarchy().kinds.values()
    counts = {
        cls: sum(kind.cls == cls for kind in kinds)
        for cls in ("LOCATION", "RECEPTACLE", "FOOD", "TOOL", "THING")
    }
    assert counts == {"LOCATION": 16, "RECEPTACLE": 27, "FOOD": 49, "TOOL": 36, "THING": 27}
    assert len(hierarchy().subclasses) == 38


def test_the_hierarchy_is_the_published_one() -> None:
    nodes = json.loads((shared_path("handmethat") / "nodes.json").read_text(encoding="utf-8"))
    ours = {
        name: {"class": kind.cls, "subclass": kind.subclass, "type": name, "ability": list(kind.abilities)}
        for name, kind in hierarchy().kinds.items()
    }
    assert ours == nodes


def test_a_state_is_hashable_and_the_same_seed_gives_the_same_household() -> None:
    first, second = sample_scene(Random(5)), sample_scene(Random(5))
    assert first == second
    assert hash(first[1]) == hash(second[1])
    assert sample_scene(Random(6))[1] != first[1]


def test_everything_lies_somewhere_and_nothing_deeper_than_two() -> None:
    world, state = sample_scene(Random(1))
    assert state.holding == NOTHING
    for entity in world.movables:
        container = state.container(entity)
        assert entity in state.contents(container)
        assert not world.kinds[container].movable or not world.kinds[state.container(container)].movable
        assert not world.kinds[location_of(world, state, entity)].movable


def test_an_unknown_name_is_reported() -> None:
    world, _ = sample_scene(Random(1))
    with pytest.raises(InputError, match="no 'unicorn#0'"):
        world.entity("unicorn#0")
