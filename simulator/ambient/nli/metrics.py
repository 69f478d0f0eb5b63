"""Predicted label sets and their scores, with thresholds tuned on dev and scores on test (spec 9).

Scores are exact match, macro F1 and group exact match. The F1 of a label is ``2 TP / (2 TP + FP + FN)``. As
in the reference, it is 0 for a label that is never predicted, even if no gold set contains it either.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median, stdev
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.ambient.examples import Example
from simulator.ambient.files.nli import PairScores
from simulator.ambient.intervals import RESAMPLES
from simulator.ambient.items import NliItem
from simulator.ambient.labels import LABEL_SETS, LABELS, Label, LabelSet
from simulator.ambient.nli.families import Pairs, Scores, Threshold, label_set, threshold_ends, tune_threshold
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.errors import InputError
from simulator.stats import Interval, interval_of, resample

Floats = npt.NDArray[np.float64]
KEYS: Final = ("em", "f1", "group_em")
RANDOM_SET: Final = 1 / len(LABEL_SETS)
"""Expected exact match of a random set."""
CONSTANTS: Final[tuple[LabelSet, ...]] = (
    frozenset({"neutral"}),
    frozenset({"entailment", "neutral"}),
    frozenset(LABELS),
)

# ---- label sets of pairs


def example_pairs(examples: Iterable[Example]) -> list[PairScores]:
    """Return all pairs of examples, originals and disambiguations, with their labels but without scores."""
    items = (NliItem(id=example.id, example=example) for example in examples)
    return [
        PairScores(id=item.id, pair=pair, premise=texts[0], hypothesis=texts[1], scores=(), labels=labels)
        for item in items
        for pair, (texts, labels) in enumerate(zip(item.pairs, item.gold, strict=True))
    ]


def with_scores(pairs: Sequence[PairScores], scores: Sequence[Scores]) -> tuple[PairScores, ...]:
    """Return pairs with a model's scores."""
    return tuple(replace(pair, scores=each) for pair, each in zip(pairs, scores, strict=True))


def with_labels(rows: Sequence[PairScores], examples: Iterable[Example]) -> tuple[PairScores, ...]:
    """Return pairs with gold labels, added from the data set where missing.

    Raises:
        InputError: if a pair without labels is not in the data set or has other sentences there.
    """
    known = {(pair.id, pair.pair): pair for pair in example_pairs(examples)}

    def label_row(row: PairScores) -> PairScores:
        pair = known.get((row.id, row.pair))
        if pair is None:
            raise InputError(f"example {row.id}, pair {row.pair}: not in the data; name its data with --data")
        if (pair.premise, pair.hypothesis) != (row.premise, row.hypothesis):
            raise InputError(f"example {row.id}, pair {row.pair}: has different sentences in the data")
        return replace(row, labels=pair.labels)

    return tuple(row if row.labels is not None else label_row(row) for row in rows)


def tuned_on(rows: Iterable[PairScores], pairs: Pairs = "all") -> Threshold:
    """Return the threshold tuned on the original pairs in `rows`, which are dev pairs."""
    originals = [row for row in rows if row.pair == 0]
    return tune_threshold([row.scores for row in originals], [_gold(row) for row in originals], pairs)


def nli_records(rows: Sequence[PairScores], threshold: Threshold) -> tuple[NliRecord, ...]:
    """Return the predicted sets of each example, in the order of the original pairs in `rows`.

    Raises:
        InputError: if a pair is missing or has no labels, or a disambiguation has several.
    """
    groups: dict[str, dict[int, PairScores]] = {row.id: {} for row in rows if row.pair == 0}
    for row in rows:
        if row.id not in groups:
            raise InputError(f"example {row.id}: the original pair (pair 0) is missing")
        groups[row.id][row.pair] = row
    return tuple(_record(group, threshold) for group in groups.values())


def _record(group: Mapping[int, PairScores], threshold: Threshold) -> NliRecord:
    original = group[0]
    if sorted(group) != list(range(len(group))):
        raise InputError(f"example {original.id}: has pairs {sorted(group)}; numbers must not have gaps")
    readings = [group[number] for number in range(1, len(group))]
    record = NliRecord(
        id=original.id,
        premise=original.premise,
        hypothesis=original.hypothesis,
        gold=_gold(original),
        predicted=label_set(original.scores, threshold),
    )
    if len(record.gold) > 1 and not readings:
        return record
    if several := [row for row in readings if len(_gold(row)) != 1]:
        raise InputError(
            f"example {original.id}: disambiguation {several[0].pair} must have exactly one label"
        )
    return replace(
        record,
        readings=tuple(label_set(row.scores, threshold) for row in readings),
        reading_labels=tuple(label for row in readings for label in _gold(row)),
    )


def _gold(row: PairScores) -> LabelSet:
    if not row.labels:
        raise InputError(f"example {row.id}, pair {row.pair}: has no gold labels")
    return row.labels


# ---- scores of predictions


class NliMeasures(NamedTuple):
    """Scores of predicted label sets, as fractions, with 95 % bootstrap intervals over examples.

    Empty sets count as wrong. `f1` is the mean over the three labels; `group_em` is None unless the
    disambiguations of all examples were predicted.
    """

    n: int
    empty: int
    em: Interval
    f1: Interval
    f1_by_label: Mapping[Label, Interval]
    group_em: Interval | None


