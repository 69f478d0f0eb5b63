"""The desk of a third person, who makes one pair of what annotators left of a draft (spec 11).

A draft needs two annotators. Where they left the same in every field, that is the pair; where all deleted it,
it is deleted; where they differ, somebody who annotated neither decides, with one form more. Such a form is a
`Judgment` on the draft's item:

============== ========= =============================================================
kind           about     value
============== ========= =============================================================
``ambik.pair`` an item   the form's fields (`forms.read_pair_form`), ``run``
============== ========= =============================================================

The newest form holds, whoever's it is; it may also correct a pair that annotators agree on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from logs import LogReader
from logs.rows import Judgment
from simulator.ambik.annotation.agreement import differing
from simulator.ambik.annotation.form import Problem, check_pair_form, errors_of
from simulator.ambik.forms import form_record, read_pair_form
from simulator.ambik.items import DraftItem
from simulator.ambik.pairs import Draft, Pair
from simulator.ambik.playing import ANNOTATOR
from simulator.ambik.records import PairForm
from simulator.ambik.rows import BENCHMARK, item_from_row
from simulator.ambik.trial_log import played_of
from simulator.errors import InputError
from simulator.forms import DeskFormError, desk_row, in_own_order
from simulator.runner.logged import required_run
from simulator.word_diff import Piece, word_diff

KIND: Final = "ambik.pair"
NEEDED: Final = 2
"""Annotators that a draft needs before anybody decides on it."""
State = Literal["open", "due", "agreed", "consolidated", "deleted"]
"""Too few annotators; they differ; they left the same; a third person's; deleted by all or at the desk."""
KEPT: Final = "kept"
"""Named among what annotators differ in where one deleted the row and another did not."""


Reason = Literal["no_draft", "no_drafts", "nameless", "too_few", "own"]
"""Why nothing can be decided: no such draft, none in the run, by nobody, too early, on one's own form."""


class DeskError(InputError):
    """Nothing can be decided at the desk.

    Attributes:
        code: names the reason, so that a page can say it in a person's language.
        named: what it is about, by name.
    """

    def __init__(self, message: str, code: Reason, **named: str) -> None:
        super().__init__(message)
        self.code = code
        self.named = named


