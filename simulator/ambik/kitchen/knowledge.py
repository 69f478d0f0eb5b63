"""What everybody knows in a kitchen, as rules (tables/common_sense.yaml): what one takes for what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from simulator.ambik.kitchen.categories import Thing, sense
from simulator.ambik.kitchen.words import stems

Kind = Literal["common_sense", "safety"]


@dataclass(frozen=True, slots=True)
class Why:
    """A reason, in two languages.

    Attributes:
        kind: whether it is a matter of safety.
    """

    en: str
    zh: str
    kind: Kind = "common_sense"


@dataclass(frozen=True, slots=True)
class _Choice:
    about: frozenset[str]
    when: re.Pattern[str] | None
    goal: re.Pattern[str] | None
    head: str
    pick: tuple[tuple[str, ...], ...]
    drop: tuple[tuple[str, ...], ...]
    exact: bool
    why: Why


@dataclass(frozen=True, slots=True)
class Purpose:
    """What one needs for what.

    Attributes:
        when: words of a text that has this purpose.
        need: names of things, the fittest first.
        stand: what every kitchen has for it; empty if nothing.
        named: categories that, if a step names one, say that nothing is missing.
        phrase: how it is added to a step, ``{}`` for the thing; empty: it only settles vague words.
    """

    when: re.Pattern[str]
    need: tuple[tuple[str, ...], ...]
    stand: str
    named: frozenset[str]
    phrase: str
    why: Why


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A step that leaves open what is to be done.

    Attributes:
        when: words of such a step.
        goal: words of step, task or steps before that must be there, too; None if it does not matter.
        food: categories one of which must be named; empty if it does not matter.
        find: what is replaced.
        put: by what.
        add: what is added where nothing can be replaced; empty if nothing is.
    """

    when: re.Pattern[str]
    goal: re.Pattern[str] | None
    food: frozenset[str]
    find: re.Pattern[str]
    put: str
    add: str
    why: Why


@dataclass(frozen=True, slots=True)
class Amount:
    """A step that leaves open how long, how much or how many.

    Attributes:
        when: words of such a step.
        goal: words of step, task or steps before that must be there, too; None if it does not matter.
        told: words that say it.
        number: whether any number says it.
        spoken: what is open, in English and Chinese.
        options: what may be meant, as added to the step.
    """

    when: re.Pattern[str]
    goal: re.Pattern[str] | None
    told: re.Pattern[str]
    number: bool
    spoken: tuple[str, str]
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """What common sense leaves of several things.

    Attributes:
        things: one, or several that are as good.
        why: the rule; its kind decides whether several are still a question.
        by_step: whether words of the step itself made the rule hold.
    """

    things: tuple[Thing, ...]
    why: Why
    by_step: bool


def _pattern(text: str | None) -> re.Pattern[str] | None:
    return None if text is None else re.compile(text, re.IGNORECASE)


def _why(row: Mapping[str, Any]) -> Why:
    return Why(row["why"]["en"], row["why"]["zh"], row.get("kind", "common_sense"))


def _names(row: Mapping[str, Any], key: str) -> tuple[tuple[str, ...], ...]:
    return tuple(stems(name) for name in row.get(key, ()))


@cache
def _choices() -> tuple[_Choice, ...]:
    return tuple(
        _Choice(
            about=frozenset(row["about"]),
            when=_pattern(row.get("when")),
            goal=_pattern(row.get("goal")),
            head=row.get("head", ""),
            pick=_names(row, "pick"),
            drop=_names(row, "drop"),
            exact=row.get("exact", False),
            why=_why(row),
        )
        for row in sense()["choices"]
    )


@cache
def purposes() -> tuple[Purpose, ...]:
    """Return all purposes, in the table's order: the first that holds is taken."""
    return tuple(
        Purpose(
            when=re.compile(row["when"], re.IGNORECASE),
            need=_names(row, "need"),
            stand=row.get("stand", ""),
            named=frozenset(row.get("named", ())),
            phrase=row.get("phrase", ""),
            why=_why(row),
        )
        for row in sense()["purposes"]
    )


