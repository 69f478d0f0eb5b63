"""What a batch of episodes is to hold: levels, quest types and templates, as the command line says them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from simulator.errors import InputError
from simulator.handmethat.meanings.model import QUESTS, Quest
from simulator.handmethat.task import LEVELS, Level

BALANCED: Final = "balanced"
FREE: Final = "free"
Quotas = Mapping[Level, int]


def parse_levels(text: str, episodes: int) -> Quotas | None:
    """How many episodes of each level: ``balanced``, ``free`` (None), or shares such as ``1:2,2:1``.

    Raises:
        InputError: if it is none of these.
    """
    if text == FREE:
        return None
    if text == BALANCED:
        return share_out(episodes, dict.fromkeys(LEVELS, 1.0))
    shares = _pairs("--levels", text, tuple(map(str, LEVELS)))
    return share_out(episodes, {level: shares[str(level)] for level in LEVELS if shares.get(str(level))})


def parse_mix(text: str) -> dict[Quest, float]:
    """The weight of each quest type, such as ``bring_me:47,move_to:48,change_state:5``.

    Raises:
        InputError: if it is not of that form.
    """
    shares = _pairs("--quest-mix", text, QUESTS)
    return {quest: shares[quest] for quest in QUESTS if shares.get(quest)}


def parse_templates(text: str, sets: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Numbers of goal templates: the name of a set, or such as ``1-5,8,67``.

    Args:
        text: what was given.
        sets: the named sets; ``all`` is among them.

    Raises:
        InputError: if a number is not a template's.
    """
    if text in sets:
        return sets[text]
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise InputError(f"--templates {text!r}: give {', '.join(sets)}, or numbers such as 1-5,8,67")
        found |= set(range(int(first), int(last or first) + 1))
    unknown = sorted(found - set(sets["all"]))
    if unknown or not found:
        top = max(sets["all"])
        raise InputError(f"--templates {text!r}: {unknown or 'nothing'}; templates are numbered 0 to {top}")
    return tuple(sorted(found))


def share_out(total: int, shares: Mapping[Level, float]) -> dict[Level, int]:
    """`total` divided by `shares` in whole numbers, the rest by largest remainders, first levels first."""
    whole = sum(shares.values())
    exact = {level: total * share / whole for level, share in shares.items()}
    found = {level: int(value) for level, value in exact.items()}
    order = sorted(shares, key=lambda level: (found[level] - exact[level], level))
    for level in order[: total - sum(found.values())]:
        found[level] += 1
    return found


def _pairs(option: str, text: str, allowed: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = (piece.strip() for piece in part.partition(":"))
        try:
            value = float(weight)
        except ValueError:
            value = -1.0
        if name not in allowed or not 0 <= value < float("inf") or name in found:
            example = ",".join(f"{one}:1" for one in allowed)
            raise InputError(f"{option} {text!r}: give each of {', '.join(allowed)} at most once: {example}")
        found[name] = value
    if not any(found.values()):
        raise InputError(f"{option} {text!r}: at least one weight must be above 0")
    return found


def as_levels(quotas: Quotas | None) -> dict[str, int] | None:
    """Quotas as JSON holds them."""
    return None if quotas is None else {str(level): count for level, count in quotas.items()}


def from_levels(data: Mapping[str, int] | None) -> Quotas | None:
    """Quotas out of what `as_levels` made."""
    return None if data is None else {cast(Level, int(level)): count for level, count in data.items()}
