"""The home page: what Askback is, and the form that begins a dialogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from simulator.clarq.sessions import CatalogEntry
from simulator.runner.lobby import Opponent
from simulator.studies.cards import StudyCard
from trees import Language
from ui.i18n import LANGUAGES, strings
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.render.opponents import opponent_options
from ui.study.pages import offer

_TITLE: Final = {"en": 68, "zh": 32}  # characters of a task that a menu shows


@dataclass(frozen=True, slots=True)
class TaskOption:
    """A task in the menu, its title cut to the menu's width."""

    task_id: str
    title: str
    uncertainties: int


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """The tasks of one type."""

    label: str
    entries: tuple[TaskOption, ...]


def entry_page(
    frame: Frame,
    link: RoomLink,
    catalogs: Mapping[Language, Sequence[CatalogEntry]],
    opponents: Mapping[str, Sequence[Opponent]],
    studies: Sequence[StudyCard],
) -> str:
    """Return the home page.

    Args:
        frame: its frame.
        link: how the other pages lead there.
        catalogs: the tasks by language.
        opponents: who can sit opposite, by the person's own seat.
        studies: of this benchmark.
    """
    return render(
        "clarq/entry",
        frame.texts,
        frame=frame,
        room=link,
        offers=[offer(frame, card) for card in studies if card.open],
        languages=[(language, strings(language)("language.name")) for language in LANGUAGES],
        catalogs={language: task_groups(entries, language) for language, entries in catalogs.items()},
        seats=[
            (seat, opponent_options(frame.texts, known, "home.opponents"))
            for seat, known in opponents.items()
        ],
    )


def task_groups(entries: Sequence[CatalogEntry], language: str) -> list[TaskGroup]:
    """Return the tasks by type, in the order of the types' numbers."""
    ordered = sorted(entries, key=lambda entry: entry.type)
    return [_group(tuple(same), language) for _, same in groupby(ordered, key=lambda entry: entry.type)]


def _group(entries: Sequence[CatalogEntry], language: str) -> TaskGroup:
    options = (
        TaskOption(entry.task_id, _cut(entry.title, language), entry.uncertainties) for entry in entries
    )
    return TaskGroup(f"{entries[0].type}. {entries[0].type_name}", tuple(options))


def _cut(title: str, language: str) -> str:
    whole = " ".join(title.split())
    whole = whole[:1].upper() + whole[1:]
    width = _TITLE[language]
    if len(whole) <= width:
        return whole
    head = whole[:width]
    return (head.rpartition(" ")[0] or head if language == "en" else head).rstrip(" ,;:，；：") + "…"
