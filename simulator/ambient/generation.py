"""Test 1: scores of generated disambiguations, computed from models' raw outputs (spec 6.3, 6.4).

EDIT-F1 measures whether a predicted rewrite changes the same words as the gold rewrite.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, get_args

from simulator.ambient.examples import Example
from simulator.ambient.intervals import Count, Values, clustered_interval, mean_interval
from simulator.ambient.labels import Label, Side
from simulator.ambient.prompts import PARSE_WARNINGS, Parser, cut, parse
from simulator.ambient.records import GenerationRecord
from simulator.stats import Interval

Tokenizer = Callable[[str], Sequence[str]]
Denominator = Literal["gold", "predicted", "union"]
DENOMINATORS: Final[tuple[Denominator, ...]] = get_args(Denominator)
Edit = tuple[Literal["-", "+"], str]
"""A deleted or an added token."""

_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_WORDS_AND_SIGNS: Final = re.compile(r"\w+|[^\w\s]+")
_SINGLE_SIGNS: Final = re.compile(r"\w+|[^\w\s]")
# Function words: articles, pronouns, auxiliaries, prepositions, conjunctions.
_STOP_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those i you he she it we they me him her us them my your his its our their "
        "is am are was were be been being do does did have has had will would shall should can could may "
        "might must of in on at by for with from to into about as and or but if than then not no so there",
    )
)


def tokens(text: str) -> Sequence[str]:
    """Split at single blanks, as in the paper's rule: punctuation stays, two blanks make an empty token."""
    return text.split(" ")


def _plain_words(text: str) -> Sequence[str]:
    return text.lower().translate(_NO_PUNCTUATION).split()


def _content(text: str) -> Sequence[str]:
    return [word for word in _plain_words(text) if word not in _STOP_WORDS]


TOKENIZERS: Final[Mapping[str, Tokenizer]] = {
    "blank": tokens,
    "whitespace": str.split,
    "lower": lambda text: text.lower().split(" "),
    "lower, no punctuation": _plain_words,
    "words and signs": _WORDS_AND_SIGNS.findall,
    "words and single signs": _SINGLE_SIGNS.findall,
    "lower, no punctuation, no stop words": _content,
}
"""The paper's rule (the first), which gives its numbers, and others to see how much depends on it."""


def edits(original: str, rewrite: str, tokenize: Tokenizer = tokens) -> Counter[Edit]:
    """Return the multiset of tokens that a rewrite deletes and adds, regardless of their positions."""
    before, after = Counter(tokenize(original)), Counter(tokenize(rewrite))
    deleted: dict[Edit, int] = {("-", token): count for token, count in (before - after).items()}
    added: dict[Edit, int] = {("+", token): count for token, count in (after - before).items()}
    return Counter({**deleted, **added})


def edit_f1(original: str, gold: str, predicted: str, *, tokenize: Tokenizer = tokens) -> float:
    """Return F1 of the predicted edits against the gold ones.

    Returns:
        0 to 1; 1 if neither edits anything, 0 if only one of them does.
    """
    right, made = edits(original, gold, tokenize), edits(original, predicted, tokenize)
    if not right and not made:
        return 1.0
    shared = (right & made).total()
    if not shared:
        return 0.0
    precision, recall = shared / made.total(), shared / right.total()
    return 2 * precision * recall / (precision + recall)


def item_edit_f1(
    original: str,
    gold: Mapping[Label, str],
    predicted: Mapping[Label, str],
    *,
    denominator: Denominator = "gold",
    tokenize: Tokenizer = tokens,
) -> float:
    """Return mean EDIT-F1 over the gold labels; a missing label counts 0, an additional one is ignored.

    `denominator`: the number of labels to divide the sum by: the gold labels (which gives the paper's table),
    the predicted ones, or the union (a possible reading of a footnote of the paper).

    Returns:
        0 to 1; 0 if there is nothing to divide by.
    """
    labels = {"gold": gold.keys(), "predicted": predicted.keys(), "union": gold.keys() | predicted.keys()}
    if not labels[denominator]:
        return 0.0
    shared = [label for label in gold if label in predicted]
    total = sum(edit_f1(original, gold[label], predicted[label], tokenize=tokenize) for label in shared)
    return total / len(labels[denominator])


TOLERANCE: Final = 1e-9
"""Maximum difference between a stored score and a recomputed one."""
Source = Parser | Literal["stored"]
"""The source of rewrites: a parser of the continuation, or the file's stored rewrites."""


def gold_rewrites(example: Example, side: Side) -> dict[Label, str]:
    """Return label -> rewrite of an example, the last one if a label has several (spec 6.4)."""
    return {reading.label: reading.sentence(side) for reading in example.disambiguations}


class Difference(NamedTuple):
    """A stored value that differs from the recomputed one."""

    id: str
    field: str
    stored: object
    computed: object


def rewrites_of(record: GenerationRecord, source: Source = "reference") -> Mapping[Label, str]:
    """Return the labelled rewrites of a row; stored labels without a rewrite are left out."""
    if source == "stored":
        stored = record.stored_rewrites or {}
        return {label: text for label, text in stored.items() if text is not None}
    return parse(record.generation, source).rewrites


