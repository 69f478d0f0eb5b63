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
from simulator.handmethat.files.episode import file_text
from simulator.handmethat.generation.generate import (
    TOO_LARGE,
    Generated,
    Rejection,
    add_demo,
    generate,
    serves,
)
from simulator.handmethat.items import LEVELS, Level, task_to_row
from simulator.handmethat.meanings.model import QUESTS, Quest
from simulator.handmethat.profiles import load_profile
from simulator.handmethat.statistics import Facts, facts_of
from simulator.seeds import derive_seed, one_of

BALANCED: Final = "balanced"
FREE: Final = "free"
Quotas = Mapping[Level, int]


def parse_levels(text: str, episodes: int) -> Quotas | None:
    """Return how many episodes of each level: ``balanced``, ``free`` (None), or shares such as ``1:2,2:1``.

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
    """Return the weight of each quest type, such as ``bring_me:47,move_to:48,change_state:5``.

    Raises:
        InputError: if it is not of that form.
    """
    shares = _pairs("--quest-mix", text, QUESTS)
    return {quest: shares[quest] for quest in QUESTS if shares.get(quest)}


def parse_templates(text: str, sets: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return numbers of goal templates: the name of a set, or such as ``1-5,8,67``.

    Raises:
        InputError: if a number is not a template's.
    """
    if text in sets:
        return sets[text]
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise InputError(f"--templates {text!r}: give {', '.join(sets)}, or numbers such as 1-5,8,67")
        numbers |= set(range(int(first), int(last or first) + 1))
    unknown = sorted(numbers - set(sets["all"]))
    if unknown or not numbers:
        top = max(sets["all"])
        raise InputError(f"--templates {text!r}: {unknown or 'nothing'}; templates are numbered 0 to {top}")
    return tuple(sorted(numbers))


def share_out(total: int, shares: Mapping[Level, float]) -> dict[Level, int]:
    """`total` divided by `shares` in whole numbers, the rest by largest remainders, first levels first."""
    whole = sum(shares.values())
    exact = {level: total * share / whole for level, share in shares.items()}
    counts = {level: int(value) for level, value in exact.items()}
    order = sorted(shares, key=lambda level: (counts[level] - exact[level], level))
    for level in order[: total - sum(counts.values())]:
        counts[level] += 1
    return counts


def _pairs(option: str, text: str, allowed: tuple[str, ...]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = (piece.strip() for piece in part.partition(":"))
        try:
            value = float(weight)
        except ValueError:
            value = -1.0
        if name not in allowed or not 0 <= value < float("inf") or name in shares:
            example = ",".join(f"{name}:1" for name in allowed)
            raise InputError(f"{option} {text!r}: give each of {', '.join(allowed)} at most once: {example}")
        shares[name] = value
    if not any(shares.values()):
        raise InputError(f"{option} {text!r}: at least one weight must be above 0")
    return shares


# Households tried for one template before another is drawn, and templates before the attempt is given up.
TRIES: Final = 200
REDRAWS: Final = 5
# A goal too large for exact search in a few households is so in most, and finding out takes seconds.
_TRIES_OF_LARGE: Final = 3


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A plan of generation; two plans that are equal give the same episodes.

    Attributes:
        quotas: how many of each level; None: as they come.
        mix: weights of the quest types; empty weights are left out.
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
        """Return plain JSON, to tell plans apart."""
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
    """An attempt to make.

    Attributes:
        closed: levels of which no more episodes are wanted; they are not finished then.
    """

    plan: Plan
    number: int
    closed: frozenset[Level] = frozenset()
    row: bool = False
    file: bool = True


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of an attempt.

    Attributes:
        level: of the episode; None if every household was rejected.
        failure: why the episode cannot be used, its level apart: its demonstration failed; else empty.
        facts: of the episode; None if it was not finished, for its level is closed or it cannot be used.
        file: content of the episode's file, its task index 0.
        row: as `task_to_row` makes it.
        cpu: seconds.
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
    """Return the first episode among some households; counts in `rejections` why the others gave none."""
    profile, large = load_profile(plan.profile), 0
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
    """Yield quest type and template of an attempt; then other templates for the same quest type."""
    random = Random(derive_seed(plan.seed, "draw", number))
    quest = _draw_quest(random, plan.mix)
    templates = _serving(plan.templates, quest)
    for redraw in range(REDRAWS):
        yield redraw, quest, one_of(random, templates)


@cache
def _serving(templates: tuple[int, ...], quest: Quest) -> tuple[int, ...]:
    return tuple(template for template in templates if serves(template, quest))


def _draw_quest(random: Random, mix: Mapping[Quest, float]) -> Quest:
    point = random.random() * sum(mix.values())
    for quest, weight in mix.items():
        point -= weight
        if point < 0:
            return quest
    return quest
