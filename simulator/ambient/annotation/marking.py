"""The desks where annotators sort ambiguous examples into kinds, and mark the complaints of fact-checks.

Sorting (spec 1.3): an annotator names one kind per ambiguity; if several kinds fit the same ambiguity, the
first in `labels.CATEGORIES` applies (`winner`). Two annotators sort each example, blind to each other; where
they differ, a further form decides.

Marking (spec 10): an annotator reads a claim's fact-check and marks what it criticizes, ambiguity or
factuality. Their own impression of the claim does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator

from logs import LogReader
from simulator import datasets
from simulator.ambient.annotation.consolidation import consolidated_examples, show_pair
from simulator.ambient.claims import AMBIGUITY, FACTUALITY, THRESHOLD, claim_measures, explanation, is_flagged
from simulator.ambient.data import BUILTIN, load_examples, load_guidelines
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import CATEGORY_ROWS, CategoryRecord, category_record
from simulator.ambient.intervals import Values as Measures
from simulator.ambient.items import BENCHMARK, AnnotateItem, ClaimItem, item_row
from simulator.ambient.labels import CATEGORIES, Category
from simulator.ambient.records import ClaimRecord
from simulator.ambient.reporting.measures import paper
from simulator.ambient.trial_log import claim_records, items_of, runs_with
from simulator.blocks import Block, Cell, Heading, Revision, Text, Translated, message
from simulator.blocks import Table as Rows
from simulator.desk_work import measures_section
from simulator.desks import Case, Desk, Values
from simulator.errors import InputError
from simulator.figures import Column, Table
from simulator.form_blocks import Choice, Field, When
from simulator.judging import DecidingForm, Form, JudgingForm, Opinions
from simulator.judging.agreement import alpha_measure, intervals, masi_distance, modal_subjects, set_measures
from simulator.reporting import Section, slug
from simulator.word_diff import word_diff

# ---- kinds of ambiguity

Kinds = tuple[Category, ...]
"""Distinct kinds, in order of priority."""
RUN_PREFIX: Final = "run:"
"""Prefix of a run's name, for the examples consolidated from its linguists' annotations."""


def _in_order(categories: Iterable[str]) -> Kinds:
    chosen = set(categories)
    return tuple(category for category in CATEGORIES if category in chosen)


class CategoryForm(DecidingForm):
    """An annotator's form on an example: a kind for each of its ambiguities, and a note."""

    categories: Annotated[Kinds, BeforeValidator(_in_order)]
    note: str = ""


SORTING: Final = JudgingForm(kind="ambient.category", model=CategoryForm, source="data", verb="sorts")
SortingCase = Case[CategoryForm]
"""An ambiguous example (its `thing`) with the annotators' forms."""


def winner(fitting: Iterable[Category]) -> Category:
    """Return the kind that applies to an ambiguity that several kinds fit.

    Raises:
        InputError: if `fitting` is empty.
    """
    if not (kinds := _in_order(fitting)):
        raise InputError("Choose a kind of ambiguity; if none fits, choose other.", code="kindless")
    return kinds[0]


def read_kinds(case: SortingCase, values: Values, decides: bool = False) -> CategoryForm:
    """Return an annotator's form; kinds that fit the same ambiguity are reduced to one (`winner`)."""
    kinds = _in_order(values.get("categories") or ())
    first = winner(kinds)
    single = values.get("several") == "one"
    return CategoryForm(
        categories=(first,) if single else kinds, note=values.get("note") or "", decides=decides
    )


def sorting_cases(reader: LogReader, examples: Iterable[Example], data: str) -> list[SortingCase]:
    """Return the desk's case for every ambiguous example of a data set, in order.

    Forms are found by the example's content: those on an earlier version of it are not included.
    """
    opinions, cases = SORTING.read(reader, data), list[SortingCase]()
    for example in examples:
        if example.ambiguous:
            # Fields outside the annotated pair may change without its forms being lost.
            bare = replace(example, split="", categories=(), distractors={}, meta=None)
            item = item_row(AnnotateItem(id=example.id, example=bare))
            cases.append(
                Case(
                    key=item.hash,
                    name=example.id,
                    title=f"{example.premise} / {example.hypothesis}",
                    show=partial(_show_example, example),
                    opinions=opinions.get(item.hash, Opinions()),
                    item=item,
                    thing=example,
                )
            )
    return cases


