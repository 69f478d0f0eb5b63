"""Grounding: the human's actions as operators over propositional facts (spec 3.1, 5.1, 5.2).

A fact is one bit of a whole number, so a state is a number and an operator three numbers. Literals that no
action changes are evaluated away; ``not open l`` and its like are facts of their own (complementary atoms).
Each container holds things in one way only, so the two disjunctions of the table, ``reach`` and ``unlocked``,
come down to conjunctions too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import yaml

from simulator.handmethat.actions import Action, Args, Need, Schema, domain
from simulator.handmethat.hierarchy import CLASSES, STATES, TABLES
from simulator.handmethat.world import NOTHING, BitSet, State, World, bit_set, entities

# A bit set of facts.
Facts = int
# A fact by name: ("at", l), ("holding", o), ("in", o, c), ("open", x), ("not open", x), ("hand-empty",) …
Atom = tuple[str | int, ...]

# Literals whose truth a plan can change; all others of the table are static.
_CHANGING: Final = frozenset(
    {"at", "hand-empty", "holding", "reach", "unlocked", "in-or-on", "inside", "ontop", "wet-enough", *STATES}
)
_NO_STATE: Final = State(at=NOTHING, holding=NOTHING, place=b"")


class Operator(NamedTuple):
    """A ground action.

    Attributes:
        action: what it stands for.
        needs: facts that must hold before.
        adds: facts that hold afterwards.
        deletes: facts that do not, unless added.
    """

    action: Action
    needs: Facts
    adds: Facts
    deletes: Facts

    def apply(self, facts: Facts) -> Facts:
        """The state afterwards."""
        return facts & ~self.deletes | self.adds


@dataclass(frozen=True, slots=True)
class Grounding:
    """The operators of a household over some of its entities.

    Attributes:
        world: the household.
        relevant: bit set of the entities over which actions are grounded.
        atoms: every fact by name -> its bit. The facts of an entity are neighbours, the entities in the
            order of creation; where the human stands and what is free come last.
        operators: in the order of the table, then of their arguments.
        exclusive: sets of facts of which one holds at most: for each movable thing where it lies, and
            last, where the human stands.
    """

    world: World
    relevant: BitSet
    atoms: Mapping[Atom, Facts]
    operators: tuple[Operator, ...]
    exclusive: tuple[Facts, ...]

    def encode(self, state: State) -> Facts:
        """The facts that hold in `state`."""
        atoms = self.atoms
        facts = atoms.get(("at", state.at), 0) | (0 if state.waiting else atoms[("working",)])
        facts |= atoms.get(("holding", state.holding), 0)
        if state.holding == NOTHING:
            facts |= atoms[("hand-empty",)]
        for entity in entities(self.relevant):
            facts |= atoms.get(("in", entity, state.place[entity]), 0)
            for name in self.world.kinds[entity].states:
                is_so = getattr(state, name) >> entity & 1
                facts |= atoms[(name if is_so else f"not {name}", entity)]
        return facts

    def names(self, facts: Facts) -> tuple[str, ...]:
        """Facts in words, for tests and error messages: ``in apple#0 table``."""
        return tuple(self._name(atom) for atom, bit in self.atoms.items() if bit & facts)

    def _name(self, atom: Atom) -> str:
        return " ".join(one if isinstance(one, str) else self.world.name(one) for one in atom)


def bits(facts: Facts) -> Iterator[Facts]:
    """The single facts of a set."""
    while facts:
        fact = facts & -facts
        yield fact
        facts ^= fact


