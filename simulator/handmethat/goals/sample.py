"""Filling a template's slots with what a household holds (spec 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from simulator.handmethat.goals.model import Goal, Subgoal
from simulator.handmethat.goals.notation import Pattern, Slot
from simulator.handmethat.goals.templates import template
from simulator.handmethat.scene import Stock


def instantiate(template_number: int, stock: Stock, random: Random) -> Goal | None:
    """The goal of a template, its slots drawn from left to right, subgoal by subgoal.

    Args:
        template_number: 0 to 68.
        stock: what the household holds; its things are called ``type#0``, ``type#1``, …
        random: the draws descend from it alone.

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
    """A value for each slot, in their order; None as soon as one has no candidate."""
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
    """What a slot may be filled with after what has been drawn."""
    if slot.kind == "drawn":
        types = stock.types(slot.name)
        return [one for one in types if one not in values] if slot.tag else types
    if slot.kind in ("location", "type"):
        return (slot.name,) if slot.kind == "location" or stock.count(slot.name) else ()
    kind = type_of.get(slot.name, slot.name)
    names = [f"{kind}#{i}" for i in range(stock.count(kind))]
    return [one for one in names if one not in values]


def _one_of(options: Sequence[str], random: Random) -> str:
    return options[int(random.random() * len(options))]
