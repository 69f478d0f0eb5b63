"""Goals written as formulas, and read back (spec 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.handmethat.goals.model import ANYWHERE, OF_A_TYPE, Form, Goal, Requirement, Subgoal
from simulator.handmethat.goals.syntax import (
    RELATIONS,
    And,
    Atom,
    Exists,
    ForAll,
    Formula,
    Not,
    Or,
    evaluate,
    fail,
    parse_formula,
)
from simulator.handmethat.hierarchy import STATES, Relation
from simulator.handmethat.world import World

__all__ = ["evaluate", "parse_formula", "parse_goal", "parse_subgoal", "to_formula"]

_X, _Y = "?x", "?y"
_TYPE = "type-"


def to_formula(what: Goal | Subgoal, world: World | None = None) -> str:
    """Return a goal or one subgoal as published episodes write it.

    Args:
        what: what is written.
        world: if given, every thing that is named must be in it.

    Raises:
        InputError: if a thing is not in `world`.
    """
    if isinstance(what, Goal):
        return f"(and {''.join(to_formula(subgoal, world) for subgoal in what.subgoals)})"
    if world is not None:
        _check_names(what, world)
    return _write(what)


def parse_goal(text: str) -> Goal:
    """Return the goal of a formula; the inverse of `to_formula`.

    Raises:
        InputError: if the formula is malformed or is no conjunction of the eight forms of subgoals; the
            message names the character where.
    """
    formula = parse_formula(text)
    if not isinstance(formula, And):
        fail(0, "a goal is a conjunction (and …) of its subgoals")
    return Goal(tuple(_subgoal(part) for part in formula.parts))


def parse_subgoal(text: str) -> Subgoal:
    """Return the subgoal of a formula; the inverse of `to_formula`.

    Raises:
        InputError: as `parse_goal` does.
    """
    return _subgoal(parse_formula(text))


def _check_names(subgoal: Subgoal, world: World) -> None:
    if subgoal.form not in OF_A_TYPE:
        world.entity(subgoal.x)
    if subgoal.y and subgoal.form not in ANYWHERE:
        world.entity(subgoal.y)


def _write(subgoal: Subgoal) -> str:
    x = _X if subgoal.form in OF_A_TYPE else subgoal.x
    y = _Y if subgoal.form in ANYWHERE else subgoal.y
    literals = [f"({subgoal.relation} {x} {y})"] if subgoal.relation else []
    literals += [_literal(one, x) for one in subgoal.of_x]
    literals += [_literal(one, y or "") for one in subgoal.of_y]
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
    name, wanted = required
    return f"({name} {term})" if wanted else f"(not ({name} {term}))"


def _exists(variable: str, kind: str, literals: list[str]) -> str:
    return f"(exists ({variable} - phyobj) (and {' '.join([kind, *literals])}))"


def _for_all(kind: str, body: str) -> str:
    return f"(forall ({_X} - phyobj) (or (not {kind}) {body}))"


@dataclass(frozen=True, slots=True)
class _Body:
    """A conjunction of literals: at most one place, and of each state the atom and whether it must hold."""

    place: Atom | None
    states: tuple[tuple[Atom, bool], ...]

    def of(self, term: str) -> tuple[Requirement, ...]:
        return tuple((atom.predicate, wanted) for atom, wanted in self.states if atom.terms == (term,))


def _subgoal(formula: Formula) -> Subgoal:
    match formula:
        case ForAll(x, Or((Not(Atom(kind, (about,))), body))) if about == x:
            return _of_all(x, _type(kind, formula), body)
        case Exists(variable, And((Atom(kind, (about,)), *rest))) if about == variable:
            return _of_some(variable, _type(kind, formula), rest)
        case ForAll() | Exists() | Or():
            fail(_position(formula), "this is none of the eight forms of a subgoal")
    literals = _body([formula])
    if literals.place is None:
        return _be(literals, formula)
    return _lying("THE", literals.place.terms[0], literals.place.terms[1], literals)


def _of_all(x: str, kind: str, body: Formula) -> Subgoal:
    match body:
        case Exists(y, And((Atom(y_kind, (about,)), *rest))) if about == y:
            return _lying("ALL-ANY", kind, _type(y_kind, body), _body(rest), x, y)
    literals = _body([body])
    if literals.place is None:
        _check_terms(literals, (x,))
        return Subgoal(form="BE-ALL", x=kind, of_x=literals.of(x))
    return _lying("ALL", kind, literals.place.terms[1], literals, x)


def _of_some(variable: str, kind: str, rest: list[Formula]) -> Subgoal:
    match rest:
        case [ForAll(x, Or((Not(Atom(x_kind, (about,))), body)))] if about == x:
            literals = _body([body])
            return _lying("ALL-SAME", _type(x_kind, rest[0]), kind, literals, x, variable)
    literals = _body(rest)
    if literals.place and literals.place.terms[0] == variable:
        return _lying("SOME", kind, literals.place.terms[1], literals, variable)
    entity = literals.place.terms[0] if literals.place else "something"
    return _lying("THE-ANY", entity, kind, literals, entity, variable)


def _lying(
    form: Form, x: str, y: str, body: _Body, x_term: str | None = None, y_term: str | None = None
) -> Subgoal:
    """A subgoal with a place; the terms are how its formula calls x and y, where not by their names."""
    x_term, y_term = x_term or x, y_term or y
    position = body.place.position if body.place else 0
    if body.place is None or body.place.terms != (x_term, y_term):
        fail(position, f"this {form} subgoal must say that {x_term} is inside or on {y_term}")
    if x_term == y_term or "?" in x + y:
        fail(position, "nothing lies in or on itself")
    _check_terms(body, (x_term, y_term))
    relation: Relation = "inside" if body.place.predicate == "inside" else "ontop"
    return Subgoal(form=form, x=x, y=y, relation=relation, of_x=body.of(x_term), of_y=body.of(y_term))


def _be(body: _Body, formula: Formula) -> Subgoal:
    if not body.states:
        fail(_position(formula), "a subgoal must say something")
    (x,) = body.states[0][0].terms
    _check_terms(body, (x,))
    return Subgoal(form="BE", x=x, of_x=body.of(x))


def _body(parts: list[Formula]) -> _Body:
    places: list[Atom] = []
    states: list[tuple[Atom, bool]] = []
    for literal in _flat(parts):
        match literal:
            case Atom(predicate) if predicate in RELATIONS and not places:
                places.append(literal)
            case Atom(predicate) if predicate in STATES:
                states.append((literal, True))
            case Not(Atom(predicate) as atom) if predicate in STATES:
                states.append((atom, False))
            case _:
                fail(_position(literal), "a state, its negation or one place is expected here")
    return _Body(places[0] if places else None, tuple(states))


def _flat(parts: list[Formula]) -> list[Formula]:
    """Return the parts, conjunctions among them written out."""
    formulas: list[Formula] = []
    for part in parts:
        formulas += _flat(list(part.parts)) if isinstance(part, And) else [part]
    return formulas


def _check_terms(body: _Body, allowed: tuple[str, ...]) -> None:
    for atom, _ in body.states:
        (term,) = atom.terms
        if term not in allowed:
            about = " and ".join(allowed)
            fail(atom.position, f"one subgoal speaks of {about}, and here asks {atom.predicate!r} of {term}")


def _type(predicate: str, formula: Formula) -> str:
    if not predicate.startswith(_TYPE):
        fail(_position(formula), f"a quantified subgoal begins with a type, not {predicate!r}")
    return predicate.removeprefix(_TYPE)


def _position(formula: Formula) -> int:
    """Return where the first atom of a formula stands."""
    match formula:
        case Atom():
            return formula.position
        case Not(body) | ForAll(_, body) | Exists(_, body):
            return _position(body)
        case And(parts) | Or(parts):
            return _position(parts[0]) if parts else 0
