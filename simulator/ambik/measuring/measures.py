"""All measures of outcomes, per type and over all, each with n, interval and what is left out (spec 10).

Intervals are of 95 %. Shares of independent rows (one row a pair) have Wilson's, coverage of tasks that were
played once has Clopper and Pearson's (spec 7), and everything else is resampled over pairs: both members of
a pair are drawn together.

In reference mode rows count as the published code counts them: a task without an intent is measured by the
intent of the task before it, and AmbDif divides by 400 pairs, matched by position (spec 10.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from simulator.ambik import conformal
from simulator.ambik.measuring.outcome_rows import (
    ALL,
    MEASURES,
    Matched,
    OutcomeRow,
    matched,
    ordered_types,
    outcome_rows,
)
from simulator.ambik.measuring.resampling import mean_of_means, means
from simulator.ambik.records import Outcome
from simulator.ambik.settings import Settings
from simulator.ambik.terms import TASK_TYPES
from simulator.stats import Interval, wilson

T = TypeVar("T", bound=Any)
REFERENCE_PAIRS: Final = 400
SHARES: Final = ("hr", "chr", "empty", "accuracy")
"""Measures that are 0 or 1 for every task."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A mean with its interval.

    Attributes:
        interval: `Interval.n` rows count; None if none does.
        left_out: why other rows do not -> how many.
    """

    interval: Interval | None
    left_out: Mapping[str, int]

    @property
    def value(self) -> float | None:
        """The mean; None if no row counts."""
        return None if self.interval is None else self.interval.value

    @property
    def reasons(self) -> str:
        """Return why other rows do not count, and how many; empty if all do."""
        return ", ".join(f"{count} with {why}" for why, count in self.left_out.items())

    @property
    def n(self) -> int:
        """Rows that count."""
        return 0 if self.interval is None else self.interval.n


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeMeasures:
    """The measures of one type of tasks, or of all.

    Attributes:
        type: of the tasks; ``all`` over all of them.
        tasks: how many there are.
        icr: intent coverage.
        hr: help rate.
        chr: correct help.
        ssc: set size correctness.
        coverage: share of sets with a right option among those whose right option is known; to be shown per
            type, not to be promised. For KnowNo's data this is the success rate.
        set_size: mean size of the sets that were made: decisions that were never made are left out.
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
    """Everything that is told of one set of outcomes.

    Attributes:
        types: per type; those of AmbiK in the order of the paper's tables, others as they first occur.
        overall: over all tasks.
        ambdif: over pairs of which both members are there; left out are tasks without the other member.
        accuracy: of the decision to ask or not, over all tasks.
        macro_chr: plain average of correct help over the four types; None if a type is missing.
        fillers: that were in sets and are left out of everything (``do nothing``).
        sizes: set size -> how many sets.
        flags: what decisions met with -> how many.
    """

    types: tuple[TypeMeasures, ...]
    overall: TypeMeasures
    ambdif: Measure
    accuracy: Measure
    macro_chr: Interval | None
    fillers: int
    sizes: Mapping[int, int]
    flags: Mapping[str, int]

    def of(self, task_type: str) -> TypeMeasures | None:
        """Return the measures of a type; None if there are no such tasks."""
        return next((kind for kind in self.types if kind.type == task_type), None)


def measures(outcomes: Sequence[Outcome], settings: Settings, *, seed: int = 0) -> Measures:
    """Measure outcomes: of one method on one set of tasks, say, or of one group of people."""
    rows, pairs = outcome_rows(outcomes, settings), matched(outcomes, settings.metrics)
    types = ordered_types(row.type for row in rows)
    by_type = [name for name in MEASURES if name != "accuracy"]
    keys = [(kind, name) for kind in (*types, ALL) for name in by_type] + [(ALL, "accuracy")]
    # One column a measure of a type; one row an outcome, then one a matched pair.
    columns = {key: [*(_number(row, *key) for row in rows), *(None for _ in pairs.values)] for key in keys}
    columns[ALL, "ambdif"] = [*(None for _ in rows), *pairs.values]
    clusters: list[Hashable] = [*(row.cluster for row in rows), *pairs.clusters]
    counts = [key for key in keys if key[1] == "set_size"]
    intervals = means(columns, clusters, counts=counts, seed=seed)
    macro = [columns[kind, "chr"] for kind in TASK_TYPES] if set(TASK_TYPES) <= set(types) else []

    def of_type(kind: str) -> TypeMeasures:
        mine = [row for row in rows if kind in (ALL, row.type)]
        measured = {name: _measure(name, mine, intervals[kind, name]) for name in by_type}
        return TypeMeasures(type=kind, tasks=len(mine), **measured)

    made = (outcome for outcome in outcomes if outcome.decision.was_made)
    return Measures(
        types=tuple(map(of_type, types)),
        overall=of_type(ALL),
        ambdif=_ambdif(pairs, intervals[ALL, "ambdif"], settings),
        accuracy=_measure("accuracy", rows, intervals[ALL, "accuracy"]),
        macro_chr=mean_of_means(macro, clusters, seed=seed),
        fillers=sum(outcome.removed for outcome in outcomes),
        sizes=_sorted(Counter(len(outcome.predicted) for outcome in made)),
        flags=_sorted(Counter(flag for outcome in outcomes for flag in outcome.decision.flags)),
    )


def _number(row: OutcomeRow, kind: str, name: str) -> float | None:
    value = row.values[name]
    return None if isinstance(value, str) or kind not in (ALL, row.type) else value


def _sorted(counts: Mapping[T, int]) -> dict[T, int]:
    return dict(sorted(counts.items()))


def _measure(name: str, rows: Sequence[OutcomeRow], resampled: Interval | None) -> Measure:
    left_out = Counter(value for row in rows if isinstance(value := row.values[name], str))
    counted = [(row, float(value)) for row in rows if not isinstance(value := row.values[name], str)]
    numbers, interval = [value for _, value in counted], resampled
    tasks = {row.task for row, _ in counted}
    if name == "coverage" and numbers and len(tasks) == len(numbers):
        interval = conformal.coverage(round(sum(numbers)), len(numbers))
    elif name in SHARES and numbers:
        interval = _share(numbers, len({row.cluster for row, _ in counted}), resampled)
    if interval is not None:
        interval = interval._replace(n=len(tasks))
    return Measure(interval, _sorted(left_out))


def _share(numbers: Sequence[float], pairs: int, resampled: Interval | None) -> Interval:
    share = sum(numbers) / len(numbers)
    if resampled is None or pairs == len(numbers):
        return wilson(round(sum(numbers)), len(numbers))
    if share in (0, 1):  # resampling says nothing where all are alike: as sure as so many pairs make it
        return wilson(round(share) * pairs, pairs)._replace(n=len(numbers))
    return resampled


def _ambdif(pairs: Matched, resampled: Interval | None, settings: Settings) -> Measure:
    interval = resampled
    if settings.metrics == "reference" and pairs.values:
        interval = wilson(round(sum(pairs.values[:REFERENCE_PAIRS])), REFERENCE_PAIRS)
    elif pairs.values and pairs.plain:
        interval = wilson(round(sum(pairs.values)), len(pairs.values))
    return Measure(interval, {"unmatched": pairs.unmatched} if pairs.unmatched else {})
