"""One attempt at an episode: a pure function of a plan and a number, so that any process may make it.

An attempt draws a quest type and a goal template, then households until one of them gives an episode. With
the same seed and number it comes out the same, whoever makes it and whatever came of the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Final

from simulator.errors import InputError
from simulator.handmethat.files.filetext import file_text
from simulator.handmethat.generation.facts import Facts, facts_of
from simulator.handmethat.generation.generate import (
    TOO_LARGE,
    Generated,
    Rejection,
    add_demo,
    generate,
    serves,
)
from simulator.handmethat.generation.quotas import Quotas, as_levels
from simulator.handmethat.meanings.model import QUESTS, Quest
from simulator.handmethat.profiles import Profile, load_profile
from simulator.handmethat.rows import task_to_row
from simulator.handmethat.task import Level
from simulator.seeds import derive_seed

# Households tried for one template before another is drawn, and templates before the attempt is given up.
TRIES: Final = 200
REDRAWS: Final = 5
# A goal too large for exact search in a few households is so in most, and finding out takes seconds.
_TRIES_OF_LARGE: Final = 3


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be generated; two plans that are equal give the same episodes.

    Attributes:
        profile: name of the profile.
        episodes: how many.
        quotas: how many of each level; None: as they come.
        mix: weights of the quest types; empty weights are left out.
        templates: numbers of the goal templates.
        seed: everything descends from it.
        demos: whether episodes have expert demonstrations (spec 9.6).
    """

    profile: str
    episodes: int
    quotas: Quotas | None
    mix: Mapping[Quest, float]
    templates: tuple[int, ...]
    seed: int
    demos: bool = True

    def __post_init__(self) -> None:
        load_profile(self.profile)
        for quest in self.mix:
            if not any(serves(template, quest) for template in self.templates):
                raise InputError(
                    f"none of the templates {list(self.templates)} can serve {quest}; "
                    "take it out of --quest-mix, or add a template that can"
                )

    def to_json(self) -> dict[str, Any]:
        """As plain JSON, to tell plans apart."""
        return {
            "profile": self.profile,
            "episodes": self.episodes,
            "levels": as_levels(self.quotas),
            "quest_mix": {quest: self.mix[quest] for quest in QUESTS if quest in self.mix},
            "templates": list(self.templates),
            "seed": self.seed,
            "demos": self.demos,
        }


@dataclass(frozen=True, slots=True)
class Job:
    """An attempt to make.

    Attributes:
        number: of the attempt.
        closed: levels of which no more episodes are wanted; they are not finished then.
        row: whether a row for the log is wanted.
        file: whether the content of the file is wanted.
    """

    plan: Plan
    number: int
    closed: frozenset[Level] = frozenset()
    row: bool = False
    file: bool = True


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of an attempt.

    Attributes:
        number: of the attempt.
        level: of the episode; None if every household was rejected.
        failure: why the episode cannot be used, its level apart: its demonstration failed; else empty.
        facts: of the episode; None if it was not finished, for its level is closed or it cannot be used.
        file: content of the episode's file, its task index 0.
        row: as `task_to_row` makes it.
        rejections: how many households were rejected, by cause.
        redrawn: templates given up.
        cpu: seconds.
    """

    number: int
    level: Level | None
    failure: str
    facts: Facts | None
    file: bytes
    row: dict[str, Any] | None
    rejections: Mapping[str, int]
    redrawn: int
    cpu: float


def make_attempt(job: Job) -> Attempt:
    """Make one attempt."""
    start = time.process_time()
    plan, profile = job.plan, load_profile(job.plan.profile)
    rejections: Counter[str] = Counter()
    redrawn, found = 0, None
    for redraw, quest, template in _draws(plan, job.number):
        redrawn = redraw
        found = _search(plan, profile, job.number, redraw, quest, template, rejections)
        if found is not None:
            break
    level, failure, facts, file, row = None, "", None, b"", None
    if found is not None:
        level = found.task.level
    if found is not None and level not in job.closed:
        task = add_demo(found.task) if plan.demos else found.task
        if isinstance(task, Rejection):
            failure = task.cause
        else:
            facts = facts_of(task, pool=found.pool, strict=found.strict, subgoals=found.subgoals)
            file = file_text(task).encode() if job.file else b""
            row = task_to_row(task) if job.row else None
    cpu = time.process_time() - start
    return Attempt(job.number, level, failure, facts, file, row, dict(rejections), redrawn, cpu)


def _search(
    plan: Plan,
    profile: Profile,
    number: int,
    redraw: int,
    quest: Quest,
    template: int,
    rejections: Counter[str],
) -> Generated | None:
    large = 0
    for once in range(TRIES):
        seed = derive_seed(plan.seed, "attempt", number, redraw, once)
        made = generate(profile, seed, quest, template)
        if not isinstance(made, Rejection):
            return made
        rejections[made.cause] += 1
        large += made.cause == TOO_LARGE
        if large == _TRIES_OF_LARGE:
            break
    return None


def _draws(plan: Plan, number: int) -> Iterator[tuple[int, Quest, int]]:
    """Quest type and template of an attempt; then other templates for the same quest type."""
    random = Random(derive_seed(plan.seed, "draw", number))
    quest = _weighted(random, plan.mix)
    some = _serving(plan.templates, quest)
    for redraw in range(REDRAWS):
        yield redraw, quest, some[int(random.random() * len(some))]


@cache
def _serving(templates: tuple[int, ...], quest: Quest) -> tuple[int, ...]:
    return tuple(template for template in templates if serves(template, quest))


def _weighted(random: Random, mix: Mapping[Quest, float]) -> Quest:
    point = random.random() * sum(mix.values())
    for quest, weight in mix.items():
        point -= weight
        if point < 0:
            return quest
    return quest
