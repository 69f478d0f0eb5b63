"""The desk of a third person, who makes one pair of what annotators left of a draft (spec 11).

A draft needs two annotators. Where they left the same in every field, that is the pair; where all deleted it,
it is deleted; where they differ, somebody who annotated neither decides, with one form more. The newest such
form holds, whoever's it is; it may also correct a pair that annotators agree on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field

from logs import LogReader
from logs.rows import Judgment
from simulator.ambik.annotation.agreement import differing
from simulator.ambik.annotation.form import Problem, check_pair_form, errors_of
from simulator.ambik.forms import form_record, read_pair_form
from simulator.ambik.items import DraftItem
from simulator.ambik.pairs import Draft, Pair
from simulator.ambik.records import PairForm
from simulator.ambik.rows import BENCHMARK, item_from_row
from simulator.ambik.trial_log import Played, forms_of, played_of
from simulator.errors import InputError
from simulator.judging import DecidingForm, DeskFormError, JudgingForm, Opinions, in_own_order
from simulator.runner.logged import required_run
from simulator.word_diff import Piece, word_diff

NEEDED: Final = 2
"""Annotators that a draft needs before anybody decides on it."""
State = Literal["open", "due", "agreed", "consolidated", "deleted"]
"""Too few annotators; they differ; they left the same; a third person's; deleted by all or at the desk."""
KEPT: Final = "kept"
"""Named among what annotators differ in where one deleted the row and another did not."""


class PairProblems(DeskFormError[Problem]):
    """A third person's form breaks rules; nothing is written."""


