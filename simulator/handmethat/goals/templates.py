"""The 69 goal templates (tables/goals.yaml; spec 4.3): described in words, and instantiated (4.2).

The notation of subgoals is explained at the top of the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from simulator.errors import InputError
from simulator.handmethat.goals.model import X_IS_TYPE, Y_IS_TYPE, Form, Goal, Requirement, Subgoal
from simulator.handmethat.hierarchy import (
    STATES,
    Relation,
    all_words,
    hierarchy,
    read_table,
    state_word,
    word,
)
from simulator.handmethat.scene import Stock
from simulator.seeds import one_of


@dataclass(frozen=True, slots=True)
class Template:
    """A goal with slots (`Slot`): number 0 to 68, `activity` as in BEHAVIOR-100, titles by language."""

    number: int
    activity: str
    in_v2: bool
    titles: Mapping[str, str]
    patterns: tuple[Subgoal, ...]


@cache
def templates() -> tuple[Template, ...]:
    """Return all templates, in the order of their numbers.

    Raises:
        InputError: if the table has a mistake; the message names the subgoal and the word.
    """
    return tuple(_read(i, row) for i, row in enumerate(goals_table()["templates"]))


def template(number: int) -> Template:
    """Return the template with a number.

    Raises:
        InputError: if there is no such template.
    """
    if not 0 <= number < len(templates()):
        raise InputError(f"There is no goal {number}; goals are numbered 0 to {len(templates()) - 1}.")
    return templates()[number]


def template_set(name: Literal["all", "v2"]) -> tuple[int, ...]:
    """Return the numbers of the templates of a named set."""
    return tuple(template.number for template in templates() if name == "all" or template.in_v2)


def goals_table() -> Mapping[str, Any]:
    """Return the content of tables/goals.yaml."""
    return read_table("goals")


def _read(place: int, row: Mapping[str, Any]) -> Template:
    assert row["number"] == place, f"tables/goals.yaml: goal {row['number']} is at index {place}"
    return Template(
        number=place,
        activity=row["activity"],
        in_v2=row.get("v2", False),
        titles=MappingProxyType(row["title"]),
        patterns=tuple(pattern for text in row["subgoals"] for pattern in read_patterns(text)),
    )


def describe_goal(goal: Goal, language: str) -> tuple[str, ...]:
    """Return a sentence for each subgoal, in their order.

    Raises:
        InputError: if the language is neither ``en`` nor ``zh``, or a thing or state in the goal has no word.
    """
    return tuple(describe_subgoal(subgoal, language) for subgoal in goal.subgoals)


def describe_subgoal(subgoal: Subgoal, language: str) -> str:
    """Return a sentence for one subgoal, like ``Every apple is sliced and in jar #0``.

    Raises:
        InputError: as `describe_goal` does.
    """
    all_words(language)
    wording: Mapping[str, Any] = goals_table()["wording"][language]
    x = _term(wording, subgoal.x, subgoal.form in X_IS_TYPE, language)
    facts = []
    if subgoal.of_x:
        facts.append(wording["states"].format(states=_state_words(wording, subgoal.of_x, language)))
    if subgoal.relation:
        facts.append(wording[subgoal.relation].format(y=_place(wording, subgoal, language)))
    line: str = wording["line"][subgoal.form].format(x=x, **{"is": wording["joint"]["is"].join(facts)})
    if subgoal.y and subgoal.of_y and subgoal.form not in Y_IS_TYPE:
        y = _term(wording, subgoal.y, False, language)
        states = _state_words(wording, subgoal.of_y, language)
        line = wording["and_y"].format(line=line, y=y, states=states)
    return line[0].upper() + line[1:] + str(wording["end"])


def activity_title(number: int, language: str) -> str:
    """Return the activity of a template in words: ``Bottling fruit``.

    Raises:
        InputError: if the template or the language is unknown.
    """
    all_words(language)
    return template(number).titles[language]


def _place(wording: Mapping[str, Any], subgoal: Subgoal, language: str) -> str:
    assert subgoal.y is not None
    if subgoal.form not in Y_IS_TYPE:
        return _term(wording, subgoal.y, False, language)
    states = "".join(
        wording["adjective"].format(state=state_word(name, value, language)) for name, value in subgoal.of_y
    )
    which = "same" if subgoal.form == "ALL-SAME" else "any"
    return str(wording[which].format(states=states, word=word(subgoal.y, language)))


def _term(wording: Mapping[str, Any], name: str, is_type: bool, language: str) -> str:
    if is_type:
        return word(name, language)
    kind, _, number = name.partition("#")
    pattern = wording["location" if name in hierarchy().locations else "named"]
    return str(pattern.format(word=word(kind, language), number=number))


def _state_words(wording: Mapping[str, Any], required: tuple[Requirement, ...], language: str) -> str:
    joint: str = wording["joint"]["states"]
    return joint.join(state_word(name, value, language) for name, value in required)


def instantiate(template_number: int, stock: Stock, random: Random) -> Goal | None:
    """Return a goal from a template, its slots drawn from left to right; None if one cannot be filled.

    `stock`: contents of the household; its things are named ``type#0``, ``type#1``, …
    """
    patterns = template(template_number).patterns
    terms = tuple(dict.fromkeys(term for pattern in patterns for term in (pattern.x, pattern.y) if term))
    values = _fill(map(_slot, terms), stock, random)
    if values is None:
        return None
    value_of = dict(zip(terms, values, strict=True))
    subgoals = (
        replace(pattern, x=value_of[pattern.x], y=pattern.y and value_of[pattern.y]) for pattern in patterns
    )
    return Goal(tuple(subgoals), template_number)


def _fill(slots: Iterable[Slot], stock: Stock, random: Random) -> list[str] | None:
    """Return a value for each slot, in order; None if a slot has no candidate."""
    values: list[str] = []
    type_of: dict[str, str] = {}
    for slot in slots:
        if slot.kind == "drawn thing" and slot.name not in type_of:
            types = stock.types(slot.name)
            if not types:
                return None
            type_of[slot.name] = one_of(random, types)
        options = _options(slot, stock, values, type_of)
        if not options:
            return None
        # A fixed slot consumes no random number.
        values.append(options[0] if slot.kind in ("location", "type") else one_of(random, options))
    return values


def _options(slot: Slot, stock: Stock, values: list[str], type_of: dict[str, str]) -> Sequence[str]:
    if slot.kind == "drawn":
        types = stock.types(slot.name)
        return [kind for kind in types if kind not in values] if slot.tag else types
    if slot.kind in ("location", "type"):
        return (slot.name,) if slot.kind == "location" or stock.count(slot.name) else ()
    kind = type_of.get(slot.name, slot.name)
    names = [f"{kind}#{i}" for i in range(stock.count(kind))]
    return [name for name in names if name not in values]


# ---- the notation of subgoals


SlotKind = Literal["location", "type", "drawn", "thing", "drawn thing"]
_FORMS: Final[dict[str, Form]] = {form: form for form in get_args(Form)}
_RELATIONS: Final[dict[str, Relation]] = {"in": "inside", "on": "ontop"}
_WITHOUT_PLACE: Final = ("BE", "BE-ALL")
_STATES: Final = r"(?:\{([^{}]*)\})?"
_TERM: Final = re.compile(rf"([^\s{{}}\[\],]+){_STATES}")
_LINE: Final = re.compile(rf"(\S+) (?:\[(.*)\]|([^\s{{}}\[\]]+)){_STATES}(?: (in|on) ([^\s{{}}]+){_STATES})?")
_COMMA: Final = re.compile(r",\s*(?![^{}]*\})")
_SLOTS: Final[dict[SlotKind, re.Pattern[str]]] = {
    "location": re.compile(r"@(?P<name>\w+)"),
    "drawn": re.compile(r"\?(?P<name>\w+)(?:\.(?P<tag>\w+))?"),
    "drawn thing": re.compile(r"<(?P<name>\w+)>#(?P<tag>\w+)"),
    "thing": re.compile(r"(?P<name>\w+)#(?P<tag>\w+)"),
    "type": re.compile(r"(?P<name>\w+)"),
}


@dataclass(frozen=True, slots=True)
class Slot:
    """A placeholder for one term of a subgoal; slots with the same name and tag get the same value."""

    kind: SlotKind
    name: str
    tag: str = ""


def read_patterns(text: str) -> tuple[Subgoal, ...]:
    """Return the subgoals of one line of the table: one for each element of its list.

    Raises:
        InputError: if the line does not follow the notation; the message describes the fault.
    """
    try:
        return tuple(_patterns(text))
    except ValueError as error:
        raise InputError(f"Subgoal {text!r}: {error}.") from error


def _patterns(text: str) -> Iterator[Subgoal]:
    line = _LINE.fullmatch(text)
    if line is None or line[1] not in _FORMS:
        raise ValueError(f"it is not of the form FORM x in y; the forms are {', '.join(_FORMS)}")
    form, shared, y, relation = _FORMS[line[1]], _states(line[4]), line[6], None
    if (y is None) != (form in _WITHOUT_PLACE):
        raise ValueError(f"{form} {'needs a' if y is None else 'takes no'} place")
    if y is not None:
        relation = _RELATIONS[line[5]]
        _check_slot(y, form in Y_IS_TYPE)
        name, table = _slot(y).name, hierarchy()
        types = table.subclasses[name].types if name in table.subclasses else (name,)
        if any(table.kinds[kind].relation != relation for kind in types):
            raise ValueError(f"things cannot lie {relation} {name!r}")
    for part in [line[3]] if line[2] is None else _COMMA.split(line[2]):
        term = _TERM.fullmatch(part)
        if term is None:
            raise ValueError(f"{part!r} is not a slot with states")
        _check_slot(term[1], form in X_IS_TYPE)
        of_x = (*_states(term[2]), *shared)
        if y is None and not of_x:
            raise ValueError(f"{form} needs states in braces")
        yield Subgoal(form=form, x=term[1], y=y, relation=relation, of_x=of_x, of_y=_states(line[7]))


def _states(text: str | None) -> tuple[Requirement, ...]:
    states = [] if text is None else _COMMA.split(text)
    required = tuple((state.removeprefix("not "), not state.startswith("not ")) for state in states)
    for state, _ in required:
        if state not in STATES:
            raise ValueError(f"{state!r} is not a state; states are {', '.join(STATES)}")
    return required


@cache
def _slot(token: str) -> Slot:
    for kind, pattern in _SLOTS.items():
        if match := pattern.fullmatch(token):
            slot = Slot(kind, match["name"], match.groupdict().get("tag") or "")
            break
    else:
        raise ValueError(f"{token!r} is not a slot")
    table = hierarchy()
    if slot.kind == "location":
        known = slot.name in table.locations
    elif slot.kind in ("drawn", "drawn thing"):
        known = slot.name in table.subclasses
    else:
        known = slot.name in table.kinds and table.kinds[slot.name].movable
    if not known:
        raise ValueError(f"{token!r} is not in tables/objects.yaml")
    return slot


def _check_slot(token: str, is_type: bool) -> None:
    if is_type != (_slot(token).kind in ("type", "drawn")):
        raise ValueError(f"{token!r} must be {'a type' if is_type else 'a location or a thing'}")
