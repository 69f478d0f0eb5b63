"""HandMeThat's own entry: what it is, and the form that begins an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simulator.runner.lobby import Opponent
from ui.handmethat.ports import SEATS
from ui.i18n import LANGUAGES, Strings, strings
from ui.ports import PERSON
from ui.render.environment import render
from ui.render.frame import Frame

MODES: Final = ("partial", "full")
PROTOCOLS: Final = ("free", "paper")
_ICONS: Final = {"offline": "computer", "model": "chip", "person": "person"}


@dataclass(frozen=True, slots=True)
class Choice:
    """Somebody who can be chosen to sit opposite, in the page's language."""

    name: str
    icon: str
    label: str
    note: str
    available: bool


def entry_page(frame: Frame, levels: Sequence[int], opponents: Mapping[str, Sequence[Opponent]]) -> str:
    """Return the entry.

    Args:
        frame: its frame.
        levels: levels of which there are tasks; empty if there are no tasks.
        opponents: who can sit opposite, by the person's own seat.
    """
    return render(
        "handmethat/entry",
        frame.texts,
        frame=frame,
        languages=[(language, strings(language)("language.name")) for language in LANGUAGES],
        levels=levels,
        modes=MODES,
        protocols=PROTOCOLS,
        seats=[(seat, [choice(frame.texts, opponent) for opponent in opponents[seat]]) for seat in SEATS],
    )


def choice(texts: Strings, opponent: Opponent) -> Choice:
    """Return an opponent in words."""
    provider = opponent.name.partition("/")[0]
    kind = PERSON if opponent.name == PERSON else "offline" if provider == "offline" else "model"
    slug = opponent.name.replace("/", "_").replace(":", "_")
    key = "household.home.opponent"
    default = "robot_note" if kind == "offline" else "model_note"
    note = texts.get(f"{key}.{slug}_note", texts(f"{key}.{default}"))
    if not opponent.available:
        note = texts("home.needs_key", variable=opponent.requires)
    label = texts.get(f"{key}.{slug}", opponent.label)
    return Choice(opponent.name, _ICONS[kind], label, note, opponent.available)
