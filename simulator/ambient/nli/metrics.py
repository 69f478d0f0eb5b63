"""Exact match, macro F1, group exact match; several seeds; baselines (spec 9.3).

The F1 of a label is ``2 TP / (2 TP + FP + FN)``. It is 0 for a label that is never predicted, and also for
one that is neither predicted nor in any gold set, as it is in the reference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.ambient.intervals import RESAMPLES
from simulator.ambient.labels import LABEL_SETS, LABELS, Label, LabelSet
from simulator.ambient.nli.families import Threshold
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.errors import InputError
from simulator.resampling import Interval, interval_of, resampled

Floats = npt.NDArray[np.float64]
RANDOM_SET: Final = 1 / len(LABEL_SETS)
"""Exact match of a set drawn at random."""
CONSTANTS: Final[tuple[LabelSet, ...]] = (
    frozenset({"neutral"}),
    frozenset({"entailment", "neutral"}),
    frozenset(LABELS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NliMeasures:
    """How well label sets were predicted, as fractions, with 95 % bootstrap intervals over the examples.

    Attributes:
        n: examples.
        empty: predicted sets without a label; they count as wrong.
        em: the predicted set is the gold set.
        f1: mean of the three labels' F1.
        f1_by_label: of each label.
        group_em: the sets of the original and of each of its disambiguations are all right; None unless
            the disambiguations of every example have been predicted.
    """

    n: int
    empty: int
    em: Interval
    f1: Interval
    f1_by_label: Mapping[Label, Interval]
    group_em: Interval | None


class Spread(NamedTuple):
    """Mean over seeds and sample standard deviation (n - 1); None for a single seed."""

    mean: float
    sd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedsSummary:
    """The scores of one model over its seeds, as fractions.

    Attributes:
        seeds: in order.
        threshold: the median; of intervals, of each end by itself.
    """

    model: str
    seeds: tuple[int, ...]
    em: Spread
    f1: Spread
    group_em: Spread
    threshold: Threshold


def nli_measures(
    records: Sequence[NliRecord],
    examples: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> NliMeasures:
    """Return the measures of predicted label sets.

    Args:
        records: of one model.
        examples: the example of each record; by default each is of one of its own. Several predictions of an
            example are one cluster, and `Interval.n` counts examples.
        seed: of the resampling.
        resamples: how many.

    Raises:
        InputError: if there are no records.
    """
    if not records:
        raise InputError("there are no predictions to be scored")
    counts = _counts([record.predicted for record in records], [record.gold for record in records])
    exact = np.array([record.predicted == record.gold for record in records], dtype=float)
    groups = [_group_exact(record) for record in records]
    known = [group for group in groups if group is not None]
    complete = len(known) == len(records)
    columns = np.column_stack(
        [np.ones(len(records)), exact, *([known] if complete else []), counts.reshape(len(records), -1)]
    )
    number = {example: place for place, example in enumerate(dict.fromkeys(examples or range(len(records))))}
    by_example = np.zeros((len(number), columns.shape[1]))
    np.add.at(by_example, [number[example] for example in examples or range(len(records))], columns)
    sums, n = resampled(by_example, seed=seed, resamples=resamples), len(by_example)
    wide = 2 + complete
    shares = sums[:, 1:wide] / sums[:, :1]
    by_label = _f1_of_sums(sums[:, wide:].reshape(len(sums), len(LABELS), 2))
    return NliMeasures(
        n=len(records),
        empty=sum(not record.predicted for record in records),
        em=_interval(shares[:, 0], n),
        f1=_interval(by_label.mean(axis=1), n),
        f1_by_label={label: _interval(by_label[:, place], n) for place, label in enumerate(LABELS)},
        group_em=_interval(shares[:, 1], n) if complete else None,
    )


def exact_match(predicted: Sequence[LabelSet], gold: Sequence[LabelSet]) -> float:
    """Share of sets that are right."""
    return fmean(one == other for one, other in zip(predicted, gold, strict=True))


def macro_f1(predicted: Sequence[LabelSet], gold: Sequence[LabelSet]) -> float:
    """Unweighted mean of the labels' F1."""
    return float(_f1(_counts(predicted, gold)).mean())


