"""Readers and checks of the moves that people, scripts and built-in players submit (spec 11.1, 13).

An invalid move raises a `SeatError` whose code a page translates::

    consent         neither yes nor no
    no_action       neither an action nor a question
    no_question     a question without words
    no_questions    the questions are used up: the robot must act
    no_answer       an answer without words
    too_long        text over the length limit
    too_many        too many marked actions
    not_offered     a marked action that was not offered
    pair            an annotator's form breaks rules: `PairFormError.problems` names them
    malformed       a page sent something other than its form
    over            the seat is not to move
    declined        no consent was given
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter

from simulator.ambik.intents import parse_intent, parse_variants
from simulator.ambik.items import Draft, Pair, pair_record, parting
from simulator.ambik.naming import bare
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER
from simulator.ambik.records import PairForm
from simulator.ambik.terms import Ambiguity
from simulator.errors import SeatError
from simulator.fields import Flag, Whole, null_as
from simulator.forms import FormText, Lines, Listed, Typed, checked_length, read_move
from simulator.seats import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """The form of a robot that marks actions: a person, a script or a built-in player.

    Attributes:
        marked: the actions considered possible; without duplicates after `read_chosen`.
        act: the action to do; with a question, the action that would be done otherwise (optional).
        ask: the question; None if the robot acts.
    """

    marked: Lines = ()
    act: FormText = ""
    ask: Typed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowForm:
    """The fields of an annotator's form that concern the row, not the pair.

    `delete`: why the row is deleted; the pair's fields are then ignored.
    """

    delete: FormText = ""
    comment: FormText = ""
    one_ambiguity: Annotated[Flag, null_as(False)] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFields(RowForm):
    """All fields of an annotator's form.

    `passed_over`: why the earlier candidates are not adequate.
    """

    passed_over: FormText = ""
    objects: Listed = ()
    scene: FormText = ""
    clear: FormText = ""
    indirect: FormText = ""
    type: Ambiguity
    ambiguous: FormText = ""
    question: FormText = ""
    answer: FormText = ""
    clear_plan: Lines = ()
    ambiguous_plan: Lines = ()
    step: Annotated[Whole | None, Field(ge=0)] = None
    shortlist: Listed = ()
    intent: FormText = ""
    variants: Lines = ()


_MARKING: Final = TypeAdapter(Marking)
_ROW_FORM: Final = TypeAdapter(RowForm)
_PAIR_FIELDS: Final = TypeAdapter(PairFields)
_SHARED_FIELDS: Final = PairFields.__dataclass_fields__.keys() & Pair.__dataclass_fields__.keys()


def read_chosen(reply: Reply, *, offered: Sequence[str] = (), must_act: bool = False) -> Marking:
    """Return a decision: ``{"marked": [texts], "act": text}`` or ``{"marked": [texts], "ask": question}``.

    The action done counts as possible, so it is added to the marked ones. With a question, ``act`` is the
    action that would be done without an answer.

    `offered`: if not empty, only these may be marked; ``act`` may still be in the robot's own words.

    Raises:
        SeatError: if the reply is not a decision or breaks a rule.
    """
    form = read_move(_MARKING, reply.move if reply.move is not None else {"act": reply.text}, ROBOT)
    marked = tuple(dict.fromkeys(form.marked))
    if offered and (unknown := [action for action in marked if action not in offered]):
        raise SeatError(f"{unknown[0]!r} was not offered.", ROBOT, code="not_offered")
    asks = form.ask is not None
    if asks and not form.ask:
        raise SeatError("A question needs words.", ROBOT, code="no_question")
    if asks and must_act:
        raise SeatError("The questions are used up; name an action.", ROBOT, code="no_questions")
    if not asks and not form.act:
        raise SeatError("Name an action, or ask a question.", ROBOT, code="no_action")
    if not asks and form.act not in marked:
        marked = (*marked, form.act)
    return replace(form, marked=marked)


def read_answer(reply: Reply) -> str:
    """Return the text of an answer.

    Raises:
        SeatError: if it is empty or too long.
    """
    answer = checked_length(reply.text, USER).strip()
    if not answer:
        raise SeatError("An answer needs words.", USER, code="no_answer")
    return answer


def read_pair_form(draft: Draft, move: Mapping[str, Any], *, annotator: str = "") -> PairForm:
    """Return an annotator's form. Missing fields are filled with the draft's proposals.

    `move`: fields of `PairFields`; lists may be texts: objects and shortlists separated by commas, plans and
    variants by line breaks.

    Raises:
        SeatError: if the move is not such a form.
    """
    row = read_move(_ROW_FORM, move, ANNOTATOR)
    if row.delete:
        return PairForm(
            annotator=annotator, draft=draft.id, pair=None, delete=row.delete, comment=row.comment
        )
    form = read_move(_PAIR_FIELDS, {**proposed_fields(draft), **move}, ANNOTATOR)
    fields = {name: getattr(form, name) for name in _SHARED_FIELDS}
    fields["intent"] = parse_intent(form.intent) if form.intent else None
    fields["variants"] = parse_variants("\n".join(form.variants))
    return PairForm(
        annotator=annotator,
        draft=draft.id,
        pair=Pair(id=draft.id, **fields),
        comment=form.comment,
        passed_over=form.passed_over,
        one_ambiguity=form.one_ambiguity,
    )


def proposed_fields(draft: Draft) -> dict[str, Any]:
    """Return the form fields for which a draft has proposals."""
    return {
        "objects": draft.objects,
        "scene": draft.scene,
        "clear": draft.clear,
        "indirect": draft.indirect,
        "clear_plan": draft.plan,
        "ambiguous_plan": draft.ambiguous_plan,
    }


def proposed_step(draft: Draft) -> int | None:
    """Return the index, from 0, of the first step in which a draft's plans differ (spec 11, 4), or None."""
    return parting([*map(bare, draft.plan)], [*map(bare, draft.ambiguous_plan)])


def form_record(form: PairForm) -> dict[str, Any]:
    """Return the form as plain values under the names of `PairFields`: the inverse of `read_pair_form`."""
    record: dict[str, Any] = {"delete": form.delete, "comment": form.comment}
    if form.pair is None:
        return record
    if form.passed_over:
        record["passed_over"] = form.passed_over
    if form.one_ambiguity:
        record["one_ambiguity"] = True
    pair = pair_record(form.pair)
    return (
        record
        | {name: pair[name] for name in PairFields.__dataclass_fields__ if name in _SHARED_FIELDS}
        | {"intent": pair["intent"] or ""}
    )


def field_text(pair: Pair, name: str) -> str:
    """Return a field of a pair as text, for display and word-by-word comparison; steps count from 1."""
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
