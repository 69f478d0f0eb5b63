"""The desk of a third person, who makes one pair of what annotators left of a draft (`simulator.desks`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from logs import LogReader
from simulator import desks
from simulator.ambik.annotation.agreement import FIELDS, agreement_table, compared, pair_agreement
from simulator.ambik.annotation.desk import (
    DECIDING,
    Case,
    Decision,
    PairProblems,
    cases,
    export_cases,
    field_text,
    flow,
)
from simulator.ambik.annotation.form import ORDER, check_fields, check_pair_form, errors_of
from simulator.ambik.annotation.page import sentence_of
from simulator.ambik.forms import form_record, read_pair_form
from simulator.ambik.items import BENCHMARK, Draft
from simulator.ambik.records import PairForm
from simulator.ambik.trial_log import forms
from simulator.blocks import Block, Card, Facts, Heading, Revision, Text, Words, message
from simulator.desk_forms import Field, Offer, Values
from simulator.desks import Desk
from simulator.errors import InputError
from simulator.figures import Table
from simulator.reporting import Section
from simulator.word_diff import Piece, word_diff

TEXTS: Final = tuple(name for name in FIELDS if name != "type")
"""Fields that are written; the type is chosen."""
_ROWS: Final[Mapping[str, int]] = {
    **{"clear": 3, "objects": 3, "scene": 3, "indirect": 3, "ambiguous": 3, "variants": 3},
    **{"clear_plan": 5, "ambiguous_plan": 5, "step": 1, "shortlist": 1, "intent": 1},
}
_ASIDE: Final = ("passed_over", "comment", "delete")
_YES: Final = ["yes"]


def form_values(form: PairForm) -> dict[str, Any]:
    """Return a form as the desk has it; steps are counted from 1 there."""
    record = form_record(form)
    values: dict[str, Any] = {name: record.get(name, "") for name in _ASIDE}
    if form.pair is None:
        return values
    texts = {name: field_text(form.pair, name) for name in TEXTS}
    return values | texts | {"type": form.pair.type, "one_ambiguity": _YES if form.one_ambiguity else []}


def read_form(case: desks.Case[PairForm], values: Values, deciding: bool) -> Decision:
    """Return the decision that a form of the desk makes.

    Raises:
        PairProblems: if it breaks rules; warnings pass.
        SeatError: if it is no such form.
    """
    draft: Draft = case.thing
    move = {name: str(values.get(name) or "") for name in (*TEXTS, *_ASIDE)}
    step = move.pop("step").strip()
    fields = {
        **move,
        "type": values.get("type"),
        "step": int(step) - 1 if step.isdecimal() and int(step) > 0 else None,
        "one_ambiguity": bool(values.get("one_ambiguity")),
    }
    if errors := errors_of(check_fields(draft, fields)):
        raise PairProblems(errors)
    return Decision(**form_record(read_pair_form(draft, fields)))


def desk_case(each: Case) -> desks.Case[PairForm]:
    """Return a draft as the desk has it."""
    kept = [form_values(form) for form in each.forms if form.pair is not None]
    proposed = form_values(each.decided) if each.decided else dict(kept[0]) if kept else {}
    if each.decided is None:
        proposed |= {"comment": "", "one_ambiguity": []}
    return desks.Case(
        key=each.key,
        name=each.key,
        title=each.draft.id,
        show=partial(_show, each),
        opinions=each.opinions,
        ready=each.state != "open",
        thing=each.draft,
        proposed=proposed,
        offers=list(map(Offer, kept)),
    )


def _show(case: Case) -> Iterator[Block]:
    """Yield what differs in annotators' forms, field by field, then the rest; never who they are."""
    draft = case.draft
    yield Heading(draft.id)
    yield Card(message("desks.pairs.proposed"), [_proposed(draft)], folded=True)
    kept = [(number, form.pair) for number, form in enumerate(case.forms, 1) if form.pair is not None]
    for number, form in enumerate(case.forms, 1):
        if form.pair is None:
            yield Text(message("desks.pairs.deleted", k=number, why=form.delete))
    for name in (name for name in FIELDS if name in case.differs):
        yield Heading(message(f"field.{name}"))
        first = kept[0][1]
        for number, pair in kept:
            same = compared(pair, name) == compared(first, name)
            text = field_text(pair, name)
            words = (Piece(text, "same"),) if same else word_diff(field_text(first, name), text)
            yield Revision(str(number), words)
    if kept:
        rows = [(_label(name), field_text(kept[0][1], name)) for name in FIELDS if name not in case.differs]
        yield Card(message("desks.pairs.same"), [Facts(rows, "en")], folded=True)
    for number, form in enumerate(case.forms, 1):
        said = [(_label("passed_over"), form.passed_over), (_label("comment"), form.comment)]
        rows = [(name, text) for name, text in said if text]
        rows += [(_label(each.field), each.sentence()) for each in check_pair_form(draft, form)]
        if rows:
            yield Card(message("desks.pairs.said", k=number), [Facts(rows, "en")])


