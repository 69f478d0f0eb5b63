"""AmbiEnt's desks (`simulator.desks`): what is shown there, and how far people agree.

The rules of what people say there are in `simulator.ambient.annotation.desks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from logs import LogReader
from simulator import blocks, datasets
from simulator.ambient.annotation.consolidation import (
    CONSOLIDATION,
    Consolidated,
    Result,
    agreement,
    consolidated_examples,
    export_dataset,
    flow,
    outcome,
    results,
)
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
from simulator.ambient.annotation.linguists import linguist_measures
from simulator.ambient.annotation.rules import MAX_REWRITES, check_annotation, read_annotation
from simulator.ambient.claims import THRESHOLD, claim_measures, explanation
from simulator.ambient.data import BUILTIN, load_examples, load_guidelines
from simulator.ambient.examples import Example
from simulator.ambient.items import BENCHMARK
from simulator.ambient.labels import CATEGORIES, LABELS, SIDES
from simulator.ambient.reporting.figures import FlowDiagram
from simulator.ambient.reporting.measures import paper
from simulator.ambient.show import COLOURS, SHOWN, told
from simulator.ambient.trial_log import linguist_records, runs_with
from simulator.blocks import Block, Cell, Heading, Revision, Text, message
from simulator.desk_forms import Field, Offer, Values
from simulator.desks import Case, Desk, measures_section
from simulator.figures import Column, Table
from simulator.judging import DeskFormError, Opinions
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
    yield from _show_pair(example)
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


# ---- linguists' annotations, made one by validators

_KEEP: Final = "keep"
_SETS: Final[Mapping[str, str]] = {
    **{label: f"Fleiss’ κ, {label}" for label in LABELS},
    "whole": "Fleiss’ κ, whole sets",
}


def form_values(form: Consolidated) -> dict[str, Any]:
    """Return a validator's form as the desk has it; labels are in the order of pages."""
    values = form.model_dump(mode="json", exclude={"decides"})
    labels = [label for label in SHOWN if label in form.labels]
    return {**values, "labels": labels, "discard": form.discard or _KEEP}


def consolidation_case(result: Result) -> Case[Consolidated]:
    """Return an example that linguists have annotated as its desk has it."""
    example = result.example
    return Case(
        key=result.key,
        name=result.key,
        title=f"{example.premise} / {example.hypothesis}",
        show=partial(_show_pair, example),
        opinions=result.opinions,
        ready=result.state not in ("open", "dropped"),
        thing=example,
        proposed={"discard": _KEEP},
        offers=tuple(_offers(result)),
        originals={side: example.sentence(side) for side in SIDES},
    )


def _offers(result: Result) -> Iterator[Offer]:
    """Yield what each linguist said, the oldest first, without who they are; then rewrites of them all."""
    for number, voice in enumerate(result.voices, 1):
        values = form_values(Consolidated(**voice.payload()))
        own = {name: values[name] for name in ("labels", "rewrites", "discard")}
        yield Offer(own, message("desks.consolidation.linguist", k=number), voice.comment)
    if rewrites := [asdict(rewrite) for rewrite in result.merged]:
        labels = [label for label in SHOWN if label in {rewrite["label"] for rewrite in rewrites}]
        own = {"labels": labels, "rewrites": rewrites, "discard": _KEEP}
        yield Offer(own, message("desks.consolidation.merged"))


def _show_pair(example: Example) -> Iterator[Block]:
    for side in SIDES:
        yield Heading(message(f"desks.side.{side}"))
        yield Text(example.sentence(side))


def read_consolidation(case: Case[Consolidated], values: Values, deciding: bool) -> Consolidated:
    """Return the form of a validator; what is discarded has neither labels nor rewrites.

    Raises:
        DeskFormError: if it breaks rules.
        InputError: if it is no such form.
    """
    discard = None if values.get("discard") == _KEEP else values.get("discard")
    empty = {"labels": (), "rewrites": ()} if discard else {}
    annotation = read_annotation({**values, "discard": discard, **empty})
    example: Example = case.thing
    problems = check_annotation(example.premise, example.hypothesis, annotation, consolidated=True)
    if problems:
        raise DeskFormError([told(problem) for problem in problems])
    ticked = values.get("checklist") or ()
    points = tuple(name for name in _checklist("en") if name in ticked)
    return Consolidated(**annotation.payload(), checklist=points, decides=deciding)


