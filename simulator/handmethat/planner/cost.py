"""The cost-to-go: how far a state is from the goal, by the FF estimate (spec 5.2(4), 6.3).

The estimate is the number of distinct operators of a plan that ignores deletes. Here it is a bit count: of
the union of what each demand of the goal needs (see `layers`). A choice of the goal counts through its
first option that is reached by the layer in which the whole goal is, so that layer is found first.

`Around` weighs many states that differ from one state in a single thing. Most things are plain: where they
lie and how they are concerns nobody else. What everybody else needs is then the same in all those states and
is added up once, for each thing without that thing. A tool, and a container that something is in or wanted
in, concerns others, so these states are weighed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from simulator.handmethat.goals.model import Goal
from simulator.handmethat.planner.demands import Demand, choices_of_goal
from simulator.handmethat.planner.frame import FREE, Frame, Need
from simulator.handmethat.planner.layers import FAR, Layers, Reached
from simulator.handmethat.planner.relevance import Targets
from simulator.handmethat.world import NOTHING, BitSet, State, World, bit_set, entities

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
        wanted = (demand.place for demand in demands if demand.place != NOTHING)
        self.places = bit_set(wanted) & world.of("movable")
        self.frame = Frame(world, targets.grounded, entities(self.places))
        needs = {demand: self._need(demand) for demand in demands}
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
    """Return when all parts are reached, and the operators of all."""
    top = ops = 0
    for layer, bits in parts:
        if layer > top:
            top = layer
        ops |= bits
    return top, ops


def total(layers: Layers, top: int, ops: int, options: Sequence[Sequence[Reached]], held: int) -> int:
    """Return the length of a plan.

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
    """Return when the first of the options is reached."""
    return min((layer for layer, _ in choice), default=FAR)


_NOWHERE: Final = 255


class Around:
    """The estimates of the states around one state in which the hand is free.

    Args:
        costs: of the goal.
        state: the state.
        full: whether in those states the hand is full (of whatever they differ in).
    """

    def __init__(self, costs: CostToGo, state: State, full: bool = False) -> None:
        self._costs = costs
        self._state = state
        self._layers = layers = Layers(costs.frame, state, full)
        self._fixed: dict[int, list[Need]] = {}
        for need in costs.fixed:
            self._fixed.setdefault(need[0], []).append(need)
        parts = [joined(map(layers.need, needs)) for needs in self._fixed.values()]
        self._all, without = _without_each(parts)
        self._without = dict(zip(self._fixed, without, strict=True))
        self._choices = [[joined(map(layers.need, option)) for option in choice] for choice in costs.free]
        self._firsts = [first_layer(choice) for choice in self._choices]
        self._chosen: list[dict[int, int]] = [{} for _ in self._choices]
        self._touched: dict[int, list[int]] = {}
        self._rest: dict[tuple[int, int], list[tuple[int, int, list[Need]]]] = {}
        for i, choice in enumerate(costs.free):
            for entity in dict.fromkeys(need[0] for option in choice for need in option):
                self._touched.setdefault(entity, []).append(i)
        self._shared = self._shared_entities()

    def _shared_entities(self) -> BitSet:
        """Locations, tools, wanted containers, and containers of tools and of what the goal is about."""
        frame, place = self._costs.frame, self._state.place
        containers = {place[one] for one in (*self._fixed, *self._touched, *entities(frame.tools))}
        return frame.locations | frame.tools | self._costs.places | bit_set(containers - {_NOWHERE})

    @cached_property
    def _unchanged(self) -> int:
        """The estimate where the difference concerns nobody."""
        return total(self._layers, *self._all, self._choices, NOTHING)

    def _concerns_nobody(self, entity: int) -> bool:
        return entity not in self._fixed and entity not in self._touched

    def placed(self, entity: int, container: int) -> int:
        """Return the estimate once `entity` lies in `container`."""
        if self._shared >> entity & 1:
            return self._costs.cost(self._state.with_place(entity, container))
        if self._concerns_nobody(entity):
            return self._unchanged
        return self._differs(entity, container, self._state, self._state.holding)

    def held(self, entity: int) -> int:
        """Return the estimate once `entity` is in the hand (`full`)."""
        if self._shared >> entity & 1:
            return self._costs.cost(self._state.with_place(entity, NOTHING)._replace(holding=entity))
        if self._concerns_nobody(entity):
            return self._unchanged
        return self._differs(entity, _NOWHERE, self._state, entity)

    def changed(self, entity: int, after: State) -> int:
        """Return the estimate of `after`, where other states are true of `entity`."""
        if self._shared >> entity & 1:
            return self._costs.cost(after)
        if self._concerns_nobody(entity):
            return self._unchanged
        return self._differs(entity, after.place[entity], after, after.holding)

    def _differs(self, entity: int, container: int, after: State, held: int) -> int:
        found, without = self._layers.found, self._without.get(entity)
        if without is None:
            top, ops = self._all
        else:
            top, ops = without
            for _, shift, spec in self._fixed[entity]:
                layer, others, own = found(spec, container, spec.met(after, entity) if spec.states else 0)
                ops |= others | own << shift
                if layer > top:
                    top = layer
        touched = self._touched.get(entity, ())
        if not self._choices:
            return total(self._layers, top, ops, (), held)
        changed = [self._options(i, entity, container, after) for i in touched]
        for i, first in enumerate(self._firsts):
            if first > top and i not in touched:
                top = first
        if top < FAR:
            top = max(top, *map(first_layer, changed)) if changed else top
            for i in range(len(self._choices)):
                if i not in touched:
                    ops |= self._choice(i, top)
        return total(self._layers, top, ops, changed, held)

    def _choice(self, i: int, top: int) -> int:
        """Return the operators of the first option of choice `i` that is reached in layer `top`."""
        ops = self._chosen[i].get(top)
        if ops is None:
            ops = next((bits for layer, bits in self._choices[i] if layer <= top), 0)
            self._chosen[i][top] = ops
        return ops

    def _options(self, i: int, entity: int, container: int, after: State) -> list[Reached]:
        """Return the options of choice `i` where `entity` differs."""
        rest = self._rest.get((i, entity))
        if rest is None:
            rest = self._rest[i, entity] = [
                (
                    *joined(self._layers.need(need) for need in option if need[0] != entity),
                    [need for need in option if need[0] == entity],
                )
                for option in self._costs.free[i]
            ]
        reached = []
        for top, ops, needs in rest:
            for _, shift, spec in needs:
                layer, others, own = self._layers.found(
                    spec, container, spec.met(after, entity) if spec.states else 0
                )
                ops |= others | own << shift
                if layer > top:
                    top = layer
            reached.append((top, ops))
        return reached


def _without_each(parts: Sequence[Reached]) -> tuple[Reached, list[Reached]]:
    """Return all parts together, and for each part all the others together."""
    after = [(0, 0)]
    for layer, ops in reversed(parts):
        top, bits = after[-1]
        after.append((max(top, layer), bits | ops))
    after.reverse()
    without, before = [], (0, 0)
    for (layer, ops), (later, more) in zip(parts, after[1:], strict=True):
        without.append((max(before[0], later), before[1] | more))
        before = max(before[0], layer), before[1] | ops
    return before, without
