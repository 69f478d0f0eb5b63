"""What people, scripts and built-in players submit, read and checked before it is logged (spec 11.1, 13).

What is wrong with a submission is a `SeatError` whose code a page translates::

    consent         neither yes nor no
    no_action       neither an action is named nor a question asked
    no_question     a question without words
    no_questions    the questions are used up: the robot must act
    no_answer       an answer without words
    too_long        more letters than are kept
    too_many        more marked actions than are kept
    not_offered     an action is marked that was not offered
    pair            an annotator's form breaks rules: `PairFormError.problems` names them
    malformed       a page sent something else than its form
    over            nothing is asked any more
    declined        no consent was given
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simulator.ambik.intents import Intent, parse_intent, parse_variants
from simulator.ambik.naming import bare
from simulator.ambik.pairs import Draft, Pair
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER
from simulator.ambik.records import PairForm
from simulator.ambik.terms import AMBIGUITIES, Ambiguity
from simulator.errors import SeatError
from simulator.forms import checked_length
from simulator.seats import Reply

MOST: Final = 50
"""Actions that can be marked, and entries of a list, at most."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A decision of somebody who marks actions.

    Attributes:
        marked: what they hold for possible, each once.
        action: what they do; if they ask, what they would do otherwise, where they said so.
        question: what they ask; empty if they act.
    """

    marked: tuple[str, ...]
    action: str
    question: str

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return bool(self.question)


def read_chosen(reply: Reply, *, offered: Sequence[str] = (), must_act: bool = False) -> Chosen:
    """A decision: ``{"marked": [texts], "act": text}`` or ``{"marked": [texts], "ask": question}``.

    What is done is held for possible, so it is among what is marked. Beside a question ``act`` says what one
    would do if nobody answered.

    Args:
        reply: its move; a reply of words alone is an action.
        offered: if any, nothing else may be marked; actions in one's own words may be done nevertheless.
        must_act: whether a question is out of place.

    Raises:
        SeatError: if it is no decision or breaks a rule.
    """
    move = reply.move if reply.move is not None else {"act": reply.text}
    marked = tuple(dict.fromkeys(texts(move, "marked", ROBOT)))
    if offered and (strange := [one for one in marked if one not in offered]):
        raise SeatError(f"{strange[0]!r} was not offered.", ROBOT, code="not_offered")
    asks = move.get("ask") is not None
    action, question = text(move, "act", ROBOT), text(move, "ask", ROBOT)
    if asks and not question:
        raise SeatError("A question needs words.", ROBOT, code="no_question")
    if asks and must_act:
        raise SeatError("The questions are used up; name an action.", ROBOT, code="no_questions")
    if not asks and not action:
        raise SeatError("Name an action, or ask a question.", ROBOT, code="no_action")
    if not asks and action not in marked:
        marked = (*marked, action)
    return Chosen(marked, action, question)


def read_answer(reply: Reply) -> str:
    """The words of an answer.

    Raises:
        SeatError: if there are none, or too many.
    """
    said = checked_length(reply.text, USER).strip()
    if not said:
        raise SeatError("An answer needs words.", USER, code="no_answer")
    return said


def text(move: Mapping[str, Any], name: str, seat: str) -> str:
    """A text of a move; empty if there is none.

    Raises:
        SeatError: if it is something else, or too long.
    """
    value = move.get(name)
    if value is not None and not isinstance(value, str):
        raise SeatError(f"{name} {value!r} is no text.", seat, code="malformed")
    return checked_length(value or "", seat).strip()


def texts(move: Mapping[str, Any], name: str, seat: str, *, divider: str = "\n") -> tuple[str, ...]:
    """A list of texts of a move, empty ones left out; one text is divided.

    Raises:
        SeatError: if it is something else, or too long.
    """
    value = move.get(name)
    parts = value.split(divider) if isinstance(value, str) else value
    if parts is None:
        return ()
    if not isinstance(parts, list | tuple) or not all(isinstance(one, str) for one in parts):
        raise SeatError(f"{name} is no list of texts.", seat, code="malformed")
    found = tuple(filter(None, (checked_length(one, seat).strip() for one in parts)))
    if len(found) > MOST:
        raise SeatError(f"{name}: more than {MOST} are too many.", seat, code="too_many")
    return found


def read_pair_form(draft: Draft, move: Mapping[str, Any], *, annotator: str = "") -> PairForm:
    """What an annotator filled in. What they leave out is as the draft proposes it, where it does.

    Args:
        draft: what the form is about.
        move: ``objects``, ``scene``, ``clear``, ``indirect``, ``type``, ``ambiguous``, ``question``,
            ``answer``, ``clear_plan``, ``ambiguous_plan``, ``step``, ``shortlist``, ``intent``, ``variants``,
            ``delete`` (why the row is deleted), ``comment``, ``passed_over`` (why earlier candidates are not
            adequate), ``one_ambiguity`` (true: exactly one thing is open). Lists may come as texts: objects
            and shortlists divided by commas, plans and variants by lines.
        annotator: who it was.

    Raises:
        SeatError: if it is no such form.
    """
    delete, comment = text(move, "delete", ANNOTATOR), text(move, "comment", ANNOTATOR)
    one = move.get("one_ambiguity")
    if one is not None and not isinstance(one, bool):
        raise SeatError(f"one_ambiguity {one!r} is neither true nor false.", ANNOTATOR, code="malformed")
    if delete:
        return PairForm(annotator=annotator, draft=draft.id, pair=None, delete=delete, comment=comment)
    return PairForm(
        annotator=annotator,
        draft=draft.id,
        pair=_pair(draft, move),
        comment=comment,
        passed_over=text(move, "passed_over", ANNOTATOR),
        one_ambiguity=bool(one),
    )


def proposed_step(draft: Draft) -> int | None:
    """Where a draft's plans part (spec 11, 4): the first line that differs, from 0; None if none does."""
    lines = enumerate(zip(map(bare, draft.plan), map(bare, draft.ambiguous_plan), strict=False))
    return next((place for place, (one, other) in lines if one != other), None)


