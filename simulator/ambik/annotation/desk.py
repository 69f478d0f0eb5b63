"""The desk of a third person, who makes one pair from annotators' forms on a draft (spec 11).

A draft needs two annotators. If their forms agree in every field, that is the pair; if all deleted the draft,
it is deleted; if they differ, a person who did not annotate it decides with a form of their own. The latest
such form wins, and it may also correct a pair on which annotators agree.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict
from pydantic import Field as ModelField

from logs import LogReader
from simulator.ambik.annotation.agreement import (
    FIELDS,
    agreement_table,
    all_values,
    differing_fields,
    field_value,
    pair_agreement,
)
from simulator.ambik.annotation.form import ORDER, check_fields, check_pair_form, errors_of
from simulator.ambik.annotation.page import sentence_of
from simulator.ambik.files.pairs import export_pairs
from simulator.ambik.forms import field_text, form_record, read_pair_form
from simulator.ambik.items import BENCHMARK, Draft, DraftItem, Pair, item_from_row
from simulator.ambik.records import PairForm
from simulator.ambik.trial_log import forms, forms_of, played_of
from simulator.blocks import Block, Card, Facts, Heading, Revision, Text, Words, message
from simulator.desks import Case, Desk, Offer, Values
from simulator.errors import InputError
from simulator.figures import Table
from simulator.form_blocks import Choice, Field
from simulator.judging import DecidingForm, DeskFormError, JudgingForm, Opinions
from simulator.reporting import Section
from simulator.runner.logged import PlayedItem, required_run
from simulator.word_diff import Piece, word_diff

NEEDED: Final = 2
"""Number of annotators that a draft needs before it can be decided."""
State = Literal["open", "due", "agreed", "consolidated", "deleted"]
"""Too few annotators; they differ; they agree; decided by a third person; deleted by all or at the desk."""
KEPT: Final = "kept"
"""The difference reported if some annotators deleted the row and others kept it."""
TEXTS: Final = tuple(name for name in FIELDS if name != "type")
"""The text fields: all but the type."""
_ROWS: Final[Mapping[str, int]] = {
    **{"clear": 3, "objects": 3, "scene": 3, "indirect": 3, "ambiguous": 3, "variants": 3},
    **{"clear_plan": 5, "ambiguous_plan": 5, "step": 1, "shortlist": 1, "intent": 1},
}
_NOTES: Final = ("passed_over", "comment", "delete")
_YES: Final = ["yes"]


class Decision(DecidingForm):
    """A third person's form as logged: the fields of `forms.read_pair_form`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    decides: bool = ModelField(default=True, exclude=True)


DECIDING: Final = JudgingForm(kind="ambik.pair", model=Decision, verb="decides")


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftCase(Case[PairForm]):
    """A draft at the desk, with the forms of its annotators, oldest first, and of the third person."""

    @property
    def forms(self) -> tuple[PairForm, ...]:
        """The annotators' forms, oldest first and without their names."""
        return tuple(replace(form, annotator="") for form in self.opinions.blind.values())

    @property
    def kept(self) -> tuple[Pair, ...]:
        """The pairs of the annotators who kept the draft."""
        return tuple(form.pair for form in self.forms if form.pair is not None)

    @property
    def differs(self) -> tuple[str, ...]:
        """The fields in which annotators differ, with `KEPT` first if only some deleted the row."""
        some_deleted = 0 < len(self.kept) < len(self.opinions.blind)
        return (*((KEPT,) if some_deleted else ()), *differing_fields(self.kept))

    @property
    def state(self) -> State:
        """The draft's state."""
        if (decided := self.opinions.decided) is not None:
            return "deleted" if decided.pair is None else "consolidated"
        if not self.ready:
            return "open"
        if not self.kept:
            return "deleted"
        return "due" if self.differs else "agreed"

    @property
    def pair(self) -> Pair | None:
        """The resulting pair; None while undecided or if the draft was deleted."""
        if (decided := self.opinions.decided) is not None:
            return decided.pair
        return self.kept[0] if self.state == "agreed" else None