def _show_example(example: Example) -> Iterator[Block]:
    yield from show_pair(example)
    yield Heading(message("desks.readings"))
    for rewrite in example.disambiguations:
        for side in example.sides:
            pieces = word_diff(example.sentence(side), rewrite.sentence(side))
            yield Revision(message(f"desks.labels.{rewrite.label}"), pieces)


def _kinds(form: CategoryForm) -> Kinds:
    return form.categories


def settled_kinds(case: SortingCase) -> Kinds | None:
    """Return the kinds decided or agreed on by all annotators; None if there are none yet."""
    form = case.opinions.settled(_kinds)
    return form.categories if form else None


def category_agreement(examples: Sequence[SortingCase]) -> Measures:
    """Return the agreement of annotators, over the examples sorted by the most common number of them.

    Fleiss' kappa for each kind (named or not), the share of examples with ``identical`` kinds from all
    annotators, and Krippendorff's ``alpha`` with MASI distance, over all examples sorted by two or more.
    ``raters``: the most common number of annotators (None if no example has two); ``examples``: examples
    sorted by that many; ``other``: examples sorted by another number, at least one.
    """
    cases = [case.opinions.blind.values() for case in examples]
    units = [[frozenset(form.categories) for form in forms] for forms in cases if forms]
    usual = [units[place] for place in modal_subjects(units)]
    return {
        **intervals({**set_measures(usual, CATEGORIES), "alpha": alpha_measure(units, masi_distance)}),
        "raters": len(usual[0]) if usual else None,
        "examples": len(usual),
        "other": len(units) - len(usual),
    }


def category_records(examples: Sequence[SortingCase]) -> tuple[CategoryRecord, ...]:
    """Return the settled examples as rows of the published format, with suffixed ids (spec 1.3)."""
    return tuple(
        category_record(case.thing, name if name.endswith(("_c", "_g")) else f"{name}_g", kinds)
        for case in examples
        if (kinds := settled_kinds(case)) and (name := case.name)
    )


def export_categories(examples: Sequence[SortingCase], path: str | Path) -> int:
    """Write the settled examples in the published format and return their number.

    Raises:
        InputError: if there are none or the file cannot be written.
    """
    records = category_records(examples)
    if not records:
        raise InputError("No example has been sorted yet, so there is nothing to write.")
    CATEGORY_ROWS.write(path, records)
    return len(records)


def _cases(reader: LogReader, data: str) -> list[SortingCase]:
    run = data.removeprefix(RUN_PREFIX)
    examples = load_examples(data) if run == data else consolidated_examples(reader, run)
    return sorting_cases(reader, examples, data)


def _kinds_sections(reader: LogReader, data: str, rater: str) -> tuple[Section, ...]:
    """Return the agreement of annotators on kinds, and the frequency of each settled kind."""
    cases, printed = _cases(reader, data), paper()["categories"]["shares"]
    agreement = category_agreement(cases)
    counts = {kind: sum(kind in (settled_kinds(case) or ()) for case in cases) for kind in CATEGORIES}
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
        *measures_section("Agreement", [(title, agreement[name]) for name, title in names.items()]),
        Section(name="shares", title="Kinds", tables=(shares,)),
    )


def _kind_choices() -> Iterator[Choice]:
    guides = [load_guidelines(language).categories for language in ("en", "zh")]
    for kind in CATEGORIES:
        words = [guide[kind] for guide in guides]
        note = Translated(*(f"{each.definition} {each.example}" for each in words))
        yield Choice(kind, Translated(*(each.name for each in words)), note=note)


def _data_sets(reader: LogReader) -> tuple[str, ...]:
    registered = (data.name for data in datasets.list_all() if data.benchmark == BENCHMARK)
    return BUILTIN, *registered, *(f"{RUN_PREFIX}{run}" for run in runs_with(reader, "annotate"))


KINDS: Final = Desk(
    name="kinds",
    form=SORTING,
    fields=(
        Field("categories", "choices", choices=[*_kind_choices()]),
        Field("several", "choice", choices=(Choice("more"), Choice("one")), when=When("categories", least=2)),
        Field("note"),
    ),
    sets=_data_sets,
    cases=_cases,
    outcome=_kinds,
    read=read_kinds,
    decides="discussion",
    agreement=_kinds_sections,
    files={"categories.jsonl": lambda reader, data, path: export_categories(_cases(reader, data), path)},
)


# ---- complaints of fact-checks

MARKS: Final = (AMBIGUITY, FACTUALITY)
CLAIM_MEASURES: Final = {"precision": "Precision for ambiguity, %", "recall": "Recall of ambiguity, %"}


