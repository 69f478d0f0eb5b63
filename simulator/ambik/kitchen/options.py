"""An item as the kitchen robot sees it, and several actions for any step, open or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simulator.ambik.items import DecideItem
from simulator.ambik.kitchen.categories import Thing, with_article
from simulator.ambik.kitchen.mentions import Mention, mentions
from simulator.ambik.kitchen.openings import Case
from simulator.ambik.kitchen.reasoning import judge
from simulator.ambik.playing import (
    appliances_of,
    exchange_of,
    objects_of,
    previous_of,
    step_of,
    task_of,
)
from simulator.ambik.terms import Context, Dialogue

MANY: Final = 4
MOST: Final = 5
ENOUGH: Final = 3
"""With so many, none that is offered to people is made up of things of another kind."""


def kitchen_case(
    item: DecideItem,
    context: Context = "full_plan",
    exchanges: Sequence[tuple[str, str]] = (),
    dialogue: Dialogue = "before",
) -> Case:
    """Return what a robot may go by; without a plan the instruction is the step (spec 5, 9)."""
    full = context == "full_plan"
    step = step_of(item)
    return Case(
        objects=objects_of(item),
        appliances=appliances_of(item),
        task=task_of(item) if full and step else "",
        previous=previous_of(item) if full else (),
        step=step or task_of(item),
        exchanges=(*exchange_of(item, dialogue), *exchanges),
    )


def alternatives(case: Case, many: int = MANY, enough: int = MANY) -> tuple[str, ...]:
    """Return two to `many` actions that might be meant: by what is open, else by what resembles it.

    `enough`: so many are not followed by some with things of another kind.
    """
    marked = dict.fromkeys(judge(case, many).marked)
    action = next(iter(marked))
    for likely, other in _others(case, action):
        if len(marked) >= (many if likely else enough):
            break
        marked.setdefault(other)
    return tuple(marked)


def _others(case: Case, action: str) -> Iterator[tuple[bool, str]]:
    """Yield the action with things of the same kind (likely ones), then with others, then something else."""
    nouns = [mention for mention in mentions(action, case.things) if mention.things]
    for alike in (_same_kind, _same_family, _anything):
        for noun in reversed(nouns):
            for other in case.things:
                if other not in noun.things and alike(noun.things[0], other):
                    yield alike is _same_kind, _with(action, noun, other)
    body = action.rstrip(". ")
    yield from ((False, f"{body} using the {thing.name}.") for thing in case.things)
    yield from ((False, other) for other in (f"{body}, and wait.", f"{body}, but later."))


def _with(action: str, noun: Mention, other: Thing) -> str:
    return f"{with_article(action[: noun.start], other.name)}{other.name}{action[noun.end :]}"


def _same_kind(thing: Thing, other: Thing) -> bool:
    return bool(thing.category) and thing.category == other.category


def _same_family(thing: Thing, other: Thing) -> bool:
    return thing.is_a("ingredient") == other.is_a("ingredient") and bool(other.category)


def _anything(thing: Thing, other: Thing) -> bool:
    return thing != other


def kitchen_options(item: DecideItem) -> tuple[str, ...]:
    """Return two to five actions that might be meant at the item's step, of the built-in robot's making.

    They are offered to people where the data have none. Nothing of what the data know of the answer goes into
    them, so the right one may be missing; they are the same for everybody, in an order that tells nothing: of
    their words.
    """
    return tuple(sorted(alternatives(kitchen_case(item), MOST, ENOUGH)))
