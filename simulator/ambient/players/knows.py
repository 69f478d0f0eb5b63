"""What an annotator is told (`View.task`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from simulator.ambient.items import Item
from simulator.ambient.playing import ANNOTATOR, Step
from simulator.ambient.shown import Shown
from simulator.seats import Reply, View


@dataclass(frozen=True, slots=True)
class Knows:
    """The steps that are due, and what is shown in the first of them.

    Attributes:
        steps: the one that is due, or for a seat that does several at once all that are left.
        shown: what a person would see in the first; whoever plays the part of a person looks at nothing else.
        item: for built-in players, which know what is right, and for tests whose prompt is made of it.
        seeds: one per step, for whoever draws anything.
        said: per step before, its kind and what was said.
    """

    steps: tuple[Step, ...]
    shown: Shown
    item: Item
    seeds: tuple[int, ...]
    said: tuple[tuple[str, str], ...] = ()


@runtime_checkable
class AnswersAll(Protocol):
    """A seat that does all that is left of an item at once, where its steps do not rest on each other."""

    def answers_all(self, item: Item) -> bool:
        """Return True if it does so with this item."""
        ...

    async def answer_all(self, view: View) -> tuple[Reply, ...]:
        """Return one reply per step of `view.task`, a `Knows`, in order.

        Raises:
            ModelError: if its model fails.
        """
        ...


def asked_in(view: View, step: str, place: int = 0) -> dict[str, Any]:
    """Return what a request to a model says of itself: what it is for, and in which turn.

    Args:
        view: what the seat sees.
        step: the kind of step.
        place: of the step among the view's.
    """
    return {
        "purpose": f"{ANNOTATOR}.{step}",
        "episode_id": view.episode_id,
        "turn_number": view.number + place,
    }
