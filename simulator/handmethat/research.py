"""Researchers' pages of HandMeThat: an episode turn by turn in its house, and the episodes of data sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from simulator.blocks import Block, Card, Cell, Passage, Span, Table, Talk, Text, Translated, Walk, message
from simulator.errors import AskbackError
from simulator.handmethat import graph, show
from simulator.handmethat.data import list_episodes, load_episode
from simulator.handmethat.env.observe import Mode
from simulator.handmethat.goals.templates import activity_title
from simulator.handmethat.items import Task, task_from_row
from simulator.handmethat.meanings.enumerate import Floats
from simulator.handmethat.meanings.render import render_meaning, render_utterance
from simulator.handmethat.meanings.rsa import rsa_view
from simulator.handmethat.playing import Posed
from simulator.handmethat.reveal import counts_card, demo_card, percent, readings_card
from simulator.research import DataPages, Entry, PageRequest, ResearchPages, Setting
from simulator.runner.machines import task_turns
from trees import Language

_LEAST: Final = 0.005
_MOST: Final = 0.5
"""Probabilities below the first are muted; from the second on they are emphasised."""


def episode(request: PageRequest, id: str) -> Sequence[Block]:
    """Return an episode as it was after the chosen turn; no blocks before the instruction."""
    row, turns = request.reader.episode(id), task_turns(request.reader.turns(id))
    if not turns:
        return ()
    task, language = task_from_row(request.reader.item(row.item_hash)), _language(row.language)
    last, chosen = len(turns) - 1, request.chosen.get("step", "")
    step = min(int(chosen), last) if chosen.isdecimal() else 0
    mode: Mode | None = None if request.chosen.get("seen") == "robot" else "full"
    details = json.dumps(show.details(turns[step]), ensure_ascii=False, indent=2)
    return (
        Walk(step, last),
        *show.watch(Posed(task, language), turns, step, mode=mode),
        Card(message("result.log"), [Talk(show.lines(graph.rebuild(turns[: step + 1])))]),
        Card(message("research.about_turn"), [Passage([Span(details)])], folded=True),
        show.meaning_card(task, language),
        readings_card(task, language),
    )


def _language(language: str) -> Language:
    return "zh" if language == "zh" else "en"


def entries(data: str) -> list[Entry]:
    """Return an entry for each episode of a data set."""
    return [
        Entry(
            name,
            {"level": str(level), "quest": quest, **({} if goal is None else {"goal": str(goal)})},
            "" if goal is None else Translated(activity_title(goal, "en"), activity_title(goal, "zh")),
        )
        for name, (level, quest, goal) in list_episodes(data).items()
    ]


def show_episode(data: str, name: str, language: str) -> Sequence[Block]:
    """Return an episode of a data set with all its content."""
    task, spoken = load_episode(data, name), _language(language)
    goal = "\n\n".join(show.goal_lines(task, spoken))
    return (
        show.meaning_card(task, spoken),
        Card(message("before"), [show.story(task, spoken), *([Text(goal, "muted")] if goal else [])]),
        readings_card(task, spoken),
        counts_card(task),
        *_rsa(task, spoken),
        show.before(Posed(task, spoken)).plan(),
        demo_card(task),
    )


def _rsa(task: Task, language: Language) -> Sequence[Block]:
    """Return the speaker's and listener's tables, or a note if they cannot be computed."""
    try:
        tables = rsa_view(task)
    except AskbackError:
        return (Card(message("research.rsa"), [Text(message("research.no_rsa"), "muted")]),)
    meanings = [
        (f"m{place}", render_meaning(task.world, meaning, language), percent(float(prior)))
        for place, (meaning, prior) in enumerate(zip(tables.meanings, tables.prior, strict=True), start=1)
    ]
    spoken = [
        (f"u{place}", render_utterance(task.world, utterance, language, task.seed))
        for place, utterance in enumerate(tables.utterances, start=1)
    ]
    names = ("", message("result.reading"), message("research.prior"))
    return (
        Card(
            message("research.rsa"), [Table(meanings, names), Table(spoken, ("", message("research.said")))]
        ),
        *(
            Card(
                message(f"research.{part}"), [Text(message(f"research.{part}_note"), "muted"), _grid(values)]
            )
            for part, values in (("listener", tables.listener), ("speaker", tables.speaker))
        ),
    )


def _grid(values: Floats) -> Table:
    rows = [[f"m{place}", *map(_chance, row)] for place, row in enumerate(values, start=1)]
    return Table(rows, ["", *(f"u{place}" for place in range(1, values.shape[1] + 1))])


def _chance(value: float) -> str | Cell:
    if _LEAST <= value < _MOST:
        return f"{value:.3f}"
    return Cell(f"{value:.3f}", "muted" if value < _LEAST else "strong")


RESEARCH: Final = ResearchPages(
    episode=episode,
    settings=lambda request: (Setting("seen", ("all", "robot"), "all"),),
    data=DataPages(entries=entries, show=show_episode),
)
