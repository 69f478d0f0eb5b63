"""Payloads of turns: decisions, answers and annotators' forms as plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simulator.ambik.annotation.form import PairFormError, check_fields, errors_of
from simulator.ambik.forms import form_record, read_answer, read_pair_form
from simulator.ambik.items import DecideItem, Draft
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options
from simulator.ambik.predicting import ScoredDecision, outcome
from simulator.ambik.records import Calibrated, Decision, Outcome
from simulator.ambik.terms import CONFORMAL, METHODS, settings_option
from simulator.errors import InputError, SeatError
from simulator.fields import plain_number
from simulator.forms import measurements
from simulator.jsonlines import Codec, without_none
from simulator.seats import Reply

DECISIONS: Final = Codec[Decision](Decision)
PRIVATE: Final[Mapping[str, list[str]]] = {
    "decide": ["chosen", "action", "question", "prediction_set", "nonconformity", "help", "asks"],
    "annotate": ["form", "problems"],
}
"""Payload fields that reveal a person's words and are removed when the person is erased, by kind of turn."""
_EXTENDED_BY_WORDING: Final = ("prompts", "raw", "flags")
"""Fields of a decision that are extended when its question is worded."""
Move = tuple[str, dict[str, Any]]
"""A turn's text and payload."""


def person_mark(kind: str) -> dict[str, Any]:
    """Return the fields that mark a turn as a person's, with those to remove if the person is erased."""
    return {"person": True, "private": list(PRIVATE.get(kind, ()))}


# ---- replies of seats


