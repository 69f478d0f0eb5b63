"""Statistics of episodes: how their numbers are spread, and how often what occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from simulator.handmethat.generation.facts import Facts

# What is measured of an episode -> its name for people.
MEASURES: Final[Mapping[str, str]] = {
    "plan": "plan length",
    "shown": "trajectory length T",
    "left": "plan left after T",
    "subgoals": "subgoals of the goal",
    "objects": "objects, locations too",
    "pool": "meanings in the pool",
    "specifiers": "specifiers of u",
    "words": "words of u in English",
    "meant": "|A(m)|",
    "said": "|A(u)|",
    "heard": "|A(r)|",
    "useful": "|A(G)|",
    "demo": "expert commands",
}
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Spread:
    """How a number is spread over episodes.

    Attributes:
        measure: key of `MEASURES`.
        episodes: those in which it is known.
        sd: sample standard deviation; 0 for a single episode.
        quantiles: at `QUANTILES`.
    """

    measure: str
    episodes: int
    mean: float
    sd: float
    least: float
    most: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics of some episodes.

    Attributes:
        episodes: how many.
        levels: level -> episodes; likewise `quests` and `goals` (numbers of templates).
        by_quest: quest type -> level -> episodes.
        strict4: episodes of level 4 as the paper defines it; None if unknown.
        spreads: of what is measured.
        rejections: households rejected while they were generated, by cause; empty if unknown.
    """

    episodes: int
    levels: Mapping[int, int]
    quests: Mapping[str, int]
    goals: Mapping[int, int]
    by_quest: Mapping[str, Mapping[int, int]]
    strict4: int | None
    spreads: tuple[Spread, ...]
    rejections: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)


def statistics(episodes: Sequence[Facts], rejections: Mapping[str, int] | None = None) -> Statistics:
    """The statistics of at least one episode."""
    fourth = [one.strict for one in episodes if one.level == 4]
    known = [strict for strict in fourth if strict is not None]
    return Statistics(
        episodes=len(episodes),
        levels=_counts(one.level for one in episodes),
        quests=_counts(one.quest for one in episodes),
        goals=_counts(one.goal for one in episodes if one.goal is not None),
        by_quest={
            quest: _counts(one.level for one in episodes if one.quest == quest)
            for quest in _counts(one.quest for one in episodes)
        },
        strict4=sum(known) if len(known) == len(fourth) else None,
        spreads=tuple(
            spread(measure, values) for measure in MEASURES if (values := _values(episodes, measure))
        ),
        rejections=dict(Counter(rejections or {}).most_common()),
    )


def spread(measure: str, values: Sequence[float]) -> Spread:
    """How at least one value is spread."""
    array = np.asarray(values, dtype=float)
    return Spread(
        measure=measure,
        episodes=len(values),
        mean=float(array.mean()),
        sd=float(array.std(ddof=1)) if len(values) > 1 else 0.0,
        least=float(array.min()),
        most=float(array.max()),
        quantiles=tuple(float(value) for value in np.quantile(array, QUANTILES)),
    )


def _values(episodes: Sequence[Facts], measure: str) -> list[float]:
    if measure == "left":
        return [one.plan - one.shown for one in episodes]
    values = (getattr(one, measure) for one in episodes)
    return [value for value in values if value is not None]


def _counts(values: Iterable[Any]) -> dict[Any, int]:
    counts = Counter(values)
    return {value: counts[value] for value in sorted(counts)}
