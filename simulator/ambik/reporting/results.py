"""Results: groups of decisions with their sets and measures (spec 7, 10).

Sets are computed from the log, with the run's settings or others; no model is needed. If settings change on
which a threshold depends, it is recomputed from the calibration's decisions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

import typer
from pydantic import Field, create_model

from logs import LogReader
from simulator.ambik.coverage import CoverageReport, report_of
from simulator.ambik.files.pairs import kind_of_pair
from simulator.ambik.items import BENCHMARK, PairItem
from simulator.ambik.measures import Measured, Measures, exchange_measures, measures
from simulator.ambik.metrics import SHORT
from simulator.ambik.payloads import outcome_of
from simulator.ambik.players import baseline_exchanges
from simulator.ambik.playing import ANNOTATOR, ROBOT, Options
from simulator.ambik.predicting import calibrate, outcome
from simulator.ambik.records import Calibrated, Decision, Outcome
from simulator.ambik.reporting.groups import BASELINE, Group
from simulator.ambik.terms import CONFORMAL, DEFAULT, METHODS, NAMES, Settings, remark
from simulator.ambik.trial_log import calibration_of, exchanges_of, first_decisions, options_of, played_of
from simulator.errors import InputError
from simulator.fields import Fields
from simulator.figures import Cell, Table
from simulator.frames import Frames
from simulator.jsonlines import DuplicatesOption
from simulator.reporting import Section
from simulator.runner.logged import required_run
from simulator.stats import Interval

Switches = Mapping[str, Any]
"""Values by field of `Settings` that override those of a run."""
THRESHOLD_SETTINGS: Final = (
    *("target_success", "temperature", "tokens", "quantile", "cp_rule", "calibration_truth", "renormalise"),
    *("entropy_weight", "similarity_weight"),
)
"""Settings on which a threshold depends: if they change, it has to be recomputed."""
_SWITCHES: Final = tuple(field.name for field in fields(Settings) if field.name != "not_listed")
"""Settings that can be changed without new decisions; the fifth option is fixed in the log."""


class ReportSettings(Fields):
    """The settings of a report; those of prediction sets are fields of `REPORT_SETTINGS`."""

    calibration: Annotated[
        tuple[Path, ...], typer.Option(help="a file of decisions on calibration items; may be repeated")
    ] = ()
    data: str | None = Field(
        default=None,
        description="data of decision files that do not name their data: a name or a path",
    )
    part: Literal["all", "released", "added"] = Field(
        default="all",
        description="pairs released with the paper, or added in 2025; all: both, separately",
    )
    task: Annotated[
        tuple[str, ...],
        typer.Option(help="App. K: show scene, plans and all sets of this pair, or all; may be repeated"),
    ] = ()
    lines: Path | None = Field(
        default=None, description="file for every decision of the runs, JSON lines, calibrations first"
    )
    export: Path | None = Field(
        default=None, description="folder for the runs' decisions and a table of results"
    )
    duplicates: DuplicatesOption = "refuse"

    @property
    def switches(self) -> Switches:
        """The chosen settings of prediction sets."""
        chosen = {name: getattr(self, name, None) for name in _SWITCHES}
        return {name: value for name, value in chosen.items() if value is not None}


def _optional_field(name: str) -> tuple[Any, None]:
    """Return the type of an optional field for one of `Settings`."""
    kind, *extras = get_args(get_type_hints(Settings, include_extras=True)[name])
    described = next(extra.description for extra in extras if getattr(extra, "description", None))
    default = getattr(DEFAULT, name)
    for_files = "" if default is None else f", for files {default}"
    help = f"{described}; default: as in the run{for_files}"
    return Annotated[(kind | None, *extras, Field(description=help))], None


_FIELDS: Final[dict[str, Any]] = {name: _optional_field(name) for name in _SWITCHES}
REPORT_SETTINGS: Final = create_model("REPORT_SETTINGS", __base__=ReportSettings, **_FIELDS)
"""`ReportSettings` with every setting of prediction sets; None keeps the run's value."""


