"""The 69 goal templates (tables/goals.yaml; spec 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

import yaml

from simulator.errors import InputError
from simulator.handmethat.goals.notation import Pattern, read_patterns
from simulator.handmethat.hierarchy import TABLES

SetName = Literal["all", "v2"]


@dataclass(frozen=True, slots=True)
class Template:
    """A goal with slots.

    Attributes:
        number: 0 to 68.
        activity: BEHAVIOR-100's name of it.
        in_v2: whether it is one of the 25 of the later public release.
        titles: language -> the activity in words.
        patterns: its subgoals, lists written out.
    """

    number: int
    activity: str
    in_v2: bool
    titles: Mapping[str, str]
    patterns: tuple[Pattern, ...]


@cache
def templates() -> tuple[Template, ...]:
    """All templates; template i is at place i.

    Raises:
        InputError: if the table has a mistake; the message names the template and the word.
    """
    return tuple(_read(i, row) for i, row in enumerate(goals_table()["templates"]))


def template(number: int) -> Template:
    """The template with a number.

    Raises:
        InputError: if there is none.
    """
    if not 0 <= number < len(templates()):
        raise InputError(f"There is no goal {number}; goals are numbered 0 to {len(templates()) - 1}.")
    return templates()[number]


def template_set(name: str) -> tuple[int, ...]:
    """The numbers of the templates of a named set, ``all`` or ``v2``.

    Raises:
        InputError: if there is no such set.
    """
    if name not in ("all", "v2"):
        raise InputError(f"There is no set of goals {name!r}; there are 'all' and 'v2'.")
    return tuple(one.number for one in templates() if name == "all" or one.in_v2)


@cache
def goals_table() -> Mapping[str, Any]:
    """Everything of tables/goals.yaml, as it stands there."""
    return MappingProxyType(yaml.safe_load((TABLES / "goals.yaml").read_text(encoding="utf-8")))


def _read(place: int, row: Mapping[str, Any]) -> Template:
    if row["number"] != place:
        raise InputError(f"tables/goals.yaml: goal {row['number']} stands at place {place}.")
    try:
        patterns = tuple(one for text in row["subgoals"] for one in read_patterns(text))
    except InputError as error:
        raise InputError(f"tables/goals.yaml, goal {place}: {error}") from error
    return Template(
        number=place,
        activity=row["activity"],
        in_v2=row.get("v2", False),
        titles=MappingProxyType(row["title"]),
        patterns=patterns,
    )
