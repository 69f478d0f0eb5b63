"""Grounding: the human's actions as operators over propositional facts (spec 3.1, 5.1, 5.2).

A fact is one bit of an integer, so a state is one integer and an operator three. Static literals are
evaluated away; negations like ``not open l`` are separate facts (complementary atoms).
Each container has only one relation, so the two disjunctions of the table, ``reach`` and ``unlocked``,
become conjunctions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import itemgetter, or_
from typing import Any, Final, Generic, NamedTuple, TypeVar

from simulator.handmethat.actions import Action, Args, Need, Schema, domain
from simulator.handmethat.hierarchy import CLASSES, STATES, read_table
from simulator.handmethat.world import NOTHING, BitSet, State, World, entities

T = TypeVar("T")
# A bit set of facts.
Facts = int
# The name of a fact: ("at", l), ("holding", o), ("in", o, c), ("open", x), ("not open", x), ("hand-empty",) …
Atom = tuple[str | int, ...]

# Literals whose truth a plan can change; all others of the table are static.
_CHANGING: Final = frozenset(
    {"at", "hand-empty", "holding", "reach", "unlocked", "in-or-on", "inside", "ontop", "wet-enough", *STATES}
)
_NO_STATE: Final = State(at=NOTHING, holding=NOTHING, place=b"")


class Operator(NamedTuple):
    """A ground action: facts that it needs, adds, and deletes (unless it adds them)."""

    action: Action
    needs: Facts
    adds: Facts
    deletes: Facts

    def apply(self, facts: Facts) -> Facts:
        """Return the facts after the action."""
        return facts & ~self.deletes | self.adds


@dataclass(frozen=True, slots=True)
class Grounding:
    """The operators of a household over some of its entities.

    Attributes:
        relevant: bit set of the entities over which actions are grounded.
        atoms: name -> bit of every fact. The facts of an entity are adjacent, entities are in the order of
            creation; the human's location, free hand and working state come last.
        operators: in the order of the table, then of their arguments.
        exclusive: sets of facts of which at most one holds: the containers of each movable thing, and
            last, the human's location.
    """

    world: World
    relevant: BitSet
    atoms: Mapping[Atom, Facts]
    operators: tuple[Operator, ...]
    exclusive: tuple[Facts, ...]

    def encode(self, state: State) -> Facts:
        """Return the facts that hold in `state`."""
        atoms = self.atoms
        facts = atoms.get(("at", state.at), 0) | (0 if state.waiting else atoms[("working",)])
        facts |= atoms.get(("holding", state.holding), 0)
        if state.holding == NOTHING:
            facts |= atoms[("hand-empty",)]
        for entity in entities(self.relevant):
            facts |= atoms.get(("in", entity, state.place[entity]), 0)
            for name in self.world.kinds[entity].states:
                value = getattr(state, name) >> entity & 1
                facts |= atoms[(name if value else f"not {name}", entity)]
        return facts


def bits(facts: Facts) -> Iterator[Facts]:
    """Yield the single facts of a set."""
    while facts:
        fact = facts & -facts
        yield fact
        facts ^= fact


def ground(world: World, relevant: BitSet) -> Grounding:
    """Return the human's actions over the `relevant` entities (`Targets.grounded`).

    Actions without an effect, like a move to the current location, are left out.
    """
    atoms = {atom: 1 << i for i, atom in enumerate(_atoms(world, relevant))}
    groups = _exclusive(atoms)
    operators = (
        operator
        for schema in domain("human").values()
        for operator in _operators(world, relevant, schema, atoms, groups)
    )
    return Grounding(world, relevant, atoms, tuple(operators), tuple(groups.values()))


def _atoms(world: World, relevant: BitSet) -> Iterator[Atom]:
    containers = tuple(entities(relevant & world.find_all("receptacle")))
    for entity in entities(relevant):
        if world.kinds[entity].movable:
            yield from (("in", entity, container) for container in containers if container != entity)
            yield "holding", entity
        for name in world.kinds[entity].states:
            yield from ((name, entity), (f"not {name}", entity))
    yield from (("at", entity) for entity in entities(relevant & world.find_all("LOCATION")))
    yield ("hand-empty",)
    yield ("working",)


def _exclusive(atoms: Mapping[Atom, Facts]) -> dict[Atom, Facts]:
    """Return groups of exclusive facts: ("at",) -> locations of the human, ("in", o) -> places of o."""
    groups: dict[Atom, Facts] = {}
    for atom, bit in atoms.items():
        if atom[0] in ("at", "in"):
            groups[atom[:-1]] = groups.get(atom[:-1], 0) | bit
    return groups


def _operators(
    world: World, relevant: BitSet, schema: Schema, atoms: Mapping[Atom, Facts], groups: Mapping[Atom, Facts]
) -> list[Operator]:
    count = len(schema.params)
    allowed = [list(entities(relevant & _bound(world, bound))) for bound in schema.bounds]
    # Literals by the index of their last argument, so that each is evaluated once for all continuations; the
    # last list has those without arguments. Results recur in many operators and are cached.
    needed: list[list[_Memoized[Facts | None]]] = [[] for _ in range(count + 1)]
    changed: list[list[_Memoized[tuple[Facts, Facts]]]] = [[] for _ in range(count + 1)]
    for need in schema.needs:
        word, *names = need.text.removeprefix("not ").split()
        if word in _CHANGING:
            literal = _Memoized(schema.params, names, partial(_needed_facts, world, need.text, atoms))
            needed[literal.last].append(literal)
        elif len(names) > 1:
            literal = _Memoized(schema.params, names, partial(_static_facts, world, schema, need, names))
            needed[literal.last].append(literal)
        elif names:
            index = schema.params.index(names[0])
            allowed[index] = [
                entity for entity in allowed[index] if _holds(world, schema, need, names, (entity,))
            ]
    for text in _makes()[schema.name]:
        names = text.removeprefix("not ").split()[1:]
        effect = _Memoized(schema.params, names, partial(_effects, text, atoms, groups))
        changed[effect.last].append(effect)

    partials: list[tuple[Args, Facts, Facts, Facts]] = [((), atoms[("working",)], 0, 0)]
    for depth in range(count + 1):
        if depth:
            choice = allowed[depth - 1]
            partials = [
                ((*args, entity), needs, adds, deletes)
                for args, needs, adds, deletes in partials
                for entity in choice
            ]
        for literal in needed[depth - 1]:
            partials = [
                (args, needs | facts, adds, deletes)
                for args, needs, adds, deletes in partials
                if (facts := literal(args)) is not None
            ]
        for effect in changed[depth - 1]:
            partials = [
                (args, needs, adds | added, deletes | deleted)
                for args, needs, adds, deletes in partials
                for added, deleted in (effect(args),)
            ]
    name = schema.name
    return [
        Operator(Action(name, args), needs, adds, deletes & ~adds)
        for args, needs, adds, deletes in partials
        if adds & ~needs
    ]


class _Memoized(Generic[T]):
    """A cached function of some of an action's arguments; `last`: index of the last, -1 without any."""

    def __init__(self, params: Sequence[str], names: Sequence[str], make: Callable[[Args], T]) -> None:
        indices = tuple(params.index(name) for name in names)
        self.last = max(indices, default=-1)
        self._several = len(indices) != 1
        self._key: Callable[[Args], Any] = itemgetter(*indices) if indices else _no_arguments
        self._make = make
        self._results: dict[Any, T] = {}

    def __call__(self, args: Args) -> T:
        key = self._key(args)
        try:
            return self._results[key]
        except KeyError:
            result = self._results[key] = self._make(key if self._several else (key,))
            return result


