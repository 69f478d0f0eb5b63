"""What `askback run ambik` and `askback score` print of a run: help, metrics, coverage, and the exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from logs import LogReader
from logs.query import ModelUsage
from logs.rows import Score
from simulator.ambik.baselines import baseline_exchanges
from simulator.ambik.cautions import Caution
from simulator.ambik.files.versions import kind_of_pair
from simulator.ambik.items import PairItem
from simulator.ambik.measuring.measures import Measure, Measures, TypeMeasures, measures
from simulator.ambik.measuring.outcome_rows import cluster_of
from simulator.ambik.payloads import outcome_of
from simulator.ambik.playing import ANNOTATOR, ROBOT, Options, needs_question, plain_number
from simulator.ambik.records import ABORTED, Calibrated, Decision, Exchange, Outcome
from simulator.ambik.rows import BENCHMARK
from simulator.ambik.score import is_right, relevance, right_in_the_end, score_rows
from simulator.ambik.sets.coverage import CoverageReport
from simulator.ambik.sets.coverage_report import report_of
from simulator.ambik.sets.predicting import outcome
from simulator.ambik.terms import NAMES
from simulator.ambik.trial_log import (
    calibration_of,
    exchanges_of,
    first_decisions,
    options_of,
    played_of,
)
from simulator.resampling import SHARE
from simulator.runner.logged import endings_of, failures_of, required_run, seat_failures
from simulator.runner.telling import print_aborted, print_not_scored, print_usage
from simulator.stats import Interval, cluster_bootstrap, share

Measured = Mapping[str, Interval | None]
RELEVANT: Final = "relevant questions"
_TYPES: Final[Mapping[str, str]] = {
    "all": "all",
    "unambiguous_direct": "clear",
    "preferences": "preferences",
    "common_sense_knowledge": "common sense",
    "safety": "safety",
}
_ROWS: Final[Mapping[str, Callable[[TypeMeasures], Measure]]] = {
    "help rate": lambda one: one.hr,
    "CHR": lambda one: one.chr,
    "ICR": lambda one: one.icr,
    "SSC": lambda one: one.ssc,
    "coverage": lambda one: one.coverage,
    "set size": lambda one: one.set_size,
    "empty sets": lambda one: one.empty,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in numbers.

    Attributes:
        who: sits in the robot's seat, or the annotator's.
        method: what it plays, in words; empty where it plays none.
        statuses: episodes by how they ended; ``erased`` those of people who have withdrawn, which count
            nowhere else.
        failures: why episodes failed or people left, and how many did.
        aborted: why seats failed -> how many episodes that aborted; they count as unsuccessful.
        exclude_aborted: whether these are left out instead.
        measures: of the first decisions; None while a method is being calibrated, and of annotators.
        exchange: shares before and after what was answered; empty where nobody answers.
        calibration: of conformal methods: the threshold, what it promised and what came of it.
        baselines: measures of robots that understand nothing on the same tasks, and their exchanges.
        added: tasks of pairs as those added in 2025, where there are others, too.
        forms: of annotators: how many there are.
        usage: what the models took.
    """

    run: str
    who: str
    method: str
    statuses: Mapping[str, int]
    failures: Mapping[str, int]
    measures: Measures | None
    exchange: Measured
    calibration: CoverageReport | None
    baselines: Mapping[str, tuple[Measures, Measured]]
    added: int
    forms: int
    usage: tuple[ModelUsage, ...]
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False


def summarise(reader: LogReader, run_id: str, *, exclude_aborted: bool = False) -> RunSummary:
    """A run in numbers, out of its turns. People who have withdrawn do not count.

    Raises:
        InputError: if it is a run of another benchmark.
        NotInLog: if there is no such run.
    """
    run = required_run(reader, run_id, BENCHMARK)
    options = options_of(reader, run_id)
    seats = run.config.get("seats", {})
    played = played_of(reader, [run_id], aborted=not exclude_aborted)
    outcomes = outcomes_of(first_decisions(played), options)
    calibrated = calibration_of(reader, run_id)
    return RunSummary(
        run=run_id,
        who=str(seats.get(ROBOT) or seats.get(ANNOTATOR) or "person"),
        method=NAMES[options.method] if options.method else "",
        statuses=endings_of(reader, run_id).statuses,
        failures=failures_of(reader, run_id),
        aborted=seat_failures(reader, [run_id]),
        exclude_aborted=exclude_aborted,
        measures=measures(outcomes, options.settings) if outcomes else None,
        exchange=exchange_measures(exchanges_of(played)),
        calibration=reported(calibrated, outcomes, options) if calibrated and outcomes else None,
        baselines=baselines_of(outcomes, options) if outcomes else {},
        added=_added(outcomes),
        forms=sum(len(one.of("annotate")) for one in played),
        usage=tuple(reader.usage(run_id)),
    )


