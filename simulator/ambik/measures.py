"""Measures of outcomes, per type and overall, each with n, interval and exclusions (spec 10).

Intervals are at 95 %: Wilson's for shares of independent rows (one row per pair), Clopper-Pearson's for the
coverage of tasks that were played once (spec 7); everything else is resampled over pairs, so that both
members of a pair are drawn together.

Reference mode counts as the published code does: a task without an intent is measured by the previous task's
intent, and AmbDif divides by 400 pairs, matched by position (spec 10.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from simulator.ambik import conformal
from simulator.ambik.metrics import ALL, MEASURES, Matched, Value, match_pairs, ordered_types, outcome_values
from simulator.ambik.playing import needs_question
from simulator.ambik.records import ABORTED, Decision, Exchange, Outcome
from simulator.ambik.terms import TASK_TYPES, Settings
from simulator.ambik.truth import is_right, relevance, right_in_the_end
from simulator.stats import SHARE, Floats, Interval, cluster_bootstrap, interval_of, resample, share, wilson

K = TypeVar("K", bound=Hashable)


def means(
    columns: Mapping[K, Sequence[float | None]], clusters: Sequence[Hashable], *, counts: Collection[K] = ()
) -> dict[K, Interval | None]:
    """Return the mean of every column with a 95 % percentile interval from a cluster bootstrap.

    `columns`: a measure's value for every decision; None or NaN where it does not apply.
    `counts`: names of columns with counts; the others contain shares (see `interval_of`).

    Returns:
        By column, with `Interval.n` the number of values; None for a column without values.
    """
    intervals: dict[K, Interval | None] = {}
    for name, column in columns.items():
        values, counted = _values_and_weights(column)
        intervals[name] = None
        if counted.any():
            interval = cluster_bootstrap(
                values.tolist(), clusters, weights=counted.tolist(), bounds=None if name in counts else SHARE
            )
            intervals[name] = interval._replace(n=int(counted.sum()))
    return intervals


def mean_of_means(columns: Sequence[Sequence[float | None]], clusters: Sequence[Hashable]) -> Interval | None:
    """Return the unweighted average of the columns' means; None if a column has no values."""
    parts = [_values_and_weights(column) for column in columns]
    if not parts or not all(counted.any() for _, counted in parts):
        return None
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    places = np.array([numbers[cluster] for cluster in clusters])
    sums = []
    for part in (0, 1):
        for values, counted in parts:
            order = np.argsort(values)  # a fixed order of summation: rounding must not depend on row order
            sums.append(np.bincount(places[order], (values, counted)[part][order], len(numbers)))
    table: Floats = np.column_stack(sums)
    with np.errstate(invalid="ignore", divide="ignore"):  # a rare type may be missing from a resample
        averages = np.divide(*np.hsplit(resample(table), 2)).mean(axis=1)
    rows = sum(int(counted.sum()) for _, counted in parts)
    # If nothing varies, the interval's width follows from the type with the fewest pairs.
    groups = int((table[:, len(parts) :] > 0).sum(axis=0).min())
    return interval_of(averages, rows, groups=groups)


def _values_and_weights(column: Sequence[float | None]) -> tuple[Floats, Floats]:
    """Return the values, with 0 where missing, and weights: 1 for a value, 0 where missing."""
    values = np.array(column, dtype=float)
    counted = ~np.isnan(values)
    return np.where(counted, values, 0.0), counted.astype(float)