class PairProblems(DeskFormError[Problem]):
    """A third person's form breaks rules; nothing is written."""


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
        key: names it in `consolidate`.
        voices: the annotators', the oldest first.
        differs: fields that they did not leave the same, `KEPT` first if only some deleted the row.
        decided: the third person's newest form, with their name; None before there is one.
    """

    key: str
    draft: Draft
    state: State
    voices: tuple[Voice, ...] = ()
    differs: tuple[str, ...] = ()
    decided: PairForm | None = None

    @property
    def pair(self) -> Pair | None:
        """The pair that holds; None while there is none, or if it was deleted."""
        if self.state not in ("agreed", "consolidated"):
            return None
        return (self.decided or self.voices[0].form).pair


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
    """Every draft of a run, in the order in which drafts were first given to somebody.

    Raises:
        DeskError: if the run has no drafts.
        NotInLog: if there is no such run.
    """
    drafts = _drafts(reader, run_id)
    forms, decided = _forms(reader, run_id), _decided(reader, run_id, drafts)
    return tuple(
        case_of(key, draft, tuple(forms.get(key, {}).values()), decided.get(key))
        for key, draft in drafts.items()
    )


def case_of(key: str, draft: Draft, forms: Sequence[PairForm], decided: PairForm | None = None) -> Case:
    """How far a draft is, given all forms on it.

    Args:
        key: of its item.
        draft: as it was proposed.
        forms: of its annotators, one each.
        decided: the newest form of a third person.
    """
    kept = [one.pair for one in forms if one.pair is not None]
    some_deleted = bool(kept) and len(kept) < len(forms)
    differs = (*((KEPT,) if some_deleted else ()), *differing(kept))
    return Case(
        key=key,
        draft=draft,
        state=_state(forms, kept, differs, decided),
        voices=tuple(_voice(draft, one, kept[0] if kept else None) for one in forms),
        differs=differs,
        decided=decided,
    )


def case(reader: LogReader, run_id: str, key: str) -> Case:
    """One draft.

    Raises:
        DeskError: if there is none of that key.
    """
    for one in cases(reader, run_id):
        if one.key == key:
            return one
    raise DeskError(f"There is no draft {key!r} in {run_id}.", "no_draft", draft=key, run=run_id)


def to_consolidate(reader: LogReader, run_id: str, person: str) -> tuple[Case, ...]:
    """The drafts that a third person is to decide on, in an order of their own.

    Left out is what they annotated themselves.

    Args:
        reader: of the log.
        run_id: of annotators.
        person: the third person's pseudonym.

    Raises:
        DeskError: if the run has no drafts.
    """
    forms = _forms(reader, run_id)
    due = [one for one in cases(reader, run_id) if one.state == "due" and person not in forms[one.key]]
    return in_own_order(due, KIND, person, lambda one: one.key)


def consolidate(
    reader: LogReader, run_id: str, key: str, person: str, move: Mapping[str, Any], *, submission: str
) -> Judgment:
    """The row that a third person's form makes; nothing is written here.

    Args:
        reader: of the log.
        run_id: of annotators.
        key: of the draft.
        person: the third person's pseudonym.
        move: the form's fields (`forms.read_pair_form`).
        submission: the same is the same form, however often it is sent.

    Raises:
        PairProblems: if the form breaks rules; warnings pass.
        DeskError: if the draft cannot be decided on, or this person annotated it.
        SeatError: if it is no such form.
    """
    if not person.strip():
        raise DeskError("Say who decides: a name, or any other pseudonym.", "nameless")
    found, annotators = case(reader, run_id, key), _forms(reader, run_id).get(key, {})
    if found.state == "open":
        name = found.draft.id
        raise DeskError(f"Draft {name} has too few annotators to be decided on.", "too_few", draft=name)
    if person in annotators:
        name = found.draft.id
        message = f"{person} annotated draft {name}; somebody else is to decide."
        raise DeskError(message, "own", person=person, draft=name)
    form = read_pair_form(found.draft, move, annotator=person)
    if errors := errors_of(check_pair_form(found.draft, form)):
        raise PairProblems(errors)
    value = {"run": run_id, **form_record(form)}
    return desk_row(KIND, run_id, key, person, value, submission=submission)


def flow(reader: LogReader, run_id: str) -> Flow:
    """How many drafts of a run came how far.

    Raises:
        DeskError: if the run has no drafts.
    """
    states = Counter(one.state for one in cases(reader, run_id))
    return Flow(
        drafts=states.total(),
        annotated=states.total() - states["open"],
        due=states["due"],
        agreed=states["agreed"],
        consolidated=states["consolidated"],
        deleted=states["deleted"],
    )


def decided_pairs(reader: LogReader, run_id: str) -> tuple[Pair, ...]:
    """The pairs that a run has become so far, in the run's order.

    Raises:
        DeskError: if the run has no drafts.
    """
    return tuple(one.pair for one in cases(reader, run_id) if one.pair is not None)


def field_text(pair: Pair, name: str) -> str:
    """A field of a pair as it is shown and compared word by word; steps are counted from 1."""
    value = getattr(pair, name)
    if name == "step":
        return "" if value is None else str(value + 1)
    if name == "intent":
        return value.text if value else ""
    if name == "variants":
        return "\n".join(one.text for one in value)
    if isinstance(value, tuple):
        return ("\n" if name.endswith("plan") else ", ").join(value)
    return str(value)


def _state(
    forms: Sequence[PairForm], kept: Sequence[Pair], differs: Sequence[str], decided: PairForm | None
) -> State:
    if decided is not None:
        return "deleted" if decided.pair is None else "consolidated"
    if len(forms) < NEEDED:
        return "open"
    if not kept:
        return "deleted"
    return "due" if differs else "agreed"


def _voice(draft: Draft, form: PairForm, first: Pair | None) -> Voice:
    differences: dict[str, tuple[Piece, ...]] = {}
    if first is not None and form.pair is not None:
        for name in differing([first, form.pair]):
            differences[name] = word_diff(field_text(first, name), field_text(form.pair, name))
    return Voice(replace(form, annotator=""), check_pair_form(draft, form), differences)


def _drafts(reader: LogReader, run_id: str) -> dict[str, Draft]:
    required_run(reader, run_id, BENCHMARK)
    items = ((row.hash, item_from_row(row)) for row in reader.items(run_id))
    found = {hash: item.draft for hash, item in items if isinstance(item, DraftItem)}
    if not found:
        raise DeskError(f"{run_id} has no drafts that annotators make pairs of.", "no_drafts", run=run_id)
    return found


def _forms(reader: LogReader, run_id: str) -> dict[str, dict[str, PairForm]]:
    """By key and annotator; of several forms of one annotator the last."""
    found: dict[str, dict[str, PairForm]] = {}
    for played in played_of(reader, [run_id]):
        if isinstance(played.item, DraftItem):
            who = played.who(ANNOTATOR)
            for turn in played.of("annotate"):
                form = read_pair_form(played.item.draft, turn.payload["form"], annotator=who)
                found.setdefault(played.episode.item_hash, {})[who] = replace(form, seconds=turn.seconds)
    return found


def _decided(reader: LogReader, run_id: str, drafts: Mapping[str, Draft]) -> dict[str, PairForm]:
    """The newest forms of third persons by key; those of people who have been erased are gone."""
    found: dict[str, PairForm] = {}
    for one in reader.judgments(kind=KIND):
        key = one.item_hash
        if key is not None and key in drafts and one.value.get("run") == run_id:
            found[key] = read_pair_form(drafts[key], one.value, annotator=one.annotator)
    return found