class Mark(Form):
    """The complaints of a claim's fact-check (``a``, ``f`` or both), and a note."""

    marks: tuple[str, ...]
    note: str


MARKING: Final = JudgingForm(kind="ambient.claim", model=Mark, verb="marks")
MarkedClaim = Case[Mark]
"""A claim of a run; its `thing` is a `ClaimRecord`."""


def marked_claims(reader: LogReader, run_id: str) -> list[MarkedClaim]:
    """Return the paraphrased and scored claims of a run: the flagged first, by decreasing score.

    Raises:
        InputError: if the run is of another benchmark or has no claims.
        NotInLog: if there is no such run.
    """
    opinions = MARKING.read(reader, run_id)
    newest = {record.id: record for record in claim_records(reader, [run_id], aborted=False)}
    items = items_of(reader, run_id)
    keys = {item.id: key for key, item in items.items() if isinstance(item, ClaimItem)}
    if not keys:
        raise InputError(f"{run_id} has no claims: run the task claim first.", code="no_claims", run=run_id)
    claims = [
        Case(
            key=key,
            name=key,
            title=record.cleaned,
            show=partial(_show, record),
            opinions=Opinions(opinions.get(key, Opinions()).blind),
            thing=record,
        )
        for id, key in keys.items()
        if (record := newest.get(id))
    ]
    return sorted(claims, key=_rank)


def _rank(claim: MarkedClaim) -> tuple[bool, float]:
    paraphrase = explanation(claim.thing)
    return paraphrase is None, -(paraphrase.score if paraphrase else 0.0)


def read_marks(case: MarkedClaim, values: Values, decides: bool = False) -> Mark:
    """Return an annotator's form on a claim.

    Raises:
        InputError: if nothing is marked.
    """
    chosen = values.get("marks") or ()
    if not chosen:
        message = "Mark what the fact-check complains about: a (ambiguity), f (factuality), or both."
        raise InputError(message, code="markless")
    return Mark(marks=tuple(mark for mark in MARKS if mark in chosen), note=values.get("note") or "")


def records_marked_by(claims: Sequence[MarkedClaim], annotator: str) -> tuple[ClaimRecord, ...]:
    """Return the claims with one annotator's marks instead of the data's, for `claims.claim_measures`."""
    forms = ((claim.thing, claim.opinions.blind.get(annotator)) for claim in claims)
    return tuple(
        replace(record, marks=frozenset(mark.marks) if mark else None, notes=mark.note if mark else "")
        for record, mark in forms
    )


def _show(record: ClaimRecord) -> Iterator[Block]:
    why = explanation(record)
    yield Heading(message("desks.claims.flagged" if is_flagged(record) else "desks.claims.not_flagged"))
    yield Text(record.cleaned)
    yield Text(" · ".join(filter(None, (record.person, record.venue))), look="muted")
    if record.cleaned != record.claim:
        yield Text(message("desks.claims.as_said", words=record.claim), look="muted")
    for paraphrase in sorted(record.paraphrases, key=lambda paraphrase: -paraphrase.score):
        yield Heading(message("desks.claims.why" if paraphrase is why else "desks.claims.paraphrase"))
        yield Text(paraphrase.text)
        if paraphrase.probabilities:
            rows = [
                (
                    message(f"desks.labels.{label}"),
                    Cell(f"{share:.3f}", "strong" if share > THRESHOLD else ""),
                )
                for label, share in paraphrase.probabilities.items()
            ]
            above = message("desks.claims.probability", threshold=f"{THRESHOLD:.3f}")
            yield Rows(rows, (message("desks.claims.label"), above))
    yield Heading(message("desks.claims.factcheck"))
    yield Text("\n\n".join(filter(None, (record.rating, record.justification, record.url))) or "–")


def _marks_sections(reader: LogReader, run: str, rater: str) -> Iterator[Section]:
    """Yield, per annotator, precision and recall of the flags against their marks."""
    claims, printed = marked_claims(reader, run), paper()["claims"]
    for annotator in dict.fromkeys(name for claim in claims for name in claim.opinions.blind):
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
    fields=(Field("marks", "choices", choices=[*map(Choice, MARKS)]), Field("note")),
    sets=lambda reader: runs_with(reader, "claim"),
    cases=marked_claims,
    outcome=lambda form: form.marks,
    read=read_marks,
    raters=None,
    decides=None,
    own_order=False,
    agreement=_marks_sections,
    command="askback run ambient --task claim --model local/MODEL --nli FOLDER",
)
