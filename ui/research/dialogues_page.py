"""The dialogues of a run: a filtered list, and one of them turn by turn with the experts' trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from logs.rows import ModelCall
from simulator.clarq.score import Scored
from simulator.clarq.views import ReplayStep
from simulator.runner.turns import task_turns
from trees import OPENING
from ui.i18n import Strings
from ui.render.result import steps_data
from ui.render.tree import Branch, branches
from ui.research.address import Address
from ui.research.desk import Dialogue, RunCard, RunData
from ui.research.scores_page import type_label
from ui.research.view import Page, Visit

OUTCOMES = ("success", "failure", "needs_judge", "unscored")


@dataclass(frozen=True, slots=True)
class Entry:
    """A dialogue in the list.

    Attributes:
        scored: its scores; None if it has none.
        status: how it ended, ``open`` if it has not.
    """

    id: str
    name: str
    type: int
    type_label: str
    language: str
    status: str
    scored: Scored | None

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        if self.scored is None:
            return "unscored"
        if self.scored.scores.needs_judge:
            return "needs_judge"
        return "success" if self.scored.scores.success else "failure"


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


def dialogues_page(visit: Visit, card: RunCard, data: RunData, dialogue: Dialogue | None) -> Page:
    """Return the second tab of a run."""
    everything = entries(visit.t, data)
    fitting = [entry for entry in everything if fits(entry, visit.at, data)]
    ids = [entry.id for entry in fitting]
    here = ids.index(visit.at.episode) if visit.at.episode in ids else None
    return visit.page(
        "dialogues",
        live=card.live and dialogue is None,
        card=card,
        tab="dialogues",
        entries=fitting,
        total=len(everything),
        types=sorted({(entry.type, entry.type_label) for entry in everything}),
        languages=sorted({entry.language for entry in everything}),
        outcomes=OUTCOMES,
        shown=shown(data, dialogue) if dialogue else None,
        previous=ids[here - 1] if here else None,
        next=ids[here + 1] if here is not None and here + 1 < len(ids) else None,
    )


def entries(t: Strings, data: RunData) -> list[Entry]:
    """Return all dialogues of a run: the scored ones in the report's order, then the others."""
    return [_entry(t, data, id) for id in dict.fromkeys((*data.by_id, *data.played))]


def _entry(t: Strings, data: RunData, id: str) -> Entry:
    task = data.tasks[data.played[id].episode.item_hash]
    return Entry(
        id=id,
        name=task.id,
        type=task.type,
        type_label=type_label(t, task.type),
        language=task.language,
        status=data.endings[id].status if id in data.endings else "open",
        scored=data.by_id.get(id),
    )


def fits(entry: Entry, at: Address, data: RunData) -> bool:
    """Return True if a dialogue fits the filters."""
    # A dialogue that needs a judge counts as failed until there is one.
    outcomes = {entry.outcome} | ({"failure"} if entry.outcome == "needs_judge" else set())
    if at.outcome and at.outcome not in outcomes:
        return False
    if at.type and str(entry.type) != at.type:
        return False
    if at.language and entry.language != at.language:
        return False
    text = at.text.casefold()
    return not text or any(text in turn.text.casefold() for turn in data.played[entry.id].turns)


def shown(data: RunData, dialogue: Dialogue) -> Shown:
    """Return a dialogue with its trace."""
    replay = dialogue.replay
    played = data.played.get(dialogue.episode_id)
    logged = {turn.number: turn for turn in task_turns(played.turns)} if played else {}
    turns = tuple(
        TracedTurn(
            step,
            _notes(logged[step.number].payload.get("details")) if step.number in logged else "",
            dialogue.calls.get(step.number, ()),
            logged[step.number].seconds if step.number in logged else None,
        )
        for step in replay.steps
    )
    return Shown(dialogue, turns, dialogue.calls.get(None, ()), tree_of(dialogue), steps_data(replay))


def tree_of(dialogue: Dialogue) -> Branch:
    """Return the tree as it stands at the end."""
    replay = dialogue.replay
    opened = any(OPENING in step.gave for step in replay.steps)
    return branches(replay.opening, opened, replay.nodes)


def _notes(details: Any) -> str:
    return json.dumps(details, ensure_ascii=False, indent=2) if details else ""
