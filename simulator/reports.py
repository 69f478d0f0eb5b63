"""The report on runs of a benchmark: every metric side by side, and the sections that the benchmark adds.

It is what `askback report BENCHMARK` says; `askback run` and `askback score` say the shorter one of the run
that they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pandas as pd
from rich.console import Console

from logs import LogError, LogReader
from simulator import frames
from simulator.benchmark import Benchmark, Metric, ReportSpec, SectionMaker
from simulator.catalog import described
from simulator.errors import AskbackError, InputError
from simulator.figures import Bars, Cell, Column, Figure, Panel, Table
from simulator.frames import Frames
from simulator.reporting import Report, RunEndings, Section, numbered, print_report, slug
from simulator.runner.logged import endings_of_runs, required_run
from simulator.runner.run_summary import print_endings, print_usage
from simulator.stats import Interval, bootstrap_mean, share

REMARKS: Final = (
    "Intervals are 95 %: Wilson's for shares where each item was played once, else bootstrap over items; "
    "n counts items.",
    "Episodes that a failing seat aborted count as unsuccessful where a metric says what that is "
    "(--exclude-aborted leaves them out); what failed for other reasons is not scored and is played again.",
)


def print_runs(
    console: Console,
    reader: LogReader,
    benchmark: Benchmark[Any, Any],
    runs: Sequence[str],
    *,
    exclude_aborted: bool = False,
) -> None:
    """Print what came of runs that were just played or scored.

    Raises:
        InputError: if a section cannot be made; the others have been printed by then.
    """
    report = run_summary(reader, benchmark, runs, exclude_aborted=exclude_aborted)
    print_whole(console, report)
    if benchmark.report is not None and benchmark.report.summary:
        console.print(f"[dim]More of it:[/dim] askback report {benchmark.name} {' '.join(runs)}")
    require_whole(report)


def print_whole(console: Console, report: Report) -> None:
    """Print a report: how episodes ended, its sections, and what models took."""
    if report.endings is not None:
        print_endings(console, report.runs, report.endings)
    print_report(console, report)
    if report.endings is not None:
        print_usage(console, report.endings.usage)


def require_whole(report: Report) -> None:
    """Refuse a report some of which could not be made; to be called when the rest of it has been shown.

    Raises:
        InputError: says why.
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

    `by`: columns of the frame of episodes; metrics are told for each of their values, too. `metrics`: whether
    the common table of metrics is told, where the benchmark has it.

    Raises:
        InputError: if a run is another benchmark's, or a column of `by` does not exist.
        NotInLog: if there is no such run.
    """
    for run in source.runs:
        required_run(source.reader, run, benchmark.name)
    sections = [*_metric_sections(benchmark, source, by, metrics)] if source.runs else []
    for make in benchmark.reports if makers is None else makers:
        sections += _make_sections(benchmark, make, source)
    names = [*source.runs, *map(str, source.files)]
    return Report(
        title=f"{benchmark.title}: {', '.join(names)}",
        sections=numbered(sections),
        runs=source.runs,
        endings=_endings(benchmark, source) if source.runs else None,
        problems=source.problems,
    )


def _make_sections(benchmark: Benchmark[Any, Any], make: SectionMaker, source: Frames) -> list[Section]:
    """Return the sections that a function makes; what it raises by accident is a problem of the report."""
    try:
        made = make(source)
        return [made] if isinstance(made, Section) else [*(made or ())]
    except (AskbackError, LogError):
        raise
    except Exception as error:  # the other sections are told all the same
        name = getattr(make, "__qualname__", repr(make))
        source.problems.unexpected.append(
            f"{benchmark.name}: the function {name} of its reports cannot be used ({described(error)})"
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
            remarks=REMARKS,
        )
    for column in by:
        if column not in frame:
            raise InputError(
                f"--by {column}: no such column; there are: {', '.join(map(str, frame.columns))}"
            )
        table = metric_table(frame, metrics, ["run", column], benchmark.cluster)
        yield Section(name=f"by-{slug(column)}", title=f"By {column}", tables=[table])


def present_metrics(benchmark: Benchmark[Any, Any], frame: pd.DataFrame) -> tuple[Metric, ...]:
    """Return the metrics that episodes of a frame have: those declared first, then what else was logged."""
    declared = {metric.name: metric for metric in benchmark.metrics if metric.name in frame}
    others = [
        name
        for name in frame
        if name not in declared
        and name not in frames.EPISODE_COLUMNS
        and not str(name).startswith((frames.SEAT, frames.ANSWER))
    ]
    return (*declared.values(), *(_undeclared_metric(str(name), frame[name]) for name in others))


def metric_table(
    frame: pd.DataFrame, metrics: Sequence[Metric], by: Sequence[str], cluster: Callable[[str], str]
) -> Table:
    """Return a row per group: episodes, items, and each metric's mean with its interval."""
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
    """Return a metric's mean over episodes, its interval by `cluster` of items, which `n` counts; or None."""
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
    """Return the shares of runs as bars with intervals; None if no metric is a share."""
    shares = [metric for metric in metrics if metric.is_share]
    bars = []
    for run, group in frame.groupby("run", sort=False):
        known = [
            (metric.title, mean)
            for metric in shares
            if (mean := mean_of(group, metric, benchmark.cluster)) is not None
        ]
        if known:
            bars.append(Bars.of(str(run), known))
    if not bars:
        return None
    caption = "Means over episodes with 95 % intervals, clustered by item."
    return Figure(f"{benchmark.name}-metrics", benchmark.title, [Panel("", "", "share", bars)], caption)


def _undeclared_metric(name: str, values: pd.Series[Any]) -> Metric:
    numbers = values.dropna().astype(float)
    unit = "share" if numbers.between(0, 1).all() else "value"
    return Metric(name, name.replace("_", " "), unit)
