"""The 69 goal templates (tables/goals.yaml; spec 4.3): in plain words, and filled for a household (4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from simulator.errors import InputError
from simulator.handmethat.goals.model import ANYWHERE, OF_A_TYPE, Goal, Requirement, Subgoal
from simulator.handmethat.goals.notation import Pattern, Slot, read_patterns
from simulator.handmethat.hierarchy import TABLES, hierarchy
from simulator.handmethat.scene import Stock
from simulator.handmethat.words import all_words, state_word, word


@dataclass(frozen=True, slots=True)
class Template:
    """A goal with slots.

    Attributes:
        number: 0 to 68.
        activity: BEHAVIOR-100's name of it.
        in_v2: whether it is one of the 25 of the later public release.
    """

    number: int
    activity: str
    in_v2: bool
    titles: Mapping[str, str]
    patterns: tuple[Pattern, ...]


@cache
def templates() -> tuple[Template, ...]:
    """Return all templates; template i is at place i.

    Raises:
        InputError: if the table has a mistake; the message names the template and the word.
    """
    return tuple(_read(i, row) for i, row in enumerate(goals_table()["templates"]))


def template(number: int) -> Template:
    """Return the template with a number.

    Raises:
        InputError: if there is none.
    """
    if not 0 <= number < len(templates()):
        raise InputError(f"There is no goal {number}; goals are numbered 0 to {len(templates()) - 1}.")
    return templates()[number]


def template_set(name: str) -> tuple[int, ...]:
    """Return the numbers of the templates of a named set, ``all`` or ``v2``.

    Raises:
        InputError: if there is no such set.
    """
    if name not in ("all", "v2"):
        raise InputError(f"There is no set of goals {name!r}; there are 'all' and 'v2'.")
    return tuple(template.number for template in templates() if name == "all" or template.in_v2)


@cache
def goals_table() -> Mapping[str, Any]:
    """Return everything of tables/goals.yaml, as it stands there."""
    return MappingProxyType(yaml.safe_load((TABLES / "goals.yaml").read_text(encoding="utf-8")))


def _read(place: int, row: Mapping[str, Any]) -> Template:
    if row["number"] != place:
        raise InputError(f"tables/goals.yaml: goal {row['number']} stands at place {place}.")
    try:
        patterns = tuple(pattern for text in row["subgoals"] for pattern in read_patterns(text))
    except InputError as error:
        raise InputError(f"tables/goals.yaml, goal {place}: {error}") from error
    return Template(
        number=place,
        activity=row["activity"],
        in_v2=row.get("v2", False),
        titles=MappingProxyType(row["title"]),
        patterns=patterns,
    )


def describe_goal(goal: Goal, language: str) -> tuple[str, ...]:
    """Return what the goal asks for, one sentence per subgoal, in their order.

    Raises:
        InputError: if there is no such language (``en`` or ``zh``), or no word for something in the goal.
    """
    return tuple(describe_subgoal(subgoal, language) for subgoal in goal.subgoals)


def describe_subgoal(subgoal: Subgoal, language: str) -> str:
    """Return what one subgoal asks for, as a sentence like ``Every apple is sliced and in jar #0``.

    Raises:
        InputError: as `describe_goal` does.
    """
    all_words(language)
    wording: Mapping[str, Any] = goals_table()["wording"][language]
    x = _term(wording, subgoal.x, subgoal.form in OF_A_TYPE, language)
    facts = []
    if subgoal.of_x:
        facts.append(wording["states"].format(states=_states(wording, subgoal.of_x, language)))
    if subgoal.relation:
        facts.append(wording[subgoal.relation].format(y=_place(wording, subgoal, language)))
    line: str = wording["line"][subgoal.form].format(x=x, **{"is": wording["joint"]["is"].join(facts)})
    if subgoal.y and subgoal.of_y and subgoal.form not in ANYWHERE:
        y = _term(wording, subgoal.y, False, language)
        states = _states(wording, subgoal.of_y, language)
        line = wording["and_y"].format(line=line, y=y, states=states)
    return line[0].upper() + line[1:] + str(wording["end"])


def activity_title(number: int, language: str) -> str:
    """Return the activity of a template in words: ``Bottling fruit``.

    Raises:
        InputError: if there is no such template or language.
    """
    all_words(language)
    return template(number).titles[language]


def _place(wording: Mapping[str, Any], subgoal: Subgoal, language: str) -> str:
    assert subgoal.y is not None
    if subgoal.form not in ANYWHERE:
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


def _states(wording: Mapping[str, Any], required: tuple[Requirement, ...], language: str) -> str:
    joint: str = wording["joint"]["states"]
    return joint.join(state_word(name, value, language) for name, value in required)


def instantiate(template_number: int, stock: Stock, random: Random) -> Goal | None:
    """Return the goal of a template, its slots drawn from left to right, subgoal by subgoal.

    `stock`: what the household holds; its things are called ``type#0``, ``type#1``, …

    Returns:
        The goal; None if a slot cannot be filled (the type is absent, or there are too few types or things).
    """
    draws = _draws(template_number)
    values = _fill(draws.slots, stock, random)
    if values is None:
        return None
    subgoals = [
        Subgoal(
            form=pattern.form,
            x=values[x],
            y=None if y is None else values[y],
            relation=pattern.relation,
            of_x=pattern.of_x,
            of_y=pattern.of_y,
        )
        for pattern, x, y in draws.patterns
    ]
    return Goal(tuple(subgoals), template_number)


class _Draws(NamedTuple):
    """A template's slots in the order in which they are drawn, and which of them each pattern has."""

    slots: tuple[Slot, ...]
    patterns: tuple[tuple[Pattern, int, int | None], ...]


@cache
def _draws(number: int) -> _Draws:
    places: dict[Slot, int] = {}
    patterns = []
    for pattern in template(number).patterns:
        x = places.setdefault(pattern.x, len(places))
        y = places.setdefault(pattern.y, len(places)) if pattern.y else None
        patterns.append((pattern, x, y))
    return _Draws(tuple(places), tuple(patterns))


def _fill(slots: tuple[Slot, ...], stock: Stock, random: Random) -> list[str] | None:
    """Return a value for each slot, in their order; None as soon as one has no candidate."""
    values: list[str] = []
    type_of: dict[str, str] = {}
    for slot in slots:
        if slot.kind == "drawn thing" and slot.name not in type_of:
            types = stock.types(slot.name)
            if not types:
                return None
            type_of[slot.name] = _one_of(types, random)
        options = _options(slot, stock, values, type_of)
        if not options:
            return None
        # What is given costs no draw.
        values.append(options[0] if slot.kind in ("location", "type") else _one_of(options, random))
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


def _one_of(options: Sequence[str], random: Random) -> str:
    return options[int(random.random() * len(options))]
