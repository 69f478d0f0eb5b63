"""Reports on runs of a benchmark: a table of all metrics, followed by the benchmark's own sections.

`askback report BENCHMARK` prints the full report; `askback run` and `askback score` print the summary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pandas as pd
from rich.console import Console

from logs import LogError, LogReader
from simulator import frames
from simulator.benchmark import EPISODE_COLUMNS, Benchmark, Metric, ReportSpec, SectionMaker
from simulator.catalog import describe_error
from simulator.errors import AskbackError, InputError
from simulator.figures import Bars, Cell, Column, Figure, Panel, Table
from simulator.frames import Frames
from simulator.reporting import Report, RunEndings, Section, print_report, renumber, slug
from simulator.runner.logged import endings_of_runs, required_run
from simulator.runner.run_summary import print_endings, print_usage
from simulator.stats import Interval, bootstrap_mean, share

REMARKS: Final = (
    "Intervals are 95 %: Wilson's for shares where each item was played once, else bootstrap over items; "
    "n counts items.",
    "Episodes that a failing seat aborted count as unsuccessful where a metric says what that is "
    "(--exclude-aborted leaves them out); what failed for other reasons is not scored and is played again.",
)

ERRORS: Final = (
    "Utterances that were written and labelled before any answer was seen; they belong to no run. "
    "Intervals are 95 %, clustered by item.",
)

GROUPED: Final = "Items of one group, such as a pair, are one observation of the intervals."


def print_runs(
    console: Console,
    reader: LogReader,
    benchmark: Benchmark[Any, Any],
    runs: Sequence[str],
    *,
    exclude_aborted: bool = False,
) -> None:
    """Print the summary of runs that were just played or scored.

    Raises:
        InputError: if a section cannot be made, after printing the others.
    """
    report = run_summary(reader, benchmark, runs, exclude_aborted=exclude_aborted)
    print_run_report(console, report)
    if benchmark.report is not None and benchmark.report.summary:
        console.print(f"[dim]Full report:[/dim] askback report {benchmark.name} {' '.join(runs)}")
    require_complete(report)


def print_run_report(console: Console, report: Report) -> None:
    """Print a report: how episodes ended, its sections, and the models' usage."""
    if report.endings is not None:
        print_endings(console, report.runs, report.endings)
    print_report(console, report)
    if report.endings is not None:
        print_usage(console, report.endings.usage)


def require_complete(report: Report) -> None:
    """Raise an error if parts of a report could not be made. Call it after showing the other parts.

    Raises:
        InputError: with the reasons.
    """
    if report.problems.unexpected:
        raise InputError("; ".join(report.problems.unexpected))


def run_summary(
    reader: LogReader,
    benchmark: Benchmark[Any, Any],
    runs: Sequence[str],
    *,
    exclude_aborted: bool = False,
) -> Report:
    """Return the short report of runs (`ReportSpec.summary`).

    Raises:
        InputError: if a run is another benchmark's.
        NotInLog: if there is no such run.
    """
    source = Frames(log=reader, runs=tuple(runs), exclude_aborted=exclude_aborted, draws=False)
    spec = benchmark.report or ReportSpec()
    return build_report(
        benchmark, source, makers=spec.summary or benchmark.reports, metrics=spec.summary_metrics
    )


def build_report(
    benchmark: Benchmark[Any, Any],
    source: Frames,
    by: Sequence[str] = (),
    *,
    makers: Iterable[SectionMaker] | None = None,
    metrics: bool = True,
) -> Report:
    """Return the report of runs and files.

    `by`: columns of the episodes frame; each adds a table of metrics per value of the column. `metrics`:
    whether to include the common table of metrics, if the benchmark has it.

    Raises:
        InputError: if a run is another benchmark's, or a column of `by` does not exist.
        NotInLog: if there is no such run.
    """
    for run in source.runs:
        required_run(source.reader, run, benchmark.name)
    sections = [*_metric_sections(benchmark, source, by, metrics)] if source.runs else []
    for make in benchmark.reports if makers is None else makers:
        sections += _make_sections(benchmark, make, source)
    if makers is None and source.runs:
        sections += _error_sections(benchmark, source.episodes)
    names = [*source.runs, *map(str, source.files)]
    return Report(
        title=f"{benchmark.title}: {', '.join(names)}",
        sections=renumber(sections),
        runs=source.runs,
        endings=_endings(benchmark, source) if source.runs else None,
        problems=source.problems,
    )


def _make_sections(benchmark: Benchmark[Any, Any], make: SectionMaker, source: Frames) -> list[Section]:
    """Return the sections made by a function; record an unexpected error as a problem of the report."""
    try:
        sections = make(source)
        return [sections] if isinstance(sections, Section) else [*(sections or ())]
    except (AskbackError, LogError):
        raise
    except Exception as error:  # the other sections are still shown
        name = getattr(make, "__qualname__", repr(make))
        source.problems.unexpected.append(
            f"{benchmark.name}: the report function {name} failed ({describe_error(error)})"
        )
        return []


