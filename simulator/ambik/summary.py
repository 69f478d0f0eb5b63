"""What `askback run ambik` and `askback score` print of a run: help, metrics, coverage, and the exchange."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from logs import LogReader
from simulator.ambik.baselines import baseline_exchanges
from simulator.ambik.files.versions import kind_of_pair
from simulator.ambik.items import PairItem
from simulator.ambik.measuring.exchange import Measured, exchange_measures
from simulator.ambik.measuring.measures import Measures, measures
from simulator.ambik.measuring.outcome_rows import SHORT
from simulator.ambik.payloads import outcome_of
from simulator.ambik.playing import ANNOTATOR, ROBOT, Options
from simulator.ambik.records import Calibrated, Decision, Outcome
from simulator.ambik.remarks import remark
from simulator.ambik.rows import BENCHMARK
from simulator.ambik.sets.coverage import CoverageReport, report_of
from simulator.ambik.sets.predicting import outcome
from simulator.ambik.terms import NAMES
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in numbers.

    Attributes:
        who: sits in the robot's seat, or the annotator's.
        method: what it plays, in words; empty where it plays none.
        measures: of the first decisions; None while a method is being calibrated, and of annotators.
        exchange: shares before and after what was answered; empty where nobody answers.
        calibration: of conformal methods: the threshold, what it promised and what came of it.
        baselines: measures of robots that understand nothing on the same tasks, and their exchanges.
        added: tasks of pairs as those added in 2025, where there are others, too.
        forms: of annotators: how many there are.
    """

    who: str
    method: str
    measures: Measures | None
    exchange: Measured
    calibration: CoverageReport | None
    baselines: Mapping[str, tuple[Measures, Measured]]
    added: int
    forms: int


def summary_sections(source: Frames) -> Iterator[Section]:
    """Yield a section for each run: its measures by type, its threshold, and baselines on the same tasks."""
    for run in source.runs:
        yield _section(run, summarise(source.reader, run, exclude_aborted=source.exclude_aborted))


