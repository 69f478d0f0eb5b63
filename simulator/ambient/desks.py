"""AmbiEnt's desks (`simulator.desks`): what is shown there, and how far people agree.

The rules of what people say there are in `simulator.ambient.annotation.desks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from logs import LogReader
from simulator import blocks, datasets
from simulator.ambient.annotation.consolidation import consolidated_examples
from simulator.ambient.annotation.desks import (
    MARKING,
    MARKS,
    SORTING,
    CategoryForm,
    Mark,
    MarkedClaim,
    Sorted,
    category_agreement,
    example_item,
    export_categories,
    marked_claims,
    read_kinds,
    read_marks,
    records_marked_by,
    sorted_examples,
)
from simulator.ambient.claims import THRESHOLD, claim_measures, explanation
from simulator.ambient.data import BUILTIN, load_examples, load_guidelines
from simulator.ambient.examples import Example
from simulator.ambient.items import BENCHMARK
from simulator.ambient.labels import CATEGORIES, SIDES
from simulator.ambient.reporting.measures import paper
from simulator.ambient.trial_log import runs_with
from simulator.blocks import Block, Cell, Heading, Revision, Text, message
from simulator.desk_forms import Field
from simulator.desks import Case, Desk, measures_section
from simulator.figures import Column, Table
from simulator.judging import Opinions
from simulator.reporting import Section, slug
from simulator.word_diff import word_diff

OF_RUN: Final = "run:"
"""In front of a run's name: the examples that its linguists' annotations have been consolidated to."""
CLAIM_MEASURES: Final = {"precision": "Precision for ambiguity, %", "recall": "Recall of ambiguity, %"}


def chosen_examples(reader: LogReader, data: str) -> tuple[Example, ...]:
    """Return the examples of data, or those that linguists' annotations in a run were consolidated to.

    Raises:
        InputError: if there are no such data.
        NotInLog: if there is no such run.
    """
    if data.startswith(OF_RUN):
        return consolidated_examples(reader, data.removeprefix(OF_RUN))
    return load_examples(data)


def kinds_case(each: Sorted) -> Case[CategoryForm]:
    """Return an example as its desk has it."""
    example, item = each.example, example_item(each.example)
    return Case(
        key=item.hash,
        name=example.id,
        title=f"{example.premise} / {example.hypothesis}",
        show=partial(_show_example, example),
        opinions=each.opinions,
        item=item,
    )


def _show_example(example: Example) -> Iterator[Block]:
    for side in SIDES:
        yield Heading(message(f"desks.side.{side}"))
        yield Text(example.sentence(side))
    yield Heading(message("desks.readings"))
    for rewrite in example.disambiguations:
        for side in example.sides:
            pieces = word_diff(example.sentence(side), rewrite.sentence(side))
            yield Revision(message(f"desks.labels.{rewrite.label}"), pieces)


def _kinds_cases(reader: LogReader, data: str) -> list[Case[CategoryForm]]:
    return [kinds_case(each) for each in sorted_examples(reader, chosen_examples(reader, data), data)]


def _kinds_sections(reader: LogReader, data: str, rater: str) -> tuple[Section, ...]:
    """Return how far annotators agree on kinds, and how often each settled kind is named."""
    there = sorted_examples(reader, chosen_examples(reader, data), data)
    agreement, printed = category_agreement(there), paper()["categories"]["shares"]
    counts = {kind: sum(kind in (each.settled or ()) for each in there) for kind in CATEGORIES}
    total = sum(counts.values())
    shares = Table(
        ("Kind", Column("Settled", 0), Column("Share, %", 1), Column("In the paper, %", 1)),
        [(kind, count, 100 * count / total, printed[kind]) for kind, count in counts.items() if total],
        title="Mentions of kinds in settled examples",
    )
    names: dict[str, str] = {
        **{kind: f"Fleiss’ κ, {kind}" for kind in CATEGORIES},
        "alpha": "Krippendorff’s α, MASI distance",
        "identical": "Identical kinds",
    }
    return (
        *measures_section("Agreement", [(names[name], agreement.measures[name]) for name in names]),
        Section(name="shares", title="Kinds", tables=(shares,)),
    )


def _export_kinds(reader: LogReader, data: str, path: Path) -> int:
    return export_categories(sorted_examples(reader, chosen_examples(reader, data), data), path)


def _kind_names(language: str) -> dict[str, tuple[str, str]]:
    kinds = load_guidelines(language).categories
    return {kind: (words.name, f"{words.definition} {words.example}") for kind, words in kinds.items()}


def _data_sets(reader: LogReader) -> tuple[str, ...]:
    registered = (data.name for data in datasets.list_all() if data.benchmark == BENCHMARK)
    return BUILTIN, *registered, *(f"{OF_RUN}{run}" for run in runs_with(reader, "annotate"))


KINDS: Final = Desk(
    name="kinds",
    form=SORTING,
    fields=(
        Field(name="categories", kind="choices", choices=CATEGORIES, names=_kind_names),
        Field(name="several", kind="choice", choices=("more", "one"), several="categories"),
        Field(name="note"),
    ),
    sets=_data_sets,
    cases=_kinds_cases,
    outcome=lambda form: form.categories,
    read=read_kinds,
    decides="discussion",
    agreement=_kinds_sections,
    files={"categories.jsonl": _export_kinds},
)


def _claim_cases(reader: LogReader, run: str) -> list[Case[Mark]]:
    return [
        Case(
            key=claim.key,
            name=claim.key,
            title=claim.record.cleaned,
            show=partial(_show_claim, claim),
            opinions=Opinions(claim.marks),
        )
        for claim in marked_claims(reader, run)
    ]


def _show_claim(claim: MarkedClaim) -> Iterator[Block]:
    record, why = claim.record, explanation(claim.record)
    yield Heading(message("desks.claims.flagged" if claim.flagged else "desks.claims.not_flagged"))
    yield Text(record.cleaned)
    yield Text(" · ".join(filter(None, (record.person, record.venue))), look="muted")
    if record.cleaned != record.claim:
        yield Text(message("desks.claims.as_said", words=record.claim), look="muted")
    for paraphrase in sorted(record.paraphrases, key=lambda paraphrase: -paraphrase.score):
        yield Heading(message("desks.claims.why" if paraphrase is why else "desks.claims.paraphrase"))
        yield Text(paraphrase.text)
        if paraphrase.probabilities:
            yield blocks.Table(
                [
                    (
                        message(f"desks.labels.{label}"),
                        Cell(f"{share:.3f}", "strong" if share > THRESHOLD else ""),
                    )
                    for label, share in paraphrase.probabilities.items()
                ],
                (
                    message("desks.claims.label"),
                    message("desks.claims.probability", threshold=f"{THRESHOLD:.3f}"),
                ),
            )
    yield Heading(message("desks.claims.factcheck"))
    yield Text("\n\n".join(filter(None, (record.rating, record.justification, record.url))) or "–")


def _claim_sections(reader: LogReader, run: str, rater: str) -> Iterator[Section]:
    """Yield, for every annotator, how well flags find the claims that they marked as ambiguous."""
    claims, printed = marked_claims(reader, run), paper()["claims"]
    for annotator in dict.fromkeys(name for claim in claims for name in claim.marks):
        measures = claim_measures(records_marked_by(claims, annotator))
        rows = [(title, getattr(measures, name), printed[name]) for name, title in CLAIM_MEASURES.items()]
        remark = (
            f"{measures.n} claims marked, {measures.ambiguous} of them for ambiguity, {measures.flagged} of "
            f"them flagged; {measures.unmarked} not marked yet."
        )
        table = Table(("Measure", Column("Value, with interval", 1, 100), Column("In the paper", 1)), rows)
        yield Section(name=slug(annotator), title=annotator, tables=(table,), remarks=(remark,))


CLAIMS: Final = Desk(
    name="claims",
    form=MARKING,
    fields=(Field(name="marks", kind="choices", choices=MARKS), Field(name="note")),
    sets=lambda reader: runs_with(reader, "claim"),
    cases=_claim_cases,
    outcome=lambda form: form.marks,
    read=read_marks,
    raters=None,
    decides=None,
    own_order=False,
    agreement=_claim_sections,
    command="askback run ambient --task claim --model local/MODEL --nli FOLDER",
)