_ORDER: Final = (*METHODS, "offline", "person", BASELINE)
_CLOSE: Final = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Result(Group):
    """A group with its sets, under `settings`.

    Attributes:
        name: the robot's name in tables, unique among those of the same method.
        played: the settings of the run.
        calibrated: the threshold; None for methods without one.
        coverage: the coverage report; None without a threshold or without its calibration data.
    """

    name: str
    played: Settings
    outcomes: tuple[Outcome, ...]
    measures: Measures
    calibrated: Calibrated | None = None
    coverage: CoverageReport | None = None
    remarks: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Method and robot in one line."""
        return f"{self.method_name}, {self.name}"


def results_of(groups: Sequence[Group], switches: Switches | None = None) -> tuple[Result, ...]:
    """Return the results of groups, ordered by method, with names that are unique within a method."""
    ordered = sorted(groups, key=lambda group: _ORDER.index(group.method))
    keys = [(group.method, ", ".join(filter(None, (group.robot, group.conditions)))) for group in ordered]
    total, number = Counter(keys), Counter[tuple[str, str]]()
    results = []
    for group, key in zip(ordered, keys, strict=True):
        number[key] += 1
        name = f"{key[1]} ({number[key]})" if total[key] > 1 else key[1]
        results.append(_result(group, name, switches or {}))
    return tuple(results)


def _result(group: Group, name: str, switches: Switches) -> Result:
    settings = replace(group.settings, **switches)
    calibrated, remarks = _threshold_of(group, settings, switches)
    outcomes = tuple(outcome(decision, calibrated, settings) for decision in group.decisions)
    return Result(
        **{**vars(group), "settings": settings},
        name=name,
        played=group.settings,
        outcomes=outcomes,
        measures=measures(outcomes, settings),
        calibrated=calibrated,
        coverage=report_of(calibrated, outcomes, settings) if calibrated and calibrated.complete else None,
        remarks=remarks,
    )


def _threshold_of(
    group: Group, settings: Settings, switches: Switches
) -> tuple[Calibrated | None, tuple[str, ...]]:
    """Return the threshold, and remarks on it."""
    if group.method not in CONFORMAL:
        return None, ()
    changed = [
        name
        for name in switches
        if name in THRESHOLD_SETTINGS and _has_changed(name, group.settings, settings)
    ]
    logged = group.logged
    if group.calibration:
        current = calibrate(group.calibration, settings, run=group.calibration[0].run)
        if changed or logged is None or math.isclose(logged.q_hat, current.q_hat, rel_tol=0, abs_tol=_CLOSE):
            return current, ()
        return current, (
            f"{group.source}: was played with the threshold {logged.q_hat:.4f} from {logged.n} items; the "
            f"calibration now gives {current.q_hat:.4f} from {current.n}, which is used here",
        )
    if changed:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
        raise InputError(
            f"{group.source}: the calibration decisions of {group.method_name} are not available, so "
            f"{options} cannot be changed; name a file of them with --calibration, or a log that has them"
        )
    if logged is None:
        raise InputError(
            f"{group.source}: {group.method_name} needs a calibration for its prediction sets, but there is "
            "neither a threshold nor calibration rows; name a file of calibration rows with --calibration"
        )
    return logged, (f"{group.source}: the logged threshold is used without its calibration",)


def _has_changed(name: str, then: Settings, now: Settings) -> bool:
    return bool(getattr(then, name) != getattr(now, name))


def settings_statement(results: Sequence[Result]) -> tuple[str, ...]:
    """Return a sentence on the settings that differ from those of the runs; empty if none do."""
    changes = dict.fromkeys(
        f"{part.name} = {getattr(result.settings, part.name)} instead of {getattr(result.played, part.name)}"
        for result in results
        for part in fields(Settings)
        if _has_changed(part.name, result.played, result.settings)
    )
    if not changes:
        return ()
    return (
        f"Sets are recomputed from the log, with {'; '.join(changes)}; no model was asked. Questions that "
        "robots asked while they played, and the effects of answers, are unchanged.",
    )


# ---- the summary of a run, for `askback run ambik` and `askback score`

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
    checked = calibrated if calibrated and calibrated.complete and outcomes else None
    report = report_of(checked, outcomes, options.settings) if checked else None
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
