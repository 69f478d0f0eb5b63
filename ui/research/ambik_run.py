"""A run of AmbiK: what it was, what came of it under any target, and how far the promise was kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from logs import LogReader
from simulator.ambik.conformal import Caution, Range
from simulator.ambik.measuring.measures import Measure, Measures, TypeMeasures, exchange_measures, measures
from simulator.ambik.sets.coverage import CoverageReport, epsilon_curve, report_of
from simulator.ambik.settings import settings_option
from simulator.ambik.terms import NAMES, TASK_TYPES
from simulator.ambik.trial_log import decisions, exchanges
from simulator.runner.logged import endings_of_runs
from simulator.stats import Interval
from ui.i18n import Strings
from ui.research import ambik_plots as plots
from ui.research.ambient_run import CachedReports
from ui.research.ambik_decisions import decisions_page
from ui.research.ambik_read import LEAST, MOST, Laid, RunRead, kept_run, laid, task_of_run
from ui.research.desk import RunCard
from ui.research.figures import Figure
from ui.research.format import Cell, Scale, cell, count, number, scale
from ui.research.view import Page, Visit

SAID: Final = "research.ambik"
MEASURES: Final[Mapping[str, Callable[[TypeMeasures], Measure]]] = {
    "chr": lambda typed: typed.chr,
    "hr": lambda typed: typed.hr,
    "icr": lambda typed: typed.icr,
    "ssc": lambda typed: typed.ssc,
    "coverage": lambda typed: typed.coverage,
    "set_size": lambda typed: typed.set_size,
    "empty": lambda typed: typed.empty,
}
_SHARE: Final = scale((), fixed=(0.0, 1.0))
_DIGITS: Final = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A measure of one type in the table.

    Attributes:
        left_out: why other tasks do not count -> how many.
    """

    cell: Cell | None
    n: int
    left_out: Mapping[str, int]


def ambik_run_page(visit: Visit, card: RunCard, kept: CachedReports) -> Page:
    """Return the tab that the address names."""
    if task_of_run(kept.reader, card.run) == "annotate":
        return visit.page("ambik_annotated", live=card.live, card=card, tab="scores", annotated=True)
    read = kept_run(kept, card.run.id)
    under = laid(read, visit.at.target)
    if visit.at.tab == "dialogues":
        return decisions_page(visit, card, kept.reader, read, under)
    return _scores(visit, card, kept, read, under)


def _scores(visit: Visit, card: RunCard, kept: CachedReports, read: RunRead, under: Laid) -> Page:
    t, run = visit.t, card.run.id
    measured = measures(under.outcomes, under.settings) if under.outcomes else None
    report = report_of(under.calibrated, under.outcomes, under.settings) if under.calibrated else None
    curve = kept.once("ambik.targets", run, lambda: _curve(kept.reader, read)) if read.movable else ()
    figures = _figures(t, report, measured, curve, under)
    ended = endings_of_runs(kept.reader, [run]).statuses
    return visit.page(
        "ambik_scores",
        figures,
        live=card.live,
        card=card,
        tab="scores",
        read=read,
        under=under,
        least=LEAST,
        most=MOST,
        facts=facts(t, card, read),
        columns=_columns(measured) if measured else (),
        rows=_rows(measured) if measured else {},
        tiles=_tiles(measured) if measured else {},
        found=measured,
        report=report,
        coverage=_told(report.coverage, _SHARE) if report else None,
        span=span,
        warnings=[in_words(t, warning) for warning in report.warnings] if report else (),
        statement=in_words(t, report.statement) if report else "",
        exchange=_exchange(kept.reader, run, read),
        statuses={status: ended[status] for status in sorted(ended) if status != "open"},
    )


def facts(t: Strings, card: RunCard, read: RunRead) -> dict[str, str]:
    """Return what the run was, by name of the fact."""
    options, seats, changed = read.options, card.seats, settings_option(read.options.settings)
    values = {
        "method": NAMES[options.method] if options.method else "",
        "robot": seats.get("robot", ""),
        "chooser": options.chooser if options.method in ("knowno", "lap") else "",
        "user": seats.get("user", "") if options.questions else "",
        "context": t(f"{SAID}.context.{options.context}"),
        "dialogue": t(f"{SAID}.dialogue.{options.dialogue}"),
        "questions": str(options.questions),
        "samples": str(options.samples) if options.method == "lofreecp" else "",
        "data": str(card.run.config.get("data", options.data)),
        "dataset": options.dataset,
        "settings": ", ".join(f"{name} = {value}" for name, value in changed.items()),
    }
    return {name: value for name, value in values.items() if value}


def in_words(t: Strings, caution: Caution) -> str:
    """Return a caution in the page's language."""
    numbers = {
        name: number(value, _DIGITS) if isinstance(value, float) else count(value)
        for name, value in caution.numbers
    }
    return t(f"{SAID}.run.caution.{caution.code}", **numbers)


def span(ends: Range, digits: int = _DIGITS) -> str:
    """Return a range as text."""
    return f"{number(ends.low, digits)}–{number(ends.high, digits)}"


def _curve(reader: LogReader, read: RunRead) -> Any:
    assert read.calibrated is not None
    if read.calibrating or not read.ready:
        return ()
    logged = decisions(reader, [read.calibrated.run])
    return epsilon_curve([ready.decision for ready in read.ready], logged, read.options.settings)


def _figures(
    t: Strings, report: CoverageReport | None, measures: Measures | None, curve: Any, under: Laid
) -> tuple[Figure, ...]:
    made = (
        plots.nonconformities(t, report.nonconformities, report.q_hat) if report else None,
        plots.sizes(t, measures.sizes) if measures else None,
        plots.targets(t, curve, under.target) if curve else None,
    )
    return tuple(figure for figure in made if figure is not None)


def _columns(measures: Measures) -> tuple[TypeMeasures, ...]:
    return (measures.overall, *measures.types)


def _rows(measures: Measures) -> dict[str, list[Entry]]:
    most = max([4, *measures.sizes])
    scales: Mapping[str, Scale] = {"set_size": scale((), fixed=(0.0, float(most)))}
    return {
        name: [
            Entry(_told(measure.interval, scales.get(name, _SHARE)), measure.n, measure.left_out)
            for measure in map(measure_of, _columns(measures))
        ]
        for name, measure_of in MEASURES.items()
    }


def _tiles(measures: Measures) -> dict[str, tuple[Cell, int]]:
    intervals: Mapping[str, Interval | None] = {
        "accuracy": measures.accuracy.interval,
        "ambdif": measures.ambdif.interval,
        "macro_chr": measures.macro_chr if len(measures.types) == len(TASK_TYPES) else None,
    }
    return {
        name: (cell(interval, _SHARE, _DIGITS), interval.n)
        for name, interval in intervals.items()
        if interval is not None
    }


def _told(interval: Interval | None, on: Scale) -> Cell | None:
    return None if interval is None else cell(interval, on, _DIGITS)


def _exchange(reader: LogReader, run: str, read: RunRead) -> dict[str, tuple[Cell | None, int]]:
    """Return before and after what was answered, as it was played."""
    if not read.options.questions:
        return {}
    measured = exchange_measures(exchanges(reader, [run], aborted=True))
    most = (
        max(1.0, *(interval.reach[1] for interval in measured.values() if interval is not None))
        if measured
        else 1.0
    )
    return {
        name.replace(" ", "_"): (
            _told(interval, scale((), fixed=(0.0, most)) if name == "questions" else _SHARE),
            interval.n if interval else 0,
        )
        for name, interval in measured.items()
    }
