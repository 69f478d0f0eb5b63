"""The home page: what Askback is, and the form that begins a dialogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ui.i18n import LANGUAGES, Strings, strings
from ui.ports import PERSON, SEATS, CatalogEntry, Opponent, opposite
from ui.render.environment import render
from ui.render.frame import Frame

_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


@dataclass(frozen=True, slots=True)
class Choice:
    """Somebody who can be chosen to sit opposite, in the page's language.

    Attributes:
        kind: ``offline``, ``model`` or ``person``.
        note: what to know about them; why they cannot play, if they cannot.
    """

    name: str
    kind: str
    label: str
    note: str
    available: bool


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """The tasks of one type."""

    label: str
    entries: tuple[CatalogEntry, ...]


def home_page(
    frame: Frame,
    catalogs: Mapping[str, Sequence[CatalogEntry]],
    opponents: Mapping[str, Sequence[Opponent]],
) -> str:
    """The home page.

    Args:
        frame: its frame.
        catalogs: the tasks by language.
        opponents: who can sit in a seat, by seat.
    """
    return render(
        "home",
        frame.texts,
        frame=frame,
        languages=[(language, strings(language)("language.name")) for language in LANGUAGES],
        catalogs={language: task_groups(entries) for language, entries in catalogs.items()},
        seats=[(seat, _choices(frame.texts, opponents[opposite(seat)])) for seat in SEATS],
    )


def task_groups(entries: Sequence[CatalogEntry]) -> list[TaskGroup]:
    """The tasks by type, in the order of the types' numbers."""
    ordered = sorted(entries, key=lambda entry: entry.type)
    return [
        TaskGroup(f"{number}. {same[0].type_name}", same)
        for number, same in (
            (number, tuple(group)) for number, group in groupby(ordered, key=lambda entry: entry.type)
        )
    ]


def _choices(texts: Strings, opponents: Sequence[Opponent]) -> list[Choice]:
    return [_choice(texts, opponent) for opponent in opponents]


def _choice(texts: Strings, opponent: Opponent) -> Choice:
    provider = opponent.name.partition("/")[0]
    slug = opponent.name.replace("/", "_")
    kind = PERSON if opponent.name == PERSON else "offline" if provider == "offline" else "model"
    note = texts.get(f"home.opponent_{slug}_note", texts("home.opponent_model_note"))
    if not opponent.available:
        key = _KEYS.get(provider)
        note = texts("home.needs_key", variable=key) if key else opponent.reason
    label = texts.get(f"home.opponent_{slug}", opponent.label)
    return Choice(opponent.name, kind, label, note, opponent.available)
