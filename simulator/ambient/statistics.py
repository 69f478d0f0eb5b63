"""What a dataset is made of, each number by its counting rule (spec 1.2, 1.3; paper 2.3, Fig. 3).

Shares are fractions of 1 with a 95 % percentile bootstrap interval over examples; `Interval.n` is what they
are shares of. None where there is nothing to take a share of. Pairs that nobody has annotated count nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from simulator.ambient.examples import Example, published_id
from simulator.ambient.files.dataset import CategoryRecord
from simulator.ambient.intervals import clustered_interval, mean_interval
from simulator.ambient.labels import CATEGORIES, LABEL_SETS, Category, LabelSet
from simulator.ambient.rules import findings
from simulator.stats import Interval

Share = Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """All statistics of a dataset.

    Attributes:
        examples: how many, and how many of them are in each split, curated, generated, numbered (their id
            is a number), or not annotated at all.
        ambiguous: a side is flagged; `several_labels`: more than one label. Of all that are annotated.
        premise: flagged, like the next three a share of the ambiguous examples.
        one_side: exactly one side is flagged.
        ambiguous_in: how many are ambiguous, by split.
        label_sets: how often each of the seven occurs.
        extra_words: of a rewrite (see the function); `extra_words_distinct` with each rewrite counted once.
        two_rewrites: share of flagged sentences; `two_disambiguations`: share of ambiguous examples.
        rewrites: how many flagged sentences have so many distinct rewrites.
        disambiguations: how many ambiguous examples have so many.
        labels_differ: ids of those whose labels are not those of their disambiguations.
        several: ids of those with several disambiguations of one label.
        faulty: ids of those that contradict themselves (see `simulator.ambient.rules`).
    """

    examples: int
    dev: int
    test: int
    curated: int
    generated: int
    numbered: int
    unlabelled: int
    ambiguous: Share
    several_labels: Share
    premise: Share
    hypothesis: Share
    both: Share
    one_side: Share
    ambiguous_in: Mapping[str, int]
    label_sets: Mapping[LabelSet, int]
    extra_words: Share
    extra_words_distinct: Share
    two_rewrites: Share
    two_disambiguations: Share
    rewrites: Mapping[int, int]
    disambiguations: Mapping[int, int]
    labels_differ: tuple[str, ...]
    several: tuple[str, ...]
    faulty: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryStatistics:
    """Kinds of ambiguity in annotated rows (spec 1.3).

    Attributes:
        rows: how many.
        counts: of each kind; a row may have several.
        shares: of each kind among all mentions of kinds, not among rows.
        in_dataset: rows whose two sentences are in the dataset word for word.
        not_whole: rows without a hypothesis, labels, or labels of disambiguations.
    """

    rows: int
    counts: Mapping[Category, int]
    shares: Mapping[Category, Share]
    in_dataset: int
    not_whole: int

    @property
    def mentions(self) -> int:
        """How often a kind is named, the denominator of the shares."""
        return sum(self.counts.values())


def statistics(examples: Sequence[Example]) -> Statistics:
    """Return all statistics of a dataset."""
    annotated = [example for example in examples if example.labels]
    ambiguous = [one for one in annotated if one.ambiguous]
    codes = {one.id: {(finding.code, finding.severity) for finding in findings(one)} for one in annotated}
    return Statistics(
        examples=len(examples),
        dev=sum(example.split == "dev" for example in examples),
        test=sum(example.split == "test" for example in examples),
        curated=sum(example.curated for example in examples),
        generated=sum(not example.curated for example in examples),
        numbered=sum(isinstance(published_id(example.id), int) for example in examples),
        unlabelled=len(examples) - len(annotated),
        ambiguous=share(annotated, lambda one: one.ambiguous),
        several_labels=share(annotated, lambda one: len(one.labels) > 1),
        premise=share(ambiguous, lambda one: one.premise_ambiguous),
        hypothesis=share(ambiguous, lambda one: one.hypothesis_ambiguous),
        both=share(ambiguous, lambda one: not one.xor),
        one_side=share(ambiguous, lambda one: one.xor),
        ambiguous_in=dict(Counter(ambiguou.split for ambiguou in ambiguous if ambiguou.split)),
        label_sets=label_sets(annotated),
        extra_words=extra_words(ambiguous),
        extra_words_distinct=extra_words(ambiguous, distinct=True),
        two_rewrites=two_rewrites(ambiguous),
        two_disambiguations=share(ambiguous, lambda one: len(one.disambiguations) == 2),
        rewrites=_sorted(
            Counter(len(ambiguou.rewrites(side)) for ambiguou in ambiguous for side in ambiguou.sides)
        ),
        disambiguations=_sorted(Counter(len(ambiguou.disambiguations) for ambiguou in ambiguous)),
        labels_differ=tuple(id for id, found in codes.items() if ("labels", "warning") in found),
        several=tuple(one.id for one in annotated if _label_repeats(one)),
        faulty=tuple(id for id, found in codes.items() if any(severity == "error" for _, severity in found)),
    )


def share(examples: Sequence[Example], holds: Callable[[Example], bool]) -> Share:
    """Return the share of examples of which something holds."""
    return mean_interval([float(holds(example)) for example in examples])


def label_sets(examples: Sequence[Example]) -> dict[LabelSet, int]:
    """Return how often each of the seven label sets occurs (Fig. 3)."""
    counts = Counter(example.labels for example in examples)
    return {labels: counts[labels] for labels in LABEL_SETS}


def extra_words(examples: Sequence[Example], *, distinct: bool = False) -> Share:
    """By how many words a rewrite is longer than its sentence, on average.

    A value is the number of words (between white space) of a rewrite minus that of the flagged sentence; an
    example with both sides flagged gives values for both.

    Args:
        examples: the ambiguous ones among them count.
        distinct: whether a rewrite that a sentence has twice counts once.
    """
    values: list[float] = []
    clusters: list[str] = []
    for example, difference in _differences(examples, distinct):
        values.append(difference)
        clusters.append(example.id)
    return clustered_interval(values, clusters)


def two_rewrites(examples: Sequence[Example]) -> Share:
    """Return the share of flagged sentences that have exactly two distinct rewrites."""
    flagged = [(example, side) for example in examples for side in example.sides]
    values = [float(len(one.rewrites(side)) == 2) for one, side in flagged]
    return clustered_interval(values, [one.id for one, _ in flagged])


def category_statistics(
    records: Sequence[CategoryRecord], examples: Sequence[Example] = ()
) -> CategoryStatistics:
    """Statistics of rows with kinds of ambiguity.

    Args:
        records: the rows.
        examples: the dataset that they may come from.
    """
    mentions = [(kind, place) for place, record in enumerate(records) for kind in record.categories]
    pairs = {(example.premise, example.hypothesis) for example in examples}
    counts = Counter(kind for kind, _ in mentions)
    return CategoryStatistics(
        rows=len(records),
        counts={kind: counts[kind] for kind in CATEGORIES},
        shares={
            kind: clustered_interval(
                [float(one == kind) for one, _ in mentions], [place for _, place in mentions]
            )
            for kind in CATEGORIES
        },
        in_dataset=sum((one.premise, one.hypothesis) in pairs for one in records),
        not_whole=sum(not one.whole for one in records),
    )


def _differences(examples: Sequence[Example], distinct: bool) -> Iterator[tuple[Example, float]]:
    for example in examples:
        for side in example.sides:
            words = len(example.sentence(side).split())
            every = tuple(disambiguation.sentence(side) for disambiguation in example.disambiguations)
            for rewrite in example.rewrites(side) if distinct else every:
                yield example, float(len(rewrite.split()) - words)


def _label_repeats(example: Example) -> bool:
    labels = [disambiguation.label for disambiguation in example.disambiguations]
    return len(set(labels)) < len(labels)


def _sorted(counts: Mapping[int, int]) -> dict[int, int]:
    return dict(sorted(counts.items()))
