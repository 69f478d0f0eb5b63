"""Test 1: scores of generated disambiguations, recomputed from what models wrote (spec 6.3, 6.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple

from simulator.ambient.edit_f1 import DENOMINATORS, TOKENIZERS, Denominator, Tokenizer, item_edit_f1, tokens
from simulator.ambient.examples import Example
from simulator.ambient.intervals import clustered_interval, mean_interval
from simulator.ambient.labels import Label, Side
from simulator.ambient.parsing import PARSE_WARNINGS, Parser, ParseWarning, cut, parse
from simulator.ambient.records import GenerationRecord
from simulator.stats import Interval

TOLERANCE: Final = 1e-9
"""What a stored score may differ from a recomputed one."""
Source = Parser | Literal["stored"]
"""Where rewrites come from: parsed out of the continuation by a rule, or as the file stores them."""


def gold_rewrites(example: Example, side: Side) -> dict[Label, str]:
    """Return label -> rewrite of an example; of several rewrites of a label the last (spec 6.4)."""
    return {reading.label: reading.sentence(side) for reading in example.disambiguations}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """How rewrites were made; counted by a notebook of the authors, not in the paper.

    Attributes:
        empty: share of rows without any labelled rewrite.
        copied: share of labelled *rewrites* that are the original; `n` counts rewrites.
        restated: share of rows in which every rewrite contains the original without its last character, and
            is not the original; a row without rewrites counts, as every one of none does.
        restated_found: likewise, but a row without rewrites does not count; `n` is the same.
    """

    empty: Interval | None
    copied: Interval | None
    restated: Interval | None
    restated_found: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationMeasures:
    """Scores of a model, with intervals over items: repeats of one count once in `Interval.n`.

    Attributes:
        edit_f1: mean over items, 0 to 1, of rewrites read by `parser`.
        robust: the same, of rewrites read by the robust parser.
        patterns: of rewrites read by `parser`.
        rewrites: number of labelled rewrites -> rows that have so many.
        warnings: of `parser`, by code: rows.
        parser: the rule of reading.
        items: rows.
        empty: rows in which nothing was written before the first blank line.
        unparsable: rows in which something was written, and no labelled rewrite was found.
        null: labels that a file stores without a rewrite.
    """

    edit_f1: Interval | None
    robust: Interval | None
    patterns: Patterns
    rewrites: Mapping[int, int]
    warnings: Mapping[ParseWarning, int]
    parser: Parser
    items: int
    empty: int
    unparsable: int
    null: int


class Difference(NamedTuple):
    """A stored value that recomputation does not give.

    Attributes:
        id: of the row.
        field: of the file.
        stored: what the file says.
        computed: what the row's own content gives.
    """

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


def generation_measures(
    records: Sequence[GenerationRecord], parser: Parser = "reference", *, seed: int = 0
) -> GenerationMeasures:
    """Return every measure of spec 6.4; the paper's rule of reading rewrites is ``reference``."""
    parsed = [parse(record.generation, parser) for record in records]
    warnings = Counter(code for reading in parsed for code in reading.warnings)
    counts = Counter(len(reading.rewrites) for reading in parsed)
    empty = [not cut(record.generation).strip() for record in records]
    items = [(record.id, record.side) for record in records]
    return GenerationMeasures(
        edit_f1=mean_interval(item_scores(records, parser), items, seed=seed),
        robust=mean_interval(item_scores(records, "robust"), items, seed=seed),
        patterns=patterns(records, [reading.rewrites for reading in parsed], seed=seed),
        rewrites={number: counts[number] for number in sorted(counts)},
        warnings={code: warnings[code] for code in PARSE_WARNINGS if warnings[code]},
        parser=parser,
        items=len(records),
        empty=sum(empty),
        unparsable=sum(
            not reading.rewrites and not blank for reading, blank in zip(parsed, empty, strict=True)
        ),
        null=sum(text is None for record in records for text in (record.stored_rewrites or {}).values()),
    )


def patterns(
    records: Sequence[GenerationRecord], rewrites: Sequence[Mapping[Label, str]], *, seed: int = 0
) -> Patterns:
    """Return how the rewrites of each row (label -> rewrite, of each record) were made."""
    items = [(record.id, record.side) for record in records]
    rows = [
        (item, record.original, list(texts.values()))
        for item, record, texts in zip(items, records, rewrites, strict=True)
    ]
    restated = [
        all(original[:-1] in text and text != original for text in texts) for _, original, texts in rows
    ]
    copied = [(item, text == original) for item, original, texts in rows for text in texts]
    with_texts = [every and bool(texts) for every, (_, _, texts) in zip(restated, rows, strict=True)]
    return Patterns(
        empty=mean_interval([not texts for _, _, texts in rows], items, seed=seed),
        copied=clustered_interval([copy for _, copy in copied], [item for item, _ in copied], seed=seed),
        restated=mean_interval(restated, items, seed=seed),
        restated_found=mean_interval(with_texts, items, seed=seed),
    )


def rescored(records: Iterable[GenerationRecord]) -> tuple[Difference, ...]:
    """Return stored values that the rows' own continuations do not give, by the reference rule (spec 11).

    Compared are the rewrites, of which those stored without a text are none, and EDIT-F1 (by more than
    `TOLERANCE`); what a file does not store is not compared.
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


def gold_differences(
    records: Iterable[GenerationRecord], examples: Iterable[Example]
) -> tuple[Difference, ...]:
    """Return where gold rewrites or sentences of rows are not the dataset's; ids that it lacks, too."""
    by_id = {example.id: example for example in examples}
    differences: list[Difference] = []
    for record in records:
        example = by_id.get(record.id)
        if example is None:
            differences.append(Difference(record.id, "id", record.id, None))
            continue
        for field, stored, known in (
            ("premise", record.premise, example.premise),
            ("hypothesis", record.hypothesis, example.hypothesis),
            ("gold_rewrites", dict(record.gold), gold_rewrites(example, record.side)),
        ):
            if stored != known:
                differences.append(Difference(record.id, field, stored, known))
    return tuple(differences)


def edit_f1_variants(
    records: Sequence[GenerationRecord], source: Source = "reference"
) -> Mapping[str, float]:
    """Return what EDIT-F1 would be by other rules, none of them the paper's: means over items, 0 to 1.

    Returns:
        ``denominator: …`` and ``tokens: …`` -> mean; nothing if there are no records.
    """
    scores = {
        f"denominator: {denominator}": item_scores(records, source, denominator=denominator)
        for denominator in DENOMINATORS
    }
    scores |= {
        f"tokens: {name}": item_scores(records, source, tokenize=tokenize)
        for name, tokenize in TOKENIZERS.items()
    }
    return {name: sum(values) / len(values) for name, values in scores.items() if values}
