"""Rewards of help, computed by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_

import pytest

from simulator.handmethat.actions import domain
from simulator.handmethat.goals.model import Goal, Subgoal, find_targets, goal_holds
from simulator.handmethat.planner.grounding import ground
from simulator.handmethat.planner.relaxed import ground_goal
from simulator.handmethat.planner.rewards import groundings, rewards, state_after_grounding
from simulator.handmethat.profiles import load_profile
from simulator.handmethat.world import entities

V2 = load_profile("v2")
FRUIT = {"apple#0": "table", "apple#1": "table", "banana#0": "table", "hat#0": "bed"}


def lying(form, x, y, relation="ontop"):
    return Subgoal(form=form, x=x, y=y, relation=relation)


def clean(form, x):
    return Subgoal(form=form, x=x, of_x=(("dusty", False),))


def worth(world, state, quest, *subgoals, profile=V2, rest=20, seed=0):
    goal = Goal(subgoals)
    state = state._replace(waiting=True)
    targets = find_targets(world, state, goal, profile.distractors)
    result = rewards(world, state, goal, targets, quest, rest, profile, seed)
    named = {(world.names[entity], argument): value for (entity, argument), value in result.values.items()}
    return result, named, [(world.names[entity], argument) for entity, argument in result.useful]


def test_bring_me(household):
    world, state = household(FRUIT)
    result, values, useful = worth(world, state, "bring_me", lying("ALL", "apple", "refrigerator", "inside"))
    # Two picks, two puts; table, refrigerator, open.
    assert result.before == 7
    # In the hand: no pick for it, but its hand has to be freed for the other; plus the bonus.
    assert values == {
        ("apple#0", None): -7 + 1,
        ("apple#1", None): -7 + 1,
        # A distractor is only laid down again.
        ("banana#0", None): -8 + 1,
    }
    assert useful == [("apple#0", None), ("apple#1", None)]


def test_bring_me_strictly_or_without_a_bonus(household):
    world, state = household(FRUIT)
    cold = lying("ALL", "apple", "refrigerator", "inside")
    for profile in (replace(V2, strict=True), replace(V2, bring_bonus=0)):
        assert worth(world, state, "bring_me", cold, profile=profile)[2] == []
    # With one apple left there is no other for which to free the hand.
    placed = state.with_place(world.index["apple#1"], world.index["refrigerator"])
    result, values, useful = worth(world, placed, "bring_me", cold, profile=replace(V2, strict=True))
    assert (result.before, values["apple#0", None]) == (5, -3 + 1)
    assert useful == [("apple#0", None)]


def test_move_to(household):
    world, state = household(FRUIT)
    result, values, useful = worth(
        world, state, "move_to", lying("ALL", "apple", "refrigerator", "inside"), lying("ALL", "hat", "table")
    )
    # As above, and the hat: pick, bed, put (the table is on the way).
    assert result.before == 7 + 3
    # Destinations are the wanted places. Pick and put are saved; on the table nothing is.
    assert values["apple#0", "refrigerator"] == -8
    assert values["apple#0", "table"] == -10
    assert values["banana#0", "refrigerator"] == -10
    # The hat's pick, put and the way to the bed.
    assert values["hat#0", "table"] == -7
    # In the refrigerator it is on the way, but for the lid, which is lifted anyway.
    assert values["hat#0", "refrigerator"] == -9
    assert useful == [
        ("apple#0", "refrigerator"),
        ("apple#1", "refrigerator"),
        ("hat#0", "table"),
        ("hat#0", "refrigerator"),
    ]
    assert not any(destination == "floor" for _, destination in values)


def test_receptacles_do_not_go_into_receptacles(household):
    world, state = household({"apple#0": "table", "box#0": "bed", "box#1": "bed"})
    _, values, _ = worth(world, state, "move_to", lying("ALL-SAME", "apple", "box", "inside"))
    assert list(values) == [("apple#0", "box#0"), ("apple#0", "box#1")]


def test_change_state(household):
    world, state = household(
        {"plate#0": "table", "plate#1": "table", "dishtowel#0": "cabinet", "sock#0": "floor"},
        dusty=["plate#0"],
    )
    result, values, useful = worth(world, state, "change_state", clean("BE-ALL", "plate"))
    assert result.before >= 9
    assert values == {
        ("plate#0", "clean"): 0.0,
        ("plate#1", "clean"): -result.before,
        # Sink, put, on and soak are saved.
        ("dishtowel#0", "soak"): -result.before + 4,
    }
    assert useful == [("plate#0", "clean"), ("dishtowel#0", "soak")]


def test_the_end_is_worth_nothing_less(household):
    world, state = household({"apple#0": "table"})
    _, values, useful = worth(world, state, "move_to", lying("ALL", "apple", "refrigerator", "inside"))
    assert values == {("apple#0", "refrigerator"): 0.0}
    assert useful == [("apple#0", "refrigerator")]


def test_untargeted_things_help_only_in_the_published_corner_case(household):
    world, state = household({"apple#0": "tray#0", "tray#0": "table"})
    aim = lying("ALL", "apple", "bed")
    sloppy = replace(V2, untargeted_may_help=True)
    assert worth(world, state, "bring_me", aim, profile=V2, rest=2)[2] == [("apple#0", None)]
    assert worth(world, state, "bring_me", aim, profile=sloppy, rest=4)[2] == [("apple#0", None)]
    # The rest of the plan is shorter than the estimate of it: whatever actions are grounded over counts.
    _, values, useful = worth(world, state, "bring_me", aim, profile=sloppy, rest=2)
    assert useful == [("tray#0", None), ("apple#0", None)]
    assert values["tray#0", None] == -2


def test_names_are_targets_exactly_or_as_parts_of_others(household):
    world, state = household({"pan#0": "table", "saucepan#0": "table", "apple#0": "saucepan#0"})
    aims = lying("ALL", "pan", "bed"), lying("ALL", "apple", "bed")
    exact = replace(V2, distractors=False)
    loose = replace(exact, substring_targets=True)
    assert ("saucepan#0", None) not in worth(world, state, "bring_me", *aims, profile=exact)[1]
    assert ("saucepan#0", None) in worth(world, state, "bring_me", *aims, profile=loose)[1]


def test_locations_count_where_asked_for(household):
    world, state = household({"rag#0": "sink"}, dusty=["table"], soaked=["rag#0"])
    aim = clean("BE", "table")
    assert worth(world, state, "change_state", aim)[2] == []
    with_locations = replace(V2, locations_count=True)
    assert worth(world, state, "change_state", aim, profile=with_locations)[2] == [("table", "clean")]


@pytest.mark.parametrize("costs", ["planner", "search"])
def test_costs_of_plans(household, costs):
    world, state = household(FRUIT)
    aim = lying("ALL", "apple", "refrigerator", "inside")
    exact = replace(V2, costs=costs, bring_bonus=0, strict=True)
    result, values, useful = worth(world, state, "bring_me", aim, profile=exact)
    # Table, pick, refrigerator, open, put; table, pick, refrigerator, put.
    assert result.before == 9
    assert values["apple#0", None] == -7
    assert values["banana#0", None] == -10
    assert useful == [("apple#0", None), ("apple#1", None)]


@pytest.mark.parametrize("quest", ["bring_me", "move_to", "change_state"])
def test_groundings_are_the_applicable_abstract_actions(sampled, quest):
    world, state, _, targets = sampled(28)
    state = state._replace(waiting=True)
    things = world.find_all("movable")
    actual = set(groundings(world, state, quest, things, targets.position))
    expected = set()
    for schema in domain("teleport").values():
        if schema.serves != quest:
            continue
        for entity in entities(things):
            for place in targets.position if quest == "move_to" else (None,):
                source = () if quest == "change_state" else (state.container(entity),)
                args = (entity, *source, *(() if place is None else (place,)))
                if schema.applicable(world, state, args):
                    expected.add((entity, schema.argument or None if place is None else world.names[place]))
    assert actual == {pair for pair in expected if pair[1] != world.names[pair[0]]}
    assert all(state_after_grounding(world, state, grounding) is not None for grounding in actual)


def test_ties_are_settled_by_an_order_drawn_from_the_seed(household):
    """An apple goes into a box that may be carried meanwhile: to the shut cabinet there is time for it."""
    world, state = household({"apple#0": "cabinet", "box#0": "floor", "hat#0": "bed", "sock#0": "sofa"})
    state = state._replace(open=1 << world.index["box#0"])
    aim = (
        lying("ALL", "apple", "box#0", "inside"),
        lying("ALL", "hat", "sofa"),
        lying("SOME", "sock", "bed"),
    )
    results = [worth(world, state, "bring_me", *aim, seed=seed) for seed in range(12)]
    again = worth(world, state, "bring_me", *aim, seed=3)
    assert again == results[3]
    assert len({result[0].before for result in results}) > 1


def relaxed_steps(world, state, goal, targets):
    """Return the number of delete-relaxed layers until the goal holds."""
    grounding = ground(world, targets.grounded)
    aim, facts, steps = ground_goal(grounding, goal.subgoals), grounding.encode(state), 0
    while not aim.holds(facts):
        able = [operator.adds for operator in grounding.operators if operator.needs & facts == operator.needs]
        facts, steps = reduce(or_, able, facts), steps + 1
    return steps


def test_an_estimate_has_a_step_for_each_layer_whatever_order_is_drawn(sampled):
    profile = load_profile("v1-reference")
    for template in range(0, 69, 3):
        world, state, goal, targets = sampled(template, seed=3)
        waiting = state._replace(waiting=True)
        least = relaxed_steps(world, state, goal, targets)
        for seed in range(2):
            result = rewards(world, waiting, goal, targets, "bring_me", 20, profile, seed)
            assert least <= result.before <= 12 * least, template
            assert (result.before == 0) == goal_holds(world, state, goal)
