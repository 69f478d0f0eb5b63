"""Opponents that can be chosen, as an entry page offers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.runner.lobby import PERSON, Opponent
from ui.i18n import Strings


@dataclass(frozen=True, slots=True)
class OpponentOption:
    """An opponent in the page's language.

    Attributes:
        kind: ``offline``, ``model`` or ``person``.
        note: what to know about them; why they cannot play, if they cannot.
    """

    name: str
    kind: str
    label: str
    note: str
    available: bool


def opponent_options(texts: Strings, opponents: Sequence[Opponent], key: str) -> list[OpponentOption]:
    """Return the opponents in order, by the texts under `key`, else by those of their kind."""
    return [_option(texts, opponent, key) for opponent in opponents]


def _option(texts: Strings, opponent: Opponent, key: str) -> OpponentOption:
    provider = opponent.name.partition("/")[0]
    kind = provider if provider in ("offline", PERSON) else "model"
    slug = opponent.name.replace("/", "_").replace(":", "_")
    label = texts.get(f"{key}.{slug}", texts.get(f"home.opponents.{slug}", opponent.label))
    note = texts.get(f"{key}.{slug}_note", texts(f"home.opponents.{kind}_note"))
    if not opponent.available:
        note = texts("home.needs_key", variable=opponent.requires)
    return OpponentOption(opponent.name, kind, label, note, opponent.available)
