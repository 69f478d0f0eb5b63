"""From a model's numbers for pairs to predicted label sets and scores; dev tunes, test scores (spec 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from simulator.ambient.examples import Example
from simulator.ambient.files.nli import PairScores
from simulator.ambient.items import NliItem
from simulator.ambient.labels import LabelSet
from simulator.ambient.nli.families import Pairs, Scores, Threshold, label_set, tuned
from simulator.ambient.nli.metrics import exact_match, group_exact_match, macro_f1
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.errors import InputError


def example_pairs(examples: Iterable[Example]) -> list[PairScores]:
    """Every pair of some examples, originals and disambiguations, with its labels and no scores yet."""
    return [
        PairScores(
            id=example.id,
            pair=number,
            premise=premise,
            hypothesis=hypothesis,
            scores=(),
            labels=example.labels if number == 0 else frozenset({example.disambiguations[number - 1].label}),
        )
        for example in examples
        for number, (premise, hypothesis) in enumerate(NliItem(id=example.id, example=example).pairs)
    ]


def with_scores(pairs: Sequence[PairScores], scores: Sequence[Scores]) -> tuple[PairScores, ...]:
    """Pairs with what a model gave for each."""
    return tuple(replace(pair, scores=one) for pair, one in zip(pairs, scores, strict=True))


def with_labels(rows: Sequence[PairScores], examples: Iterable[Example]) -> tuple[PairScores, ...]:
    """Pairs with gold labels, taken from the data set where their file had none.

    Raises:
        InputError: if a pair without labels is not in the data set, or has other sentences there.
    """
    if all(row.labels is not None for row in rows):
        return tuple(rows)
    known = {(pair.id, pair.pair): pair for pair in example_pairs(examples)}
    return tuple(row if row.labels is not None else _labelled(row, known) for row in rows)


def tuned_on(rows: Iterable[PairScores], pairs: Pairs = "all") -> Threshold:
    """Return the threshold tuned on the originals among dev pairs.

    Raises:
        InputError: if there are none, or one has no labels.
    """
    originals = [row for row in rows if row.pair == 0]
    return tuned([row.scores for row in originals], [_gold(row) for row in originals], pairs)


def nli_records(rows: Sequence[PairScores], threshold: Threshold) -> tuple[NliRecord, ...]:
    """Return the predicted sets of each example, in the order of its original pair.

    Args:
        rows: pairs with labels, in any order.
        threshold: of the model.

    Raises:
        InputError: if a pair is missing, has no labels, or a disambiguation has several.
    """
    groups: dict[str, dict[int, PairScores]] = {row.id: {} for row in rows if row.pair == 0}
    for row in rows:
        if row.id not in groups:
            raise InputError(f"example {row.id}: the original pair (pair 0) is missing")
        groups[row.id][row.pair] = row
    return tuple(_record(group, threshold) for group in groups.values())


def seed_record(model: str, seed: int, records: Sequence[NliRecord], threshold: Threshold) -> SeedRecord:
    """Return the scores of one training in the form of the published files.

    Raises:
        InputError: if the disambiguations have not been predicted.
    """
    group_em = group_exact_match(records)
    if group_em is None:
        raise InputError(f"{model}, seed {seed}: the disambiguations are not predicted, so no group EM")
    predicted, gold = [record.predicted for record in records], [record.gold for record in records]
    return SeedRecord(
        model=model,
        seed=seed,
        em=exact_match(predicted, gold),
        f1=macro_f1(predicted, gold),
        group_em=group_em,
        threshold=threshold,
    )


def _record(group: Mapping[int, PairScores], threshold: Threshold) -> NliRecord:
    original = group[0]
    if sorted(group) != list(range(len(group))):
        raise InputError(f"example {original.id}: pairs {sorted(group)}, but they are numbered without gaps")
    readings = [group[number] for number in range(1, len(group))]
    gold = _gold(original)
    if len(gold) > 1 and not readings:
        return _plain(original, gold, threshold)
    several = next((row for row in readings if len(_gold(row)) != 1), None)
    if several is not None:
        raise InputError(f"example {several.id}: disambiguation {several.pair} has not exactly one label")
    return replace(
        _plain(original, gold, threshold),
        readings=tuple(label_set(row.scores, threshold) for row in readings),
        reading_labels=tuple(label for row in readings for label in _gold(row)),
    )


def _plain(original: PairScores, gold: LabelSet, threshold: Threshold) -> NliRecord:
    return NliRecord(
        id=original.id,
        premise=original.premise,
        hypothesis=original.hypothesis,
        gold=gold,
        predicted=label_set(original.scores, threshold),
    )


def _gold(row: PairScores) -> LabelSet:
    if not row.labels:
        raise InputError(f"example {row.id}, pair {row.pair}: has no labels to be scored by")
    return row.labels


def _labelled(row: PairScores, known: Mapping[tuple[str, int], PairScores]) -> PairScores:
    found = known.get((row.id, row.pair))
    if found is None:
        raise InputError(
            f"example {row.id}, pair {row.pair}: not in the data; name the data it is of with --data"
        )
    if (found.premise, found.hypothesis) != (row.premise, row.hypothesis):
        raise InputError(f"example {row.id}, pair {row.pair}: has other sentences in the data")
    return replace(row, labels=found.labels)
