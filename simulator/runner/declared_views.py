"""Views that people have of episodes whose pages are made of blocks: what pages rely on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from logs.rows import Ending
from simulator.benchmark import Due, Move
from simulator.blocks import Block, Words


class ItemChoice(NamedTuple):
    """An item in a menu: its place among those in its language, from 1, and what it is called there."""

    place: int
    words: Words


class ItemGroup(NamedTuple):
    """Items of one kind."""

    label: str
    choices: Sequence[ItemChoice]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPage:
    """A page for a person in a seat.

    Attributes:
        stage: what a study shows instead of the task, ``qualification`` where somebody shows that they may do
            it, ``task`` while it goes on, ``done`` at the end.
        due: the move that this seat is to make; while it waits, the last that it made.
        waits_for: the seat that is due; empty if that is this one, or nobody.
        moves: of the task so far.
        first: the number of the first of them in the log.
        warning: what a seat opposite met with.
    """

    episode_id: str
    seat: str
    people: tuple[str, ...] = ()
    language: str
    stage: str
    due: Due | None = None
    my_turn: bool = True
    waits_for: str = ""
    blocks: tuple[Block, ...] = ()
    moves: tuple[Move, ...] = ()
    first: int = 0
    number: int
    ending: Ending | None = None
    warning: str | None = None
    study: bool = False
    tested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """An ended episode, as everybody in it may see it.

    Attributes:
        blocks: what is revealed; nothing if the episode was broken off.
        scores: metric -> value; likewise.
    """

    language: str
    moves: tuple[Move, ...]
    blocks: tuple[Block, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)
