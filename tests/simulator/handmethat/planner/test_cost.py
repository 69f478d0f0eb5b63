"""The cost-to-go: by hand, and against a relaxed plan that is really searched."""

from __future__ import annotations

from random import Random

import pytest

from simulator.handmethat.goals.model import Goal, Subgoal
from simulator.handmethat.planner import frame as operators
from simulator.handmethat.planner.cost import UNREACHABLE, Around, CostToGo, first_layer, joined
from simulator.handmethat.planner.grounding import ground
from simulator.handmethat.planner.layers import Layers
from simulator.handmethat.planner.plan import plan_goal, states_along
from simulator.handmethat.planner.relaxed import RelaxedGraph, wanted
from simulator.handmethat.planner.relevance import find_targets
from simulator.handmethat.planner.rewards import groundings, landed
from simulator.handmethat.world import NOTHING


def lying(form, x, y, relation="ontop", of_x=(), of_y=()):
    return Subgoal(form=form, x=x, y=y, relation=relation, of_x=of_x, of_y=of_y)


def cost(world, state, *subgoals):
    goal = Goal(subgoals)
    return CostToGo(world, goal, find_targets(world, state, goal, False)).cost(state)


def standing(world, state, where):
    return state._replace(at=world.index[where])


def holding(world, state, name):
    entity = world.index[name]
    return state.with_place(entity, NOTHING)._replace(holding=entity)


def opened(world, state, name):
    return state._replace(open=state.open | 1 << world.index[name])


def test_fetching_counts_ways_lids_and_hands(household):
    world, state = household({"apple#0": "cabinet", "apple#1": "cabinet"})
    cold = lying("ALL", "apple", "refrigerator", "inside")
    # Twice: pick, put. Once: to the cabinet, open it, to the refrigerator, open it.
    assert cost(world, state, cold) == 8
    assert cost(world, standing(world, state, "cabinet"), cold) == 7
    assert cost(world, opened(world, state, "cabinet"), cold) == 7
    done = state.with_place(world.index["apple#0"], world.index["refrigerator"])
    assert cost(world, done, cold) == 6
    assert cost(world, done.with_place(world.index["apple#1"], world.index["refrigerator"]), cold) == 0


def test_a_full_hand_is_freed_once_where_that_is_soonest(household):
    world, state = household({"apple#0": "table", "apple#1": "table"})
    cold = lying("ALL", "apple", "refrigerator", "inside")
    held = holding(world, state, "apple#0")
    # Put, refrigerator, open; pick, table, put; and lay the first apple on the floor meanwhile.
    assert cost(world, held, cold) == 7
    # At the open refrigerator the first put is where it is wanted anyway.
    there = opened(world, standing(world, held, "refrigerator"), "refrigerator")
    assert cost(world, there, cold) == 4
    # Before the shut one as well: nowhere can it be laid down sooner.
    assert cost(world, standing(world, held, "refrigerator"), cold) == 5
    # In the hand of somebody at the bathtub it is in the way: the same, the move, and lay it down there.
    assert cost(world, standing(world, held, "bathtub"), cold) == 7


def test_what_lies_in_a_movable_container_needs_its_lid_too(household):
    world, state = household({"package#0": "cabinet", "hat#0": "package#0"})
    aim = lying("ALL", "hat", "bed")
    assert cost(world, state, aim) == 6
    assert cost(world, opened(world, state, "package#0"), aim) == 5
    carried = holding(world, state, "package#0")
    # The package has to be laid down first: on the floor; then open, pick, bed, put.
    assert cost(world, carried, aim) == 5


def test_cleaning_slicing_heating_cooling_soaking_switching(household):
    world, state = household(
        {
            "plate#0": "table",
            "dishtowel#0": "cabinet",
            "apple#0": "refrigerator",
            "knife#0": "countertop",
            "beef#0": "table",
            "printer#0": "table",
            "package#0": "bed",
        },
        dusty=["plate#0"],
        open=["package#0"],
    )
    be = [
        ("plate#0", "dusty", False, 9),  # cabinet, open, pick, sink, put, on, soak; table, clean
        (
            "apple#0",
            "sliced",
            True,
            7,
        ),  # refrigerator, open, pick, put it on any surface; countertop, pick; slice
        ("beef#0", "cooked", True, 6),  # table, pick, stove, put, on, heat
        ("beef#0", "frozen", True, 6),  # table, pick, refrigerator, open, put, cool: it is on already
        ("printer#0", "toggled", True, 2),
        ("package#0", "open", False, 2),
    ]
    for name, state_name, value, expected in be:
        aim = Subgoal(form="BE", x=name, of_x=((state_name, value),))
        assert cost(world, state, aim) == expected, name
    # The towel is soaked anyway. (That alone brings no sink into play.)
    clean, soaked = (
        Subgoal(form="BE", x="plate#0", of_x=(("dusty", False),)),
        Subgoal(form="BE", x="dishtowel#0", of_x=(("soaked", True),)),
    )
    assert cost(world, state, clean, soaked) == 9
    assert cost(world, state, soaked) == UNREACHABLE