def summarise(reader: LogReader, run_id: str, *, exclude_aborted: bool = False) -> RunSummary:
    """Return a run in numbers, out of its turns. People who have withdrawn do not count.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    seats = required_run(reader, run_id, BENCHMARK).config.get("seats", {})
    options, calibrated = options_of(reader, run_id), calibration_of(reader, run_id)
    played = played_of(reader, [run_id], aborted=not exclude_aborted)
    outcomes = outcomes_of(first_decisions(played), options)
    return RunSummary(
        who=str(seats.get(ROBOT) or seats.get(ANNOTATOR) or "person"),
        method=NAMES[options.method] if options.method else "",
        measures=measures(outcomes, options.settings) if outcomes else None,
        exchange=exchange_measures(exchanges_of(played)),
        calibration=reported(calibrated, outcomes, options) if calibrated and outcomes else None,
        baselines=_baselines(outcomes, options) if outcomes else {},
        added=_added(outcomes),
        forms=sum(len(episode.of("annotate")) for episode in played),
    )


def outcomes_of(decisions: Iterable[Decision], options: Options) -> tuple[Outcome, ...]:
    """Return decisions with their sets; none while their method is being calibrated."""
    outcomes = (outcome_of(decision, options) for decision in decisions)
    return tuple(outcome for outcome in outcomes if outcome is not None)


def reported(calibrated: Calibrated, outcomes: Sequence[Outcome], options: Options) -> CoverageReport | None:
    """Return what a threshold promised and what came of it; None where what it rests on is not in the log."""
    if len(calibrated.nonconformities) != calibrated.n:
        return None
    return report_of(calibrated, outcomes, options.settings)


def _baselines(outcomes: Sequence[Outcome], options: Options) -> dict[str, tuple[Measures, Measured]]:
    """Return what robots that understand nothing get on the tasks of outcomes (`baselines`)."""
    items = {each.decision.item.id: each.decision.item for each in outcomes}
    exchanges = baseline_exchanges([*items.values()], options.context, options.dialogue)
    return {
        name: (
            measures([outcome(each.before, None, options.settings) for each in of_robot], options.settings),
            exchange_measures(of_robot) if options.questions else {},
        )
        for name, of_robot in exchanges.items()
    }


def _added(outcomes: Sequence[Outcome]) -> int:
    items = (each.decision.item for each in outcomes)
    kinds = [kind_of_pair(item.pair) for item in items if isinstance(item, PairItem)]
    return kinds.count("added") if "released" in kinds else 0


def _section(run: str, summary: RunSummary) -> Section:
    tables, remarks = list[Table](), [f"{summary.forms} forms"] if summary.forms else []
    if summary.measures is not None:
        tables = [_measures_table(summary.measures), _baselines_table(summary.baselines)]
        remarks = [*_remarks(summary, summary.measures)]
    return Section(
        name="measures",
        title=" · ".join(filter(None, (summary.method, summary.who, run))),
        tables=tables,
        remarks=remarks,
        data={
            "run": run,
            "robot": summary.who,
            "method": summary.method,
            "measures": summary.measures,
            "exchange": summary.exchange,
            "calibration": summary.calibration,
            "baselines": {
                name: {"measures": of_robot, "exchange": exchange}
                for name, (of_robot, exchange) in summary.baselines.items()
            },
            "forms": summary.forms,
        },
    )


def _measures_table(measured: Measures) -> Table:
    kinds = (measured.overall, *measured.types)
    rows: list[list[Cell]] = [["tasks", *(kind.tasks for kind in kinds)]]
    rows += ([title, *(getattr(kind, name).interval for kind in kinds)] for title, name in _ROWS.items())
    return Table(["measure", *(SHORT.get(kind.type, kind.type) for kind in kinds)], rows)


def _baselines_table(baselines: Mapping[str, tuple[Measures, Measured]]) -> Table:
    """Return robots that understand nothing, on the same tasks."""
    exchanged = ("right before", "right after") if any(held for _, held in baselines.values()) else ()
    rows: list[list[Cell]] = []
    for name, (measured, exchange) in baselines.items():
        overall = measured.overall
        values = (overall.hr, overall.chr, overall.icr, measured.ambdif)
        rights = map(exchange.get, exchanged)
        rows.append([name, *(each.value for each in values), *(right and right.value for right in rights)])
    heads = ("baseline", "help rate", "CHR", "ICR", "AmbDif", *exchanged)
    return Table(heads, rows, "Baselines on the same tasks")


def _remarks(summary: RunSummary, measured: Measures) -> Iterator[str]:
    """Yield what is told below a run's tables."""
    yield (
        f"AmbDif {_text(measured.ambdif.interval)} ({measured.ambdif.n} pairs); to ask or not: right "
        f"{_text(measured.accuracy.interval)}, CHR over types {_text(measured.macro_chr)}"
    )
    for title, name in _ROWS.items():
        if reasons := getattr(measured.overall, name).reasons:
            yield f"{title}: not counted {reasons}"
    if measured.fillers:
        yield f"{measured.fillers} fillers (do nothing) in sets, left out"
    if measured.flags:
        yield ", ".join(f"{name} {count}" for name, count in measured.flags.items())
    if (report := summary.calibration) is not None:
        yield (
            f"threshold {report.q_hat:.4f}: no. {report.rank} of {report.n} in order, at epsilon "
            f"{report.epsilon:g}; coverage {_text(report.coverage)}, predicted range "
            f"{report.promised.low:.2f} to {report.promised.high:.2f}"
        )
        yield from map(str, (*report.warnings, report.statement))
    if summary.added:
        yield remark("tables", "added").format(count=summary.added)
    if summary.exchange:
        yield "; ".join(f"{name} {_text(value)}" for name, value in summary.exchange.items())


def _text(interval: Interval | None) -> str:
    return "—" if interval is None else interval.bracketed()
