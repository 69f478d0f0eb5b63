"""Rows of tables, with intervals: by robot and level, by questions asked, and what a question brings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from simulator.handmethat.reporting.scored import Scored
from simulator.handmethat.score import EpisodeScores
from simulator.handmethat.task import LEVELS
from simulator.handmethat.views import Mode, Protocol
from simulator.stats import Interval, bootstrap_mean, paired_bootstrap, share

PERSON = "person"


K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Who:
    """A row of the table: a robot under one mode and protocol.

    Attributes:
        allowed: questions that it might ask at most; None for any number.
    """

    robot: str
    mode: Mode
    protocol: Protocol
    allowed: int | None

    @property
    def label(self) -> str:
        """As the paper names it: an asterisk for full observability."""
        asking = "" if self.allowed is None else f", {self.allowed} question{'s'[: self.allowed != 1]}"
        paper = ", one try" if self.protocol == "paper" else ""
        return f"{self.robot}{'*' if self.mode == 'full' else ''}{'' if paper else asking}{paper}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What is told of some episodes.

    Attributes:
        score: mean of the paper's score, with a bootstrap interval.
        success: with Wilson's interval; of items played several times, a bootstrap interval over items.
        moves: mean moves of the successes, with a bootstrap interval; None without any.
        raw_sum: mean of the running sum of rewards.
    """

    score: Interval
    success: Interval
    moves: Interval | None
    raw_sum: float

    @property
    def n(self) -> int:
        """Items; repeats of one count once."""
        return self.success.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A robot's results by level (1 to 4; levels without episodes are left out) and over all."""

    who: Who
    levels: dict[int, Cell]
    all: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Episodes in which a robot asked so many questions.

    Attributes:
        level: 1 to 4; None for all.
        questions: how many were asked and answered.
    """

    robot: str
    mode: Mode
    level: int | None
    questions: int
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What being allowed more questions brings, over pairs of episodes of the same item.

    Attributes:
        level: 1 to 4; None for all.
        fewer: questions allowed in the one; `more` in the other.
        success: mean difference of success per question, with a bootstrap interval over pairs.
        score: mean difference of the score per question.
    """

    robot: str
    mode: Mode
    level: int | None
    fewer: int
    more: int
    success: Interval
    score: Interval


def table_rows(scored: Iterable[Scored]) -> tuple[Row, ...]:
    """One row per robot, mode, protocol and number of questions allowed."""
    groups = _grouped(scored, who)
    return tuple(
        Row(
            who=one,
            levels={
                level: cell(some)
                for level in LEVELS
                if (some := [each for each in groups[one] if each.scores.level == level])
            },
            all=cell(groups[one]),
        )
        for one in sorted(groups, key=_row_order)
    )


def asked_rows(scored: Iterable[Scored]) -> tuple[Asked, ...]:
    """By robot and mode, of all levels and of each: one row per number of questions asked."""
    rows = []
    for (robot, mode), level, some in _by_level(scored):
        counted = _grouped(some, lambda one: one.scores.questions)
        rows += [
            Asked(robot=robot, mode=mode, level=level, questions=number, cell=cell(counted[number]))
            for number in sorted(counted)
        ]
    return tuple(rows)


def gain_rows(scored: Iterable[Scored]) -> tuple[Gain, ...]:
    """What each further question allowed brings, paired over the items (and repeats) that both were given."""
    rows = []
    for (robot, mode), level, some in _by_level(scored):
        played: dict[int, dict[tuple[Hashable, ...], EpisodeScores]] = {}
        for one in some:
            if one.allowed is not None:
                key = (one.item, one.episode.language, one.episode.repeat, one.episode.seats.get("human"))
                played.setdefault(one.allowed, {})[key] = one.scores
        for fewer, more in pairwise(sorted(played)):
            both = [key for key in played[fewer] if key in played[more]]
            pairs = [(played[fewer][key], played[more][key]) for key in both]
            if pairs:
                items = [key[0] for key in both]
                rows.append(_gain(robot, mode, level, fewer, more, pairs, items))
    return tuple(rows)


def cell(scored: Sequence[Scored]) -> Cell:
    """Summarise episodes, at least one."""
    scores, items = [one.scores for one in scored], [one.episode.item_hash for one in scored]
    moved = [
        (score.moves_of_success, item)
        for score, item in zip(scores, items, strict=True)
        if score.moves_of_success is not None
    ]
    moves, movers = [count for count, _ in moved], [item for _, item in moved]
    return Cell(
        score=bootstrap_mean([one.score for one in scores], items, bounds=None),
        success=share([one.success for one in scores], items),
        moves=bootstrap_mean(moves, movers, bounds=None) if moved else None,
        raw_sum=sum(one.raw_sum for one in scores) / len(scores),
    )


def who(one: Scored) -> Who:
    """The row that an episode belongs to."""
    return Who(one.robot, one.scores.mode, one.scores.protocol, one.allowed)


def _by_level(
    scored: Iterable[Scored],
) -> Iterable[tuple[tuple[str, Mode], int | None, list[Scored]]]:
    """Episodes under the free protocol by robot and mode, first of all levels, then of each."""
    free = [one for one in scored if one.scores.protocol == "free"]
    groups: dict[tuple[str, Mode], list[Scored]] = _grouped(free, lambda one: (one.robot, one.scores.mode))
    for robot, mode in sorted(groups, key=lambda key: (key[0] != PERSON, key[0], key[1] == "full")):
        group = groups[robot, mode]
        yield (robot, mode), None, group
        for level in LEVELS:
            if some := [one for one in group if one.scores.level == level]:
                yield (robot, mode), level, some


def _gain(
    robot: str,
    mode: Mode,
    level: int | None,
    fewer: int,
    more: int,
    pairs: Sequence[tuple[EpisodeScores, EpisodeScores]],
    items: Sequence[Hashable],
) -> Gain:
    steps = more - fewer

    def per_question(value: Callable[[EpisodeScores], float]) -> Interval:
        first, second = ([value(pair[i]) / steps for pair in pairs] for i in (0, 1))
        return paired_bootstrap(first, second, items)

    return Gain(
        robot=robot,
        mode=mode,
        level=level,
        fewer=fewer,
        more=more,
        success=per_question(lambda one: float(one.success)),
        score=per_question(lambda one: float(one.score)),
    )


def _grouped(scored: Iterable[Scored], key: Callable[[Scored], K]) -> dict[K, list[Scored]]:
    groups: dict[K, list[Scored]] = {}
    for one in scored:
        groups.setdefault(key(one), []).append(one)
    return groups


def _row_order(one: Who) -> tuple[bool, str, bool, str, int]:
    many = -1 if one.allowed is None else one.allowed
    return (one.robot != PERSON, one.robot, one.mode == "full", one.protocol, many)