def _endings(benchmark: Benchmark[Any, Any], source: Frames) -> RunEndings:
    counts = (benchmark.report or ReportSpec()).counts_aborted
    uncounted = [run for run in source.runs if not counts(source, run)]
    return RunEndings(
        **endings_of_runs(source.reader, source.runs)._asdict(),
        excluded=source.exclude_aborted,
        uncounted=endings_of_runs(source.reader, uncounted).aborted,
        usage=[usage for run in source.runs for usage in source.reader.usage(run)],
    )


def _metric_sections(
    benchmark: Benchmark[Any, Any], source: Frames, by: Sequence[str], common: bool
) -> Iterator[Section]:
    frame = source.episodes
    metrics = present_metrics(benchmark, frame)
    if common and (benchmark.report is None or benchmark.report.metrics):
        figure = metric_figure(benchmark, frame, metrics) if source.draws else None
        yield Section(
            name="metrics",
            title="Metrics",
            tables=[metric_table(frame, metrics, ["run"], benchmark.cluster)],
            figures=[figure] if figure else [],
            remarks=REMARKS if benchmark.cluster is str else (*REMARKS, GROUPED),
        )
    for column in by:
        if column not in frame:
            raise InputError(
                f"--by {column}: no such column; the columns are {', '.join(map(str, frame.columns))}"
            )
        table = metric_table(frame, metrics, ["run", column], benchmark.cluster)
        yield Section(name=f"by-{slug(column)}", title=f"By {column}", tables=[table])


def _error_sections(benchmark: Benchmark[Any, Any], episodes: pd.DataFrame) -> Iterator[Section]:
    """Yield a section with the measured error rates of the built-in players in these episodes, if any."""
    rows: list[list[Cell]] = [
        [seat.name, player, rate.language, Interval(rate.wrong / rate.n, rate.low, rate.high, rate.n)]
        for seat in benchmark.seats
        for player, rates in seat.error_rates.items()
        if player in episodes.get(frames.SEAT + seat.name, pd.Series()).to_numpy()
        for rate in rates
        if rate.language in episodes["language"].to_numpy()
    ]
    if rows:
        table = Table(["seat", "player", "language", Column("wrong answers", 2)], rows)
        yield Section(name="errors", title="Error rates of built-in players", tables=[table], remarks=ERRORS)


def present_metrics(benchmark: Benchmark[Any, Any], frame: pd.DataFrame) -> tuple[Metric, ...]:
    """Return the metrics in a frame of episodes: declared ones first, then others that were logged."""
    declared = {metric.name: metric for metric in benchmark.metrics if metric.name in frame}
    others = [
        name
        for name in frame
        if name not in declared
        and name not in EPISODE_COLUMNS
        and not str(name).startswith((frames.SEAT, frames.ANSWER))
    ]
    return (*declared.values(), *(_undeclared_metric(str(name), frame[name]) for name in others))


def metric_table(
    frame: pd.DataFrame, metrics: Sequence[Metric], by: Sequence[str], cluster: Callable[[str], str]
) -> Table:
    """Return a table with a row per group: episodes, items, and each metric's mean with its interval."""
    rows: list[list[Cell]] = []
    for key, group in frame.groupby(list(by), sort=False, dropna=False):
        cells: list[Cell] = [str(value) for value in key]
        cells += [len(group), int(group["item"].nunique())]
        rows.append([*cells, *(mean_of(group, metric, cluster) for metric in metrics)])
    heads: list[Column | str] = [
        *by,
        "episodes",
        "items",
        *(Column(m.title, 3 if m.is_share else 2) for m in metrics),
    ]
    return Table(heads, rows, "Means over episodes")


def mean_of(group: pd.DataFrame, metric: Metric, cluster: Callable[[str], str]) -> Interval | None:
    """Return a metric's mean over episodes (`n` counts items), resampling clusters; None without values."""
    values = group[[metric.name, "item"]].dropna()
    if values.empty:
        return None
    numbers, clusters = values[metric.name].astype(float).tolist(), values["item"].map(cluster).tolist()
    if metric.is_share and not metric.graded and set(numbers) <= {0.0, 1.0}:
        mean = share([bool(number) for number in numbers], clusters)
    else:
        mean = bootstrap_mean(numbers, clusters, bounds=(0.0, 1.0) if metric.is_share else None)
    return mean._replace(n=values["item"].nunique())


def metric_figure(
    benchmark: Benchmark[Any, Any], frame: pd.DataFrame, metrics: Sequence[Metric]
) -> Figure | None:
    """Return a bar chart of the share metrics of each run, with intervals; None if no metric is a share."""
    shares = [metric for metric in metrics if metric.is_share]
    bars = []
    for run, group in frame.groupby("run", sort=False):
        means = [
            (metric.title, mean)
            for metric in shares
            if (mean := mean_of(group, metric, benchmark.cluster)) is not None
        ]
        if means:
            bars.append(Bars.from_intervals(str(run), means))
    if not bars:
        return None
    clusters = "item" if benchmark.cluster is str else "group of items"
    caption = f"Means over episodes with 95 % intervals, clustered by {clusters}."
    return Figure(f"{benchmark.name}-metrics", benchmark.title, [Panel("", "", "share", bars)], caption)


def _undeclared_metric(name: str, values: pd.Series[Any]) -> Metric:
    unit = "share" if values.dropna().astype(float).between(0, 1).all() else "value"
    return Metric(name, name.replace("_", " "), unit)