def _pair(draft: Draft, move: Mapping[str, Any]) -> Pair:
    def said(name: str, proposed: str = "") -> str:
        return text(move, name, ANNOTATOR) if name in move else proposed

    def listed(name: str, proposed: tuple[str, ...] = (), divider: str = "\n") -> tuple[str, ...]:
        return texts(move, name, ANNOTATOR, divider=divider) if name in move else proposed

    step = move.get("step")
    if step is not None and (type(step) is not int or step < 0):
        raise SeatError(f"step {step!r} is no number of a step.", ANNOTATOR, code="malformed")
    intent = said("intent")
    return Pair(
        id=draft.id,
        objects=listed("objects", draft.objects, ","),
        scene=said("scene", draft.scene),
        clear=said("clear", draft.clear),
        indirect=said("indirect", draft.indirect),
        ambiguous=said("ambiguous"),
        type=_type(move),
        shortlist=listed("shortlist", divider=","),
        question=said("question"),
        answer=said("answer"),
        clear_plan=listed("clear_plan", draft.plan),
        ambiguous_plan=listed("ambiguous_plan", draft.ambiguous_plan),
        step=step,
        intent=parse_intent(intent) if intent else None,
        variants=_variants(move),
    )


def _type(move: Mapping[str, Any]) -> Ambiguity:
    for one in AMBIGUITIES:
        if move.get("type") == one:
            return one
    raise SeatError(
        f"type {move.get('type')!r}: choose {', '.join(AMBIGUITIES)}.", ANNOTATOR, code="malformed"
    )


def _variants(move: Mapping[str, Any]) -> tuple[Intent, ...]:
    return parse_variants("\n".join(texts(move, "variants", ANNOTATOR)))


def form_record(form: PairForm) -> dict[str, Any]:
    """The form as plain values, with the names of `read_pair_form`'s fields: the inverse of it."""
    record: dict[str, Any] = {"delete": form.delete, "comment": form.comment}
    if (pair := form.pair) is None:
        return record
    if form.passed_over:
        record["passed_over"] = form.passed_over
    if form.one_ambiguity:
        record["one_ambiguity"] = True
    return record | {
        "objects": list(pair.objects),
        "scene": pair.scene,
        "clear": pair.clear,
        "indirect": pair.indirect,
        "type": pair.type,
        "ambiguous": pair.ambiguous,
        "question": pair.question,
        "answer": pair.answer,
        "clear_plan": list(pair.clear_plan),
        "ambiguous_plan": list(pair.ambiguous_plan),
        "step": pair.step,
        "shortlist": list(pair.shortlist),
        "intent": pair.intent.text if pair.intent else "",
        "variants": [one.text for one in pair.variants],
    }
