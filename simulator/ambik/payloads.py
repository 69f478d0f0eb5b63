"""What the log holds of a turn: decisions, answers and annotators' forms as plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simulator.ambik.annotation.form import check_fields, refuse_errors
from simulator.ambik.forms import form_record, read_answer, read_pair_form
from simulator.ambik.items import DecideItem, Draft
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options
from simulator.ambik.predicting import ScoredDecision, outcome
from simulator.ambik.records import Calibrated, Decision, Outcome
from simulator.ambik.terms import CONFORMAL, METHODS, settings_option
from simulator.errors import InputError, SeatError
from simulator.fields import plain_number
from simulator.forms import measured
from simulator.jsonlines import Codec, without_none
from simulator.seats import Reply

DECISIONS: Final = Codec[Decision](Decision)
PRIVATE: Final[Mapping[str, list[str]]] = {
    "decide": ["chosen", "action", "question", "prediction_set", "nonconformity", "help", "asks"],
    "annotate": ["form", "problems"],
}
"""What tells what a person said, to go with it when they are erased."""
_OF_QUESTIONS: Final = ("prompts", "raw", "flags")
"""Fields of a decision to which putting its question into words adds."""
Move = tuple[str, dict[str, Any]]
"""What is said, and the payload of its turn."""


def person_mark(kind: str) -> dict[str, Any]:
    """Return what marks a turn as a person's, with the fields that go when they are erased."""
    return {"person": True, "private": list(PRIVATE.get(kind, ()))}


# ---- replies of seats


def with_words(payload: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    """Return the payload of a decision to ask with the question that the robot's seat has put into words.

    Raises:
        SeatError: if it has none.
    """
    if not reply.text or "decision" in (reply.move or {}):
        raise SeatError("A question needs words.", ROBOT, code="no_question")
    more = {name: [*payload[name], *(reply.move or {}).get(name, ())] for name in _OF_QUESTIONS}
    return {**payload, **more, "question": reply.text}


def method_decision(
    move: Mapping[str, Any], item: DecideItem, options: Options, *, episode_id: str, generator: str
) -> Decision:
    """Return the decision that a method's seat gives in its move.

    Raises:
        SeatError: if it cannot be read.
    """
    decision = move["decision"]
    if not isinstance(decision, Mapping):
        raise SeatError("The robot's decision is no object.", ROBOT, code="malformed")
    fields = {"context": options.context, "dialogue": options.dialogue, **without_none(decision)}
    fields["method"] = options.method or fields.get("method")
    if fields["method"] not in METHODS:
        raise SeatError(f"{fields['method']!r} is no method.", ROBOT, code="malformed")
    fields["question"] = fields.get("question") or str(move.get("ask") or move.get("question") or "")
    fields.setdefault("generator", generator)
    return _decision(fields, episode_id=episode_id, run="", item=item)


def answered(reply: Reply, question: str | None, *, asked: int, person: bool) -> Move:
    """Return the user's answer.

    `question`: that it answers; None if it is a person's: their words are then held in their own turn only.

    Raises:
        SeatError: if it has no words.
    """
    payload: dict[str, Any] = {"kind": "answer", "asked": asked}
    if question is not None:
        payload["question"] = question
    if person:
        payload |= person_mark("answer") | measured(reply.move or {}, USER)
    return read_answer(reply), payload


def annotated(reply: Reply, draft: Draft, *, name: str, person: bool) -> Move:
    """Return an annotator's form. A person's must not break rules; which a model's breaks is logged.

    Raises:
        SeatError: if it is none, or a person's breaks rules (`annotation.form.PairFormError`).
    """
    move = reply.move or {}
    problems = check_fields(draft, move)
    if person:
        refuse_errors(problems)
    form = read_pair_form(draft, move, annotator=name)
    fields = ("code", "field", "detail", "level")
    records = [{name: getattr(problem, name) for name in fields} for problem in problems]
    payload: dict[str, Any] = {"kind": "annotate", "form": form_record(form), "problems": records}
    if person:
        payload |= person_mark("annotate") | measured(move, ANNOTATOR)
    return form.delete or (form.pair.ambiguous if form.pair else ""), payload


# ---- decisions


def calibrated(ready: ScoredDecision, options: Options) -> dict[str, Any]:
    """Return the nonconformities of a proposal's candidates, and the threshold out of the calibration run.

    Of methods that need none there are neither; while a method is being calibrated, there is no threshold.
    """
    conformal, threshold = ready.decision.method in CONFORMAL, _threshold(ready.decision, options)
    nonconformity: dict[str, float] = {}
    for scored in ready.scored if conformal else ():
        # Of options that read the same the smallest.
        value = nonconformity.get(scored.text, scored.nonconformity)
        nonconformity[scored.text] = min(scored.nonconformity, value)
    return {
        "nonconformity": {text: plain_number(value) for text, value in nonconformity.items()},
        "q_hat": plain_number(threshold.q_hat) if threshold else None,
        "epsilon": threshold.epsilon if threshold else None,
        "n_calibration": threshold.n if threshold else None,
        "rank": threshold.rank if threshold else None,
    }


def decided(
    ready: ScoredDecision, scores: Mapping[str, Any], options: Options, *, must_act: bool
) -> dict[str, Any]:
    """Return the payload of a decision: its prediction set, and whether to act or to ask.

    Whether it asks follows from its prediction set (or from its certainty, or from what a person said); it
    never does where it must act. While its method is being calibrated, nothing is decided.
    """
    decision, threshold = ready.decision, _threshold(ready.decision, options)
    settings = settings_option(options.settings)
    payload = {"kind": "decide", **decision_payload(decision), **scores, "settings": settings}
    if decision.method in CONFORMAL and threshold is None:
        unset: dict[str, Any] = {"asks": None, "help": None, "prediction_set": [], "question": ""}
        return payload | unset | {"action": ready.best}
    made = outcome(ready, threshold, options.settings)
    # Who marks actions says whether to ask; of everybody else it follows from the set.
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
    """Return the decision with its prediction set; None while its method is being calibrated."""
    calibrated = _threshold(decision, options)
    if decision.method in CONFORMAL and calibrated is None:
        return None
    return outcome(decision, calibrated, options.settings)


def _threshold(decision: Decision, options: Options) -> Calibrated | None:
    return options.calibration if decision.method in CONFORMAL else None


decision_payload = DECISIONS.write
"""A decision's fields as plain values; `read_decision` is the inverse."""


def _decision(fields: Mapping[str, Any], **elsewhere: Any) -> Decision:
    """Return a decision out of plain values and what the log holds elsewhere; null is the default."""
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
    beside = {"episode_id": episode_id, "run": run, "item": item, "answer": answer, "seconds": seconds}
    return _decision(payload, asked=payload.get("asks"), **beside)