def _consolidation_cases(reader: LogReader, run: str) -> list[Case[Consolidated]]:
    return [consolidation_case(result) for result in results(reader, run)]


def _consolidation_sections(reader: LogReader, run: str, rater: str) -> Iterator[Section]:
    """Yield how far examples are, and how far validators and linguists agree."""
    counts = flow(reader, run)
    titles = {
        "generated": "Given to linguists",
        "annotated": "Annotated by two",
        "dropped": "Discarded by a linguist",
        "due": "Due",
        "discuss": "In discussion",
        "discarded": "Discarded by validators",
        "validated": "In the dataset",
    }
    rows = [(title, asdict(counts)[name]) for name, title in titles.items()]
    progress = Table(("Stage", Column("Examples", 0)), rows)
    yield Section(
        name="progress", title="Progress", tables=(progress,), figures=(FlowDiagram(counts, run, "flow"),)
    )
    agreed, printed = agreement(reader, run), paper()["validators"]
    if agreed["raters"] is not None:
        names = {**_SETS, "identical": "Identical sets", "contains_all": "One set contains all others"}
        names["alpha"] = "Krippendorff’s α, MASI distance"
        paper_says = ", ".join(f"{label} {printed[label]:.2f}" for label in LABELS)
        remark = (
            "Examples that {raters} validators have seen and none has discarded: {rows}; left out: "
            "{discarded} that were discarded, {other} that another number have seen. In the paper, κ of 50 "
            "examples and four validators: {paper_says}."
        ).format(**agreed, paper_says=paper_says)
        for section in measures_section("Between validators", [(names[n], agreed[n]) for n in names]):
            yield replace(section, remarks=(*section.remarks, remark))
    linguists = linguist_measures(linguist_records(reader, [run]))
    names = {
        **{f"kappa_{label}": f"Fleiss’ κ, {label}" for label in LABELS},
        "kappa_sets": "Fleiss’ κ, whole sets",
        "kappa_several": "Fleiss’ κ, several labels or one",
        "identical": "Identical sets",
        "several": "Annotations with several labels",
    }
    yield from measures_section("Between linguists", [(names[name], linguists[name]) for name in names])


def _discarding(language: str) -> dict[str, tuple[str, str]]:
    return {reason: ("", when) for reason, when in load_guidelines(language).discard.items()}


def _checklist(language: str) -> dict[str, tuple[str, str]]:
    return {name: (text, "") for name, text in load_guidelines(language).checklist}


_COLOURS: Final = tuple(COLOURS[label] for label in SHOWN)
ANNOTATIONS: Final = Desk(
    name="consolidation",
    form=CONSOLIDATION,
    fields=(
        Field(name="labels", kind="choices", choices=SHOWN, words="labels", colours=_COLOURS),
        Field(
            name="rewrites",
            kind="entries",
            several="labels",
            most=MAX_REWRITES,
            fields=(
                Field(name="label", kind="choice", choices=SHOWN, words="labels", colours=_COLOURS),
                *(Field(name=side) for side in SIDES),
            ),
        ),
        Field(name="checklist", kind="choices", choices=tuple(_checklist("en")), names=_checklist),
        Field(name="comment"),
        Field(
            name="discard",
            kind="choice",
            choices=(_KEEP, *_discarding("en")),
            words="discard",
            names=_discarding,
        ),
    ),
    sets=lambda reader: runs_with(reader, "annotate"),
    cases=_consolidation_cases,
    outcome=outcome,
    read=read_consolidation,
    values=form_values,
    raters=1,
    most_raters=5,
    decides="discussion",
    tell=lambda problem, language: problem.text,
    agreement=_consolidation_sections,
    files={"consolidated.jsonl": export_dataset},
    command="askback run ambient --task annotate --model offline/gold",
)


# ---- claims


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
        rows = [(title, measures[name], printed[name]) for name, title in CLAIM_MEASURES.items()]
        remark = (
            f"{measures['n']} claims marked, {measures['ambiguous'].value} of them for ambiguity, "
            f"{measures['flagged'].value or 0} of them flagged; {measures['unmarked'].value} not marked yet."
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