def ground(world: World, relevant: BitSet) -> Grounding:
    """The human's actions over the `relevant` entities (`Targets.grounded`).

    An action that changes nothing, like a move to where one stands, is left out.
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
    containers = tuple(entities(relevant & world.of("receptacle")))
    for one in entities(relevant):
        if world.kinds[one].movable:
            yield from (("in", one, container) for container in containers if container != one)
            yield "holding", one
        for name in world.kinds[one].states:
            yield from ((name, one), (f"not {name}", one))
    yield from (("at", one) for one in entities(relevant & world.of("LOCATION")))
    yield ("hand-empty",)
    yield ("working",)


def _exclusive(atoms: Mapping[Atom, Facts]) -> dict[Atom, Facts]:
    """The facts of which one holds at a time: ("at",) all places to stand, ("in", o) all places of o."""
    groups: dict[Atom, Facts] = {}
    for atom, bit in atoms.items():
        if atom[0] in ("at", "in"):
            groups[atom[:-1]] = groups.get(atom[:-1], 0) | bit
    return groups


def _operators(
    world: World, relevant: BitSet, schema: Schema, atoms: Mapping[Atom, Facts], groups: Mapping[Atom, Facts]
) -> Iterator[Operator]:
    domains = [tuple(entities(relevant & _bound(world, bound))) for bound in schema.bounds]
    changing = [need for need in schema.needs if _word(need) in _CHANGING]
    changes = _makes()[schema.name]
    for args in _bindings(world, schema, domains, ()):
        bind = dict(zip(schema.params, args, strict=True))
        needs: Facts | None = atoms[("working",)]
        for need in changing:
            needs = _with(needs, _literal(world, need.text, bind), atoms)
        if needs is None:
            continue
        adds, deletes = _effects(changes, bind, atoms, groups)
        if adds & ~needs:
            yield Operator(Action(schema.name, args), needs, adds, deletes & ~adds)


def _with(needs: Facts | None, atoms_needed: Sequence[Atom], atoms: Mapping[Atom, Facts]) -> Facts | None:
    """`needs` and more; None as soon as one of them can never hold."""
    for atom in atoms_needed:
        if needs is None or atom not in atoms:
            return None
        needs |= atoms[atom]
    return needs


def _bindings(world: World, schema: Schema, domains: Sequence[Sequence[int]], bound: Args) -> Iterator[Args]:
    """Arguments for which every static precondition holds, each tested as soon as it is bound."""
    if len(bound) == len(domains):
        yield bound
        return
    name = schema.params[len(bound)]
    now = {*schema.params[: len(bound) + 1]}
    tests = [
        need
        for need in schema.needs
        if _word(need) not in _CHANGING and name in _names(need) and now.issuperset(_names(need))
    ]
    padding = (NOTHING,) * (len(domains) - len(bound) - 1)
    for value in domains[len(bound)]:
        args = (*bound, value)
        if all(need.check(world, _NO_STATE, args + padding) for need in tests):
            yield from _bindings(world, schema, domains, args)


def _word(need: Need) -> str:
    return need.text.removeprefix("not ").split()[0]


def _names(need: Need) -> list[str]:
    return need.text.removeprefix("not ").split()[1:]


def _bound(world: World, bound: str) -> BitSet:
    """The entities that a parameter may be: ``movable``, or classes joined by ``-or-``."""
    if bound == "movable":
        return world.of("movable")
    classes = bound.upper().split("-OR-")
    assert set(classes) <= set(CLASSES), bound
    return bit_set(one for name in classes for one in entities(world.of(name)))


def _literal(world: World, text: str, bind: Mapping[str, int]) -> tuple[Atom, ...]:
    """A literal of the table as facts that must all hold."""
    word, *names = text.removeprefix("not ").split()
    args = [bind[name] for name in names]
    if word in STATES:
        return ((f"not {word}" if text.startswith("not ") else word, *args),)
    assert not text.startswith("not "), text
    match word:
        case "at" | "holding" | "hand-empty":
            return ((word, *args),)
        case "in-or-on":
            return (("in", *args),)
        case "inside" | "ontop":
            # Where things lie in the other way, it cannot hold: a fact that is nowhere.
            return (("in", *args) if world.kinds[args[1]].relation == word else ("never",),)
        case "reach":
            lid = _lid(world, args[1]) if world.kinds[args[1]].relation == "inside" else ()
            return (("in", *args), *lid)
        case "unlocked":
            return _lid(world, args[0])
        case "wet-enough":
            return (("soaked", *args),) if world.of("soakable") >> args[0] & 1 else ()
    raise AssertionError(text)


def _lid(world: World, container: int) -> tuple[Atom, ...]:
    return (("open", container),) if world.of("openable") >> container & 1 else ()


@cache
def _makes() -> Mapping[str, tuple[str, ...]]:
    """The effects of the human's actions, in the words of the table."""
    table: Any = yaml.safe_load((TABLES / "actions.yaml").read_text(encoding="utf-8"))
    return {f"human-{name}": tuple(row["makes"]) for name, row in table["agent"].items()}


def _effects(
    changes: Sequence[str], bind: Mapping[str, int], atoms: Mapping[Atom, Facts], groups: Mapping[Atom, Facts]
) -> tuple[Facts, Facts]:
    """What an action adds and deletes."""
    adds = deletes = 0
    for text in changes:
        word, *names = text.removeprefix("not ").split()
        args = [bind[name] for name in names]
        if word in STATES:
            becomes, was = atoms.get((word, *args), 0), atoms.get((f"not {word}", *args), 0)
            if text.startswith("not "):
                becomes, was = was, becomes
        elif word == "at":
            becomes, was = atoms[("at", *args)], groups[("at",)]
        elif word == "holding":
            becomes, was = atoms[("holding", *args)], groups[("in", *args)] | atoms[("hand-empty",)]
        else:
            assert word == "put", text
            becomes = atoms[("in", *args)] | atoms[("hand-empty",)]
            was = atoms[("holding", args[0])]
        adds, deletes = adds | becomes, deletes | was
    return adds, deletes
