"""A run of HandMeThat: its scores by level, its episodes, and one of them to be watched turn by turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from logs import LogReader
from logs.rows import Turn
from simulator.errors import InputError
from simulator.handmethat import show
from simulator.handmethat.playing import Posed
from simulator.handmethat.reports import ALL, level_results, scored_episodes
from simulator.handmethat.room import ROOM
from simulator.handmethat.score import options_of
from simulator.handmethat.views import LineView
from simulator.runner.turns import task_turns
from simulator.stats import Interval
from ui.handmethat.drawing import chip, draw, glyph_of
from ui.handmethat.play import spoken
from ui.handmethat.result import bars
from ui.research.desk import RunCard
from ui.research.format import Cell, cell, scale
from ui.research.view import Page, Visit

_DIGITS: Final = {"score": 1, "success": 3, "moves": 2}


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the score table: a robot under one set of rules, at one level (None: all)."""

    label: str
    level: int | None
    n: int
    cells: dict[str, Cell | None]


@dataclass(frozen=True, slots=True)
class Entry:
    """An episode in the list; `scored` is its row of `scored_episodes`, None if it has not been scored."""

    id: str
    name: str
    status: str
    scored: Mapping[Any, Any] | None

    @property
    def outcome(self) -> str:
        """``success``, ``failure`` or ``unscored``."""
        return "unscored" if self.scored is None else "success" if self.scored["success"] else "failure"


def household_page(visit: Visit, card: RunCard, reader: LogReader) -> Page:
    """Return a run's scores, or its episodes."""
    scored = scored_episodes(reader, [card.run.id])
    if visit.at.tab != "dialogues":
        lines = score_lines(scored)
        return visit.page("household_scores", live=card.live, card=card, tab="scores", lines=lines)
    entries = [entry for entry in _entries(reader, card.run.id, scored) if _fits(visit, entry)]
    shown = _watched(visit, reader) if visit.at.episode else None
    return visit.page(
        "household_watch",
        live=card.live and shown is None,
        card=card,
        tab="dialogues",
        entries=entries,
        levels=(1, 2, 3, 4),
        outcomes=("success", "failure", "unscored"),
        shown=shown,
    )


def score_lines(scored: pd.DataFrame) -> list[Line]:
    """Return the score table's rows: each robot at each level, then at all."""
    scales = {
        "success": scale((), fixed=(0.0, 1.0)),
        "score": scale((), fixed=(-100.0, 100.0)),
        "moves": scale((), fixed=(0.0, 40.0)),
    }

    def shown(name: str, interval: Interval | None) -> Cell | None:
        return None if interval is None else cell(interval, scales[name], _DIGITS[name])

    return [
        Line(
            f"{row['robot']} · {row['mode']}",
            None if row["level"] == ALL else int(row["level"]),
            row["n"],
            {name: shown(name, row[name]) for name in _DIGITS},
        )
        for row in level_results(scored).to_dict("records")
    ]


def _entries(reader: LogReader, run_id: str, scored: pd.DataFrame) -> list[Entry]:
    by_id = scored.set_index("episode").to_dict("index")
    endings = reader.endings(run_id)
    names = {item.hash: item.name for item in reader.items(run_id)}
    return [
        Entry(
            episode.id,
            names[episode.item_hash],
            endings[episode.id].status if episode.id in endings else "open",
            by_id.get(episode.id),
        )
        for episode in reader.episodes(run_id, latest=True)
    ]


def _fits(visit: Visit, entry: Entry) -> bool:
    at = visit.at
    if at.outcome and entry.outcome != at.outcome:
        return False
    return not at.level or (entry.scored is not None and str(entry.scored["level"]) == at.level)


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
