"""Filling a template's slots with what a household holds (spec 4.2)."""

from __future__ import annotations

from random import Random

from simulator.handmethat.goals.model import Goal, Subgoal
from simulator.handmethat.goals.notation import Slot
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
    drawing = _Drawing(stock, random)
    subgoals = []
    for pattern in template(template_number).patterns:
        x = drawing.fill(pattern.x)
        y = drawing.fill(pattern.y) if x and pattern.y else None
        if x is None or (pattern.y and y is None):
            return None
        subgoals.append(
            Subgoal(
                form=pattern.form,
                x=x,
                y=y,
                relation=pattern.relation,
                of_x=pattern.of_x,
                of_y=pattern.of_y,
            )
        )
    return Goal(tuple(subgoals), template_number)


class _Drawing:
    """The draws of one goal so far."""

    def __init__(self, stock: Stock, random: Random) -> None:
        self._stock = stock
        self._random = random
        self._filled: dict[Slot, str] = {}
        self._type_of: dict[str, str] = {}

    def fill(self, slot: Slot) -> str | None:
        if slot not in self._filled:
            value = self._draw(slot)
            if value is None:
                return None
            self._filled[slot] = value
        return self._filled[slot]

    def _draw(self, slot: Slot) -> str | None:
        if slot.kind == "location":
            return slot.name
        if slot.kind == "type":
            return slot.name if self._stock.count(slot.name) else None
        if slot.kind == "thing":
            return self._thing(slot.name)
        if slot.kind == "drawn thing":
            return self._thing_of_subclass(slot.name)
        return self._type(slot)

    def _type(self, slot: Slot) -> str | None:
        types = self._stock.types(slot.name)
        if slot.tag:
            drawn = self._filled.values()
            types = tuple(one for one in types if one not in drawn)
        return self._one_of(types)

    def _thing(self, kind: str) -> str | None:
        drawn = self._filled.values()
        names = [f"{kind}#{i}" for i in range(self._stock.count(kind))]
        return self._one_of([name for name in names if name not in drawn])

    def _thing_of_subclass(self, subclass: str) -> str | None:
        if subclass not in self._type_of:
            kind = self._one_of(self._stock.types(subclass))
            if kind is None:
                return None
            self._type_of[subclass] = kind
        return self._thing(self._type_of[subclass])

    def _one_of(self, options: tuple[str, ...] | list[str]) -> str | None:
        return options[int(self._random.random() * len(options))] if options else None