def _no_arguments(_: Args) -> Args:
    return ()


def _needed_facts(world: World, text: str, atoms: Mapping[Atom, Facts], args: Args) -> Facts | None:
    """Return the facts of a literal; None if one of them can never hold."""
    facts = 0
    for atom in _literal(world, text, args):
        if atom not in atoms:
            return None
        facts |= atoms[atom]
    return facts


def _holds(world: World, schema: Schema, need: Need, names: Sequence[str], args: Args) -> bool:
    padded = [NOTHING] * len(schema.params)
    for name, arg in zip(names, args, strict=True):
        padded[schema.params.index(name)] = arg
    return need.check(world, _NO_STATE, tuple(padded))


def _static_facts(world: World, schema: Schema, need: Need, names: Sequence[str], args: Args) -> Facts | None:
    """Return 0 if a static literal holds, else None."""
    return 0 if _holds(world, schema, need, names, args) else None


def _bound(world: World, bound: str) -> BitSet:
    """Return the entities allowed for a parameter; `bound`: ``movable``, or classes joined by ``-or-``."""
    if bound == "movable":
        return world.find_all("movable")
    classes = bound.upper().split("-OR-")
    assert set(classes) <= set(CLASSES), bound
    return reduce(or_, map(world.find_all, classes))


def _literal(world: World, text: str, args: Args) -> tuple[Atom, ...]:
    """Return the facts that must all hold for a literal of the table with its arguments."""
    word = text.removeprefix("not ").split()[0]
    if word in STATES:
        return ((f"not {word}" if text.startswith("not ") else word, *args),)
    assert not text.startswith("not "), text
    match word:
        case "at" | "holding" | "hand-empty":
            return ((word, *args),)
        case "in-or-on":
            return (("in", *args),)
        case "inside" | "ontop":
            # With the other relation it can never hold: return a fact that does not exist.
            return (("in", *args) if world.kinds[args[1]].relation == word else ("never",),)
        case "reach":
            lid = _lid(world, args[1]) if world.kinds[args[1]].relation == "inside" else ()
            return (("in", *args), *lid)
        case "unlocked":
            return _lid(world, args[0])
        case "wet-enough":
            return (("soaked", *args),) if world.find_all("soakable") >> args[0] & 1 else ()
    raise AssertionError(text)


def _lid(world: World, container: int) -> tuple[Atom, ...]:
    return (("open", container),) if world.find_all("openable") >> container & 1 else ()


@cache
def _makes() -> Mapping[str, tuple[str, ...]]:
    return {f"human-{name}": tuple(row["makes"]) for name, row in read_table("actions")["agent"].items()}


def _effects(
    text: str, atoms: Mapping[Atom, Facts], groups: Mapping[Atom, Facts], args: Args
) -> tuple[Facts, Facts]:
    """Return the facts that an effect adds, and the facts that it deletes."""
    word = text.removeprefix("not ").split()[0]
    if word in STATES:
        positive, negative = atoms.get((word, *args), 0), atoms.get((f"not {word}", *args), 0)
        return (negative, positive) if text.startswith("not ") else (positive, negative)
    if word == "at":
        return atoms[("at", *args)], groups[("at",)]
    if word == "holding":
        return atoms[("holding", *args)], groups[("in", *args)] | atoms[("hand-empty",)]
    assert word == "put", text
    return atoms[("in", *args)] | atoms[("hand-empty",)], atoms[("holding", args[0])]
