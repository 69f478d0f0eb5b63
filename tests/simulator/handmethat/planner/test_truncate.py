"""The human's stop by each rule, and the subgoal that the request serves."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from simulator.handmethat.actions import Action
from simulator.handmethat.generation.generate import choose_stop, remaining, served_subgoal
from simulator.handmethat.goals.model import Goal, Subgoal, find_targets
from simulator.handmethat.planner.plan import plan_goal, states_along
from simulator.handmethat.world import NOTHING, State

ALL = Subgoal(form="ALL", x="apple", y="bed", relation="ontop")
SOME_APPLE = Subgoal(form="SOME", x="apple", y="bed", relation="ontop")


def story(hands, *parts):
    """States with a free (``-``) or a full (``o``) hand, and plans of some lengths between them."""
    states = [State(at=0, holding=NOTHING if hand == "-" else 7, place=b"") for hand in hands]
    assert len(states) == sum(parts) + 1
    return [(Action("human-move", (0, 1)),) * length for length in parts], states


def stops(hands, parts, subgoals, rule, least_shown=0):
    plans, states = story(hands, *parts)
    return Counter(
        choose_stop(plans, subgoals, states, rule, Random(seed), least_shown) for seed in range(200)
    )


def test_v1_stops_with_a_free_hand_in_the_later_half():
    # n = 12: the earliest moment is drawn from 4 to 7.
    assert set(stops("-" * 13, [12], [ALL], "v1")) == {4, 5, 6, 7}
    assert set(stops("-----oo-ooo--", [12], [ALL], "v1")) == {4, 7}
    # The hand is free again too late, one action before the end or at the end.
    assert set(stops("-ooooooooo-o-", [12], [ALL], "v1")) == {10}
    assert set(stops("-oooooooooo--", [12], [ALL], "v1")) == {None}


@pytest.mark.each(("length", "expected"), [(2, {0}), (4, {0}), (5, {0}), (6, {1}), (7, {1, 2})])
def test_v1_shows_nothing_of_a_short_plan(length, expected):
    assert set(stops("-" * (length + 1), [length], [ALL], "v1")) == expected


def test_one_action_left_is_too_little():
    assert set(stops("--", [1], [ALL], "v1")) == {None}


def test_v2_does_not_stop_where_a_universal_subgoal_begins():
    # n = 8: from 2 to 3; the second plan begins at 3.
    assert set(stops("-" * 9, [3, 5], [SOME_APPLE, ALL], "v1")) == {2, 3}
    assert set(stops("-" * 9, [3, 5], [SOME_APPLE, SOME_APPLE], "v2", 3)) == {None, 3}
    assert set(stops("-" * 9, [3, 5], [SOME_APPLE, ALL], "v2", 3)) == {None, 4}
    assert set(stops("---" + "-oo" + "---", [3, 5], [SOME_APPLE, ALL], "v2", 3)) == {None, 6}
    # A plan of no actions begins nowhere.
    assert set(stops("-" * 9, [3, 0, 5], [SOME_APPLE, ALL, SOME_APPLE], "v2", 3)) == {None, 3}


def test_a_rule_may_require_some_shown_actions():
    assert set(stops("-" * 8, [7], [SOME_APPLE], "v2", least_shown=3)) == {None}
    assert set(stops("-" * 8, [7], [SOME_APPLE], "v2", least_shown=2)) == {None, 2}
    assert set(stops("-" * 8, [7], [SOME_APPLE], "v2", least_shown=0)) == {1, 2}


def test_uniform_stops_anywhere_with_a_free_hand():
    counts = stops("-o-o--", [5], [ALL], "uniform")
    assert set(counts) == {0, 2}
    assert min(counts.values()) > 60
    assert set(stops("-o-o--", [5], [ALL], "uniform", least_shown=1)) == {2}
    assert set(stops("oo-", [2], [ALL], "uniform")) == {None}


def test_remaining_actions_of_each_plan():
    plans, _ = story("-" * 11, 3, 0, 5, 2)
    assert remaining(plans, 0) == (3, 0, 5, 2)
    assert remaining(plans, 2) == (1, 0, 5, 2)
    assert remaining(plans, 4) == (0, 0, 4, 2)
    assert remaining(plans, 10) == (0, 0, 0, 0)


@pytest.fixture
def dinner(household):
    world, state = household({"apple#0": "table", "pop#0": "cabinet", "pop#1": "cabinet", "hat#0": "bed"})
    goal = Goal(
        (
            Subgoal(form="ALL", x="apple", y="refrigerator", relation="inside"),
            Subgoal(form="ALL", x="pop", y="refrigerator", relation="inside"),
        )
    )
    targets = find_targets(world, state, goal, True)
    plans = plan_goal(world, state, goal, (1, 0), targets)
    return world, state, goal, targets, plans


def served(dinner, stop, *meant):
    world, state, goal, targets, plans = dinner
    current = states_along(state, sum(plans, ()))[stop]._replace(waiting=True)
    named = [(world.index[name], argument) for name, argument in meant]
    return served_subgoal(world, current, goal, targets, plans, (1, 0), stop, named)


def test_help_serves_the_subgoal_that_it_shortens_most(dinner):
    plans = dinner[-1]
    # Cabinet, open, pick, refrigerator, open, put; cabinet, pick, refrigerator, put; table, pick, back, put.
    assert [len(plan) for plan in plans] == [10, 4]
    assert served(dinner, 0, ("pop#1", None)) == 1
    assert served(dinner, 6, ("pop#1", None)) == 1
    assert served(dinner, 6, ("apple#0", None)) == 0
    assert served(dinner, 6, ("apple#0", "refrigerator")) == 0
    # The first grounding of the meaning decides.
    assert served(dinner, 6, ("apple#0", None), ("pop#1", None)) == 0


def test_help_that_shortens_nothing_serves_nothing(dinner):
    assert served(dinner, 6, ("pop#0", "refrigerator")) is None
    assert served(dinner, 6, ("hat#0", None)) is None
    assert served(dinner, 6, ("apple#0", "table")) is None
    assert served(dinner, 6, ("apple#0", "slice")) is None
    assert served(dinner, 6) is None
