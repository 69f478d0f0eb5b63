"""`askback compare RUN RUN…`: runs of one benchmark on the items that they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy
import typer

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator import catalog, frames
from simulator.benchmark import Benchmark, Metric
from simulator.commands.report import OutOption, RunsArgument, output_report
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.figures.tables import AtMost
from simulator.reporting import Report, Section
from simulator.reports import metric_table, present_metrics
from simulator.runner.options import ExactJsonOption, ExcludeAbortedOption, WithExcludedOption
from simulator.stats import Interval, holm, mcnemar, paired_bootstrap

Differences = npt.NDArray[np.floating[Any]]
POWER: Final = 0.8
LEVEL: Final = 0.05
_DRAWS: Final = 9_999
REMARKS: Final = (
    "Runs are compared on the items and languages that both have; repeats of an item are averaged first.",
    "Difference: second less first, with a 95 % bootstrap interval over items; those of a pair are one draw.",
    "p: the two runs are exchanged item by item: McNemar's exact test for shares; for others exact where 13 "
    "items or fewer differ, else in 9,999 draws. Holm: adjusted over the pairs of a metric.",
    f"Detectable: the smallest difference that so many items would show with power {POWER} at level {LEVEL}, "
    "given how much the differences of these items vary; above 1, a share would show none.",
)
_HEADS: Final = (
    "metric",
    "first",
    "second",
    "items",
    Column("mean of first", 3),
    Column("mean of second", 3),
    Column("difference", 3, scale_by="metric"),
    Column("p", 4, never_zero=True),
    Column("Holm", 4, never_zero=True),
    Column("detectable", 3),
)


class Pair(NamedTuple):
    """Two runs compared in one metric: a row of the table."""

    first: str
    second: str
    items: int
    mean_of_first: float
    mean_of_second: float
    difference: Interval
    p: float
    holm: float
    detectable: float | None


def compare(
    runs: RunsArgument,
    metric: Annotated[
        list[str] | None, typer.Option(help="metric to compare (repeatable); default: all metrics")
    ] = None,
    out: OutOption = None,
    as_json: ExactJsonOption = False,
    exclude_aborted: ExcludeAbortedOption = False,
    with_excluded: WithExcludedOption = False,
    log: LogOption = None,
) -> None:
    """Compare runs of one benchmark, paired by item: differences, intervals, tests, detectable effects."""
    with LogReader(log or default_path(), with_excluded=with_excluded) as reader:
        report = comparison(reader, runs, metric or (), exclude_aborted=exclude_aborted)
    output_report(report, out, form="json" if as_json else "text")


def comparison(
    reader: LogReader, runs: Sequence[str], metrics: Sequence[str] = (), *, exclude_aborted: bool = False
) -> Report:
    """Return the comparison of all pairs of runs.

    Raises:
        InputError: if there are fewer than two runs, they are of different benchmarks, share no item, or
            have no such metric.
        NotInLog: if there is no such run.
    """
    names = list(dict.fromkeys(runs))
    if len(names) < 2:
        raise InputError("Name two or more runs that differ; askback log list shows them.")
    benchmark = one_benchmark(reader, names)
    frame = frames.episodes(reader, names, exclude_aborted=exclude_aborted)
    present = {metric.name: metric for metric in present_metrics(benchmark, frame)}
    if unknown := [name for name in metrics if name not in present]:
        raise InputError(f"--metric {unknown[0]}: these runs have {', '.join(present)}.")
    chosen = [present[name] for name in (metrics or present)]
    untested = [metric.title for metric in chosen if metric.name in benchmark.item_metrics]
    rows: list[list[Cell]] = []
    for metric in chosen:
        if metric.name not in benchmark.item_metrics:
            rows += ([metric.title, *pair] for pair in _compare_all(frame, metric, names, benchmark.cluster))
    if not rows and len(untested) < len(chosen):
        raise InputError("No item is scored in two of these runs.", code="no_shared_item")
    tables = [metric_table(frame, chosen, ["run"], benchmark.cluster), Table(_HEADS, rows, "Differences")]
    remark = f"Not tested, as the items decide it and not the runs: {', '.join(untested)}."
    waiting = _undecided(reader, frame, chosen)
    remarks = (*_different_contents(reader, names), *waiting, *REMARKS, *([remark] if untested else []))
    section = Section(name="comparison", title="Paired by item", tables=tables, remarks=remarks)
    return Report(title=f"{benchmark.title}: {' and '.join(names)}", sections=[section])


def _different_contents(reader: LogReader, runs: Sequence[str]) -> Iterator[str]:
    """Yield a remark on each pair of runs that have different items under the same names."""
    contents: dict[str, defaultdict[tuple[str, str], set[str]]] = {}
    for run in runs:
        contents[run] = defaultdict(set)
        for item in reader.items(run):
            contents[run][item.name, item.language].add(item.hash)
    for first, second in combinations(runs, 2):
        shared = contents[first].keys() & contents[second].keys()
        if other := sum(contents[first][name].isdisjoint(contents[second][name]) for name in shared):
            yield (
                f"{first} and {second}: {other} of {len(shared)} items of one name have other contents in "
                "the log. They are not pairs if they come from other data or were made with another seed; "
                "they are if results files leave out some of their fields, or list them in another order."
            )


def _undecided(reader: LogReader, frame: pd.DataFrame, metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield a remark on each run and metric with scores that wait for a judge."""
    for run, group in frame.groupby("run", sort=False):
        for metric in metrics:
            scores = reader.scores(run_id=str(run), metric=metric.name) if metric.undecided else ()
            waiting = {score.episode_id for score in scores if score.details.get(metric.undecided)}
            if count := int(group["episode"].isin(waiting).sum()):
                yield (
                    f"{run}: {count} of {len(group)} episodes wait for a judge; until it decides, "
                    f"{metric.title} is a lower bound."
                )