def nli_measures(
    records: Sequence[NliRecord], examples: Sequence[Hashable] | None = None, *, resamples: int = RESAMPLES
) -> NliMeasures:
    """Return the measures of predicted label sets.

    `examples`: the example of each record if examples have several predictions, which then form one cluster;
    `Interval.n` counts examples.

    Raises:
        InputError: if there are no records.
    """
    if not records:
        raise InputError("there are no predictions to score")
    predicted = _members(record.predicted for record in records)
    gold = _members(record.gold for record in records)
    exact = [record.predicted == record.gold for record in records]
    complete = all(record.readings is not None for record in records)
    groups = [[_group_exact(record) for record in records]] if complete else []
    # For each label: 1 if it is a hit, and how often it is predicted or gold (0 to 2).
    counts = np.stack([predicted * gold, predicted + gold], axis=-1).reshape(len(records), -1)
    columns = np.column_stack([np.ones(len(records)), exact, *groups, counts])
    clusters = list(examples or range(len(records)))
    number = {example: place for place, example in enumerate(dict.fromkeys(clusters))}
    by_example = np.zeros((len(number), columns.shape[1]))
    np.add.at(by_example, [number[example] for example in clusters], columns)
    sums = resample(by_example, resamples=resamples)
    width = 2 + complete
    shares = sums[:, 1:width] / sums[:, :1]
    hits_and_totals = sums[:, width:].reshape(len(sums), len(LABELS), 2)
    by_label = 2 * hits_and_totals[..., 0] / np.maximum(hits_and_totals[..., 1], 1)

    def interval(values: Floats) -> Interval:
        result = interval_of(values, len(by_example), groups=len(by_example))
        assert result is not None  # there are records
        return result

    return NliMeasures(
        n=len(records),
        empty=sum(not record.predicted for record in records),
        em=interval(shares[:, 0]),
        f1=interval(by_label.mean(axis=1)),
        f1_by_label={label: interval(by_label[:, place]) for place, label in enumerate(LABELS)},
        group_em=interval(shares[:, 1]) if complete else None,
    )


def constant_baselines(gold: Sequence[LabelSet]) -> dict[LabelSet, NliMeasures]:
    """Return the scores of always predicting the same set: exact match and macro F1 (no group EM)."""
    return {
        constant: nli_measures(
            [
                NliRecord(id=str(place), premise="", hypothesis="", gold=labels, predicted=constant)
                for place, labels in enumerate(gold)
            ]
        )
        for constant in CONSTANTS
    }


def _group_exact(record: NliRecord) -> bool:
    readings = zip(record.reading_labels, record.readings or (), strict=True)
    return record.predicted == record.gold and all({label} == labels for label, labels in readings)


def _members(sets: Iterable[LabelSet]) -> Floats:
    return np.array([[label in labels for label in LABELS] for labels in sets], dtype=float)


# ---- scores of trainings


class Spread(NamedTuple):
    """Mean over seeds and sample standard deviation (n - 1), which is None for a single seed."""

    mean: float
    sd: float | None


class SeedsSummary(NamedTuple):
    """The scores of one model over its seeds, as fractions, and the median threshold (of each end)."""

    seeds: tuple[int, ...]
    em: Spread
    f1: Spread
    group_em: Spread
    threshold: Threshold


def seed_record(model: str, seed: int, records: Sequence[NliRecord], threshold: Threshold) -> SeedRecord:
    """Return the scores of one trained model in the form of the published files.

    Raises:
        InputError: if the disambiguations were not predicted.
    """
    measures = nli_measures(records, resamples=0)
    if measures.group_em is None:
        raise InputError(f"{model}, seed {seed}: no group EM, since disambiguations were not predicted")
    return SeedRecord(
        model=model,
        seed=seed,
        em=measures.em.value,
        f1=measures.f1.value,
        group_em=measures.group_em.value,
        threshold=threshold,
    )


def seeds_summary(records: Sequence[SeedRecord]) -> SeedsSummary:
    """Return the scores of one model over several seeds.

    Raises:
        InputError: if there are no records, or they have several models, repeated seeds, or thresholds of
            different kinds.
    """
    if not records:
        raise InputError("there are no seeds to summarize")
    ordered = sorted(records, key=lambda record: record.seed)
    seeds = tuple(record.seed for record in ordered)
    if len({record.model for record in ordered}) > 1 or len(set(seeds)) < len(seeds):
        actual = ", ".join(f"{record.model} seed {record.seed}" for record in ordered)
        raise InputError(f"these are not distinct seeds of one model: {actual}")
    em, f1, group_em = (_spread([getattr(record, key) for record in ordered]) for key in KEYS)
    threshold = _median_threshold(ordered[0].model, [threshold_ends(record.threshold) for record in ordered])
    return SeedsSummary(seeds, em, f1, group_em, threshold)


def _spread(values: Sequence[float]) -> Spread:
    return Spread(fmean(values), stdev(values) if len(values) > 1 else None)


def _median_threshold(model: str, ends: Sequence[Sequence[float]]) -> Threshold:
    """Return the median of thresholds, for intervals of each end separately."""
    if len(set(map(len, ends))) > 1:
        raise InputError(f"{model}: its seeds have thresholds of different kinds")
    medians = [float(median(each)) for each in zip(*ends, strict=True)]
    if len(medians) < 2:
        return medians[0] if medians else None
    return dict(zip(LABELS, zip(medians[::2], medians[1::2], strict=True), strict=True))