def cases(reader: LogReader, run_id: str) -> tuple[DraftCase, ...]:
    """Return every draft of a run, in the order in which they were first assigned.

    Raises:
        InputError: if the run has no drafts.
        NotInLog: if there is no such run.
    """
    required_run(reader, run_id, BENCHMARK)
    drafts = _drafts(reader, run_id)
    if not drafts:
        message = f"{run_id} has no drafts for annotators."
        raise InputError(message, code="no_drafts", run=run_id)
    played: defaultdict[str, list[PlayedItem]] = defaultdict(list)
    for episode in played_of(reader, [run_id]):
        played[episode.episode.item_hash].append(episode)
    decisions = DECIDING.read(reader, run_id)
    return tuple(_case(key, draft, played[key], decisions.get(key)) for key, draft in drafts.items())


def _drafts(reader: LogReader, run_id: str) -> dict[str, Draft]:
    items = ((row.hash, item_from_row(row)) for row in reader.items(run_id))
    return {key: item.draft for key, item in items if isinstance(item, DraftItem)}


def _case(
    key: str, draft: Draft, played: Sequence[PlayedItem], decision: Opinions[Decision] | None
) -> DraftCase:
    # An annotator's last form counts.
    opinions = Opinions({form.annotator: form for form in forms_of(played)})
    kept = [form_values(form) for form in opinions.blind.values() if form.pair is not None]
    proposed = {**(kept[0] if kept else {}), "comment": "", "one_ambiguity": []}
    if decision is not None and decision.decided is not None:
        decided = read_pair_form(draft, decision.decided.model_extra or {}, annotator=decision.decider)
        opinions, proposed = (
            replace(opinions, decided=decided, decider=decision.decider),
            form_values(decided),
        )
    return DraftCase(
        key=key,
        name=key,
        title=draft.id,
        show=partial(_show, draft, tuple(opinions.blind.values())),
        opinions=opinions,
        ready=opinions.decided is not None or len(opinions.blind) >= NEEDED,
        thing=draft,
        proposed=proposed,
        offers=list(map(Offer, kept)),
    )


def flow(reader: LogReader, run_id: str) -> dict[str, int]:
    """Return the number of drafts, of those ``annotated`` by two, and of the latter by state."""
    states = Counter(each.state for each in cases(reader, run_id))
    drafts = states.total()
    counts = {name: states[name] for name in ("due", "agreed", "consolidated", "deleted")}
    return {"drafts": drafts, "annotated": drafts - states["open"], **counts}


def form_values(form: PairForm) -> dict[str, Any]:
    """Return a form's values at the desk, where steps count from 1."""
    record = form_record(form)
    values: dict[str, Any] = {name: record.get(name, "") for name in _NOTES}
    if form.pair is None:
        return values
    texts = {name: field_text(form.pair, name) for name in TEXTS}
    return values | texts | {"type": form.pair.type, "one_ambiguity": _YES if form.one_ambiguity else []}


def read_form(case: Case[PairForm], values: Values, deciding: bool) -> Decision:
    """Return the decision in a form of the desk.

    Raises:
        DeskFormError: if the form breaks rules; warnings are allowed.
        SeatError: if it is not such a form.
    """
    draft: Draft = case.thing
    move = {name: str(values.get(name) or "") for name in (*TEXTS, *_NOTES)}
    step = move.pop("step").strip()
    fields = {
        **move,
        "type": values.get("type"),
        "step": int(step) - 1 if step.isdecimal() and int(step) > 0 else None,
        "one_ambiguity": bool(values.get("one_ambiguity")),
    }
    if errors := errors_of(check_fields(draft, fields)):
        raise DeskFormError(errors)
    return Decision(**form_record(read_pair_form(draft, fields)))


