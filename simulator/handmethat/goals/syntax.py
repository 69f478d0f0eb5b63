"""Logical formulas as published episodes write them: the tree, the reader, the truth (spec 4.1).

Prefix notation with ``and or not forall exists``; bound variables are declared ``(?x - phyobj)`` and stand
for every entity of the household. Predicates are those of spec 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, NoReturn

from simulator.errors import InputError
from simulator.handmethat.hierarchy import STATE_OF_ABILITY, STATES, hierarchy
from simulator.handmethat.world import BitSet, State, World, bit_set, entities

_TOKEN: Final = re.compile(r"[()]|[^\s()]+")
_SORT: Final = "phyobj"
_DEEPEST: Final = 50
RELATIONS: Final = ("inside", "ontop")
# Types that are declared without there ever being a thing of them.
_WITHOUT_THINGS: Final = ("blender", "teapot", "human")


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate of entities and variables (``?x``); `position` is where it stands in the text."""

    predicate: str
    terms: tuple[str, ...]
    position: int = 0


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    body: Formula


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction, maybe of nothing."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction, maybe of nothing."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class ForAll:
    """For all entities `variable`."""

    variable: str
    body: Formula


@dataclass(frozen=True, slots=True)
class Exists:
    """For some entity `variable`."""

    variable: str
    body: Formula


Formula = Atom | Not | And | Or | ForAll | Exists


def parse_formula(text: str) -> Formula:
    """Return the tree of a formula.

    Raises:
        InputError: if it is malformed; the message names the character where.
    """
    reader = _Reader(text)
    formula = reader.read(frozenset())
    if reader.peek():
        reader.fail("the formula is complete, and nothing may follow")
    return formula


def evaluate(world: World, state: State, formula: Formula) -> bool:
    """Return True if a formula without free variables is true in a state.

    Raises:
        InputError: if it names an entity that is not in the household.
    """
    return bool(_fulfilling(world, state, formula, "", {}, 1))


# The candidates are entities, as a bit set, for one variable; every other variable has its value in `bound`.
# A formula without that variable is true of all of them or of none.
def _fulfilling(
    world: World, state: State, formula: Formula, variable: str, bound: Mapping[str, int], among: BitSet
) -> BitSet:
    if not among:
        return 0
    match formula:
        case Atom():
            return _atom(world, state, formula, variable, bound, among)
        case Not(body):
            return among & ~_fulfilling(world, state, body, variable, bound, among)
        case And(parts):
            for part in parts:
                among = _fulfilling(world, state, part, variable, bound, among)
            return among
        case Or(parts):
            rest = among
            for part in parts:
                rest &= ~_fulfilling(world, state, part, variable, bound, rest)
            return among & ~rest
        case ForAll(inner, body):
            return among & ~_witnessed(world, state, Exists(inner, Not(body)), variable, bound, among)
        case Exists():
            return _witnessed(world, state, formula, variable, bound, among)


def _witnessed(
    world: World, state: State, formula: Exists, variable: str, bound: Mapping[str, int], among: BitSet
) -> BitSet:
    everything = (1 << len(world)) - 1
    if not variable:
        found = _fulfilling(world, state, formula.body, formula.variable, bound, everything)
        return among if found else 0
    return bit_set(
        entity
        for entity in entities(among)
        if _fulfilling(world, state, formula.body, formula.variable, {**bound, variable: entity}, everything)
    )


def _atom(
    world: World, state: State, atom: Atom, variable: str, bound: Mapping[str, int], among: BitSet
) -> BitSet:
    # The variable asked for hides an outer one of the same name.
    values = [variable if term == variable else _value(world, bound, term) for term in atom.terms]
    if atom.predicate in RELATIONS:
        return bit_set(entity for entity in entities(among) if _lies(world, state, atom, values, entity))
    extension = _extension(world, state, atom)
    (value,) = values
    if isinstance(value, str):
        return among & extension
    return among if value >= 0 and extension >> value & 1 else 0


def _value(world: World, bound: Mapping[str, int], term: str) -> int:
    return bound[term] if term in bound else world.entity(term)


