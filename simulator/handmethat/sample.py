"""Samples of episodes: how they are drawn, and how runs, trainings and reports tell of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, NamedTuple

from simulator.errors import InputError
from simulator.handmethat.meanings.model import QUESTS
from simulator.handmethat.task import LEVELS, Task
from simulator.sampling import balanced, stratified

_COUNTS: Final = {"per_level": "of each level", "limit": "in all"}


class Stratum(NamedTuple):
    """The key by which samples of episodes are stratified."""

    level: int
    quest: str
    goal: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A way of drawing some of many episodes.

    Attributes:
        limit: how many in all at most; None for as many as there are.
        per_level: how many of each level at most; None for as many as there are.
        shares: of levels: ``equal``, or ``proportional`` as the data have them (then only `limit` counts).
            Within a level quest types, and templates within them, are always in proportion.
        seed: equal seeds draw equal samples from equal data.
    """

    limit: int | None = None
    per_level: int | None = None
    shares: Literal["equal", "proportional"] = "equal"
    seed: int = 0

    def __post_init__(self) -> None:
        for count in (self.limit, self.per_level):
            if count is not None and count < 1:
                raise InputError(f"limit {count}: must be 1 or more")

    def draw(self, strata: Sequence[Stratum]) -> tuple[int, ...]:
        """Return the numbers of those drawn, in order, out of episodes of these strata."""
        chosen = range(len(strata))
        most = len(strata) if self.limit is None else self.limit
        if self.shares == "proportional":
            return stratified(chosen, most, lambda i: strata[i], self.seed)
        if self.per_level is not None:
            levels = Counter(stratum.level for stratum in strata)
            most = min(most, sum(min(self.per_level, size) for size in levels.values()))
        return balanced(chosen, most, lambda i: strata[i].level, lambda i: strata[i][1:], self.seed)

    def to_json(self, population: int) -> dict[str, Any]:
        """Return how it was drawn, for the log, out of so many."""
        return {**asdict(self), "population": population}


@dataclass(frozen=True, slots=True, kw_only=True)
class Makeup:
    """The composition of some episodes.

    Attributes:
        levels: level -> how many.
        quests: quest type -> how many.
        templates: how many different templates; those of unknown ones are not counted.
    """

    levels: Mapping[int, int]
    quests: Mapping[str, int]
    templates: int

    @property
    def text(self) -> str:
        """In one line."""
        count = sum(self.levels.values())
        levels = ", ".join(f"{many} of level {level}" for level, many in self.levels.items())
        quests = ", ".join(f"{many} {quest}" for quest, many in self.quests.items())
        templates = f"{self.templates} template{'s'[: self.templates != 1]}"
        return f"{count} episode{'s'[: count != 1]}: {levels}; {quests}; {templates}"


def stratum(task: Task) -> Stratum:
    """Return what a task is."""
    return Stratum(task.level, task.meaning.quest, task.goal_index)


def makeup(strata: Iterable[Stratum]) -> Makeup:
    """Return what episodes of these strata are."""
    chosen = list(strata)
    levels, quests = (
        Counter(stratum.level for stratum in chosen),
        Counter(stratum.quest for stratum in chosen),
    )
    return Makeup(
        levels={level: levels[level] for level in LEVELS if levels[level]},
        quests={quest: quests[quest] for quest in QUESTS if quests[quest]},
        templates=len({stratum.goal for stratum in chosen} - {None}),
    )


def describe(episodes: Makeup, drawn: Mapping[str, Any]) -> str:
    """Return what episodes are, and of what they are a sample, if they are one (`Sample.to_json`)."""
    return f"{episodes.text}; {sampled(drawn)}" if drawn else episodes.text


def sampled(drawn: Mapping[str, Any]) -> str:
    """Return what `Sample.to_json` says, in one line."""
    counts = [f"{drawn[key]} {what}" for key, what in _COUNTS.items() if drawn[key] is not None]
    counts.append(f"{drawn['shares']} shares of levels")
    return (
        f"a sample of {drawn['population']} episodes ({', '.join(counts)}; quest types and templates in "
        f"proportion; seed {drawn['seed']})"
    )