def _show(draft: Draft, forms: Sequence[PairForm]) -> Iterator[Block]:
    """Yield the differences of annotators' forms, field by field, then the rest, all without names."""
    yield Heading(draft.id)
    yield Card(message("desks.pairs.proposed"), [_proposal_facts(draft)], folded=True)
    kept = [(number, form.pair) for number, form in enumerate(forms, 1) if form.pair is not None]
    differs = differing_fields([pair for _, pair in kept])
    for number, form in enumerate(forms, 1):
        if form.pair is None:
            yield Text(message("desks.pairs.deleted", k=number, why=form.delete))
    for name in (name for name in FIELDS if name in differs):
        yield Heading(message(f"field.{name}"))
        first = kept[0][1]
        for number, pair in kept:
            same = field_value(pair, name) == field_value(first, name)
            text = field_text(pair, name)
            words = (Piece(text, "same"),) if same else word_diff(field_text(first, name), text)
            yield Revision(str(number), words)
    if kept:
        rows = [(_label(name), field_text(kept[0][1], name)) for name in FIELDS if name not in differs]
        yield Card(message("desks.pairs.same"), [Facts(rows, "en")], folded=True)
    for number, form in enumerate(forms, 1):
        notes = [(_label("passed_over"), form.passed_over), (_label("comment"), form.comment)]
        rows = [(name, text) for name, text in notes if text]
        rows += [(_label(each.field), each.sentence()) for each in check_pair_form(draft, form)]
        if rows:
            yield Card(message("desks.pairs.said", k=number), [Facts(rows, "en")])


def _label(name: str) -> Words:
    return message(f"field.{name}")


def _proposal_facts(draft: Draft) -> Facts:
    rows: list[tuple[Words, Words]] = [
        (_label(name), text) for name in ("scene", "clear", "indirect") if (text := str(getattr(draft, name)))
    ]
    for kind in (kind for kind in ORDER if kind in draft.candidates):
        candidate = draft.candidates[kind]
        texts = filter(None, (candidate.task, candidate.question, candidate.answer))
        rows.append((message(f"type.{kind}"), "\n".join(texts)))
    return Facts(rows, "en")


def outcome(form: PairForm) -> Hashable:
    """Return the values in which annotators may differ: all fields; None for a deleted row."""
    return None if form.pair is None else all_values(form.pair)


def _runs(reader: LogReader) -> list[str]:
    """Return the runs with drafts, newest first."""
    runs = reversed(reader.runs())
    return [run.id for run in runs if run.benchmark == BENCHMARK and _drafts(reader, run.id)]


def _sections(reader: LogReader, run: str, rater: str) -> tuple[Section, ...]:
    """Return the progress of drafts, and the annotators' agreement by field."""
    counts, measures = flow(reader, run), pair_agreement(forms(reader, [run]))
    titles = {
        "drafts": "Drafts",
        "annotated": "Annotated by two",
        "due": "To decide",
        "agreed": "In agreement",
        "consolidated": "Decided",
        "deleted": "Deleted",
    }
    progress = Table(tuple(titles.values()), [tuple(map(counts.__getitem__, titles))])
    remark = (
        "{annotators} annotators, {forms} forms; drafts left out with only one annotator: {single}; earlier "
        "forms replaced: {replaced}. Intervals are over drafts."
    ).format(**measures)
    return (
        Section(name="progress", title="Progress", tables=(progress,)),
        Section(name="agreement", title="Agreement", tables=(agreement_table(measures),), remarks=(remark,)),
    )


def export_run(reader: LogReader, run: str, path: str | Path) -> tuple[Pair, ...]:
    """Write and return the pairs of a run; pairs that no third person decided must not break rules.

    Raises:
        InputError: if there is no pair yet, or the file cannot be written.
    """
    pairs = [
        case.pair
        for case in cases(reader, run)
        if case.pair and (case.opinions.decided or not errors_of(check_pair_form(case.thing, case.forms[0])))
    ]
    if not pairs:
        raise InputError(f"{path}: there are no finished pairs yet, so there is nothing to write.")
    return export_pairs(path, pairs)


PAIRS: Final = Desk(
    name="pairs",
    form=DECIDING,
    fields=(
        Field("type", "choice", choices=[Choice(kind, message(f"type.{kind}")) for kind in ORDER]),
        *(Field(name, rows=_ROWS.get(name, 2)) for name in TEXTS),
        Field("one_ambiguity", "choices", choices=(Choice("yes"),)),
        *(Field(name, rows=1) for name in _NOTES),
    ),
    sets=_runs,
    cases=cases,
    outcome=outcome,
    read=read_form,
    values=form_values,
    from_run=True,
    describe_problem=sentence_of,
    agreement=_sections,
    files={"pairs.csv": export_run},
    command="askback run ambik --task annotate",
)