def _added(outcomes: Sequence[Outcome]) -> int:
    items = (one.decision.item for one in outcomes)
    kinds = [kind_of_pair(item.pair) for item in items if isinstance(item, PairItem)]
    return kinds.count("added") if "released" in kinds else 0


def baselines_of(outcomes: Sequence[Outcome], options: Options) -> dict[str, tuple[Measures, Measured]]:
    """What robots that understand nothing get on the tasks of some outcomes (`baselines`)."""
    items = {one.decision.item.id: one.decision.item for one in outcomes}
    held = baseline_exchanges([*items.values()], options.context, options.dialogue)
    return {
        name: (
            measures([outcome(one.before, None, options.settings) for one in some], options.settings),
            exchange_measures(some) if options.questions else {},
        )
        for name, some in held.items()
    }


def outcomes_of(found: Iterable[Decision], options: Options) -> tuple[Outcome, ...]:
    """Decisions with their sets; none while their method is being calibrated."""
    return tuple(one for one in (outcome_of(decision, options) for decision in found) if one is not None)


def reported(calibrated: Calibrated, outcomes: Sequence[Outcome], options: Options) -> CoverageReport | None:
    """What a threshold promised and what came of it; None where what it rests on is not in the log."""
    if len(calibrated.nonconformities) != calibrated.n:
        return None
    return report_of(calibrated, outcomes, options.settings)


def exchange_measures(found: Sequence[Exchange]) -> Measured:
    """Shares of episodes in which somebody could ask.

    Whether it was asked when needed has Wilson's interval where each task was played once (`stats.share`); of
    the others, intervals are resampled over pairs.
    """
    if not found:
        return {}
    rows: dict[str, list[tuple[str, str, float]]] = {
        name: []
        for name in (
            *("asked when needed", "asked when not needed", "right before", "right after", "questions"),
            RELEVANT,
        )
    }
    for one in found:
        item, pair = one.before.item, cluster_of(one.before.item)
        name = f"{item.id} {one.before.dialogue}"
        needed = needs_question(item, one.before.dialogue)
        if needed is not None:
            rows["asked when needed" if needed else "asked when not needed"].append(
                (pair, name, float(bool(one.before.asked)))
            )
        undecided = ABORTED in one.before.flags
        answers = [answer for _, answer in one.questions]
        before = False if undecided else is_right(item, one.before.action)
        after = False if one.aborted else right_in_the_end(item, one.after.asked, one.after.action, answers)
        for measure, right in (("right before", before), ("right after", after)):
            if right is not None:
                rows[measure].append((pair, name, float(right)))
        rows["questions"].append((pair, name, float(len(one.questions))))
        asked = [question for question, _ in one.questions] or [one.before.question]
        if (to_the_point := relevance(item, asked)) is not None:
            rows[RELEVANT].append((pair, name, to_the_point))
    return {measure: _interval(measure, some) if some else None for measure, some in rows.items()}


def _interval(measure: str, rows: Sequence[tuple[str, str, float]]) -> Interval:
    """Over pairs; tasks that were played several times count once."""
    pairs, names, values = map(list, zip(*rows, strict=True))
    if measure.startswith("asked"):
        return share([value > 0 for value in values], names)
    bounds = None if measure == "questions" else SHARE
    return cluster_bootstrap(values, pairs, bounds=bounds)._replace(n=len(set(names)))


def score_run(reader: LogReader, run_id: str) -> tuple[Score, ...]:
    """The scores of every ended episode of a run, from its logged turns.

    Raises:
        InputError: if it is a run of another benchmark.
    """
    played = played_of(reader, [run_id])
    return tuple(
        score
        for one in played
        if one.turns
        for score in score_rows(one.turns[0].episode_id, one.item, one.turns)
    )


def print_summaries(console: Console, summaries: Sequence[RunSummary]) -> None:
    """A table for each run, its threshold, what failed, and what the models took."""
    for one in summaries:
        title = " · ".join(filter(None, (one.method, one.who, one.run)))
        if one.measures is not None:
            console.print(_table(title, one.measures))
            for line in _lines(one, one.measures):
                console.print(f"  {line}", highlight=False)
            console.print(_baselines_table(one.baselines))
        elif one.forms:
            console.print(f"{title}: {one.forms} forms")
        print_not_scored(console, one.run, one.statuses, one.failures)
        print_aborted(console, one.aborted, one.run, excluded=one.exclude_aborted)
        print_usage(console, one.usage)