def _lies(world: World, state: State, atom: Atom, values: list[str | int], one: int) -> bool:
    thing, place = (one if isinstance(value, str) else value for value in values)
    return (
        thing >= 0
        and place >= 0
        and state.container(thing) == place
        and world.relation(place) == atom.predicate
    )


def _extension(world: World, state: State, atom: Atom) -> BitSet:
    """Return the entities of which a predicate of one term is true."""
    predicate = atom.predicate
    if predicate in STATES:
        bits: BitSet = getattr(state, predicate)
        return bits
    return world.of(predicate.removeprefix("type-").removeprefix("size-").removeprefix("color-"))


class _Reader:
    """Reads a formula by recursive descent; `bound` are the variables declared around it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(text)]
        self._next = 0
        self._depth = 0

    def read(self, bound: frozenset[str]) -> Formula:
        self._depth += 1
        if self._depth > _DEEPEST:
            self.fail("formulas are not nested so deeply")
        start = self._position()
        self._expect("(")
        word = self._take()
        formula: Formula
        if word in ("and", "or"):
            parts = self._parts(bound)
            formula = And(parts) if word == "and" else Or(parts)
        elif word == "not":
            formula = Not(self.read(bound))
        elif word in ("forall", "exists"):
            formula = self._quantified(word, bound)
        else:
            formula = self._atom(word, start, bound)
        self._expect(")")
        self._depth -= 1
        return formula

    def _parts(self, bound: frozenset[str]) -> tuple[Formula, ...]:
        parts = []
        while self.peek() == "(":
            parts.append(self.read(bound))
        return tuple(parts)

    def _quantified(self, word: str, bound: frozenset[str]) -> Formula:
        self._expect("(")
        variable = self._take()
        if not variable.startswith("?"):
            self._fail_at(self._next - 1, f"a bound variable is called like ?x, not {variable!r}")
        self._expect("-")
        self._expect(_SORT)
        self._expect(")")
        body = self.read(bound | {variable})
        return ForAll(variable, body) if word == "forall" else Exists(variable, body)

    def _atom(self, predicate: str, position: int, bound: frozenset[str]) -> Atom:
        if predicate not in RELATIONS and predicate not in _predicates():
            self._fail_at(self._next - 1, f"{predicate!r} is no predicate of the household")
        terms = []
        while self.peek() not in ("", "(", ")"):
            terms.append(self._take())
            if terms[-1].startswith("?") and terms[-1] not in bound:
                self._fail_at(self._next - 1, f"{terms[-1]!r} is not bound by forall or exists")
        wanted = 2 if predicate in RELATIONS else 1
        if len(terms) != wanted:
            self._fail_at(self._next - 1 - len(terms), f"{predicate!r} is said of {wanted}, not {len(terms)}")
        return Atom(predicate, tuple(terms), position)

    def peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self.peek()
        if not token or token in "()":
            self.fail(f"a word is expected, not {repr(token) if token else 'the end'}")
        self._next += 1
        return token

    def _expect(self, token: str) -> None:
        if (found := self.peek()) != token:
            self.fail(f"{token!r} is expected, not {repr(found) if found else 'the end'}")
        self._next += 1

    def _position(self) -> int:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else len(self._text)

    def fail(self, what: str) -> NoReturn:
        """Say what is wrong at the next token."""
        self._fail_at(self._next, what)

    def _fail_at(self, token: int, what: str) -> NoReturn:
        self._next = token
        fail(self._position(), what)


def fail(position: int, what: str) -> NoReturn:
    """Say what is wrong with a formula, and where.

    Raises:
        InputError: always.
    """
    raise InputError(f"Goal formula, character {position + 1}: {what}.")


@cache
def _predicates() -> frozenset[str]:
    """Return the predicates of one term (spec 2) that hold of entities."""
    table = hierarchy()
    return frozenset(
        (
            *STATES,
            *STATE_OF_ABILITY,
            *(f"has-{what}" for what in ("inside", "ontop", "size", "color")),
            *("movable", "receptacle"),
            *(f"size-{size}" for size in table.sizes),
            *(f"color-{color}" for color in table.colors),
            *(f"type-{kind}" for kind in (*table.kinds, *_WITHOUT_THINGS)),
        )
    )
