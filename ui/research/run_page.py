"""The content of runs' pages, made from a benchmark's declaration: the report of runs, and runs compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from logs import LogReader
from simulator import frames
from simulator.benchmark import Benchmark, Metric, ReportSpec
from simulator.commands.compare import comparison, one_benchmark
from simulator.errors import InputError
from simulator.field_options import OptionField, option_field, options_of, read_options
from simulator.frames import Frames
from simulator.reporting import Report, Section
from simulator.reports import build_report, metric_figure, present_metrics
from simulator.runner.logged import seat_failures
from ui.i18n import Strings
from ui.research.kept import CachedReports
from ui.research.report_parts import MINUS, ReportParts, report_parts
from ui.research.transcript import Transcript, transcript


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item that runs were compared on.

    Attributes:
        values: the headline of each run.
        differs: whether they are not the same.
    """

    item: str
    values: tuple[str, ...]
    differs: bool


# ---- the report


def kept_report(
    t: Strings,
    kept: CachedReports,
    benchmark: Benchmark[Any, Any],
    runs: Sequence[str],
    settings: Mapping[str, str],
) -> ReportParts:
    """Return the report of runs, made once for each state of theirs."""

    def make() -> ReportParts:
        try:
            return report_parts(t, read_report(kept.reader, benchmark, runs, settings))
        except InputError as error:
            return ReportParts(Report(title=benchmark.title, sections=()), nothing=error)

    return kept.once(("report", t.language, tuple(sorted(settings.items()))), runs, make)


def read_report(
    reader: LogReader, benchmark: Benchmark[Any, Any], runs: Sequence[str], settings: Mapping[str, str]
) -> Report:
    """Return the report of runs under settings out of an address.

    Raises:
        InputError: if a setting cannot be, or there is nothing to report.
    """
    made = None
    if benchmark.report is not None and benchmark.report.settings is not None:
        fields = report_fields(benchmark).items()
        chosen = {name: typed(field, settings[name]) for name, field in fields if settings.get(name)}
        made = read_options(benchmark.report.settings(), chosen)
    return build_report(benchmark, Frames(log=reader, runs=tuple(runs), settings=made))


def report_fields(benchmark: Benchmark[Any, Any]) -> dict[str, OptionField]:
    """Return the settings of a report that a page lets change: choices, numbers and names, but no files."""
    spec = benchmark.report
    if spec is None or spec.settings is None:
        return {}
    made = {name: option_field(name, option) for name, option in options_of(spec.settings()).items()}
    # A single text may name a file of this machine.
    return {
        name: field for name, field in made.items() if field.several or field.kind not in ("file", "text")
    }


def typed(field: OptionField, value: str) -> Any:
    """Return a setting as its option has it, out of an address: of several, commas stand between them.

    Raises:
        InputError: if it is not a number where one belongs.
    """
    if field.several:
        return [part.strip() for part in value.split(",") if part.strip()]
    if field.kind == "switch":
        return value == "1"
    if field.kind not in ("whole", "number"):
        return value
    try:
        return int(value) if field.kind == "whole" else float(value)
    except ValueError as error:
        raise InputError(f"{field.name}: {value!r} is not a number") from error


def command(
    verb: str, benchmark: Benchmark[Any, Any] | None, runs: Sequence[str], settings: Mapping[str, str]
) -> str:
    """Return the command line that prints the same."""
    fields = report_fields(benchmark) if benchmark else {}
    chosen = [(fields[name], value) for name, value in settings.items() if value and name in fields]
    read = [(field, typed(field, value)) for field, value in chosen]
    options = [word for field, value in read if value is not False for word in field.words(value)]
    return shlex.join(["askback", verb, *([benchmark.name] if benchmark else []), *runs, *options])


def aborted(benchmark: Benchmark[Any, Any], reader: LogReader, run: str) -> int:
    """Return how many episodes a failing seat aborted, where they count as unsuccessful."""
    spec = benchmark.report or ReportSpec()
    count = sum(seat_failures(reader, [run]).values())
    return count if count and spec.counts_aborted(Frames(log=reader, runs=(run,)), run) else 0


# ---- runs compared


def kept_comparison(t: Strings, kept: CachedReports, runs: Sequence[str]) -> ReportParts:
    """Return the comparison of runs, made once for each state of theirs.

    Raises:
        InputError: if they cannot be compared.
    """
    return kept.once(
        ("compared", t.language), runs, lambda: report_parts(t, read_comparison(kept.reader, runs))
    )


def read_comparison(reader: LogReader, runs: Sequence[str]) -> Report:
    """Return what `askback compare` says, and the metrics as bars.

    Raises:
        InputError: if runs cannot be compared.
    """
    report = comparison(reader, runs)
    benchmark = one_benchmark(reader, runs)
    frame = frames.episodes(reader, runs)
    figure = metric_figure(benchmark, frame, present_metrics(benchmark, frame))
    if figure is None:
        return report
    section = Section(name="metrics", title="Metrics", figures=[figure])
    return replace(report, sections=[*report.sections, section])


def item_rows(reader: LogReader, runs: Sequence[str]) -> Iterator[ItemRow]:
    """Yield the items that all runs share, with the headline of each."""
    benchmark = one_benchmark(reader, runs)
    frame = frames.episodes(reader, runs)
    metric, *_ = present_metrics(benchmark, frame)
    means = _means(frame, metric).reindex(columns=list(runs)).dropna()
    digits = 2 if metric.is_share else 1
    for item, values in zip(means.index, means.to_numpy(), strict=True):
        texts = tuple(f"{value:.{digits}f}".replace("-", MINUS) for value in values)
        yield ItemRow(str(item), texts, bool(values.min() != values.max()))


def _means(frame: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    return frame.pivot_table(metric.name, "item", "run", aggfunc="mean")


def episodes_beside(reader: LogReader, runs: Sequence[str], item: str) -> tuple[Transcript, ...]:
    """Return the episodes of runs on one item, the first of each."""
    named = {row.hash: row.name for row in reader.items()}
    episodes = (
        next((each for each in reader.episodes(run, latest=True) if named[each.item_hash] == item), None)
        for run in runs
    )
    return tuple(transcript(reader, episode.id) for episode in episodes if episode is not None)