def _label(name: str) -> Words:
    return message(f"field.{name}")


def _proposed(draft: Draft) -> Facts:
    rows: list[tuple[Words, Words]] = [
        (_label(name), text) for name in ("scene", "clear", "indirect") if (text := str(getattr(draft, name)))
    ]
    for kind in (kind for kind in ORDER if kind in draft.candidates):
        candidate = draft.candidates[kind]
        texts = filter(None, (candidate.task, candidate.question, candidate.answer))
        rows.append((message(f"type.{kind}"), "\n".join(texts)))
    return Facts(rows, "en")


def outcome(form: PairForm) -> Hashable:
    """Return what annotators may differ in: every field; None for a row that is deleted."""
    return None if form.pair is None else tuple(compared(form.pair, name) for name in FIELDS)


def _runs(reader: LogReader) -> list[str]:
    """Return the runs with drafts, newest first."""
    runs: list[str] = []
    for run in reversed(reader.runs()):
        if run.benchmark == BENCHMARK and reader.items(run.id):
            try:
                cases(reader, run.id)
            except InputError:
                continue
            runs.append(run.id)
    return runs


def _sections(reader: LogReader, run: str, rater: str) -> tuple[Section, ...]:
    """Return how far drafts are, and how far annotators agree, field by field."""
    counts, measures = flow(reader, run), pair_agreement(forms(reader, [run]))
    titles = {
        "drafts": "Drafts",
        "annotated": "Annotated by two",
        "due": "To be decided",
        "agreed": "The same twice",
        "consolidated": "Decided",
        "deleted": "Deleted",
    }
    progress = Table(tuple(titles.values()), [tuple(map(counts.__getitem__, titles))])
    remark = (
        f"{measures.annotators} annotators, {measures.forms} forms; drafts with one annotator alone, left "
        f"out: {measures.single}; earlier forms replaced: {measures.replaced}. Intervals are over drafts."
    )
    return (
        Section(name="progress", title="Progress", tables=(progress,)),
        Section(name="agreement", title="Agreement", tables=(agreement_table(measures),), remarks=(remark,)),
    )


PAIRS: Final = Desk(
    name="pairs",
    form=DECIDING,
    fields=(
        Field(name="type", kind="choice", choices=ORDER, words="type"),
        *(Field(name=name, rows=_ROWS.get(name, 2)) for name in TEXTS),
        Field(name="one_ambiguity", kind="choices", choices=("yes",)),
        *(Field(name=name, rows=1) for name in _ASIDE),
    ),
    sets=_runs,
    cases=lambda reader, run: [*map(desk_case, cases(reader, run))],
    outcome=outcome,
    read=read_form,
    values=form_values,
    elsewhere=True,
    tell=sentence_of,
    agreement=_sections,
    files={"pairs.csv": lambda reader, run, path: export_cases(path, cases(reader, run))},
    command="askback run ambik --task annotate",
)