class Decision(DecidingForm):
    """A third person's form, as the log has it: the fields of `forms.read_pair_form`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    decides: bool = Field(default=True, exclude=True)


DECIDING: Final = JudgingForm(kind="ambik.pair", model=Decision, verb="decides")


@dataclass(frozen=True, slots=True)
class Voice:
    """What one annotator left, without who that is.

    Attributes:
        form: its annotator is empty.
        problems: of the form; warnings among them.
        differences: by field in which it is not as the first voice that kept the row: the words of both.
    """

    form: PairForm
    problems: tuple[Problem, ...] = ()
    differences: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A draft at the desk.

    Attributes:
        key: of its item; names it in `consolidate`.
        opinions: of the annotators, the oldest first, and the third person's newest form.
    """

    key: str
    draft: Draft
    opinions: Opinions[PairForm]

    @property
    def kept(self) -> tuple[Pair, ...]:
        """Return what is left of the draft in the forms of those who kept it."""
        return tuple(form.pair for form in self.opinions.blind.values() if form.pair is not None)

    @property
    def differs(self) -> tuple[str, ...]:
        """Fields that annotators did not leave the same, `KEPT` first if only some deleted the row."""
        some_deleted = 0 < len(self.kept) < len(self.opinions.blind)
        return (*((KEPT,) if some_deleted else ()), *differing(self.kept))

    @property
    def decided(self) -> PairForm | None:
        """The third person's newest form, with their name; None before there is one."""
        return self.opinions.decided

    @property
    def state(self) -> State:
        """Return the state that the draft is in."""
        if self.decided is not None:
            return "deleted" if self.decided.pair is None else "consolidated"
        if len(self.opinions.blind) < NEEDED:
            return "open"
        if not self.kept:
            return "deleted"
        return "due" if self.differs else "agreed"

    @property
    def pair(self) -> Pair | None:
        """The pair that holds; None while there is none, or if it was deleted."""
        if self.state not in ("agreed", "consolidated"):
            return None
        return self.decided.pair if self.decided else self.kept[0]

    @property
    def voices(self) -> tuple[Voice, ...]:
        """Return the notes that annotators left, the oldest first."""
        return tuple(map(self._voice, self.opinions.blind.values()))

    def _voice(self, form: PairForm) -> Voice:
        differences: dict[str, tuple[Piece, ...]] = {}
        if form.pair is not None:
            first = self.kept[0]
            for name in differing([first, form.pair]):
                differences[name] = word_diff(field_text(first, name), field_text(form.pair, name))
        return Voice(replace(form, annotator=""), check_pair_form(self.draft, form), differences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """How many drafts came how far.

    Attributes:
        drafts: that annotators were given.
        annotated: of them, by as many as are needed.
        due: of the annotated, to be decided by a third person.
        agreed: on which annotators left the same.
        consolidated: decided by a third person.
        deleted: by all annotators, or by a third person.
    """

    drafts: int
    annotated: int
    due: int
    agreed: int
    consolidated: int
    deleted: int


def cases(reader: LogReader, run_id: str) -> tuple[Case, ...]:
    """Return every draft of a run, in the order in which drafts were first given to somebody.

    Raises:
        InputError: if the run has no drafts.
        NotInLog: if there is no such run.
    """
    required_run(reader, run_id, BENCHMARK)
    items = ((row.hash, item_from_row(row)) for row in reader.items(run_id))
    drafts = {key: item.draft for key, item in items if isinstance(item, DraftItem)}
    if not drafts:
        message = f"{run_id} has no drafts that annotators make pairs of."
        raise InputError(message, code="no_drafts", run=run_id)
    played: defaultdict[str, list[Played]] = defaultdict(list)
    for episode in played_of(reader, [run_id]):
        played[episode.episode.item_hash].append(episode)
    decisions = DECIDING.read(reader, run_id)
    return tuple(_case(key, draft, played[key], decisions.get(key)) for key, draft in drafts.items())


def _case(key: str, draft: Draft, played: Sequence[Played], decision: Opinions[Decision] | None) -> Case:
    # Of several forms of one annotator the last counts.
    forms = {form.annotator: form for form in forms_of(played)}
    if decision is None or decision.decided is None:
        return Case(key=key, draft=draft, opinions=Opinions(forms))
    decided = read_pair_form(draft, decision.decided.model_extra or {}, annotator=decision.decider)
    return Case(key=key, draft=draft, opinions=Opinions(forms, decided, decision.decider))


def case(reader: LogReader, run_id: str, key: str) -> Case:
    """Return one draft.

    Raises:
        InputError: if there is none of that key.
    """
    shown = next((each for each in cases(reader, run_id) if each.key == key), None)
    if shown is None:
        message = f"There is no draft {key!r} in {run_id}."
        raise InputError(message, code="no_draft", draft=key, run=run_id)
    return shown


def to_consolidate(reader: LogReader, run_id: str, person: str) -> tuple[Case, ...]:
    """Return the drafts that a third person is to decide on, in an order of their own.

    Left out is what they annotated themselves.

    Args:
        reader: of the log.
        run_id: of annotators.
        person: the third person's pseudonym.

    Raises:
        InputError: if the run has no drafts.
    """
    due = [
        each for each in cases(reader, run_id) if each.state == "due" and person not in each.opinions.blind
    ]
    return in_own_order(due, DECIDING.kind, person, lambda each: each.key)


def consolidate(
    reader: LogReader, run_id: str, key: str, person: str, move: Mapping[str, Any], *, submission: str
) -> Judgment:
    """Return the row that a third person's form makes; nothing is written here.

    Args:
        reader: of the log.
        run_id: of annotators.
        key: of the draft.
        person: the third person's pseudonym.
        move: the form's fields (`forms.read_pair_form`).
        submission: the same is the same form, however often it is sent.

    Raises:
        PairProblems: if the form breaks rules; warnings pass.
        InputError: if the draft cannot be decided on, or this person annotated it.
        SeatError: if it is no such form.
    """
    DECIDING.require_name(person)
    there = case(reader, run_id, key)
    name = there.draft.id
    if there.state == "open":
        message = f"Draft {name} has too few annotators to be decided on."
        raise InputError(message, code="too_few_forms", draft=name)
    if person in there.opinions.blind:
        message = f"{person} annotated draft {name}; somebody else is to decide."
        raise InputError(message, code="own_draft", person=person, draft=name)
    form = read_pair_form(there.draft, move, annotator=person)
    if errors := errors_of(check_pair_form(there.draft, form)):
        raise PairProblems(errors)
    return DECIDING.judgment(key, person, Decision(**form_record(form)), submission=submission, source=run_id)


def flow(reader: LogReader, run_id: str) -> Flow:
    """Return how many drafts of a run came how far.

    Raises:
        InputError: if the run has no drafts.
    """
    states = Counter(each.state for each in cases(reader, run_id))
    drafts = states.total()
    counts = {name: states[name] for name in ("due", "agreed", "consolidated", "deleted")}
    return Flow(drafts=drafts, annotated=drafts - states["open"], **counts)


def field_text(pair: Pair, name: str) -> str:
    """Return a field of a pair as it is shown and compared word by word; steps are counted from 1."""
    value = getattr(pair, name)
    if value is None:
        return ""
    match name:
        case "step":
            return str(value + 1)
        case "intent":
            return str(value.text)
        case "variants":
            return "\n".join(variant.text for variant in value)
        case "clear_plan" | "ambiguous_plan":
            return "\n".join(value)
    return ", ".join(value) if isinstance(value, tuple) else str(value)
