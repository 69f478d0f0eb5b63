"""The cost-to-go: how far a state is from the goal, by the FF estimate (spec 5.2(4), 6.3).

The estimate is the number of distinct operators of a plan that ignores deletes. Here it is a bit count: of
the union of what each demand of the goal needs (see `layers`). A choice of the goal counts through its
first option that is reached by the layer in which the whole goal is, so that layer is found first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from simulator.handmethat.goals.model import Goal
from simulator.handmethat.planner.demands import Demand, choices_of_goal
from simulator.handmethat.planner.frame import FREE, Frame, Need
from simulator.handmethat.planner.layers import FAR, Layers, Reached
from simulator.handmethat.planner.relevance import Targets
from simulator.handmethat.world import NOTHING, State, World, bit_set, entities

# The cost of a goal that no sequence of actions reaches.
UNREACHABLE: Final = 10**9

FreeChoice = tuple[tuple[Need, ...], ...]


class CostToGo:
    """The estimated number of actions to a goal.

    Args:
        world: the household.
        goal: the goal.
        targets: what the goal is about; plans use nothing else.

    Attributes:
        frame: what stays the same from state to state.
        places: bit set of the movable containers in which something is wanted.
        fixed: demands that leave no choice.
        free: the choices: for each its options, for each of these its demands.
    """

    def __init__(self, world: World, goal: Goal, targets: Targets) -> None:
        choices = choices_of_goal(world, goal)
        demands = tuple(dict.fromkeys(one for choice in choices for option in choice for one in option))
        wanted = (one.place for one in demands if one.place != NOTHING)
        self.places = bit_set(wanted) & world.of("movable")
        self.frame = Frame(world, targets.grounded, entities(self.places))
        needs = {one: self._need(one) for one in demands}
        self.fixed: tuple[Need, ...] = tuple(
            dict.fromkeys(needs[one] for choice in choices if len(choice) == 1 for one in choice[0])
        )
        self.frame.wanted = bit_set(entity for entity, _, _ in self.fixed)
        self.free: tuple[FreeChoice, ...] = tuple(
            tuple(tuple(needs[one] for one in option) for option in choice)
            for choice in choices
            if len(choice) != 1
        )

    def _need(self, demand: Demand) -> Need:
        return demand.entity, self.frame.shift(demand.entity), self.frame.spec(demand)

    def cost(self, state: State) -> int:
        """The estimate for `state`; `UNREACHABLE` if there is no plan. A waiting human counts as working."""
        layers = Layers(self.frame, state)
        top, ops = joined(map(layers.need, self.fixed))
        options = [[joined(map(layers.need, option)) for option in choice] for choice in self.free]
        return total(layers, top, ops, options, state.holding)


def joined(parts: Iterable[Reached]) -> Reached:
    """When all parts are reached, and the operators of all."""
    top = ops = 0
    for layer, bits in parts:
        if layer > top:
            top = layer
        ops |= bits
    return top, ops


def total(layers: Layers, top: int, ops: int, options: Sequence[Sequence[Reached]], held: int) -> int:
    """The length of a plan.

    Args:
        layers: of the state.
        top: when the fixed demands are met, and
        ops: the operators for them.
        options: those of each choice.
        held: what is in the hand.
    """
    for choice in options:
        top = max(top, first_layer(choice))
    if top >= FAR:
        return UNREACHABLE
    for choice in options:
        ops |= next(bits for layer, bits in choice if layer <= top)
    length = ops.bit_count()
    return length - 1 + layers.freed(ops, held) if ops & FREE else length


def first_layer(choice: Iterable[Reached]) -> int:
    """When the first of the options is reached."""
    return min((layer for layer, _ in choice), default=FAR)
