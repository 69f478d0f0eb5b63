"""A run of AmbiBench: what came of it, its episodes, and of a study how it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from logs import LogReader, LogWriter
from simulator.ambibench.assignment import PatternStudy
from simulator.ambibench.coding import set_key
from simulator.ambibench.features import FEATURES, FORMATS
from simulator.ambibench.reporting.figures import figure_5, figure_6
from simulator.ambibench.reporting.frame import sessions, where, without_flagged
from simulator.ambibench.reporting.pages import MEASURES, Section, curve_figures, played, sections
from simulator.ambibench.reporting.report import Results
from simulator.ambibench.reporting.tables import named_tables
from simulator.runner.logged import Endings, endings_of_runs
from simulator.stats import Interval
from simulator.studies import Study, StudyDesk
from simulator.studies.quota import STATES
from ui.i18n import Strings
from ui.research.ambibench_desk import ReportRequest, Reports
from ui.research.ambibench_episode import watched
from ui.research.ambibench_plots import titled
from ui.research.desk import RunCard
from ui.research.figures import Figure
from ui.research.format import Cell, cell, scale
from ui.research.view import Page, Visit

OUTCOMES: Final = ("right", "wrong", "flagged", "unfinished")
_CURVES: Final = ("curve", "features", "validity")
_SHARE: Final = scale((), fixed=(0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table of one part of a run; `label` is empty for all of its trials."""

    group: str
    label: str
    n: int
    cells: dict[str, Cell]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a run as the page shows it.

    Attributes:
        figures: ids of its plots.
        people: sessions of people.
        flagged: how many of them are.
        kept: accuracy without those; None if none is flagged, or nobody is left.
    """

    section: Section
    lines: tuple[Line, ...]
    figures: tuple[str, ...]
    people: int
    flagged: int
    kept: Cell | None


def ambibench_page(visit: Visit, card: RunCard, reports: Reports, writer: LogWriter) -> Page:
    """Return the tab that the address names."""
    tab = visit.at.tab
    if tab == "study" and isinstance(card.run.config.get("study"), dict):
        return _study(visit, card, reports.reader, writer)
    results = reports.report(ReportRequest((card.run.id,)))
    if tab == "dialogues":
        return _episodes(visit, card, reports.reader, results)
    return _scores(visit, card, results, endings_of_runs(reports.reader, [card.run.id]))


def share(interval: Interval) -> Cell:
    """Return a share from 0 to 1 as tables show it."""
    return cell(interval, _SHARE, 3)


def _scores(visit: Visit, card: RunCard, report: Results, endings: Endings) -> Page:
    results, t = report.frame, visit.t
    people = sessions(results)
    flagged = people[people["flags"] != ""].astype(object)
    clean = {section.key: section for section in sections(without_flagged(results))}
    curves = curve_figures(results)
    parts = tuple(_part(t, section, people, clean.get(section.key), curves) for section in sections(results))
    plots = [titled(t, figure, key.partition("-")[0]) for key, figure in curves.items()]
    texts = {}
    for setting, builder in (("verbalise", figure_5), ("aws", figure_6)):
        if len(chosen := where(results, setting=setting)):
            figure = builder(chosen).figure
            texts[setting] = _counts(report, setting)
            plots += [titled(t, figure, setting)] if figure else []
    return visit.page(
        "ambibench_scores",
        plots,
        live=card.live,
        card=card,
        tab="scores",
        parts=parts,
        written=texts,
        measures=list(MEASURES),
        flagged=flagged.where(flagged.notna(), None).to_dict("records"),
        people=len(people),
        statuses=endings.statuses,
        failures=endings.failures,
        table_names=list(named_tables(results, report.agreements)),
        outputs=set_key(card.run.id),
    )


def _part(
    t: Strings, section: Section, people: pd.DataFrame, clean: Section | None, curves: dict[str, Any]
) -> Part:
    key = section.key.removesuffix(f"-{section.actor}")
    there = tuple(f"{name}-{key}" for name in _CURVES if f"{name}-{key}" in curves)
    here = people[(people["setting"] == section.setting) & (people["kind"] == section.kind)]
    flagged = int((here["flags"] != "").sum())
    kept = share(clean.rows["correct"].iloc[0]) if clean is not None and flagged else None
    return Part(
        section, tuple(_line(t, row) for row in section.rows.itertuples()), there, len(here), flagged, kept
    )


def _line(t: Strings, row: Any) -> Line:
    label = "" if row.group == "all" else t(f"research.ambibench.{row.group}.{row.name}")
    return Line(row.group, label, row.n, {name: share(getattr(row, name)) for name in MEASURES})


def _counts(results: Results, setting: str) -> dict[str, int]:
    """Return outputs by category; those without one under ``open``."""
    counts: dict[str, int] = {}
    for trial in results.trials:
        if trial.setting == setting:
            name = trial.category or "open"
            counts[name] = counts.get(name, 0) + 1
    return counts


def _episodes(visit: Visit, card: RunCard, reader: LogReader, results: Results) -> Page:
    every = played(reader, card.run.id, results.frame)
    entries = [entry for entry in every if _fits(visit, entry)]
    figures: Sequence[Figure] = ()
    shown = None
    if visit.at.episode:
        figures, shown = watched(visit, reader, {entry.id: entry for entry in every}, entries)
    return visit.page(
        "ambibench_episodes",
        figures,
        live=card.live and shown is None,
        card=card,
        tab="dialogues",
        entries=entries,
        total=len(every),
        features=[feature for feature in FEATURES if any(each.feature == feature for each in every)],
        formats=[format for format in FORMATS if any(each.format == format for each in every)],
        outcomes=OUTCOMES,
        shown=shown,
    )


def _fits(visit: Visit, entry: Any) -> bool:
    at = visit.at
    whole = entry.correct is not None and entry.correct == entry.asked
    kinds = {
        "right": whole,
        "wrong": entry.correct is not None and not whole,
        "flagged": bool(entry.flags),
        "unfinished": entry.status != "completed",
    }
    return (
        kinds.get(at.outcome, True)
        and at.feature in ("", entry.feature)
        and at.format in ("", entry.format)
        and at.text.lower().strip() in entry.name.lower()
    )


def _study(visit: Visit, card: RunCard, reader: LogReader, writer: LogWriter) -> Page:
    study = Study.model_validate(card.run.config["study"])
    progress = StudyDesk(writer, reader, study, PatternStudy(study).cells).progress()
    return visit.page(
        "ambibench_study",
        live=card.live,
        card=card,
        tab="study",
        study=study,
        progress=progress,
        states=[state for state in STATES if progress.states[state]],
        every_state=STATES,
    )