def _table(title: str, found: Measures) -> Table:
    # Eighty columns hold all types if intervals stand below their numbers; narrower ones wrap.
    table = Table(box=SIMPLE, title=Text(title), title_justify="left", padding=0)
    table.add_column("", no_wrap=True)
    kinds = (found.overall, *found.types)
    for one in kinds:
        name = _TYPES.get(one.type, one.type)
        table.add_column(f"{name}\n{one.tasks} tasks", justify="right")
    for name, of in _ROWS.items():
        table.add_row(name, *(_cell(of(one)) for one in kinds))
    return table


def _baselines_table(found: Mapping[str, tuple[Measures, Measured]]) -> Table:
    """Robots that understand nothing, on the same tasks."""
    table = Table(box=SIMPLE, title=Text("Baselines on the same tasks"), title_justify="left", padding=0)
    after = any(told for _, told in found.values())
    for head in (
        "",
        "help rate",
        "CHR",
        "ICR",
        "AmbDif",
        *(("right\nbefore", "right\nafter") if after else ()),
    ):
        table.add_column(head, justify="right" if head else "left", no_wrap=True)
    for name, (of, told) in found.items():
        shown = (of.overall.hr, of.overall.chr, of.overall.icr, of.ambdif)
        exchanged = (told.get("right before"), told.get("right after")) if after else ()
        cells = [None if one.interval is None else one.interval.value for one in shown]
        cells += [None if one is None else one.value for one in exchanged]
        table.add_row(name, *("—" if one is None else f"{one:.2f}" for one in cells))
    return table


def _cell(found: Measure) -> str:
    if found.interval is None:
        return "—"
    less = f"\nn {found.n}" if found.left_out else ""
    return _told(found.interval).replace(" ", "\n", 1) + less


def _told(found: Interval | None) -> str:
    return (
        "—" if found is None else f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]".replace("[", "\\[")
    )


def _lines(one: RunSummary, found: Measures) -> list[str]:
    """What is told below a run's table."""
    lines = [
        f"AmbDif {_told(found.ambdif.interval)} ({found.ambdif.n} pairs); to ask or not: right "
        f"{_told(found.accuracy.interval)}, CHR over types {_told(found.macro_chr)}"
    ]
    if found.fillers:
        lines.append(f"{found.fillers} fillers (do nothing) in sets, left out")
    if found.flags:
        lines.append(", ".join(f"{name} {count}" for name, count in found.flags.items()))
    if (report := one.calibration) is not None:
        lines.append(
            f"threshold {report.q_hat:.4f}: no. {report.rank} of {report.n} in order, at epsilon "
            f"{report.epsilon:g}; coverage {_told(report.coverage)}, predicted range "
            f"{report.promised.low:.2f} to {report.promised.high:.2f}"
        )
        lines.extend(
            (
                *(f"[yellow]{warning}[/yellow]" for warning in report.warnings),
                f"[dim]{report.statement}[/dim]",
            )
        )
    if one.added:
        lines.append(
            f"{one.added} tasks are of pairs as added in 2025, which differ in kind: `askback report ambik` "
            "tells them apart, --part plays or reports one kind alone"
        )
    if one.exchange:
        lines.append("; ".join(f"{name} {_told(value)}" for name, value in one.exchange.items()))
    return lines


def summary_json(summary: RunSummary) -> dict[str, Any]:
    """The summary as plain JSON; infinite numbers are texts."""
    return {
        "run": summary.run,
        "robot": summary.who,
        "method": summary.method,
        "statuses": dict(summary.statuses),
        "failures": dict(summary.failures),
        "aborted": dict(summary.aborted),
        "exclude_aborted": summary.exclude_aborted,
        "measures": None if summary.measures is None else _plain(asdict(summary.measures)),
        "exchange": {name: None if one is None else one._asdict() for name, one in summary.exchange.items()},
        "calibration": None if summary.calibration is None else _plain(asdict(summary.calibration)),
        "baselines": {
            name: {
                "measures": _plain(asdict(of)),
                "exchange": {key: None if one is None else one._asdict() for key, one in told.items()},
            }
            for name, (of, told) in summary.baselines.items()
        },
        "forms": summary.forms,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Caution):
        return str(value)
    if isinstance(value, Interval):
        return value._asdict()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return plain_number(value) if isinstance(value, float) else value
