"""The FF heuristic as published: a layered delete-relaxed graph and a relaxed plan (spec 5.2(4)).

The published extraction goes through the layers from the top. In each it takes the operators in order, picks
those that add a fact still needed there, and assigns their needs to the layers where these first appear. So
a needed fact is always added by its first achiever in that order, and a later operator is
picked only if it is the first achiever of another fact. The plan is thus the set of first achievers that the
goal needs, directly or indirectly, and no second pass over the layers is necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from operator import and_
from random import Random
from typing import Final, NamedTuple

from simulator.handmethat.goals.model import Demand, Subgoal, choices_of
from simulator.handmethat.planner.grounding import Facts, Grounding, Operator
from simulator.handmethat.world import NOTHING

# The estimate if the goal cannot be reached.
UNREACHABLE: Final = 10**9


class FactGoal(NamedTuple):
    """A goal in facts: all of `facts`, and a member of each of `choices`; an empty one never holds."""

    facts: Facts
    choices: tuple[tuple[FactGoal, ...], ...] = ()

    def holds(self, facts: Facts) -> bool:
        """Return True if `facts` meet the goal."""
        if self.facts & facts != self.facts:
            return False
        return all(any(member.holds(facts) for member in choice) for choice in self.choices)

    def first_met(self, facts: Facts) -> Facts:
        """Return the facts that meet the goal, using the first member of each disjunction that holds."""
        met = self.facts
        for choice in self.choices:
            met |= next(member.first_met(facts) for member in choice if member.holds(facts))
        return met

    def shuffled(self, random: Random) -> FactGoal:
        """Return the same goal with the members of every disjunction in random order."""
        choices = []
        for choice in self.choices:
            members = [member.shuffled(random) for member in choice]
            random.shuffle(members)
            choices.append(tuple(members))
        return FactGoal(self.facts, tuple(choices))

    def mentioned(self) -> Facts:
        """Return every fact that occurs in the goal."""
        facts = self.facts
        for member in chain.from_iterable(self.choices):
            facts |= member.mentioned()
        return facts


NEVER: Final = FactGoal(0, ((),))


# Operators that add the same facts: these facts, the common needs, and (needs, number) of each, in order.
_Group = tuple[Facts, Facts, list[tuple[Facts, int]]]


class RelaxedGraph:
    """The delete relaxation of some operators; their order breaks ties."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = tuple(operators)
        by_adds: dict[Facts, list[tuple[Facts, int]]] = {}
        for number, operator in enumerate(self.operators):
            by_adds.setdefault(operator.adds, []).append((operator.needs, number))
        self._groups: list[_Group] = [
            (adds, reduce(and_, (needs for needs, _ in ways)), ways) for adds, ways in by_adds.items()
        ]
        # A fact -> the groups that add it.
        self._adding: dict[Facts, list[_Group]] = {}

    def estimate(self, facts: Facts, goal: FactGoal) -> int:
        """Return the length of the relaxed plan; `UNREACHABLE` if there is no such plan."""
        plan = self.plan(facts, goal)
        return UNREACHABLE if plan is None else len(plan)

    def reachable(self, facts: Facts) -> Facts:
        """Return all facts that can be reached in the relaxation."""
        return self._layers(facts, NEVER)[-1]

    def plan(self, facts: Facts, goal: FactGoal) -> tuple[Operator, ...] | None:
        """Return the relaxed plan, in the order of the operators; None if the goal cannot be reached."""
        layers = self._layers(facts, goal)
        if not goal.holds(layers[-1]):
            return None
        operators, picked = self.operators, set[int]()
        done, todo = facts, goal.first_met(layers[-1]) & ~facts
        while todo:
            fact = todo & -todo
            number = self._achiever(fact, layers)
            picked.add(number)
            done |= fact
            todo = (todo | operators[number].needs) & ~done
        return tuple(operators[number] for number in sorted(picked))

    def _layers(self, facts: Facts, goal: FactGoal) -> list[Facts]:
        """Return the facts of each layer up to the first in which `goal` holds (else up to the last).

        Operators that add the same facts are tested together: one that applies is enough.
        """
        reached, pending = facts, self._groups
        layers = [reached]
        while not goal.holds(reached):
            new, waiting = reached, []
            for group in pending:
                adds, common, ways = group
                if adds & reached == adds:
                    continue
                if common & reached == common:
                    for needs, _ in ways:
                        if needs & reached == needs:
                            new |= adds
                            break
                    else:
                        waiting.append(group)
                else:
                    waiting.append(group)
            if new == reached:
                break
            reached, pending = new, waiting
            layers.append(reached)
        return layers

    def _achiever(self, fact: Facts, layers: Sequence[Facts]) -> int:
        """Return the first operator that adds `fact` in the earliest possible layer."""
        groups = self._adding.get(fact)
        if groups is None:
            groups = self._adding[fact] = [group for group in self._groups if group[0] & fact]
        before = layers[next(i for i, reached in enumerate(layers) if reached & fact) - 1]
        first = len(self.operators)
        for _, common, ways in groups:
            if common & before == common:
                for needs, number in ways:
                    if number >= first:
                        break
                    if needs & before == needs:
                        first = number
                        break
        return first


def ground_goal(grounding: Grounding, subgoals: Sequence[Subgoal]) -> FactGoal:
    """Return the conjunction of `subgoals` in terms of facts (spec 4.1).

    Raises:
        ValueError: if a subgoal concerns an entity that is not grounded.
    """
    return _all_of([_ground_subgoal(grounding, subgoal) for subgoal in subgoals])


def _ground_subgoal(grounding: Grounding, subgoal: Subgoal) -> FactGoal:
    return _all_of(
        [
            _one_of(
                [
                    _all_of([_ground_demand(grounding, subgoal, alternative) for alternative in option])
                    for option in choice
                ]
            )
            for choice in choices_of(grounding.world, subgoal)
        ]
    )


def _ground_demand(grounding: Grounding, subgoal: Subgoal, demand: Demand) -> FactGoal:
    world, atoms, (entity, place, states, _, _) = grounding.world, grounding.atoms, demand
    facts = 0
    if place != NOTHING:
        if world.kinds[place].relation != subgoal.relation or entity == place:
            return NEVER
        _check_grounded(grounding, entity, place)
        facts |= atoms["in", entity, place]
    _check_grounded(grounding, entity)
    for name, value in states:
        if name in world.kinds[entity].states:
            facts |= atoms[name if value else f"not {name}", entity]
        elif value:
            return NEVER
    return FactGoal(facts)


def _check_grounded(grounding: Grounding, *entities: int) -> None:
    for entity in entities:
        if not grounding.relevant >> entity & 1:
            name = grounding.world.name(entity)
            raise ValueError(f"The goal concerns {name}, which is not among its targets.")


def _all_of(parts: Sequence[FactGoal]) -> FactGoal:
    facts = 0
    for part in parts:
        facts |= part.facts
    return FactGoal(facts, tuple(choice for part in parts for choice in part.choices))


def _one_of(parts: Sequence[FactGoal]) -> FactGoal:
    possible = tuple(part for part in parts if () not in part.choices)
    return possible[0] if len(possible) == 1 else FactGoal(0, (possible,))
