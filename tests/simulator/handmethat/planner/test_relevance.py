"""The targets of a goal in a household."""

import pytest

from simulator.errors import InputError
from simulator.handmethat.goals.model import Goal, Subgoal, find_targets
from simulator.handmethat.world import bit_set, entities


def names(world, bits):
    return {world.name(entity) for entity in entities(bits)}


def test_terms_their_containers_and_the_floor(household):
    world, state = household({"apple#0": "jar#0", "jar#0": "cabinet", "banana#0": "sofa"})
    goal = Goal((Subgoal(form="ALL", x="apple", y="table", relation="ontop"),))
    targets = find_targets(world, state, goal, distractors=False)
    assert names(world, targets.movable) == {"apple#0"}
    assert [world.name(entity) for entity in targets.position] == ["table"]
    assert names(world, targets.grounded) == {"apple#0", "jar#0", "cabinet", "table", "floor"}


def test_distractors_share_the_subclass_of_a_type_but_not_of_a_named_thing(household):
    world, state = household({"apple#0": "bed", "banana#0": "sofa", "jar#0": "table", "bottle#0": "shelf"})
    by_type = Goal((Subgoal(form="ALL-SAME", x="apple", y="jar", relation="inside"),))
    targets = find_targets(world, state, by_type, distractors=True)
    # Things in the subclass of a wanted place may be used, but are not candidates for help.
    assert names(world, targets.movable) == {"apple#0", "banana#0", "jar#0"}
    assert [world.name(entity) for entity in targets.position] == ["jar#0"]
    assert names(world, targets.grounded) >= {"bottle#0", "shelf", "sofa"}
    by_name = Goal((Subgoal(form="THE", x="apple#0", y="jar#0", relation="inside"),))
    targets = find_targets(world, state, by_name, distractors=True)
    assert names(world, targets.movable) == {"apple#0", "jar#0"}
    assert "banana#0" not in names(world, targets.grounded)


@pytest.mark.each(
    ("state_name", "tools", "more", "places"),
    [
        ("sliced", {"knife#0"}, {"fork#0"}, set()),
        ("dusty", {"rag#0"}, {"broom#0"}, {"sink"}),
        ("cooked", set(), set(), {"microwave", "oven", "stove"}),
        ("frozen", set(), set(), {"refrigerator"}),
        ("soaked", set(), set(), set()),
    ],
)
def test_a_state_brings_its_tools_and_places(household, state_name, tools, more, places):
    tools_there = {"knife#0": "table", "fork#0": "table", "rag#0": "bathtub", "broom#0": "pool"}
    world, state = household({"box#0": "bed", **tools_there})
    goal = Goal((Subgoal(form="BE", x="box#0", of_x=((state_name, False),)),))
    plain = find_targets(world, state, goal, distractors=False)
    wide = find_targets(world, state, goal, distractors=True)
    assert names(world, plain.movable) == {"box#0"} | tools
    assert names(world, wide.movable) == {"box#0"} | tools | more
    assert {world.name(entity) for entity in plain.position} == places
    assert names(world, plain.grounded) >= places | tools | {"bed"}


def test_a_location_whose_state_is_wanted_is_a_position(household):
    world, state = household({"rag#0": "sink"})
    goal = Goal((Subgoal(form="BE", x="table", of_x=(("stained", False),)),))
    targets = find_targets(world, state, goal, distractors=False)
    assert [world.name(entity) for entity in targets.position] == ["table", "sink"]
    assert targets.movable == bit_set([world.index["rag#0"]])


def test_where_the_human_stands_is_relevant(household):
    world, state = household({"apple#0": "bed"})
    goal = Goal((Subgoal(form="ALL", x="apple", y="table", relation="ontop"),))
    away = find_targets(world, state._replace(at=world.index["pool"]), goal, distractors=False)
    assert "pool" in names(world, away.grounded)


def test_an_unknown_name_is_an_error(household):
    world, state = household({"apple#0": "bed"})
    goal = Goal((Subgoal(form="THE", x="apple#7", y="table", relation="ontop"),))
    with pytest.raises(InputError, match="apple#7"):
        find_targets(world, state, goal, distractors=False)