T = TypeVar("T", bound=Any)
_Row = tuple[Decision, Mapping[str, Value]]
"""A decision with its value for each measure."""
REFERENCE_PAIRS: Final = 400
SHARES: Final = ("hr", "chr", "empty", "accuracy")
"""Measures that are 0 or 1 for every task."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A mean with its interval.

    `interval`: over `Interval.n` rows; None if there are none.
    """

    interval: Interval | None
    left_out: Mapping[str, int]

    @property
    def value(self) -> float | None:
        """The mean; None if there are no rows."""
        return None if self.interval is None else self.interval.value

    @property
    def reasons(self) -> str:
        """The reasons why rows are excluded, with counts; empty if none are."""
        return ", ".join(f"{count} with {why}" for why, count in self.left_out.items())

    @property
    def n(self) -> int:
        """The number of rows."""
        return 0 if self.interval is None else self.interval.n


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeMeasures:
    """The measures of one type of tasks, or of all.

    Attributes:
        tasks: number of tasks.
        icr: intent coverage.
        hr: help rate.
        chr: correct help.
        ssc: set size correctness.
        coverage: share of sets with a right option among those whose right option is known; not guaranteed
            per type. For KnowNo's data this is the success rate.
        set_size: mean size of the sets, without decisions that were never made.
        empty: share of empty sets among them.
    """

    type: str
    tasks: int
    icr: Measure
    hr: Measure
    chr: Measure
    ssc: Measure
    coverage: Measure
    set_size: Measure
    empty: Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """All measures of one group of outcomes.

    Attributes:
        types: per type; AmbiK's in the order of the paper's tables, others by first occurrence.
        ambdif: over complete pairs; tasks without the other member are excluded.
        accuracy: of the decision to ask or not, over all tasks.
        macro_chr: unweighted average of correct help over the four types; None if a type is missing.
        fillers: number of ``do nothing`` fillers removed from the sets.
    """

    types: tuple[TypeMeasures, ...]
    overall: TypeMeasures
    ambdif: Measure
    accuracy: Measure
    macro_chr: Interval | None
    fillers: int
    sizes: Mapping[int, int]
    flags: Mapping[str, int]

    def find_type(self, task_type: str) -> TypeMeasures | None:
        """Return the measures of a type; None if there are no such tasks."""
        return next((kind for kind in self.types if kind.type == task_type), None)


def measures(outcomes: Sequence[Outcome], settings: Settings) -> Measures:
    """Measure a group of outcomes, for example one method on one set of tasks, or one group of people."""
    decisions, values = [each.decision for each in outcomes], outcome_values(outcomes, settings)
    rows, pairs = list(zip(decisions, values, strict=True)), match_pairs(outcomes, settings.metrics)
    types = ordered_types(decision.item.type for decision in decisions)
    by_type = [name for name in MEASURES if name != "accuracy"]
    keys = [(kind, name) for kind in (*types, ALL) for name in by_type] + [(ALL, "accuracy")]
    # A column for each type and measure; a row for each outcome, followed by one for each matched pair.
    columns = {key: [*(_number(row, *key) for row in rows), *(None for _ in pairs.values)] for key in keys}
    columns[ALL, "ambdif"] = [*(None for _ in rows), *pairs.values]
    clusters: list[Hashable] = [*(decision.item.cluster for decision in decisions), *pairs.clusters]
    counts = [key for key in keys if key[1] == "set_size"]
    intervals = means(columns, clusters, counts=counts)
    macro = [columns[kind, "chr"] for kind in TASK_TYPES] if set(TASK_TYPES) <= set(types) else []

    def of_type(kind: str) -> TypeMeasures:
        of_kind = [row for row in rows if kind in (ALL, row[0].item.type)]
        measured = {name: _measure(name, of_kind, intervals[kind, name]) for name in by_type}
        return TypeMeasures(type=kind, tasks=len(of_kind), **measured)

    made = (outcome for outcome in outcomes if outcome.decision.was_made)
    return Measures(
        types=tuple(map(of_type, types)),
        overall=of_type(ALL),
        ambdif=_ambdif(pairs, intervals[ALL, "ambdif"], settings),
        accuracy=_measure("accuracy", rows, intervals[ALL, "accuracy"]),
        macro_chr=mean_of_means(macro, clusters),
        fillers=sum(outcome.removed for outcome in outcomes),
        sizes=_sort_counts(Counter(len(outcome.predicted) for outcome in made)),
        flags=_sort_counts(Counter(flag for outcome in outcomes for flag in outcome.decision.flags)),
    )


def overall_measure(name: str, outcomes: Sequence[Outcome], settings: Settings) -> Measure:
    """Return one measure of a group of outcomes over all types, as `measures` does."""
    rows = list(zip((each.decision for each in outcomes), outcome_values(outcomes, settings), strict=True))
    column = [_number(row, ALL, name) for row in rows]
    return _measure(name, rows, means({name: column}, [made.item.cluster for made, _ in rows])[name])


