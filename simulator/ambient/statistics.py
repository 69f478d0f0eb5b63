"""What a dataset is made of, each number by its counting rule (spec 1.2, 1.3; paper 2.3, Fig. 3).

Shares are fractions of 1 with a 95 % percentile bootstrap interval over examples; `Interval.n` is what they
are shares of. None where there is nothing to take a share of. Pairs that nobody has annotated count nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from simulator.ambient.examples import Example, findings, published_id
from simulator.ambient.files.dataset import CategoryRecord
from simulator.ambient.intervals import Values, clustered_interval, mean_interval
from simulator.ambient.labels import CATEGORIES, LABEL_SETS, LabelSet
from simulator.stats import Interval

Share = Interval | None


def statistics(examples: Sequence[Example]) -> Values:
    """Return all statistics of a dataset.

    ``ambiguous`` (a side is flagged) and ``several_labels`` are shares of all that are annotated,
    ``premise`` to ``one_side`` and ``two_disambiguations`` of the ambiguous examples, ``two_rewrites`` of
    flagged sentences. ``rewrites``: how many flagged sentences have so many distinct ones;
    ``disambiguations`` likewise, of ambiguous examples. Ids are listed of those whose ``labels_differ``
    from those of their disambiguations, that have ``several`` disambiguations of one label, or contradict
    themselves (``faulty``).
    """
    annotated = [example for example in examples if example.labels]
    ambiguous = [example for example in annotated if example.ambiguous]
    flagged = [(example, side) for example in ambiguous for side in example.sides]
    faults = {
        example.id: {(finding.code, finding.severity) for finding in findings(example)}
        for example in annotated
    }
    splits = Counter(example.split for example in examples)
    curated = sum(example.curated for example in examples)
    return {
        "examples": len(examples),
        "dev": splits["dev"],
        "test": splits["test"],
        "curated": curated,
        "generated": len(examples) - curated,
        "numbered": sum(isinstance(published_id(example.id), int) for example in examples),
        "unlabelled": len(examples) - len(annotated),
        "ambiguous": share(annotated, lambda example: example.ambiguous),
        "several_labels": share(annotated, lambda example: len(example.labels) > 1),
        "premise": share(ambiguous, lambda example: example.premise_ambiguous),
        "hypothesis": share(ambiguous, lambda example: example.hypothesis_ambiguous),
        "both": share(ambiguous, lambda example: not example.xor),
        "one_side": share(ambiguous, lambda example: example.xor),
        "ambiguous_in": dict(Counter(example.split for example in ambiguous if example.split)),
        "label_sets": label_sets(annotated),
        "extra_words": extra_words(ambiguous),
        "extra_words_distinct": extra_words(ambiguous, distinct=True),
        "two_rewrites": two_rewrites(ambiguous),
        "two_disambiguations": share(ambiguous, lambda example: len(example.disambiguations) == 2),
        "rewrites": _sizes(example.rewrites(side) for example, side in flagged),
        "disambiguations": _sizes(example.disambiguations for example in ambiguous),
        "labels_differ": tuple(id for id, codes in faults.items() if ("labels", "warning") in codes),
        "several": tuple(example.id for example in annotated if _repeats_a_label(example)),
        "faulty": tuple(id for id, codes in faults.items() if any(kind == "error" for _, kind in codes)),
    }


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


def category_statistics(records: Sequence[CategoryRecord], examples: Sequence[Example] = ()) -> Values:
    """Return statistics of rows with kinds of ambiguity; `examples` are the dataset they may come from.

    Shares are of all ``mentions`` of kinds, not of rows. ``not_whole``: rows without a hypothesis, labels, or
    labels of disambiguations.
    """
    mentions = [(kind, place) for place, record in enumerate(records) for kind in record.categories]
    places = [place for _, place in mentions]
    pairs = {(example.premise, example.hypothesis) for example in examples}
    counts = Counter(kind for kind, _ in mentions)
    return {
        "rows": len(records),
        "counts": {kind: counts[kind] for kind in CATEGORIES},
        "shares": {
            kind: clustered_interval([float(mention == kind) for mention, _ in mentions], places)
            for kind in CATEGORIES
        },
        "in_dataset": sum((record.premise, record.hypothesis) in pairs for record in records),
        "not_whole": sum(bool(record.missing) for record in records),
        "mentions": len(mentions),
    }


def _repeats_a_label(example: Example) -> bool:
    labels = [disambiguation.label for disambiguation in example.disambiguations]
    return len(set(labels)) < len(labels)


def _sizes(groups: Iterable[Sequence[object]]) -> dict[int, int]:
    """Return how many groups have so many members."""
    return dict(sorted(Counter(map(len, groups)).items()))