def test_a_choice_counts_through_the_first_option_within_the_layers_of_the_goal(household):
    world, state = household({"apple#0": "cabinet", "apple#1": "floor", "banana#0": "dishwasher"})
    some = lying("SOME", "apple", "table")
    # The near apple is reached first: pick, table, put.
    assert cost(world, state, some) == 3
    # With more to do the far apple, which is the first by name, is reached as well: two more operators.
    cold = lying("ALL", "banana", "refrigerator", "inside")
    assert cost(world, state, cold) == 6
    assert cost(world, state, some, cold) == 6 + 5


def test_all_same_and_all_any(household):
    world, state = household({"apple#0": "table", "apple#1": "table", "box#0": "bed", "box#1": "bed"})
    apple, boxes = world.index["apple#0"], ("box#0", "box#1")
    first, second = (opened(world, state.with_place(apple, world.index[box]), box) for box in boxes)
    for form in ("ALL-SAME", "ALL-ANY"):
        aim = lying(form, "apple", "box", "inside")
        # Both: pick, put; table, bed, open the first box.
        assert cost(world, state, aim) == 7
        # One lies in the first box, which is open.
        assert cost(world, first, aim) == 4
        # It lies in the second; but by the layer in which the other does, both do in the first: that counts.
        assert cost(world, second, aim) == 7


def test_what_no_action_brings_about_is_unreachable(household):
    world, state = household({"apple#0": "table", "plate#0": "table", "mug#0": "bed"}, sliced=["apple#0"])
    assert cost(world, state, Subgoal(form="BE", x="apple#0", of_x=(("sliced", False),))) == UNREACHABLE
    assert cost(world, state, Subgoal(form="BE", x="plate#0", of_x=(("dusty", True),))) == UNREACHABLE
    assert cost(world, state, lying("ALL", "apple", "table", "inside")) == UNREACHABLE
    whole = state._replace(sliced=0)
    assert cost(world, whole, Subgoal(form="BE", x="apple#0", of_x=(("sliced", True),))) == UNREACHABLE
    assert cost(world, state, lying("ALL", "plate", "mug#0", "inside")) == UNREACHABLE


@pytest.mark.each("template", range(69))
def test_the_estimate_is_the_length_of_a_relaxed_plan(sampled, template):
    """Among equally early operators the graph takes the first: ours, if they come first, and no others."""
    world, state, goal, targets = sampled(template, seed=1)
    costs, grounding = CostToGo(world, goal, targets), ground(world, targets.grounded)
    aim = wanted(grounding, goal.subgoals)
    graph = RelaxedGraph(grounding.operators)
    for one in _on_the_way(world, state, goal, targets, Random(template)):
        ours, literal = costs.cost(one), graph.estimate(grounding.encode(one), aim)
        assert ours <= literal
        if ours != literal:
            preferred = _preferring_ours(costs, grounding, one)
            assert RelaxedGraph(preferred).estimate(grounding.encode(one), aim) == ours


def _on_the_way(world, state, goal, targets, random):
    """The first state and one in the midst of a plan, with a free hand."""
    plans = plan_goal(world, state, goal, range(len(goal.subgoals)), targets)
    states = [one for plan in [sum(plans, ())] for one in states_along(state, plan) if one.holding == NOTHING]
    return state, states[int(random.random() * len(states))]


def _preferring_ours(costs, grounding, state):
    """The operators of our relaxed plan, as far as they follow from each other, and then the others."""
    layers = Layers(costs.frame, state)
    top, ops = joined(map(layers.need, costs.fixed))
    choices = [[joined(map(layers.need, option)) for option in choice] for choice in costs.free]
    top = max([top, *map(first_layer, choices)])
    for choice in choices:
        ops |= next(bits for layer, bits in choice if layer <= top)
    ours = [
        one for one in grounding.operators if _bit(costs.frame, one.action) & _own(costs, ops, one.action)
    ]
    facts, kept, grown = grounding.encode(state), [], True
    while grown:
        new = [one for one in ours if one not in kept and one.needs & facts == one.needs]
        kept += new
        grown = bool(new)
        for one in new:
            facts |= one.adds
    return [*kept, *(one for one in grounding.operators if one not in kept)]


def _own(costs, ops, action):
    about = action.args[1] if action.name in ("human-move", "human-clean-location") else action.args[0]
    return costs.frame.own(ops, about)


def _bit(frame, action):
    name = action.name.removeprefix("human-")
    if name.startswith("put"):
        return frame.put.get(action.args[1], 0)
    if name.startswith("heat"):
        return operators.HEAT << frame.heaters.index(action.args[1])
    if name.startswith("toggle"):
        return operators.TOGGLE_ON if name.startswith("toggle-on") else operators.TOGGLE_OFF
    return getattr(operators, name.split("-")[0].upper())


@pytest.mark.each("template", [1, 6, 17, 22, 24, 28, 35, 48, 50, 51])
def test_neighbours_cost_what_they_cost_alone(sampled, template):
    world, state, goal, targets = sampled(template, seed=2, distractors=True)
    state = state._replace(waiting=True)
    costs = CostToGo(world, goal, targets)
    around, full = Around(costs, state), Around(costs, state, full=True)
    for quest in ("bring_me", "move_to", "change_state"):
        for grounding in groundings(world, state, quest, targets.movable, targets.position):
            entity, argument = grounding
            after = landed(world, state, grounding)
            if quest == "bring_me":
                value = full.held(entity)
            elif quest == "move_to":
                value = around.placed(entity, world.index[argument])
            else:
                value = around.changed(entity, after)
            assert value == costs.cost(after), (world.names[entity], argument)
