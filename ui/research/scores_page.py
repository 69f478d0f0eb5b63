"""The score tables and plots of a run, as data for the template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.clarq.reporting.report import Row, rows
from simulator.clarq.score import Scored
from simulator.stats import Interval
from trees.model import task_type
from ui.i18n import Strings
from ui.research import figures
from ui.research.desk import RunCard, RunData
from ui.research.figures import Figure
from ui.research.format import Cell, metric_cell, scale
from ui.research.view import Page, Visit

METRICS = ("success", "aqd", "aql")


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a score table."""

    label: str
    n: int
    cells: dict[str, Cell]
    needs_judge: int


def scores_page(visit: Visit, card: RunCard, data: RunData) -> Page:
    """Return the first tab of a run."""
    languages = by_language(data.scored)
    tables = {language: type_rows(visit.t, dialogues) for language, dialogues in languages.items()}
    plots = _plots(visit.t, data, languages, tables) if languages else ()
    return visit.page(
        "scores",
        plots,
        live=card.live,
        card=card,
        data=data,
        tab="scores",
        totals=list(zip(languages, lines(data.report.by_language), strict=True)) if languages else [],
        types=[(language, lines(rows)) for language, rows in tables.items()],
        needs_judge=sum(row.needs_judge for row in data.report.by_language),
        aborted=sum(row.aborted for row in data.report.by_language),
        metrics=METRICS,
    )


def by_language(scored: Sequence[Scored]) -> dict[str, list[Scored]]:
    """Return scored episodes by language, in the order in which the languages appear."""
    groups: dict[str, list[Scored]] = {}
    for dialogue in scored:
        groups.setdefault(dialogue.task.language, []).append(dialogue)
    return groups


def type_rows(t: Strings, scored: Sequence[Scored]) -> tuple[Row, ...]:
    """Return one row per task type, named in the interface's language."""
    return rows(scored, lambda dialogue: type_label(t, dialogue.task.type))


def type_label(t: Strings, number: int) -> str:
    """Return a task type with its number, in the interface's language."""
    return f"{number}. {task_type(number).name('zh' if t.language == 'zh' else 'en')}"


def lines(rows: Sequence[Row]) -> list[Line]:
    """Return rows for a table; the bars of a column share a scale."""
    columns: dict[str, list[Interval | None]] = {
        metric: [getattr(row, metric) for row in rows] for metric in METRICS
    }
    scales = {
        metric: scale(filter(None, intervals), fixed=(0.0, 1.0) if metric == "success" else None)
        for metric, intervals in columns.items()
    }
    return [
        Line(
            row.label,
            row.success.n,
            {metric: metric_cell(metric, columns[metric][place], scales[metric]) for metric in METRICS},
            row.needs_judge,
        )
        for place, row in enumerate(rows)
    ]


def _plots(
    t: Strings, data: RunData, languages: dict[str, list[Scored]], tables: dict[str, tuple[Row, ...]]
) -> tuple[Figure, ...]:
    ended = {
        language: [dialogue for dialogue in dialogues if dialogue.ended]
        for language, dialogues in languages.items()
    }
    lengths = {language: dialogues for language, dialogues in ended.items() if dialogues}
    return (
        figures.success_curve(t, {str(language): shares for language, shares in data.report.curve.items()}),
        figures.success_by_type(t, tables),
        *((figures.extra_replies(t, lengths), figures.question_length(t, lengths)) if lengths else ()),
    )
