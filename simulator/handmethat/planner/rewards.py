"""Rewards of help: the reward of each grounding of a quest, and the useful groundings A(G) (spec 6.3).

A grounding stands for an abstract action of the robot that does all of the requested help in one step. Its
reward is the negative cost-to-go afterwards. Only groundings of the goal's `Targets` are evaluated: any other
does not affect the goal, so its reward is the negative length of the rest of the human's plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any, Final, NamedTuple

from simulator.handmethat.actions import domain
from simulator.handmethat.goals.model import Goal, Targets, goal_holds
from simulator.handmethat.hierarchy import STATES
from simulator.handmethat.meanings.model import VERBS, Grounding, Quest, changeable
from simulator.handmethat.planner.aims import ReplayableRandom, aims_for, states_that_matter
from simulator.handmethat.planner.exact import ExactSearch
from simulator.handmethat.planner.grounding import ground
from simulator.handmethat.planner.plan import best_order, draw_orders
from simulator.handmethat.planner.relaxed import UNREACHABLE, RelaxedGraph, ground_goal
from simulator.handmethat.planner.walk import Walk
from simulator.handmethat.profiles import Costs, Profile
from simulator.handmethat.world import NOTHING, BitSet, State, World, bit_set, entities
from simulator.seeds import derive_seed

_BRING: Final = "robot-move-obj-to-human"
_PLACE: Final = {"inside": "robot-move-obj-from-rec-into-rec", "ontop": "robot-move-obj-from-rec-onto-rec"}
_CHANGES: Final[Mapping[str, str]] = {
    schema.argument: schema.name for schema in domain("teleport").values() if schema.serves == "change_state"
}


def groundings(
    world: World, state: State, quest: Quest, things: BitSet, places: tuple[int, ...]
) -> Iterator[Grounding]:
    """Yield the possible requests to the robot, by thing in the order of creation."""
    if quest == "change_state":
        bits = {verb: changeable(world, verb) for verb in VERBS}
        bits["toggle"] &= ~state.toggled
        yield from (
            (entity, verb) for entity in entities(things) for verb, able in bits.items() if able >> entity & 1
        )
        return
    placed = (
        entity
        for entity in entities(things & world.find_all("movable"))
        if state.container(entity) != NOTHING
    )
    if quest == "bring_me":
        yield from ((entity, None) for entity in placed)
        return
    movable, nesting = world.find_all("movable"), world.find_all("receptacle")
    names = [(place, world.names[place], movable >> place & 1) for place in places]
    for thing in placed:
        nests = nesting >> thing & 1
        yield from ((thing, name) for place, name, inner in names if not (inner and nests) and place != thing)


def state_after_grounding(world: World, state: State, grounding: Grounding) -> State | None:
    """Return the state after the robot has carried out a grounding; None if the request is impossible."""
    entity, argument = grounding
    args: tuple[int, ...] = (entity, state.container(entity))
    if argument is None:
        name = _BRING
    elif argument in _CHANGES:
        name, args = _CHANGES[argument], (entity,)
    else:
        place = world.entity(argument)
        name, args = _PLACE[world.relation(place)], (*args, place)
    schema = domain("teleport")[name]
    if NOTHING in args or not schema.applicable(world, state, args):
        return None
    return schema.apply(state, args)


# The reward if the estimate is 0 although the goal does not hold.
_DECEPTIVE: Final = -1000.0
# Orders of the subgoals that are tried for the length of a plan.
_ORDERS: Final = 4
# States that one exact search may expand; low, to detect goals that are too large early.
_EXACT_LIMIT: Final = 300


class Rewards(NamedTuple):
    """The rewards of help: R by grounding and A(G), in the order of creation; h0, the cost without help."""

    values: Mapping[Grounding, float]
    useful: tuple[Grounding, ...]
    before: int = 0


def rewards(
    world: World,
    state: State,
    goal: Goal,
    targets: Targets,
    quest: Quest,
    rest: int,
    profile: Profile,
    seed: int = 0,
) -> Rewards:
    """Return the reward of every grounding of `quest` in `state`, when the human waits with an empty hand.

    `rest`: number of actions left in the human's plan. `profile`: how costs are computed and what counts as
    useful (spec 12.1 nos. 7, 9, 10, 12.2 B4, B5). `seed`: seed of the episode; breaks ties of estimates.

    Raises:
        SearchLimitError: with costs by search, if the goal is too large for an exact search.
    """
    cost = _COSTS[profile.costs](world, goal, targets, seed)
    bonus = profile.bring_bonus if quest == "bring_me" else 0
    before, without_effect = cost(state._replace(waiting=False)), -float(rest)
    targeted = _targeted_things(world, targets, profile)
    others = targets.grounded & world.find_all("movable") if profile.untargeted_may_help else 0
    values: dict[Grounding, float] = {}
    useful = []
    for grounding in groundings(world, state, quest, targeted | others, targets.position):
        if not targeted >> grounding[0] & 1:
            values[grounding] = without_effect
            if -rest > -before:
                useful.append(grounding)
            continue
        helped = state_after_grounding(world, state, grounding)
        assert helped is not None, grounding
        after = cost(helped)
        value = float(bonus - after) if after else 0.0 if goal_holds(world, helped, goal) else _DECEPTIVE
        values[grounding] = value
        if after < before if profile.strict else value > -before:
            useful.append(grounding)
    return Rewards(values, tuple(useful), before)


def _targeted_things(world: World, targets: Targets, profile: Profile) -> BitSet:
    targeted = targets.movable
    if profile.substring_targets:
        names = [world.names[entity] for entity in entities(targeted)]
        hits = (
            entity
            for entity in entities(targets.grounded)
            if any(name in world.names[entity] for name in names)
        )
        targeted |= bit_set(hits) & world.find_all("movable")
    if profile.locations_count:
        targeted |= bit_set(targets.position) & world.find_all("LOCATION")
    return targeted


_Cost = Callable[[State], int]


def _estimates(world: World, goal: Goal, targets: Targets, seed: int) -> _Cost:
    """Return FF estimates as published, with ties broken by a random order of operators."""
    random = Random(derive_seed(seed, "ties"))
    grounding = ground(world, targets.grounded)
    target = ground_goal(grounding, goal.subgoals).shuffled(random)
    operators = list(grounding.operators)
    random.shuffle(operators)
    graph = RelaxedGraph(operators)
    return lambda state: graph.estimate(grounding.encode(state), target)


def _shortest_plan(world: World, goal: Goal, targets: Targets, seed: int) -> _Cost:
    return ExactSearch(world, goal, targets, _EXACT_LIMIT).cost


def _plan_lengths(world: World, goal: Goal, targets: Targets, seed: int) -> _Cost:
    """Return plan lengths, comparable since all use the same orders of the subgoals."""
    aims, random = aims_for(world, goal.subgoals, targets.grounded), ReplayableRandom()
    orders = draw_orders(len(goal.subgoals), _ORDERS, random)
    first, matter = random.drawn, states_that_matter(goal.subgoals)
    # States often differ only in ways that do not influence a plan.
    irrelevant: dict[str, Any] = dict.fromkeys((name for name in STATES if name not in matter), 0)
    # Cached in the household, since different quest types often lead to the same states.
    costs: dict[State, int] = world.memo.setdefault(("costs", goal, targets.grounded), {})

    def cost(state: State) -> int:
        state = state._replace(waiting=False, given=0, **irrelevant)
        if state not in costs:
            random.drawn = first
            best = best_order(Walk(world, state, targets.grounded), aims, orders, random)
            costs[state] = UNREACHABLE if best is None else best[2]
        return costs[state]

    return cost


_COSTS: Final[Mapping[Costs, Callable[[World, Goal, Targets, int], _Cost]]] = {
    "estimate": _estimates,
    "search": _shortest_plan,
    "planner": _plan_lengths,
}
