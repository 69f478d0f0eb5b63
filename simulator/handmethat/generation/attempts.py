"""One attempt at an episode: a pure function of a plan and a number, so any process can make it.

An attempt draws a quest type and a goal template, then households until one of them yields an episode. Its
result depends on the seed and its number only, not on the process or on other attempts.
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
from simulator.handmethat.files.episode import file_text
from simulator.handmethat.generation.generate import (
    TOO_LARGE,
    Generated,
    Rejection,
    add_demo,
    generate,
    serves,
)
from simulator.handmethat.items import Level, task_to_row
from simulator.handmethat.meanings.model import QUESTS, Quest
from simulator.handmethat.profiles import load_profile
from simulator.handmethat.statistics import Facts, facts_of
from simulator.seeds import derive_seed, one_of

Quotas = Mapping[Level, int]
# Households tried per template before another template is drawn, and templates tried per attempt.
TRIES: Final = 200
REDRAWS: Final = 5
# A goal too large for exact search in a few households is too large in most, and each search takes seconds.
_MAX_TOO_LARGE: Final = 3


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A generation plan. Equal plans give the same episodes. Without `quotas`, any levels are drawn."""

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
                    "remove it from --quest-mix, or add a template that can"
                )

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON, for comparison with other plans."""
        return {
            "profile": self.profile,
            "episodes": self.episodes,
            "levels": None
            if self.quotas is None
            else {str(level): count for level, count in self.quotas.items()},
            "quest_mix": {quest: self.mix[quest] for quest in QUESTS if quest in self.mix},
            "templates": list(self.templates),
            "seed": self.seed,
            "demos": self.demos,
        }


@dataclass(frozen=True, slots=True)
class Job:
    """An attempt to make, with the levels whose quota is met; whether it makes a row and a file."""

    plan: Plan
    number: int
    closed: frozenset[Level] = frozenset()
    row: bool = False
    file: bool = True


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of an attempt.

    Attributes:
        level: level of the episode; None if every household was rejected.
        failure: cause if the demonstration failed; else empty.
        facts: facts of the episode; None if its level is closed or the demonstration failed.
        file: content of the episode's file, with task index 0.
        row: the episode as `task_to_row` returns it.
        redrawn: number of times another template was drawn.
    """

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
    start, plan = time.process_time(), job.plan
    rejections: Counter[str] = Counter()
    redrawn, episode = 0, None
    for redrawn, quest, template in _draws(plan, job.number):
        episode = _search(plan, job.number, redrawn, quest, template, rejections)
        if episode is not None:
            break
    level = None if episode is None else episode.task.level
    failure, facts, file, row = "", None, b"", None
    if episode is not None and level not in job.closed:
        task = add_demo(episode.task) if plan.demos else episode.task
        if isinstance(task, Rejection):
            failure = task.cause
        else:
            facts = facts_of(task, pool=episode.pool, strict=episode.strict, subgoals=episode.subgoals)
            file = file_text(task).encode() if job.file else b""
            row = task_to_row(task) if job.row else None
    cpu = time.process_time() - start
    return Attempt(level, failure, facts, file, row, dict(rejections), redrawn, cpu)


def _search(
    plan: Plan, number: int, redraw: int, quest: Quest, template: int, rejections: Counter[str]
) -> Generated | None:
    """Return the first episode from up to `TRIES` households; count rejections in `rejections`."""
    profile, too_large = load_profile(plan.profile), 0
    for attempt in range(TRIES):
        seed = derive_seed(plan.seed, "attempt", number, redraw, attempt)
        result = generate(profile, seed, quest, template)
        if not isinstance(result, Rejection):
            return result
        rejections[result.cause] += 1
        too_large += result.cause == TOO_LARGE
        if too_large == _MAX_TOO_LARGE:
            break
    return None


def _draws(plan: Plan, number: int) -> Iterator[tuple[int, Quest, int]]:
    """Yield (redraw, quest type, template); the quest type stays, a new template is drawn each time."""
    random = Random(derive_seed(plan.seed, "draw", number))
    quest = _draw_quest(random, plan.mix)
    templates = _templates_for(plan.templates, quest)
    for redraw in range(REDRAWS):
        yield redraw, quest, one_of(random, templates)


@cache
def _templates_for(templates: tuple[int, ...], quest: Quest) -> tuple[int, ...]:
    return tuple(template for template in templates if serves(template, quest))


def _draw_quest(random: Random, mix: Mapping[Quest, float]) -> Quest:
    point = random.random() * sum(mix.values())
    for quest, weight in mix.items():
        point -= weight
        if point < 0:
            return quest
    return quest
