"""What a search need not look at: operators that lead nowhere, and states that only exchange like things.

`needed_operators` keeps a shortest plan; `Symmetry` keeps the length of every plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulator.handmethat.planner.grounding import Facts, Grounding, Operator
from simulator.handmethat.planner.relaxed import RelaxedGraph, Target
from simulator.handmethat.world import entities

# How a goal reads when the order of its parts does not matter.
_Form = tuple[Facts, frozenset[frozenset["_Form"]]]


def needed_operators(grounding: Grounding, start: Facts, goal: Target) -> tuple[Operator, ...]:
    """Return operators among which there is a shortest plan, if there is a plan.

    A free hand is not worth picking something up: whoever picks up a thing of no use and lays it elsewhere
    has a shorter plan without these two actions. So only what is held at first is laid down for the hand's
    sake. Nor is an operator needed if another needs less, deletes less and adds all of it that is of use.
    """
    atoms = grounding.atoms
    hand, held = atoms[("hand-empty",)], _held(grounding) & start
    possible = _possible(grounding.operators, start)
    of_use = goal.mentioned()
    chosen: set[int] = set()
    grown = True
    while grown:
        grown = False
        for number, operator in enumerate(possible):
            worth = operator.adds & of_use or (operator.adds & hand and operator.needs & held)
            if number in chosen or not worth:
                continue
            if _is_outdone(operator, possible, of_use | hand):
                continue
            chosen.add(number)
            of_use |= operator.needs & ~hand
            grown = True
    return tuple(possible[number] for number in sorted(chosen))


class Symmetry:
    """States that differ only in which of several like things is where count as one.

    Like are things of one type, receptacles apart, whose exchange leaves the goal as it is.
    """

    def __init__(self, grounding: Grounding, goal: Target) -> None:
        form = _form(goal)
        by_type: dict[str, list[tuple[Facts, list[int]]]] = {}
        for entity, (first, mask) in _blocks(grounding).items():
            kind = grounding.world.kinds[entity]
            if not kind.receptacle:
                classes = by_type.setdefault(kind.name, [])
                like = (firsts for _, firsts in classes if _form(goal, mask, firsts[0], first) == form)
                if (firsts := next(like, None)) is not None:
                    firsts.append(first)
                else:
                    classes.append((mask, [first]))
        self._classes = [
            members for classes in by_type.values() for members in classes if len(members[1]) > 1
        ]

    def canonical(self, facts: Facts) -> Facts:
        """Return the same number for all states that differ by an exchange of like things."""
        for mask, firsts in self._classes:
            own = [facts >> first & mask for first in firsts]
            in_order = sorted(own)
            if own != in_order:
                for first, was, becomes in zip(firsts, own, in_order, strict=True):
                    facts ^= (was ^ becomes) << first
        return facts


def _possible(operators: Sequence[Operator], start: Facts) -> list[Operator]:
    reachable = RelaxedGraph(operators).reachable(start)
    return [operator for operator in operators if operator.needs & reachable == operator.needs]


def _held(grounding: Grounding) -> Facts:
    return sum(bit for atom, bit in grounding.atoms.items() if atom[0] == "holding")


def _is_outdone(operator: Operator, by: Iterable[Operator], of_use: Facts) -> bool:
    """Return True if another operator does as well; tried only if some of what it adds is of no use."""
    if not operator.adds & ~of_use:
        return False
    useful = operator.adds & of_use
    return any(
        other.needs & operator.needs == other.needs
        and useful & other.adds == useful
        and not other.deletes & ~operator.deletes & of_use
        and other.needs != operator.needs
        for other in by
    )


def _blocks(grounding: Grounding) -> dict[int, tuple[int, Facts]]:
    """Return where the facts of each movable thing begin, and as many ones as it has."""
    firsts: dict[int, tuple[int, Facts]] = {}
    movable = grounding.relevant & grounding.world.of("movable")
    own: dict[int, list[int]] = {entity: [] for entity in entities(movable)}
    for atom, bit in grounding.atoms.items():
        if len(atom) > 1 and isinstance(atom[1], int) and atom[1] in own:
            own[atom[1]].append(bit.bit_length() - 1)
    for entity, numbers in own.items():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        firsts[entity] = (numbers[0], (1 << len(numbers)) - 1)
    return firsts


def _form(goal: Target, mask: Facts = 0, one: int = 0, other: int = 0) -> _Form:
    """Return the goal without order, the facts of two things exchanged."""
    facts = goal.facts
    difference = (facts >> one ^ facts >> other) & mask
    facts ^= difference << one | difference << other
    return facts, frozenset(
        frozenset(_form(member, mask, one, other) for member in choice) for choice in goal.choices
    )
