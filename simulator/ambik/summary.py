"""Summary of a run, for `askback run ambik` and `askback score`: metrics, coverage and the exchange."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from logs import LogReader
from simulator.ambik.coverage import CoverageReport, report_of
from simulator.ambik.files.pairs import kind_of_pair
from simulator.ambik.items import BENCHMARK, PairItem
from simulator.ambik.measures import Measured, Measures, exchange_measures, measures
from simulator.ambik.metrics import SHORT
from simulator.ambik.payloads import outcome_of
from simulator.ambik.players import baseline_exchanges
from simulator.ambik.playing import ANNOTATOR, ROBOT, Options
from simulator.ambik.predicting import outcome
from simulator.ambik.records import Decision, Outcome
from simulator.ambik.terms import NAMES, remark
from simulator.ambik.trial_log import calibration_of, exchanges_of, first_decisions, options_of, played_of
from simulator.figures import Cell, Table
from simulator.frames import Frames
from simulator.reporting import Section
from simulator.runner.logged import required_run
from simulator.stats import Interval

_ROWS: Final[Mapping[str, str]] = {
    "help rate": "hr",
    "CHR": "chr",
    "ICR": "icr",
    "SSC": "ssc",
    "coverage": "coverage",
    "set size": "set_size",
    "empty sets": "empty",
}


def summary_sections(source: Frames) -> Iterator[Section]:
    """Yield a section for each run: its measures by type, its threshold, and baselines on the same tasks."""
    for run in source.runs:
        yield summary_section(source.reader, run, exclude_aborted=source.exclude_aborted)


def summary_section(reader: LogReader, run: str, *, exclude_aborted: bool = False) -> Section:
    """Return the measures of a run, from its turns. People who have withdrawn are not counted.

    Measures are those of first decisions; calibration runs and annotators have none.
    """
    seats = required_run(reader, run, BENCHMARK).config.get("seats", {})
    options, calibrated = options_of(reader, run), calibration_of(reader, run)
    played = played_of(reader, [run], aborted=not exclude_aborted)
    outcomes = outcomes_of(first_decisions(played), options)
    player = str(seats.get(ROBOT) or seats.get(ANNOTATOR) or "person")
    method = NAMES[options.method] if options.method else ""
    forms = sum(len(episode.turns_of("annotate")) for episode in played)
    measured = measures(outcomes, options.settings) if outcomes else None
    exchange = exchange_measures(exchanges_of(played))
    # Without the calibration's data in this log, its guarantee cannot be checked.
    complete = calibrated is not None and len(calibrated.nonconformities) == calibrated.n
    report = (
        report_of(calibrated, outcomes, options.settings) if calibrated and complete and outcomes else None
    )
    baselines = _baselines(outcomes, options) if outcomes else {}
    remarks = [f"{forms} forms"] if forms else []
    if measured is not None:
        remarks = [
            *_measures_remarks(measured),
            *(_threshold_remarks(report) if report else ()),
            *_task_remarks(outcomes),
            *(["; ".join(f"{name} {_text(value)}" for name, value in exchange.items())] if exchange else []),
        ]
    return Section(
        name="measures",
        title=" · ".join(filter(None, (method, player, run))),
        tables=[_measures_table(measured), _baselines_table(baselines)] if measured else [],
        remarks=remarks,
        data={
            "run": run,
            "robot": player,
            "method": method,
            "measures": measured,
            "exchange": exchange,
            "calibration": report,
            "baselines": {
                name: {"measures": of_robot, "exchange": exchanged}
                for name, (of_robot, exchanged) in baselines.items()
            },
            "forms": forms,
        },
    )


def outcomes_of(decisions: Iterable[Decision], options: Options) -> tuple[Outcome, ...]:
    """Return the outcomes of decisions; empty while their method is being calibrated."""
    outcomes = (outcome_of(decision, options) for decision in decisions)
    return tuple(outcome for outcome in outcomes if outcome is not None)


def _baselines(outcomes: Sequence[Outcome], options: Options) -> dict[str, tuple[Measures, Measured]]:
    """Return the measures of the baselines (`players.BASELINES`) on the outcomes' tasks."""
    items = (each.decision.item for each in outcomes)
    exchanges = baseline_exchanges(items, options.context, options.dialogue)
    return {
        name: (
            measures([outcome(each.before, None, options.settings) for each in of_robot], options.settings),
            exchange_measures(of_robot) if options.questions else {},
        )
        for name, of_robot in exchanges.items()
    }


def _measures_table(measured: Measures) -> Table:
    kinds = (measured.overall, *measured.types)
    rows: list[list[Cell]] = [["tasks", *(kind.tasks for kind in kinds)]]
    rows += ([title, *(getattr(kind, name).interval for kind in kinds)] for title, name in _ROWS.items())
    return Table(["measure", *(SHORT.get(kind.type, kind.type) for kind in kinds)], rows)


def _baselines_table(baselines: Mapping[str, tuple[Measures, Measured]]) -> Table:
    """Return the table of the baselines."""
    exchanged = ("right before", "right after") if any(own for _, own in baselines.values()) else ()
    rows: list[list[Cell]] = []
    for name, (measured, exchange) in baselines.items():
        overall = measured.overall
        values = (overall.hr, overall.chr, overall.icr, measured.ambdif)
        rows.append([name, *(each.interval for each in values), *map(exchange.get, exchanged)])
    heads = ("baseline", "help rate", "CHR", "ICR", "AmbDif", *exchanged)
    return Table(heads, rows, "Baselines on the same tasks")


def _measures_remarks(measured: Measures) -> Iterator[str]:
    yield (
        f"AmbDif {_text(measured.ambdif.interval)} ({measured.ambdif.n} pairs); ask or act: right "
        f"{_text(measured.accuracy.interval)}, CHR over types {_text(measured.macro_chr)}"
    )
    for title, name in _ROWS.items():
        if reasons := getattr(measured.overall, name).reasons:
            yield f"{title}: excluded {reasons}"
    if measured.fillers:
        yield f"{measured.fillers} fillers (do nothing) removed from sets"
    if measured.flags:
        yield ", ".join(f"{name} {count}" for name, count in measured.flags.items())


def _threshold_remarks(report: CoverageReport) -> Iterator[str]:
    yield (
        f"threshold {report.q_hat:.4f}: no. {report.rank} of {report.n} sorted values, at epsilon "
        f"{report.epsilon:g}; coverage {_text(report.coverage)}, predicted range "
        f"{report.promised.low:.2f} to {report.promised.high:.2f}"
    )
    yield from map(str, (*report.warnings, report.statement))


def _task_remarks(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the number of tasks from pairs added in 2025, if they are mixed with others."""
    items = (each.decision.item for each in outcomes)
    kinds = Counter(kind_of_pair(item.pair) for item in items if isinstance(item, PairItem))
    if kinds["added"] and kinds["released"]:
        yield remark("tables", "added").format(count=kinds["added"])


def _text(interval: Interval | None) -> str:
    return "—" if interval is None else interval.bracketed()
