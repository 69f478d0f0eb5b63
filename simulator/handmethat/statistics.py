"""Statistics of episodes: distributions and counts, as a report and as CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from simulator.figures import Cell, Column, Table
from simulator.handmethat.items import LEVELS, Level, Task
from simulator.handmethat.meanings.model import Quest
from simulator.handmethat.meanings.render import render_utterance
from simulator.output_files import rows_as_csv
from simulator.reporting import Report, Section
from simulator.stats import half_up

# Measure of an episode -> its name in reports.
MEASURES: Final[Mapping[str, str]] = {
    "plan": "plan length",
    "shown": "trajectory length T",
    "left": "plan left after T",
    "subgoals": "subgoals of the goal",
    "objects": "objects, including locations",
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
_SPREAD: Final = ("mean", "sd", "min", *(f"{100 * quantile:g} %" for quantile in QUANTILES), "max")


Statistics = dict[str, Any]
"""Plain JSON: ``episodes``; counts by ``levels``, ``quests`` and ``goals`` (numbers of templates), and by
level within each quest (``by_quest``); ``strict4``, episodes at level 4 by the paper's definition, None if
unknown; ``spreads`` of each measure; ``rejections``, households rejected during generation, by cause."""


def statistics(episodes: Sequence[Facts], rejections: Mapping[str, int] | None = None) -> Statistics:
    """Return the statistics of at least one episode."""
    facts = pd.DataFrame(map(asdict, episodes))
    facts["left"] = facts["plan"] - facts["shown"]
    strict = facts.loc[facts["level"] == 4, "strict"]
    return {
        "episodes": len(facts),
        "levels": _counts(facts["level"]),
        "quests": _counts(facts["quest"]),
        "goals": _counts(facts["goal"].dropna().astype(int)),
        "by_quest": {str(quest): _counts(group["level"]) for quest, group in facts.groupby("quest")},
        "strict4": int(strict.sum()) if strict.notna().all() else None,
        "spreads": [
            summarise(measure, facts[measure].dropna().tolist())
            for measure in MEASURES
            if facts[measure].notna().any()
        ],
        "rejections": dict(Counter(rejections or {}).most_common()),
    }


def summarise(measure: str, values: Sequence[float]) -> dict[str, Any]:
    """Return mean, deviation, range and quantiles of at least one value; `measure`: a key of `MEASURES`."""
    array = np.asarray(values, dtype=float)
    return {
        "measure": measure,
        "episodes": len(values),
        "mean": float(array.mean()),
        "sd": float(array.std(ddof=1)) if len(values) > 1 else 0.0,
        "least": float(array.min()),
        "most": float(array.max()),
        "quantiles": [float(value) for value in np.quantile(array, QUANTILES)],
    }


def _numbers(spread: Mapping[str, Any]) -> list[float]:
    return [spread["mean"], spread["sd"], spread["least"], *spread["quantiles"], spread["most"]]


def statistics_report(statistics: Statistics) -> Report:
    """Return statistics as a report: spreads, levels and quest types, and rejections."""
    spreads: list[list[Cell]] = [
        [MEASURES[spread["measure"]], *_numbers(spread)] for spread in statistics["spreads"]
    ]
    sections = [
        Section(
            name="episodes",
            title="Per episode",
            tables=[Table(["number", *(Column(name, 1) for name in _SPREAD)], spreads)],
        ),
        _levels_section(statistics),
    ]
    if rejections := statistics["rejections"]:
        total = sum(rejections.values())
        rows: list[list[Cell]] = [
            [cause, count, f"{half_up(100 * count / total, 1)} %"] for cause, count in rejections.items()
        ]
        table = Table(["household rejected because", "households", "share"], rows)
        sections.append(Section(name="rejections", title="Rejections", tables=[table]))
    return Report(title="Statistics of episodes", sections=sections)


def to_csv(statistics: Statistics) -> str:
    """Return CSV with one row per measure or count: group, name, and the count or distribution."""
    rows: list[list[object]] = [["group", "name", "episodes", *_SPREAD]]
    for spread in statistics["spreads"]:
        numbers = (f"{number:.6g}" for number in _numbers(spread))
        rows.append(["spread", spread["measure"], spread["episodes"], *numbers])
    for group in ("level", "quest", "goal", "rejection"):
        rows += ([group, name, count] for name, count in statistics[f"{group}s"].items())
    for quest, levels in statistics["by_quest"].items():
        rows += (["quest and level", f"{quest} {level}", count] for level, count in levels.items())
    return rows_as_csv(rows)


def _levels_section(statistics: Statistics) -> Section:
    rows: list[list[Cell]] = []
    every, strict = statistics["episodes"], statistics["strict4"]
    for quest, levels in {**statistics["by_quest"], "all": statistics["levels"]}.items():
        counts = [levels.get(level, 0) for level in LEVELS]
        rows.append(
            [quest, *(f"{count} ({half_up(100 * count / every, 1)} %)" for count in (*counts, sum(counts)))]
        )
    goals = ", ".join(f"{goal}: {count}" for goal, count in statistics["goals"].items())
    remarks = [f"Goal templates: {goals}"]
    if strict is not None and (fourth := statistics["levels"].get(4)):
        remarks.append(f"Of {fourth} at level 4, {strict} have A(m) within A(r), as in the paper.")
    table = Table(["quest", *(f"level {level}" for level in LEVELS), "all"], rows)
    return Section(name="levels", title="Levels and quest types", tables=[table], remarks=remarks)


def _counts(values: pd.Series[Any]) -> dict[Any, int]:
    return {value: int(count) for value, count in values.value_counts().sort_index().items()}


# ---- the facts of one episode, small enough to keep for thousands


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts of one episode (see `MEASURES`). Unknown facts are None.

    Attributes:
        strict: whether its level follows the paper's definition (spec 12.1 #19).
        plan: number of actions in the human's complete plan.
    """

    level: Level
    strict: bool | None
    quest: Quest
    goal: int | None
    subgoals: int | None
    plan: int
    shown: int
    objects: int
    pool: int | None
    specifiers: int
    words: int
    meant: int
    said: int
    useful: int
    heard: int
    demo: int | None


def facts_of(
    task: Task, *, pool: int | None = None, strict: bool | None = None, subgoals: int | None = None
) -> Facts:
    """Return the facts of a task; `pool`, `strict` and `subgoals` are known only when it is generated."""
    spoken = render_utterance(task.world, task.utterance, "en", task.seed)
    return Facts(
        level=task.level,
        strict=strict,
        quest=task.meaning.quest,
        goal=task.goal_index,
        subgoals=subgoals,
        plan=len(task.solution),
        shown=len(task.actions),
        objects=len(task.world),
        pool=pool,
        specifiers=len(task.utterance.description),
        words=len(spoken.split()),
        meant=len(task.in_meaning),
        said=len(task.in_utterance),
        useful=len(task.useful),
        heard=len(task.in_heard),
        demo=len(task.demo) or None,
    )
