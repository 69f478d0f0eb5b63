"""Read and write goals as the formulas of published episodes (spec 4.1).

Prefix notation with ``and or not forall exists``; bound variables are declared ``(?x - phyobj)`` and range
over all entities of the household.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

from simulator.errors import InputError
from simulator.handmethat.goals.model import X_IS_TYPE, Y_IS_TYPE, Form, Goal, Requirement, Subgoal
from simulator.handmethat.hierarchy import STATES, Relation, hierarchy
from simulator.handmethat.world import World

_X, _Y = "?x", "?y"
_TYPE: Final = "type-"
_UNUSED_TYPES: Final = ("blender", "teapot", "human")
"""Types that the published domains declare but no thing has (spec 2)."""
_TOKEN: Final = re.compile(r"[()]|[^\s()]+")
_DEEPEST: Final = 50


# ---- writing


def to_formula(goal: Goal | Subgoal, world: World | None = None) -> str:
    """Return the formula of a goal or one subgoal.

    `world`: if given, every named thing must be in it.

    Raises:
        InputError: if a thing is not in `world`.
    """
    if isinstance(goal, Goal):
        return f"(and {''.join(to_formula(subgoal, world) for subgoal in goal.subgoals)})"
    if world is not None and goal.form not in X_IS_TYPE:
        world.entity(goal.x)
    if world is not None and goal.y and goal.form not in Y_IS_TYPE:
        world.entity(goal.y)
    return _write(goal)


def _write(subgoal: Subgoal) -> str:
    x = _X if subgoal.form in X_IS_TYPE else subgoal.x
    y = _Y if subgoal.form in Y_IS_TYPE else subgoal.y
    literals = [f"({subgoal.relation} {x} {y})"] if subgoal.relation else []
    literals += [_literal(required, x) for required in subgoal.of_x]
    literals += [_literal(required, y or "") for required in subgoal.of_y]
    some_y, some_x = f"({_TYPE}{subgoal.y} {_Y})", f"({_TYPE}{subgoal.x} {_X})"
    body = literals[0] if len(literals) == 1 else f"(and {' '.join(literals)})"
    match subgoal.form:
        case "BE" | "THE":
            return body
        case "SOME":
            return _exists(_X, some_x, literals)
        case "THE-ANY":
            return _exists(_Y, some_y, literals)
        case "ALL" | "BE-ALL":
            return _for_all(some_x, body)
        case "ALL-ANY":
            return _for_all(some_x, _exists(_Y, some_y, literals))
        case "ALL-SAME":
            return _exists(_Y, some_y, [_for_all(some_x, body)])


def _literal(required: Requirement, term: str) -> str:
    name, value = required
    return f"({name} {term})" if value else f"(not ({name} {term}))"


def _exists(variable: str, kind: str, literals: list[str]) -> str:
    return f"(exists ({variable} - phyobj) (and {' '.join([kind, *literals])}))"


def _for_all(kind: str, body: str) -> str:
    return f"(forall ({_X} - phyobj) (or (not {kind}) {body}))"


# ---- reading


class _Node(NamedTuple):
    """A parenthesised expression: its words and subexpressions, and its position in the text."""

    parts: tuple[Any, ...]
    position: int


@dataclass(frozen=True, slots=True)
class _Body:
    """A conjunction of literals.

    Attributes:
        place: relation, x and y of the literal about a place; empty if there is no such literal.
        states: state, term, required value and position in the text of each other literal.
        position: position of the conjunction in the text.
    """

    place: tuple[str, ...]
    states: tuple[tuple[str, str, bool, int], ...]
    position: int

    def select(self, term: str) -> tuple[Requirement, ...]:
        return tuple((name, value) for name, about, value, _ in self.states if about == term)


def parse_goal(text: str) -> Goal:
    """Return the goal of a formula; the inverse of `to_formula`.

    Raises:
        InputError: if the formula is malformed or is not a conjunction of subgoals in the eight forms; the
            message gives the position of the fault.
    """
    match _read(text).parts:
        case ("and", *parts) if all(isinstance(part, _Node) for part in parts):
            return Goal(tuple(map(_subgoal, parts)))
    _fail(0, "a goal is a conjunction (and …) of its subgoals")


def _read(text: str) -> _Node:
    opened: list[tuple[int, list[Any]]] = [(0, [])]
    for match in _TOKEN.finditer(text):
        token, position = match[0], match.start()
        if token == "(":
            opened.append((position, []))
            if len(opened) > _DEEPEST:
                _fail(position, "the formula is nested too deeply")
        elif token == ")" and len(opened) > 1:
            start, parts = opened.pop()
            opened[-1][1].append(_Node(tuple(parts), start))
        elif len(opened) == 1:
            _fail(position, f"a formula is one parenthesised expression, but {token!r} is outside it")
        else:
            opened[-1][1].append(token)
    if len(opened) > 1 or len(opened[0][1]) != 1:
        _fail(len(text), f"{')' if len(opened) > 1 else 'one formula'} expected, but the text ends")
    node: _Node = opened[0][1][0]
    return node


def _subgoal(node: _Node) -> Subgoal:
    match node.parts:
        case (
            "forall",
            _Node((str(x), "-", "phyobj")),
            _Node(("or", _Node(("not", _Node((str(kind), about)))), _Node() as body)),
        ) if about == x:
            return _universal_subgoal(x, _type(kind, node), body)
        case (
            "exists",
            _Node((str(variable), "-", "phyobj")),
            _Node(("and", _Node((str(kind), about)), *rest)),
        ) if about == variable:
            return _existential_subgoal(variable, _type(kind, node), rest, node)
        case ("forall" | "exists" | "or", *_):
            _fail(node.position, "this is not one of the eight forms of a subgoal")
    literals = _body([node], node)
    if literals.place:
        return _placed_subgoal("THE", literals.place[1], literals.place[2], literals)
    if not literals.states:
        _fail(node.position, "a subgoal must require a place or a state")
    term = literals.states[0][1]
    if term.startswith("?"):
        _fail(node.position, f"{term!r} is not bound by forall or exists")
    _check_terms(literals, (term,))
    return Subgoal(form="BE", x=term, of_x=literals.select(term))


def _universal_subgoal(x: str, kind: str, node: _Node) -> Subgoal:
    match node.parts:
        case (
            "exists",
            _Node((str(y), "-", "phyobj")),
            _Node(("and", _Node((str(y_kind), about)), *rest)),
        ) if about == y:
            return _placed_subgoal("ALL-ANY", kind, _type(y_kind, node), _body(rest, node), x, y)
    body = _body([node], node)
    if body.place:
        return _placed_subgoal("ALL", kind, body.place[2], body, x)
    _check_terms(body, (x,))
    return Subgoal(form="BE-ALL", x=kind, of_x=body.select(x))


def _existential_subgoal(variable: str, kind: str, rest: Sequence[Any], node: _Node) -> Subgoal:
    match rest:
        case [
            _Node(
                (
                    "forall",
                    _Node((str(x), "-", "phyobj")),
                    _Node(("or", _Node(("not", _Node((str(x_kind), about)))), _Node() as inner)),
                )
            )
        ] if about == x:
            return _placed_subgoal("ALL-SAME", _type(x_kind, node), kind, _body([inner], inner), x, variable)
    body = _body(rest, node)
    if body.place and body.place[1] == variable:
        return _placed_subgoal("SOME", kind, body.place[2], body, variable)
    entity = body.place[1] if body.place else "something"
    return _placed_subgoal("THE-ANY", entity, kind, body, entity, variable)


def _placed_subgoal(
    form: Form, x: str, y: str, body: _Body, x_term: str | None = None, y_term: str | None = None
) -> Subgoal:
    """Return a subgoal with a place; `x_term` and `y_term` are x and y in the formula, if not their names."""
    x_term, y_term = x_term or x, y_term or y
    if body.place[1:] != (x_term, y_term):
        _fail(body.position, f"this {form} subgoal must say that {x_term} is inside or on {y_term}")
    if x_term == y_term or "?" in x + y:
        _fail(body.position, "a thing cannot be in or on itself")
    _check_terms(body, (x_term, y_term))
    relation: Relation = "inside" if body.place[0] == "inside" else "ontop"
    of_x, of_y = body.select(x_term), body.select(y_term)
    return Subgoal(form=form, x=x, y=y, relation=relation, of_x=of_x, of_y=of_y)


def _body(parts: Sequence[Any], around: _Node) -> _Body:
    """Return the literals of a conjunction, flattening nested conjunctions."""
    place: tuple[str, ...] = ()
    states: list[tuple[str, str, bool, int]] = []
    for part in _flatten(parts):
        match part:
            case _Node(("inside" | "ontop" as relation, str(x), str(y))) if not place:
                place = (relation, x, y)
            case _Node((str(name), str(term)), position) if name in STATES:
                states.append((name, term, True, position))
            case _Node(("not", _Node((str(name), str(term)))), position) if name in STATES:
                states.append((name, term, False, position))
            case _:
                position = part.position if isinstance(part, _Node) else around.position
                _fail(position, "expected a state, its negation or one place")
    return _Body(place, tuple(states), around.position)


def _flatten(parts: Sequence[Any]) -> Iterator[Any]:
    for part in parts:
        match part:
            case _Node(("and", *inner)):
                yield from _flatten(inner)
            case _:
                yield part


def _check_terms(body: _Body, allowed: Collection[str]) -> None:
    for name, term, _, position in body.states:
        if term not in allowed:
            _fail(position, f"this subgoal is about {' and '.join(allowed)}, but requires {name!r} of {term}")


def _type(predicate: str, node: _Node) -> str:
    kind = predicate.removeprefix(_TYPE)
    if kind == predicate or not (kind in hierarchy().kinds or kind in _UNUSED_TYPES):
        _fail(node.position, f"a quantified subgoal must begin with a type, not {predicate!r}")
    return kind


def _fail(position: int, fault: str) -> NoReturn:
    raise InputError(f"Goal formula, character {position + 1}: {fault}.")
