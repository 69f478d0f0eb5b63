"""Statistics of episodes as tables for people, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from simulator.handmethat.statistics import MEASURES, QUANTILES, Spread, Statistics

_LEVELS = (1, 2, 3, 4)


def print_statistics(found: Statistics, console: Console) -> None:
    """Print all there is."""
    console.print(_spreads_table(found.spreads))
    console.print(_levels_table(found))
    console.print(_goals_line(found.goals), soft_wrap=False)
    if found.rejections:
        console.print(_rejections_table(found.rejections))


def to_csv(found: Statistics) -> str:
    """One row per number: group, name, and the number or how it is spread."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["group", "name", "episodes", "mean", "sd", "min", *_quantile_names(), "max"])
    for one in found.spreads:
        numbers = [one.mean, one.sd, one.least, *one.quantiles, one.most]
        writer.writerow(["spread", one.measure, one.episodes, *(f"{number:.6g}" for number in numbers)])
    counts: list[tuple[str, object, int]] = [
        *(("level", *pair) for pair in found.levels.items()),
        *(("quest", *pair) for pair in found.quests.items()),
        *(("goal", *pair) for pair in found.goals.items()),
        *(("rejection", *pair) for pair in found.rejections.items()),
    ]
    writer.writerows(counts)
    for quest, levels in found.by_quest.items():
        for level, count in levels.items():
            writer.writerow(["quest and level", f"{quest} {level}", count])
    return out.getvalue()


def _spreads_table(spreads: tuple[Spread, ...]) -> Table:
    table = _table("Per episode", "", "mean", "sd", "min", *_quantile_names(), "max")
    for one in spreads:
        numbers = (one.mean, one.sd, one.least, *one.quantiles, one.most)
        table.add_row(MEASURES[one.measure], *map(_short, numbers))
    return table


def _table(title: str, *columns: str) -> Table:
    """A table with numbers in all columns but the first, narrow enough for a terminal of 80."""
    table = Table(*columns, title=title, title_justify="left", box=SIMPLE, padding=(0, 0), pad_edge=False)
    for column in table.columns:
        column.no_wrap = True
        column.justify = "left" if column is table.columns[0] else "right"
    return table


def _short(number: float) -> str:
    return f"{number:.1f}" if number >= 100 else f"{number:.3g}"


def _levels_table(found: Statistics) -> Table:
    table = _table("Levels and quest types", "", *(f"level {level}" for level in _LEVELS), "all")
    for quest, levels in found.by_quest.items():
        table.add_row(quest, *_shares(levels, found.episodes))
    table.add_row("all", *_shares(found.levels, found.episodes), style="bold")
    if found.strict4 is not None and found.levels.get(4):
        fourth = found.levels[4]
        table.caption = f"Of {fourth} at level 4, {found.strict4} have A(m) within A(r), as in the paper."
    return table


def _shares(levels: Mapping[int, int], episodes: int) -> list[str]:
    counts = [levels.get(level, 0) for level in _LEVELS]
    return [f"{count} ({100 * count / episodes:.1f} %)" for count in (*counts, sum(counts))]


def _goals_line(goals: Mapping[int, int]) -> str:
    return "Goal templates: " + ", ".join(f"{goal}: {count}" for goal, count in goals.items())


def _rejections_table(rejections: Mapping[str, int]) -> Table:
    table = _table("Rejections", "household rejected because", "households", "share")
    total = sum(rejections.values())
    for cause, count in rejections.items():
        table.add_row(cause, str(count), f"{100 * count / total:.1f} %")
    return table


def _quantile_names() -> list[str]:
    return [f"{100 * quantile:g} %" for quantile in QUANTILES]
