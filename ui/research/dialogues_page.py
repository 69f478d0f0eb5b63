"""A ClarQ-LLM dialogue turn by turn, with the experts' trace and the tree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from logs import LogReader
from logs.rows import ModelCall
from simulator.blocks import Detail, TreeReplay, Words
from simulator.clarq.data import BENCHMARK
from simulator.clarq.playing import PROVIDER
from simulator.clarq.show import background_parts, heard, reason, tree_replay
from simulator.clarq.views import ReplayStep
from simulator.runner.turns import task_turns
from ui.i18n import DECLARED
from ui.render.frame import RoomLink
from ui.research.desk import Desk, Dialogue
from ui.research.view import Episode, Visit

ROOM: Final = RoomLink(f"{DECLARED}.{BENCHMARK}", "", "")
"""Where the words of blocks are found."""


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """A turn with what lay behind it.

    Attributes:
        heard: how the seeker was understood.
        reason: the provider's; empty if there is none.
        details: the experts' notes as JSON text; empty if there are none.
        calls: the model calls made for it.
    """

    step: ReplayStep
    heard: tuple[Words, ...]
    reason: Words
    details: str
    calls: Sequence[ModelCall]
    seconds: float | None


class Drawn(NamedTuple):
    """The drawn parts of a dialogue: its tree turn by turn, and the seeker's background."""

    replay: TreeReplay
    background: tuple[Detail, ...]


def drawn(dialogue: Dialogue) -> Drawn:
    """Return what is drawn of a dialogue."""
    background = dialogue.replay.task.background
    return Drawn(tree_replay(dialogue.replay), tuple(background_parts(background, PROVIDER)))


@dataclass(frozen=True, slots=True)
class Shown:
    """A dialogue ready to be shown."""

    dialogue: Dialogue
    turns: tuple[TracedTurn, ...]
    other_calls: Sequence[ModelCall]
    drawn: Drawn


def dialogue_episode(visit: Visit, reader: LogReader, id: str) -> Episode | None:
    """Return a dialogue with its trace; None while it is played: what is drawn is drawn from its end."""
    if reader.ending(id) is None:
        return None
    dialogue = Desk(reader).dialogue(id)
    logged = {turn.number: turn for turn in task_turns(reader.turns(id))}
    turns = tuple(
        TracedTurn(
            step,
            heard(step),
            reason(step) if step.reason else "",
            _notes(logged[step.number].payload.get("details")) if step.number in logged else "",
            dialogue.calls.get(step.number, ()),
            logged[step.number].seconds if step.number in logged else None,
        )
        for step in dialogue.replay.steps
    )
    shown = Shown(dialogue, turns, dialogue.calls.get(None, ()), drawn(dialogue))
    return Episode("dialogues", {"shown": shown, "room": ROOM})


def _notes(details: Any) -> str:
    return json.dumps(details, ensure_ascii=False, indent=2) if details else ""