def _number(row: _Row, kind: str, name: str) -> float | None:
    decision, values = row
    value = values[name]
    return None if isinstance(value, str) or kind not in (ALL, decision.item.type) else value


def _sort_counts(counts: Mapping[T, int]) -> dict[T, int]:
    return dict(sorted(counts.items()))


def _measure(name: str, rows: Sequence[_Row], resampled: Interval | None) -> Measure:
    left_out = Counter(value for _, values in rows if isinstance(value := values[name], str))
    counted = [(made, value) for made, values in rows if not isinstance(value := values[name], str)]
    n, total = len(counted), round(sum(float(value) for _, value in counted))
    tasks, pairs = {made.task for made, _ in counted}, {made.item.cluster for made, _ in counted}
    interval = resampled
    if name == "coverage" and 0 < n == len(tasks):
        interval = conformal.coverage(total, n)
    elif name in SHARES and 0 < n == len(pairs):
        interval = wilson(total, n)
    return Measure(interval and interval._replace(n=len(tasks)), _sort_counts(left_out))


def _ambdif(pairs: Matched, resampled: Interval | None, settings: Settings) -> Measure:
    interval = resampled
    if settings.metrics == "reference" and pairs.values:
        interval = wilson(round(sum(pairs.values[:REFERENCE_PAIRS])), REFERENCE_PAIRS)
    elif pairs.values and pairs.plain:
        interval = wilson(round(sum(pairs.values)), len(pairs.values))
    return Measure(interval, {"unmatched": pairs.unmatched} if pairs.unmatched else {})


# ---- episodes with questions: asked when needed, right before and after

Measured = Mapping[str, Interval | None]
ASKED: Final = ("asked when needed", "asked when not needed")
RELEVANT: Final = "relevant questions"
EXCHANGED: Final = (*ASKED, "right before", "right after", "questions", RELEVANT)


def exchange_measures(exchanges: Sequence[Exchange]) -> Measured:
    """Return each measure of `EXCHANGED`, None where it does not apply; empty without exchanges.

    "asked when needed" has Wilson's interval where each task was played once (`stats.share`); the other
    intervals are resampled over pairs. `Interval.n` counts a task once even if it was played several times.
    """
    if not exchanges:
        return {}
    rows = [
        (
            measure,
            exchange.before.item.cluster,
            f"{exchange.before.item.id} {exchange.before.dialogue}",
            value,
        )
        for exchange in exchanges
        for measure, value in _values(exchange)
    ]
    frame = pd.DataFrame(rows, columns=["measure", "pair", "task", "value"])
    by_measure = dict(iter(frame.groupby("measure")))
    return {name: _interval(name, by_measure[name]) if name in by_measure else None for name in EXCHANGED}


def _values(exchange: Exchange) -> Iterator[tuple[str, float]]:
    """Yield the measures that apply to an episode."""
    first, last, item = exchange.before, exchange.after, exchange.before.item
    if first.was_made and (needed := needs_question(item, first.dialogue)) is not None:
        yield ASKED[0] if needed else ASKED[1], float(bool(first.asked))
    answers = [answer for _, answer in exchange.questions]
    before = False if ABORTED in first.flags else is_right(item, first.action)
    after = False if exchange.aborted else right_in_the_end(item, last.asked, last.action, answers)
    if before is not None:
        yield "right before", float(before)
    if after is not None:
        yield "right after", float(after)
    yield "questions", float(len(exchange.questions))
    questions = [question for question, _ in exchange.questions] or [first.question]
    if (relevant := relevance(item, questions)) is not None:
        yield RELEVANT, relevant


def _interval(measure: str, rows: pd.DataFrame) -> Interval:
    tasks = rows["task"].tolist()
    if measure in ASKED:
        return share((rows["value"] > 0).tolist(), tasks)
    bounds = None if measure == "questions" else SHARE
    interval = cluster_bootstrap(rows["value"].tolist(), rows["pair"].tolist(), bounds=bounds)
    return interval._replace(n=len(set(tasks)))
