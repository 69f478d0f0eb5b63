"""All measures of outcomes, per type and over all, each with n, interval and what is left out (spec 10).

Intervals are of 95 %. Shares of independent rows (one row a pair) have Wilson's, coverage of tasks that were
played once has Clopper and Pearson's (spec 7), and everything else is resampled over pairs: both members of
a pair are drawn together.

In reference mode rows count as the published code counts them: a task without an intent is measured by the
intent of the task before it, and AmbDif divides by 400 pairs, matched by position (spec 10.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulator.ambik import conformal
from simulator.ambik.measuring import resampling
from simulator.ambik.measuring.outcome_rows import ALL, MEASURES, OutcomeRow, outcome_rows
from simulator.ambik.measuring.pairing import Matched, matched
from simulator.ambik.records import Outcome
from simulator.ambik.settings import Settings
from simulator.ambik.terms import TASK_TYPES
from simulator.stats import Interval, wilson

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
        return next((one for one in self.types if one.type == task_type), None)


def measures(outcomes: Sequence[Outcome], settings: Settings, *, seed: int = 0) -> Measures:
    """Measure outcomes: of one method on one set of tasks, say, or of one group of people.

    Args:
        outcomes: in the order of the tasks.
        settings: how intent coverage reads a set, and whose rules hold.
        seed: of the resampling.
    """
    rows = outcome_rows(outcomes, settings)
    pairs = matched(outcomes, settings.metrics)
    types = _types(rows)
    table, columns = _table(rows, pairs, types)
    clusters = resampling.cluster_numbers([*(row.cluster for row in rows), *pairs.clusters])
    macro = [columns[kind, "chr"] for kind in TASK_TYPES if kind in types]
    found, average = resampling.means_and_macro(
        table,
        clusters,
        macro if len(macro) == len(TASK_TYPES) else (),
        counts=[place for (_, name), place in columns.items() if name == "set_size"],
        seed=seed,
    )
    resampled = {key: found[place] for key, place in columns.items()}
    return Measures(
        types=tuple(_of_type(kind, rows, resampled) for kind in types),
        overall=_of_type(ALL, rows, resampled),
        ambdif=_ambdif(pairs, resampled[ALL, "ambdif"], settings),
        accuracy=_measure(ALL, "accuracy", rows, resampled),
        macro_chr=average,
        fillers=sum(outcome.removed for outcome in outcomes),
        sizes=dict(
            sorted(
                Counter(len(outcome.predicted) for outcome in outcomes if outcome.decision.was_made).items()
            )
        ),
        flags=dict(sorted(Counter(flag for outcome in outcomes for flag in outcome.decision.flags).items())),
    )


def _types(rows: Sequence[OutcomeRow]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(row.type for row in rows))
    known = [kind for kind in TASK_TYPES if kind in found]
    return (*known, *(kind for kind in found if kind not in known))


def _table(
    rows: Sequence[OutcomeRow], pairs: Matched, types: Sequence[str]
) -> tuple[resampling.Floats, dict[tuple[str, str], int]]:
    """Return one row an outcome, then one a matched pair; one column a measure of a type."""
    columns = {(kind, name): place for place, (kind, name) in enumerate(_columns(types))}
    table = np.full((len(rows) + len(pairs.values), len(columns)), np.nan)
    for number, row in enumerate(rows):
        for name, value in row.values.items():
            if not isinstance(value, str):
                table[number, columns[ALL, name]] = value
                if (place := columns.get((row.type, name))) is not None:
                    table[number, place] = value
    table[len(rows) :, columns[ALL, "ambdif"]] = pairs.values
    return table, columns


def _columns(types: Sequence[str]) -> list[tuple[str, str]]:
    kinds = [(kind, name) for kind in (*types, ALL) for name in MEASURES if name != "accuracy"]
    return [*kinds, (ALL, "accuracy"), (ALL, "ambdif")]


def _of_type(
    kind: str, rows: Sequence[OutcomeRow], resampled: Mapping[tuple[str, str], Interval | None]
) -> TypeMeasures:
    mine = [row for row in rows if kind in (ALL, row.type)]
    found = {name: _measure(kind, name, mine, resampled) for name in MEASURES if name != "accuracy"}
    return TypeMeasures(type=kind, tasks=len(mine), **found)


def _measure(
    kind: str,
    name: str,
    rows: Sequence[OutcomeRow],
    resampled: Mapping[tuple[str, str], Interval | None],
) -> Measure:
    values = [row.values[name] for row in rows]
    left_out = Counter(value for value in values if isinstance(value, str))
    numbers = [value for value in values if not isinstance(value, str)]
    interval = resampled[kind, name]
    tasks = {row.task for row in rows if not isinstance(row.values[name], str)}
    if name == "coverage" and numbers and len(tasks) == len(numbers):
        interval = conformal.coverage(round(sum(numbers)), len(numbers))
    elif name in SHARES and numbers:
        interval = _share(
            numbers, [row.cluster for row in rows if not isinstance(row.values[name], str)], interval
        )
    if interval is not None:
        interval = interval._replace(n=len(tasks))
    return Measure(interval, dict(sorted(left_out.items())))


def _share(numbers: Sequence[float], clusters: Sequence[str], resampled: Interval | None) -> Interval:
    pairs, share = len(dict.fromkeys(clusters)), sum(numbers) / len(numbers)
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
