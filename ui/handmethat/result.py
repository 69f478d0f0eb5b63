"""The page of an episode that has ended: what was meant, how hard it was and why, what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from simulator.handmethat.views import Reading, Replay
from ui.handmethat.play import spoken

COUNTS: Final[Mapping[str, str]] = {"goal": "g", "utterance": "u", "heard": "r", "meaning": "m"}


@dataclass(frozen=True, slots=True)
class Bar:
    """A reading as a bar: `width` in percent of the likeliest one's."""

    reading: Reading
    width: float
    percent: str


@dataclass(frozen=True, slots=True)
class Narrowing:
    """How many things are left by something: `width` in percent of the largest."""

    key: str
    count: int
    width: float


def result_parts(replay: Replay) -> dict[str, object]:
    """Return what the page of an ended episode shows: scores, and what was meant."""
    return {
        "scores": replay.scores,
        "bars": bars(replay.readings),
        "narrowings": narrowings(replay.counts),
        "number": whole,
        "spoken": spoken,
    }


def whole(value: float) -> str:
    """Return a score with a true minus sign."""
    return f"{value:.0f}".replace("-", "\N{MINUS SIGN}")


def bars(readings: tuple[Reading, ...]) -> list[Bar]:
    """Return the readings whose probability is known."""
    known = [(reading, reading.probability) for reading in readings if reading.probability is not None]
    top = max((chance for _, chance in known), default=1.0) or 1.0
    return [Bar(meaning, round(100 * chance / top, 2), percent(chance)) for meaning, chance in known]


def percent(chance: float) -> str:
    """Return a probability for people: whole percent, tenths below one percent."""
    share = 100 * chance
    if share == 0 or share >= 0.995:
        return f"{share:.0f} %"
    return "< 0.1 %" if share < 0.05 else f"{share:.1f} %"


def narrowings(counts: Mapping[str, int]) -> list[Narrowing]:
    """Return the sizes of A(G), A(u), A(r) and A(m) as bars on one scale."""
    known = {key: counts[name] for name, key in COUNTS.items() if name in counts}
    most = max(known.values(), default=1) or 1
    return [Narrowing(key, count, max(1.5, round(100 * count / most, 2))) for key, count in known.items()]
