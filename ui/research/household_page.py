"""An episode of HandMeThat, to be watched turn by turn."""

from __future__ import annotations

import json
from typing import Any

from logs import LogReader
from logs.rows import Turn
from simulator.errors import InputError
from simulator.handmethat import show
from simulator.handmethat.playing import Posed
from simulator.handmethat.room import ROOM
from simulator.handmethat.score import options_of
from simulator.handmethat.views import LineView
from simulator.runner.turns import task_turns
from ui.handmethat.drawing import chip, draw, glyph_of
from ui.handmethat.play import spoken
from ui.handmethat.result import bars
from ui.research.view import Episode, Visit


def household_episode(visit: Visit, reader: LogReader, id: str) -> Episode:
    """Return an episode as it stood after a turn.

    Raises:
        InputError: if it has no turn yet.
    """
    return Episode("household_watch", {"shown": _watched(visit, reader)})


def _watched(visit: Visit, reader: LogReader) -> dict[str, Any]:
    at = visit.at
    episode = reader.episode(at.episode)
    turns = task_turns(reader.turns(at.episode))
    if not turns:
        raise InputError(
            f"episode {at.episode!r} has no turn yet; wait until it has begun",
            code="no_turn_yet",
            episode=at.episode,
        )
    posed = ROOM.read_item(reader.item(episode.item_hash))
    last = len(turns) - 1
    step = min(int(at.step), last) if at.step.isdecimal() else 0
    view = show.watch(posed, turns, step, mode=None if at.seen == "robot" else "full")
    language = posed.language
    return {
        "episode": episode,
        "name": posed.task.id,
        "level": posed.task.level,
        "language": language,
        "mode": options_of(turns).mode,
        "view": view,
        "drawing": draw(view.places, (), language),
        "holding": chip(view.holding, (), language) if view.holding else None,
        "hand_glyph": glyph_of(view.holding.kind) if view.holding else "",
        "human_holds": [chip(thing, (), language) for thing in view.human_holds],
        "turns": [_line(turn) for turn in turns],
        "step": step,
        "last": last,
        "about": _about(turns[step]),
        "calls": reader.model_calls(episode_id=at.episode),
        **_meant(posed),
    }


def _about(turn: Turn) -> str:
    known = show.details(turn)
    return json.dumps(known, ensure_ascii=False, indent=2) if known else ""


def _line(turn: Turn) -> dict[str, Any]:
    line = LineView(seat=turn.seat, text=turn.text, kind=str(turn.payload.get("kind", "")))
    return {
        "number": turn.number,
        "seat": turn.seat,
        "kind": line.kind,
        "text": spoken(line),
        "outcome": turn.payload.get("outcome", ""),
    }


def _meant(posed: Posed) -> dict[str, Any]:
    task, language = posed.task, posed.language
    return {
        "meaning": show.meaning_text(task, task.meaning, language),
        "why": show.why(task, language),
        "bars": bars(show.readings(task, language)),
    }
