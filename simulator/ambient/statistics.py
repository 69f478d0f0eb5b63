"""What a dataset is made of, each number by its counting rule (spec 1.2, 1.3; paper 2.3, Fig. 3).

Shares are fractions of 1 with a 95 % percentile bootstrap interval over examples; `Interval.n` is what they
are shares of. None where there is nothing to take a share of. Pairs that nobody has annotated count nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from simulator.ambient.examples import Example, findings, published_id
from simulator.ambient.files.dataset import CategoryRecord
from simulator.ambient.intervals import clustered_interval, mean_interval
from simulator.ambient.labels import CATEGORIES, LABEL_SETS, Category, LabelSet
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
        faulty: ids of those that contradict themselves (see `simulator.ambient.examples`).
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
        """Return how often a kind is named, the denominator of the shares."""
        return sum(self.counts.values())


def statistics(examples: Sequence[Example]) -> Statistics:
    """Return all statistics of a dataset."""
    annotated = [example for example in examples if example.labels]
    ambiguous = [example for example in annotated if example.ambiguous]
    flagged = [(example, side) for example in ambiguous for side in example.sides]
    faults = {
        example.id: {(finding.code, finding.severity) for finding in findings(example)}
        for example in annotated
    }
    return Statistics(
        examples=len(examples),
        dev=sum(example.split == "dev" for example in examples),
        test=sum(example.split == "test" for example in examples),
        curated=sum(example.curated for example in examples),
        generated=sum(not example.curated for example in examples),
        numbered=sum(isinstance(published_id(example.id), int) for example in examples),
        unlabelled=len(examples) - len(annotated),
        ambiguous=share(annotated, lambda example: example.ambiguous),
        several_labels=share(annotated, lambda example: len(example.labels) > 1),
        premise=share(ambiguous, lambda example: example.premise_ambiguous),
        hypothesis=share(ambiguous, lambda example: example.hypothesis_ambiguous),
        both=share(ambiguous, lambda example: not example.xor),
        one_side=share(ambiguous, lambda example: example.xor),
        ambiguous_in=dict(Counter(example.split for example in ambiguous if example.split)),
        label_sets=label_sets(annotated),
        extra_words=extra_words(ambiguous),
        extra_words_distinct=extra_words(ambiguous, distinct=True),
        two_rewrites=two_rewrites(ambiguous),
        two_disambiguations=share(ambiguous, lambda example: len(example.disambiguations) == 2),
        rewrites=_sizes(example.rewrites(side) for example, side in flagged),
        disambiguations=_sizes(example.disambiguations for example in ambiguous),
        labels_differ=tuple(id for id, codes in faults.items() if ("labels", "warning") in codes),
        several=tuple(example.id for example in annotated if _repeats_a_label(example)),
        faulty=tuple(id for id, codes in faults.items() if "error" in {severity for _, severity in codes}),
    )


def share(examples: Sequence[Example], holds: Callable[[Example], bool]) -> Share:
    """Return the share of examples of which something holds."""
    return mean_interval([float(holds(example)) for example in examples])


def label_sets(examples: Sequence[Example]) -> dict[LabelSet, int]:
    """Return how often each of the seven label sets occurs (Fig. 3)."""
    counts = Counter(example.labels for example in examples)
    return {labels: counts[labels] for labels in LABEL_SETS}


def extra_words(examples: Sequence[Example], *, distinct: bool = False) -> Share:
    """Return by how many words (between white space) a rewrite is longer than its sentence, on average."""
    pairs = [
        (float(len(rewrite.split()) - len(example.sentence(side).split())), example.id)
        for example in examples
        for side in example.sides
        for rewrite in (
            example.rewrites(side) if distinct else (each.sentence(side) for each in example.disambiguations)
        )
    ]
    return clustered_interval([words for words, _ in pairs], [id for _, id in pairs])


def two_rewrites(examples: Sequence[Example]) -> Share:
    """Return the share of flagged sentences that have exactly two distinct rewrites."""
    flagged = [(example, side) for example in examples for side in example.sides]
    values = [float(len(example.rewrites(side)) == 2) for example, side in flagged]
    return clustered_interval(values, [example.id for example, _ in flagged])


def category_statistics(
    records: Sequence[CategoryRecord], examples: Sequence[Example] = ()
) -> CategoryStatistics:
    """Return statistics of rows with kinds of ambiguity; `examples` are the dataset they may come from."""
    mentions = [(kind, place) for place, record in enumerate(records) for kind in record.categories]
    places = [place for _, place in mentions]
    pairs = {(example.premise, example.hypothesis) for example in examples}
    counts = Counter(kind for kind, _ in mentions)
    return CategoryStatistics(
        rows=len(records),
        counts={kind: counts[kind] for kind in CATEGORIES},
        shares={
            kind: clustered_interval([float(mention == kind) for mention, _ in mentions], places)
            for kind in CATEGORIES
        },
        in_dataset=sum((record.premise, record.hypothesis) in pairs for record in records),
        not_whole=sum(not record.whole for record in records),
    )


def _repeats_a_label(example: Example) -> bool:
    labels = [disambiguation.label for disambiguation in example.disambiguations]
    return len(set(labels)) < len(labels)


def _sizes(groups: Iterable[Sequence[object]]) -> dict[int, int]:
    """Return how many groups have so many members."""
    return dict(sorted(Counter(map(len, groups)).items()))