def group_exact_match(records: Sequence[NliRecord]) -> float | None:
    """Share of examples of which all is right; None if somewhere no disambiguations were predicted."""
    groups = [_group_exact(record) for record in records]
    known = [group for group in groups if group is not None]
    return fmean(known) if known and len(known) == len(groups) else None


def seeds_summary(records: Sequence[SeedRecord]) -> SeedsSummary:
    """Return the scores of one model over several trainings.

    Raises:
        InputError: if there are none, they are of several models, a seed is there twice, or some have
            another kind of threshold than the others.
    """
    if not records:
        raise InputError("there are no seeds to be summed up")
    ordered = sorted(records, key=lambda record: record.seed)
    seeds = tuple(record.seed for record in ordered)
    if len({record.model for record in ordered}) > 1 or len(set(seeds)) < len(seeds):
        named = ", ".join(f"{record.model} seed {record.seed}" for record in ordered)
        raise InputError(f"these are not the seeds of one model, each once: {named}")
    return SeedsSummary(
        model=ordered[0].model,
        seeds=seeds,
        em=spread([record.em for record in ordered]),
        f1=spread([record.f1 for record in ordered]),
        group_em=spread([record.group_em for record in ordered]),
        threshold=median_threshold(ordered[0].model, [record.threshold for record in ordered]),
    )


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation."""
    return Spread(fmean(values), stdev(values) if len(values) > 1 else None)


def median_threshold(model: str, thresholds: Sequence[Threshold]) -> Threshold:
    """Return the median of thresholds; of intervals, that of each end by itself.

    Raises:
        InputError: if they are of several kinds; names the model.
    """
    if all(threshold is None for threshold in thresholds):
        return None
    numbers = [threshold for threshold in thresholds if isinstance(threshold, int | float)]
    intervals = [threshold for threshold in thresholds if isinstance(threshold, Mapping)]
    if len(numbers) == len(thresholds):
        return float(median(numbers))
    if len(intervals) < len(thresholds) or any(
        interval.keys() != intervals[0].keys() for interval in intervals
    ):
        raise InputError(f"{model}: its seeds have thresholds of different kinds")
    return {
        label: (
            float(median(interval[label][0] for interval in intervals)),
            float(median(interval[label][1] for interval in intervals)),
        )
        for label in LABELS
        if label in intervals[0]
    }


def constant_baselines(
    gold: Sequence[LabelSet], sets: Iterable[LabelSet] = CONSTANTS, *, seed: int = 0
) -> dict[LabelSet, NliMeasures]:
    """What somebody gets who always gives the same set: exact match and macro F1 (no group exact match)."""
    return {
        one: nli_measures(
            [
                NliRecord(id=str(place), premise="", hypothesis="", gold=each, predicted=one)
                for place, each in enumerate(gold)
            ],
            seed=seed,
        )
        for one in sets
    }


def _group_exact(record: NliRecord) -> bool | None:
    if record.readings is None:
        return None
    right = [{label} == given for label, given in zip(record.reading_labels, record.readings, strict=True)]
    return record.predicted == record.gold and all(right)


def _counts(predicted: Sequence[LabelSet], gold: Sequence[LabelSet]) -> Floats:
    """Per example and label: whether it is a hit, and how often it is predicted or gold (0 to 2)."""
    given = np.array([[label in one for label in LABELS] for one in predicted], dtype=float)
    truth = np.array([[label in one for label in LABELS] for one in gold], dtype=float)
    return np.stack([given * truth, given + truth], axis=-1)


def _f1(counts: Floats) -> Floats:
    """F1 of each label from `_counts` of some examples."""
    return _f1_of_sums(counts.sum(axis=0))


def _f1_of_sums(sums: Floats) -> Floats:
    """F1 from sums of `_counts`, shape (…, 2) -> (…)."""
    floats: Floats = 2 * sums[..., 0] / np.maximum(sums[..., 1], 1)
    return floats


def _interval(values: Floats, n: int) -> Interval:
    interval = interval_of(values, n, groups=n)
    assert interval is not None  # there are records
    return interval