def item_scores(
    records: Iterable[GenerationRecord],
    source: Source = "reference",
    *,
    denominator: Denominator = "gold",
    tokenize: Tokenizer = tokens,
) -> tuple[float, ...]:
    """Return EDIT-F1 of each row, 0 to 1; `denominator` and `tokenize` as in `item_edit_f1`."""
    score = partial(item_edit_f1, denominator=denominator, tokenize=tokenize)
    return tuple(score(record.original, record.gold, rewrites_of(record, source)) for record in records)


def generation_measures(records: Sequence[GenerationRecord], parser: Parser = "reference") -> Values:
    """Return every measure of spec 6.4; the paper's parser is ``reference``.

    Intervals are over items: repetitions of an item count once in `Interval.n`. ``empty`` counts rows without
    text before the first blank line, ``unparsable`` other rows without a labelled rewrite. ``rewrites`` maps
    the number of labelled rewrites to the number of rows.
    """
    parsed = [parse(record.generation, parser) for record in records]
    warnings = Counter(code for reading in parsed for code in reading.warnings)
    counts = Counter(len(reading.rewrites) for reading in parsed)
    empty = [not cut(record.generation).strip() for record in records]
    readings = zip(parsed, empty, strict=True)
    items, rows = [(record.id, record.side) for record in records], len(records)
    return {
        "edit_f1": mean_interval(item_scores(records, parser), items),
        "edit_f1_robust": mean_interval(item_scores(records, "robust"), items),
        **patterns(records, [reading.rewrites for reading in parsed]),
        "empty": Count(sum(empty), rows),
        "unparsable": Count(sum(not reading.rewrites and not blank for reading, blank in readings), rows),
        "rewrites": dict(sorted(counts.items())),
        "warnings": {code: warnings[code] for code in PARSE_WARNINGS if warnings[code]},
    }


def patterns(
    records: Sequence[GenerationRecord], rewrites: Sequence[Mapping[Label, str]]
) -> dict[str, Interval | None]:
    """Return the frequency of degenerate patterns among the rewrites (label -> rewrite, per record).

    They are from the authors' notebook, not from the paper: the share of rows without a labelled rewrite
    (``pattern_empty``), of labelled *rewrites* that equal the original (``…copied``), and of rows in which
    every rewrite contains the original without its last character but does not equal it, counting rows
    without rewrites (``…restated``) or not (``…restated_found``).
    """
    items = [(record.id, record.side) for record in records]
    rows = [
        (item, record.original, list(texts.values()))
        for item, record, texts in zip(items, records, rewrites, strict=True)
    ]
    restated = [
        all(original[:-1] in text and text != original for text in texts) for _, original, texts in rows
    ]
    copied = [(item, text == original) for item, original, texts in rows for text in texts]
    nonempty = [flag and bool(texts) for flag, (_, _, texts) in zip(restated, rows, strict=True)]
    return {
        "pattern_empty": mean_interval([not texts for _, _, texts in rows], items),
        "pattern_copied": clustered_interval([copy for _, copy in copied], [item for item, _ in copied]),
        "pattern_restated": mean_interval(restated, items),
        "pattern_restated_found": mean_interval(nonempty, items),
    }


def stored_differences(records: Iterable[GenerationRecord]) -> tuple[Difference, ...]:
    """Return stored values that differ from those recomputed with the reference parser (spec 11).

    Compares stored rewrites, ignoring nulls, and stored EDIT-F1, up to `TOLERANCE`.
    """
    differences: list[Difference] = []
    for record in records:
        rewrites = rewrites_of(record)
        stored = rewrites_of(record, "stored")
        if record.stored_rewrites is not None and stored != rewrites:
            differences.append(Difference(record.id, "predicted_rewrites", stored, rewrites))
        score = item_edit_f1(record.original, record.gold, rewrites)
        if record.stored_edit_f1 is not None and abs(record.stored_edit_f1 - score) > TOLERANCE:
            differences.append(Difference(record.id, "edit_f1", record.stored_edit_f1, score))
    return tuple(differences)


def gold_differences(records: Iterable[GenerationRecord], examples: Iterable[Example]) -> set[str]:
    """Return the ids of rows whose sentences or gold rewrites differ from the dataset or are not in it."""
    by_id = {example.id: example for example in examples}
    return {
        record.id
        for record in records
        if (example := by_id.get(record.id)) is None
        or (record.premise, record.hypothesis) != (example.premise, example.hypothesis)
        or record.gold != gold_rewrites(example, record.side)
    }


def edit_f1_variants(records: Sequence[GenerationRecord]) -> Mapping[str, float]:
    """Return EDIT-F1 by alternative rules: means over items, 0 to 1.

    Returns:
        ``denominator: …`` and ``tokens: …`` -> mean; empty without records.
    """
    scores = {
        f"denominator: {denominator}": item_scores(records, denominator=denominator)
        for denominator in DENOMINATORS
    }
    scores |= {
        f"tokens: {name}": item_scores(records, tokenize=tokenize) for name, tokenize in TOKENIZERS.items()
    }
    return {name: sum(values) / len(values) for name, values in scores.items() if values}
