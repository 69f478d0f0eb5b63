"""The contents of a page of AmbiK, read from its blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simulator.blocks import Card, Chips, Detail, Plan, Talk, Text
from simulator.form_blocks import Field, Part, Ways
from simulator.runner.machines import SeatPage


class Seen(NamedTuple):
    """`opening`: what stands before the moves, the task first; `fields`: of a form, as they begin."""

    opening: tuple[str, ...]
    scene: tuple[Any, ...]
    appliances: tuple[Any, ...]
    previous: tuple[Any, ...]
    step: Any
    options: tuple[str, ...]
    may_ask: bool
    wish: Any
    detail: Any
    fields: Mapping[str, Any]

    @property
    def task(self) -> str:
        return next(iter(self.opening), "")


def seen(page: SeatPage) -> Seen:
    blocks = [*_within(page.blocks)]

    def first(kind: Any, name: str = "") -> Any:
        matching = (block for block in blocks if isinstance(block, kind))
        return next((b for b in matching if not name or getattr(b.heading, "name", "") == name), None)

    talk, plan, card, detail = first(Talk), first(Plan), first(Card, "wish"), first(Detail)
    scene = first(Part, "scene.heading")
    chips = [tuple(block.texts) for block in (scene.blocks if scene else ()) if isinstance(block, Chips)]
    fields = {block.name: block for block in blocks if isinstance(block, Field)}
    moves: Sequence[Any] = talk.moves if talk else ()
    return Seen(
        opening=tuple(move.text for move in moves[: len(moves) - len(page.moves)]),
        scene=chips[0] if chips else (),
        appliances=chips[1] if len(chips) > 1 else (),
        previous=tuple(plan.steps[:-1]) if plan else (),
        step=plan.steps[-1] if plan else "",
        options=tuple(choice.value for choice in fields["marked"].choices) if "marked" in fields else (),
        may_ask="ask" in fields,
        wish=next((block.text for block in card.blocks if isinstance(block, Text)), "") if card else "",
        detail=detail.content.text if detail else "",
        fields={name: field.value for name, field in fields.items()},
    )


def _within(blocks: Sequence[Any]) -> Iterator[Any]:
    for block in blocks:
        yield block
        yield from _within(block.ways if isinstance(block, Ways) else getattr(block, "blocks", ()))
