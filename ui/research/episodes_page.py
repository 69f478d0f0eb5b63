"""The episodes of a HandMeThat data set: a filtered list, and one of them with everything that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from simulator.errors import AskbackError
from simulator.handmethat import show
from simulator.handmethat.data import BUILTIN, Listed, list_episodes, load_episode
from simulator.handmethat.goals.templates import activity_title
from simulator.handmethat.meanings.model import Meaning
from simulator.handmethat.meanings.render import render_utterance
from simulator.handmethat.meanings.rsa import RsaView, rsa_view
from simulator.handmethat.playing import Posed
from simulator.handmethat.show import before
from simulator.handmethat.task import Task
from trees import Language
from ui.handmethat.drawing import draw
from ui.handmethat.result import bars, narrowings, percent
from ui.problems import problem_text
from ui.research.address import Address
from ui.research.figures import Figure
from ui.research.rsa_figures import heat_map
from ui.research.view import Page, Visit

MOST: Final = 300


@dataclass(frozen=True, slots=True)
class Row:
    """A meaning of the RSA tables in words.

    Attributes:
        meant: whether it is m; `heard`: whether it is r.
    """

    tag: str
    text: str
    prior: str
    listener: str
    meant: bool
    heard: bool


def episodes_page(visit: Visit) -> Page:
    """Return the list, and the episode that the address names."""
    at = visit.at
    data = at.data or BUILTIN
    try:
        listed = list_episodes(data)
        problem = ""
    except AskbackError as error:
        listed, problem = (), problem_text(visit.t, error)
    language = language_of(visit)
    fitting = [entry for entry in listed if fits(entry, at)]
    goals = sorted({entry.goal for entry in listed if entry.goal is not None})
    figures, shown = ((), None) if not at.item else _episode(visit, load_episode(data, at.item), language)
    return visit.page(
        "episodes",
        figures,
        data=data,
        builtin=BUILTIN,
        problem=problem,
        entries=fitting[:MOST],
        found=len(fitting),
        total=len(listed),
        levels=sorted({entry.level for entry in listed}),
        quests=list(dict.fromkeys(entry.quest for entry in listed)),
        goals=[(goal, activity_title(goal, language)) for goal in goals],
        titles={goal: activity_title(goal, language) for goal in goals},
        shown=shown,
    )


def fits(listed: Listed, at: Address) -> bool:
    """Return True if an episode fits the filters."""
    filters = ((at.level, str(listed.level)), (at.quest, listed.quest), (at.goal, str(listed.goal)))
    return all(wish in ("", value) for wish, value in filters)


def language_of(visit: Visit) -> Language:
    """Return the language in which an episode is put into words: that of the page."""
    return "zh" if visit.t.language == "zh" else "en"


def _episode(visit: Visit, task: Task, language: Language) -> tuple[Sequence[Figure], dict[str, Any]]:
    view = before(Posed(task, language))
    rows, utterances, figures, failed = _rsa(visit, task, language)
    return figures, {
        "task": task,
        "language": language,
        "title": "" if task.goal_index is None else activity_title(task.goal_index, language),
        "instruction": show.instruction_text(task, language),
        "meaning": show.meaning_text(task, task.meaning, language),
        "goal": show.goal_lines(task, language),
        "story": show.story_steps(task, language),
        "why": show.why(task, language),
        "bars": bars(show.readings(task, language)),
        "narrowings": narrowings(show.counts(task)),
        "drawing": draw(view.places, (), language),
        "rows": rows,
        "said": utterances,
        "failed": failed,
    }


def _rsa(
    visit: Visit, task: Task, language: Language
) -> tuple[list[Row], list[str], tuple[Figure, ...], str]:
    try:
        tables = rsa_view(task)
    except AskbackError as error:
        return [], [], (), problem_text(visit.t, error)
    meanings = [show.meaning_text(task, meaning, language) for meaning in tables.meanings]
    utterances = [_said(task, utterance, language) for utterance in tables.utterances]
    figures = (
        heat_map("listener", visit.t, tables.listener, meanings, utterances),
        heat_map("speaker", visit.t, tables.speaker, meanings, utterances),
    )
    return _rows(task, tables, meanings), utterances, figures, ""


def _said(task: Task, utterance: Meaning, language: Language) -> str:
    return render_utterance(task.world, utterance, language, task.seed)


def _rows(task: Task, tables: RsaView, meanings: Sequence[str]) -> list[Row]:
    return [
        Row(
            tag=f"m{place + 1}",
            text=meanings[place],
            prior=percent(float(tables.prior[place])),
            listener=percent(float(tables.listener[place, 0])),
            meant=meaning == task.meaning,
            heard=meaning == task.heard,
        )
        for place, meaning in enumerate(tables.meanings)
    ]