@cache
def rewrites() -> tuple[Rewrite, ...]:
    """Return all rewrites, in the table's order."""
    return tuple(
        Rewrite(
            when=re.compile(row["when"], re.IGNORECASE),
            goal=_pattern(row.get("goal")),
            food=frozenset(row.get("food", ())),
            find=re.compile(row["sub"][0], re.IGNORECASE),
            put=row["sub"][1],
            add=row.get("add", ""),
            why=_why(row),
        )
        for row in sense()["rewrites"]
    )


@cache
def amounts() -> tuple[Amount, ...]:
    """Return all steps that leave an amount open, in the table's order."""
    return tuple(
        Amount(
            when=re.compile(row["when"], re.IGNORECASE),
            goal=_pattern(row.get("goal")),
            told=re.compile(row["told"], re.IGNORECASE),
            number=row.get("number", False),
            spoken=(row["spoken"]["en"], row["spoken"]["zh"]),
            options=tuple(row["options"]),
        )
        for row in sense()["amounts"]
    )


@cache
def somethings() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Words that name a thing by what it is like, and the category that is meant."""
    return tuple(
        (re.compile(rf"\b({row['words']})\b", re.IGNORECASE), row["category"])
        for row in sense()["somethings"]
    )


def is_knowable(word: str) -> bool:
    """Return True if a word says that everybody knows which one: suitable, proper."""
    return word in sense()["knowable"]


def is_wide(category: str) -> bool:
    """Return True if a category is so wide that its name says nothing."""
    return category in sense()["wide"]


def is_perishable(thing: Thing) -> bool:
    """Return True if a thing is kept in the fridge."""
    return any(thing.is_a(kind) for kind in sense()["perishable"])


def seldomness(thing: Thing) -> int:
    """Return how seldom one takes it where there is something else: paper and plastic more than china."""
    return sum(word in thing.stems for word in sense()["seldom"])


@cache
def fetching() -> re.Pattern[str]:
    """Words that say that something is taken from where it is."""
    return re.compile(sense()["fetch"], re.IGNORECASE)


def settle(category: str, head: str, things: Sequence[Thing], step: str, goal: str) -> tuple[Settled, ...]:
    """What the table says of several things that a noun may mean, rule by rule until one thing is left.

    Args:
        category: as which they are named; empty if by their own noun.
        head: that noun.
        things: several.
        step: the step line.
        goal: step, steps before and task.

    Returns:
        One entry per rule that left something out, the narrowest last; none if no rule applies.
    """
    settleds: list[Settled] = []
    left = tuple(things)
    for rule in _choices():
        if len(left) == 1 or not _applies(rule, category, head, left, step, goal):
            continue
        narrowed = _picked(rule, left)
        if narrowed and len(narrowed) < len(left):
            left = narrowed
            settleds.append(Settled(left, rule.why, rule.when is not None))
    return tuple(settleds)


def _applies(rule: _Choice, category: str, head: str, things: Sequence[Thing], step: str, goal: str) -> bool:
    if rule.head and rule.head != head:
        return False
    if category not in rule.about and not any(thing.category in rule.about for thing in things):
        return False
    return bool(
        (rule.when is None or rule.when.search(step)) and (rule.goal is None or rule.goal.search(goal))
    )


def _picked(rule: _Choice, things: Sequence[Thing]) -> tuple[Thing, ...]:
    """Return those of the first name that anything has, of what is not out."""
    left = tuple(thing for thing in things if not any(is_called(thing, name) for name in rule.drop))
    for name in rule.pick:
        fitting = tuple(one for one in left if (one.stems == name if rule.exact else is_called(one, name)))
        if fitting:
            return fitting
    return left if rule.drop else ()


def is_called(thing: Thing, name: tuple[str, ...]) -> bool:
    """Return True if all words of `name` are in the thing's name."""
    return all(word in thing.stems for word in name)


def fittest(purpose: Purpose, things: Sequence[Thing]) -> str:
    """Return the name of the thing that serves a purpose best; empty if there is none."""
    for name in purpose.need:
        for thing in things:
            if thing.stems == name or (is_called(thing, name) and thing.stems[-1] == name[-1]):
                return thing.name
    return purpose.stand
