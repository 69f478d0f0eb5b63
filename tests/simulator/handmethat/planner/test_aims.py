"""Cached trips equal those that would be computed anew."""

from __future__ import annotations

from random import Random

from simulator.handmethat.planner import plan
from simulator.handmethat.planner.aims import Aim, ReplayableRandom
from simulator.handmethat.planner.plan import plan_whole
from simulator.handmethat.planner.rewards import groundings, state_after_grounding


def test_cached_trips_do_not_change_plans(sampled, monkeypatch):
    walked = 0
    shortest = Aim._shortest

    def counted(*args):
        nonlocal walked
        walked += 1
        return shortest(*args)

    monkeypatch.setattr(Aim, "_shortest", counted)
    anew, repeated, different = 0, 0, []
    for template in range(69):
        world, state, goal, targets = sampled(template, seed=7, distractors=bool(template % 2))
        asking = state._replace(waiting=True)
        helps = list(groundings(world, asking, "move_to", targets.movable, targets.position))
        drawn = Random(template).sample(helps, min(6, len(helps)))
        after = [state_after_grounding(world, asking, grounding) for grounding in drawn]
        for there in dict.fromkeys(reached for reached in [state, *after] if reached is not None):
            before = walked
            trip = plan_whole(world, there, goal, targets, ReplayableRandom())
            repeated += walked - before
            # An equal household with an empty cache.
            fresh, before = type(world)(world.names, world.kinds, world.colors, world.sizes), walked
            if trip != plan_whole(fresh, there, goal, targets, ReplayableRandom()):
                different.append((template, there))
            anew += walked - before
    assert not different
    assert repeated < 0.7 * anew


def test_the_case_covers_everything_a_trip_depends_on(sampled):
    """After any moves, opened lids and held things, a subgoal is planned as with an empty cache."""
    different = []
    for template in (2, 5, 8, 15, 25, 34, 45, 51, 58, 67):
        world, state, goal, targets = sampled(template, seed=1)
        random = Random(template)
        openable = world.find_all("openable") & world.find_all("LOCATION")
        for _ in range(20):
            there = state._replace(
                open=state.open ^ (openable & random.getrandbits(len(world))),
                soaked=state.soaked ^ (world.find_all("rag") & random.getrandbits(len(world))),
                at=random.choice([place for place in world.locations if targets.grounded >> place & 1]),
            )
            for number in range(len(goal.subgoals)):
                fresh = type(world)(world.names, world.kinds, world.colors, world.sizes)
                known, anew = (
                    plan.plan_goal(source, there, goal, (number,), targets, Random(0))
                    for source in (world, fresh)
                )
                if known != anew:
                    different.append((template, number, there))
    assert not different