def mcnemar_or_permutation(
    first: Sequence[float], second: Sequence[float], items: Sequence[str], differences: Differences
) -> float:
    """Return the p-value of no difference: McNemar's test by item if all values are 0 or 1."""
    if {*first, *second} <= {0.0, 1.0}:
        return mcnemar([value == 1 for value in first], [value == 1 for value in second], items)
    return permutation_p(differences)


def permutation_p(differences: Differences) -> float:
    """Return the two-sided p-value of no difference: signs of differences by item are permuted."""
    changed = differences[differences != 0]
    if len(changed) < 2:  # both signs of a single difference are equally far from 0
        return 1.0
    test = scipy.stats.permutation_test(
        (changed,), np.sum, permutation_type="samples", n_resamples=_DRAWS, rng=np.random.default_rng(0)
    )
    p = float(test.pvalue)
    # Unless all signs are tried, no draw as extreme leaves only an upper bound.
    return AtMost(p) if 2 ** len(changed) > _DRAWS and p <= 2 / (_DRAWS + 1) else p


def detectable(differences: Differences) -> float | None:
    """Return the smallest mean difference that this number of items would show; None if nothing varies."""
    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    if spread == 0:
        return None
    # This import takes a second, and the web app imports this module.
    from statsmodels.stats.power import TTestPower

    effect = TTestPower().solve_power(
        nobs=len(differences), alpha=LEVEL, power=POWER, alternative="two-sided"
    )
    return float(effect) * spread


def one_benchmark(reader: LogReader, runs: Sequence[str]) -> Benchmark[Any, Any]:
    """Return the benchmark that all runs belong to.

    Raises:
        InputError: if `runs` is empty, they are of different benchmarks, or the benchmark is not installed.
        NotInLog: if there is no such run.
    """
    if not runs:
        raise InputError("Name a run; askback log list shows them.")
    names = {run: reader.run(run).benchmark for run in runs}
    if len(set(names.values())) > 1:
        benchmarks = ", ".join(f"{run} is of {benchmark}" for run, benchmark in names.items())
        raise InputError(f"Only runs of one benchmark can be compared item by item: {benchmarks}.")
    return catalog.find(next(iter(names.values())))


def _compare_all(
    frame: pd.DataFrame, metric: Metric, runs: Sequence[str], cluster: Callable[[str], str]
) -> list[Pair]:
    """Return the comparisons in a metric of all pairs of runs that share an item."""
    scored = frame.dropna(subset=[metric.name])
    means = scored.pivot_table(metric.name, ["item", "language"], "run", aggfunc="mean").astype(float)
    present = [run for run in runs if run in means]
    tried = (_compare_two(means[[*pair]].dropna(), metric, cluster) for pair in combinations(present, 2))
    pairs = [pair for pair in tried if pair is not None]
    adjusted = holm([pair.p for pair in pairs])
    # An adjusted upper bound (`AtMost`) is one, too.
    return [pair._replace(holm=type(pair.p)(p)) for pair, p in zip(pairs, adjusted, strict=True)]


def _compare_two(means: pd.DataFrame, metric: Metric, cluster: Callable[[str], str]) -> Pair | None:
    """Return the unadjusted comparison of two runs, the columns of the items' means; None without an item."""
    if means.empty:
        return None
    first, second = map(str, means)
    baseline, other = means[first], means[second]
    items = means.index.get_level_values("item")
    clusters = items.map(cluster).tolist()
    differences = (other - baseline).groupby(clusters)
    # Sums, so that the test is one of the mean difference if the clusters differ in size.
    sums, spread = differences.sum().to_numpy(np.float64), differences.mean().to_numpy(np.float64)
    n, bounds = items.nunique(), (-1.0, 1.0) if metric.is_share else None
    difference = paired_bootstrap(baseline.tolist(), other.tolist(), clusters, bounds=bounds)._replace(n=n)
    if metric.graded:
        p = permutation_p(sums)
    else:
        p = mcnemar_or_permutation(baseline.tolist(), other.tolist(), clusters, sums)
    mean, second_mean = float(baseline.mean()), float(other.mean())
    return Pair(first, second, n, mean, second_mean, difference, p, p, detectable(spread))