def with_words(payload: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    """Return the payload of a decision to ask, with the question as worded by the robot's seat.

    Raises:
        SeatError: if the question has no words.
    """
    if not reply.text or "decision" in (reply.move or {}):
        raise SeatError("A question needs words.", ROBOT, code="no_question")
    more = {name: [*payload[name], *(reply.move or {}).get(name, ())] for name in _EXTENDED_BY_WORDING}
    return {**payload, **more, "question": reply.text}


def method_decision(
    move: Mapping[str, Any], item: DecideItem, options: Options, *, episode_id: str, generator: str
) -> Decision:
    """Return the decision in the move of a seat that plays a method.

    Raises:
        SeatError: if the decision cannot be read.
    """
    decision = move["decision"]
    if not isinstance(decision, Mapping):
        raise SeatError("The robot's decision is not an object.", ROBOT, code="malformed")
    fields = {"context": options.context, "dialogue": options.dialogue, **without_none(decision)}
    fields["method"] = options.method or fields.get("method")
    if fields["method"] not in METHODS:
        raise SeatError(f"{fields['method']!r} is not a method.", ROBOT, code="malformed")
    fields["question"] = fields.get("question") or str(move.get("ask") or move.get("question") or "")
    fields.setdefault("generator", generator)
    return _decision(fields, episode_id=episode_id, run="", item=item)


def answer_move(reply: Reply, question: str | None, *, asked: int, person: bool) -> Move:
    """Return the user's answer.

    `question`: the question it answers; None if a person asked it: a person's words are stored only in their
    own turn.

    Raises:
        SeatError: if the answer has no words.
    """
    payload: dict[str, Any] = {"kind": "answer", "asked": asked}
    if question is not None:
        payload["question"] = question
    if person:
        payload |= person_mark("answer") | measurements(reply.move or {}, USER)
    return read_answer(reply), payload


def annotation_move(reply: Reply, draft: Draft, *, name: str, person: bool) -> Move:
    """Return an annotator's form. A person's form must not break rules; a model's violations are logged.

    Raises:
        SeatError: if it is not a form, or a person's form breaks rules (`PairFormError`).
    """
    move = reply.move or {}
    problems = check_fields(draft, move)
    if person and (errors := errors_of(problems)):
        raise PairFormError(errors)
    form = read_pair_form(draft, move, annotator=name)
    fields = ("code", "field", "detail", "level")
    records = [{name: getattr(problem, name) for name in fields} for problem in problems]
    payload: dict[str, Any] = {"kind": "annotate", "form": form_record(form), "problems": records}
    if person:
        payload |= person_mark("annotate") | measurements(move, ANNOTATOR)
    return form.delete or (form.pair.ambiguous if form.pair else ""), payload


# ---- decisions


def score_candidates(ready: ScoredDecision, options: Options) -> dict[str, Any]:
    """Return the nonconformities of a proposal's candidates, and the threshold from the calibration run.

    Both are empty for methods without conformal prediction; a method being calibrated has no threshold.
    """
    conformal, threshold = ready.decision.method in CONFORMAL, _threshold(ready.decision, options)
    nonconformity: dict[str, float] = {}
    for scored in ready.scored if conformal else ():
        # Options with the same text get the smallest value.
        value = nonconformity.get(scored.text, scored.nonconformity)
        nonconformity[scored.text] = min(scored.nonconformity, value)
    return {
        "nonconformity": {text: plain_number(value) for text, value in nonconformity.items()},
        "q_hat": plain_number(threshold.q_hat) if threshold else None,
        "epsilon": threshold.epsilon if threshold else None,
        "n_calibration": threshold.n if threshold else None,
        "rank": threshold.rank if threshold else None,
    }


def act_or_ask(
    ready: ScoredDecision, scores: Mapping[str, Any], options: Options, *, must_act: bool
) -> dict[str, Any]:
    """Return the payload of a decision: the prediction set, and whether to act or to ask.

    The robot asks if its prediction set, its certainty or a person's choice says so, but never if it must
    act. A method being calibrated decides nothing.
    """
    decision, threshold = ready.decision, _threshold(ready.decision, options)
    settings = settings_option(options.settings)
    payload = {"kind": "decide", **decision_payload(decision), **scores, "settings": settings}
    if decision.method in CONFORMAL and threshold is None:
        unset: dict[str, Any] = {"asks": None, "help": None, "prediction_set": [], "question": ""}
        return payload | unset | {"action": ready.best}
    made = outcome(ready, threshold, options.settings)
    # Robots that mark actions choose whether to ask; for all others it follows from the set.
    wants = made.help if decision.chosen is None else bool(decision.asked)
    asks = wants and not must_act
    return payload | {
        "asks": asks,
        "help": made.help,
        "prediction_set": list(made.predicted),
        "action": decision.action or ("" if asks and decision.chosen is not None else made.action),
        "question": decision.question if asks else "",
    }


def outcome_of(decision: Decision, options: Options) -> Outcome | None:
    """Return the outcome of a decision, with its prediction set; None while its method is calibrated."""
    threshold = _threshold(decision, options)
    if decision.method in CONFORMAL and threshold is None:
        return None
    return outcome(decision, threshold, options.settings)


def _threshold(decision: Decision, options: Options) -> Calibrated | None:
    return options.calibration if decision.method in CONFORMAL else None


decision_payload = DECISIONS.write
"""A decision's fields as plain values; `read_decision` is the inverse."""


def _decision(fields: Mapping[str, Any], **elsewhere: Any) -> Decision:
    """Return a decision from plain values and fields stored elsewhere in the log; null means the default."""
    try:
        return DECISIONS.read(without_none(fields) | elsewhere, "The robot's decision")
    except InputError as error:
        raise SeatError(str(error), ROBOT, code="malformed") from error


def read_decision(
    payload: Mapping[str, Any],
    item: DecideItem,
    *,
    episode_id: str,
    run: str,
    answer: str = "",
    seconds: float | None = None,
) -> Decision:
    """Return the decision of a logged turn."""
    elsewhere = {"episode_id": episode_id, "run": run, "item": item, "answer": answer, "seconds": seconds}
    return _decision(payload, asked=payload.get("asks"), **elsewhere)
