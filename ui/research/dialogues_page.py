"""A ClarQ-LLM dialogue turn by turn, with the experts' trace and the tree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from logs import LogReader
from logs.rows import ModelCall
from simulator.clarq.views import ReplayStep
from simulator.runner.turns import task_turns
from trees import OPENING
from ui.render.result import steps_data
from ui.render.tree import Branch, branches
from ui.research.desk import Desk, Dialogue
from ui.research.view import Episode, Visit


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """A turn with what lay behind it.

    Attributes:
        details: the experts' notes as JSON text; empty if there are none.
        calls: the model calls made for it.
    """

    step: ReplayStep
    details: str
    calls: Sequence[ModelCall]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A dialogue ready to be shown."""

    dialogue: Dialogue
    turns: tuple[TracedTurn, ...]
    other_calls: Sequence[ModelCall]
    tree: Branch
    steps: str


def dialogue_episode(visit: Visit, reader: LogReader, id: str) -> Episode | None:
    """Return a dialogue with its trace; None while it is played: what is drawn is drawn from its end."""
    if reader.ending(id) is None:
        return None
    dialogue = Desk(reader).dialogue(id)
    logged = {turn.number: turn for turn in task_turns(reader.turns(id))}
    turns = tuple(
        TracedTurn(
            step,
            _notes(logged[step.number].payload.get("details")) if step.number in logged else "",
            dialogue.calls.get(step.number, ()),
            logged[step.number].seconds if step.number in logged else None,
        )
        for step in dialogue.replay.steps
    )
    calls, steps = dialogue.calls.get(None, ()), steps_data(dialogue.replay)
    return Episode("dialogues", {"shown": Shown(dialogue, turns, calls, tree_of(dialogue), steps)})


def tree_of(dialogue: Dialogue) -> Branch:
    """Return the tree as it stands at the end."""
    replay = dialogue.replay
    opened = any(OPENING in step.gave for step in replay.steps)
    return branches(replay.opening, opened, replay.nodes)


def _notes(details: Any) -> str:
    return json.dumps(details, ensure_ascii=False, indent=2) if details else ""
