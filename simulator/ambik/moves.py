"""A reply of a seat as the text and the payload of its turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.ambik.annotation.form import check_fields, problem_record, refuse_errors
from simulator.ambik.forms import (
    form_record,
    read_answer,
    read_chosen,
    read_pair_form,
)
from simulator.ambik.items import DecideItem
from simulator.ambik.pairs import Draft
from simulator.ambik.payloads import PRIVATE, chosen_decision, decided, method_decision
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Kind, Options
from simulator.errors import SeatError
from simulator.forms import measured, read_consent
from simulator.seats import Reply

Move = tuple[str, dict[str, Any]]


def decided_by(
    reply: Reply,
    item: DecideItem,
    options: Options,
    *,
    offered: Sequence[str],
    must_act: bool,
    episode_id: str,
    name: str,
    person: bool,
) -> Move:
    """A decision: of a method (``{"decision": …}``), or of somebody who marks actions (`forms.read_chosen`).

    Args:
        reply: of the robot's seat.
        item: what is decided on.
        options: of the episode.
        offered: actions in display order; people mark nothing else.
        must_act: whether the questions are used up.
        episode_id: the episode.
        name: who sits there.
        person: whether a person does.

    Raises:
        SeatError: if it is no decision, or breaks a rule.
    """
    move = reply.move or {}
    if "decision" in move and not person:
        decision = method_decision(move, item, options, episode_id=episode_id, generator=name)
    else:
        chosen = read_chosen(reply, offered=offered if person else (), must_act=must_act)
        decision = chosen_decision(
            chosen, item, options, episode_id=episode_id, generator=name, person=person
        )
    payload = decided(decision, options, must_act=must_act)
    if payload["asks"] and options.questions > 0 and not payload["question"]:
        raise SeatError("A question needs words.", ROBOT, code="no_question")
    if person:
        payload |= {"offered": list(offered), **_person("decide"), **measured(move, ROBOT)}
    return payload["question"] or payload["action"], payload


def answered(reply: Reply, question: str | None, *, asked: int, person: bool) -> Move:
    """The user's answer.

    Args:
        reply: its text.
        question: that it answers; None if it is a person's: their words are then held in their own turn only.
        asked: number of the turn that asked.
        person: whether a person answers.

    Raises:
        SeatError: if it has no words.
    """
    payload: dict[str, Any] = {"kind": "answer", "asked": asked}
    if question is not None:
        payload["question"] = question
    if person:
        payload |= _person("answer") | measured(reply.move or {}, USER)
    return read_answer(reply), payload


def annotated(reply: Reply, draft: Draft, *, name: str, person: bool) -> Move:
    """An annotator's form. A person's must not break rules; which a model's breaks is logged.

    Raises:
        SeatError: if it is none, or a person's breaks rules (`pair_form.PairFormError`).
    """
    move = reply.move or {}
    problems = check_fields(draft, move)
    if person:
        refuse_errors(problems)
    form = read_pair_form(draft, move, annotator=name)
    told = [problem_record(one) for one in problems]
    payload: dict[str, Any] = {"kind": "annotate", "form": form_record(form), "problems": told}
    if person:
        payload |= _person("annotate") | measured(move, ANNOTATOR)
    return form.delete or (form.pair.ambiguous if form.pair else ""), payload


def fronted(reply: Reply, kind: Kind, seat: str) -> Move:
    """What a person says to the consent and to the instructions.

    Raises:
        SeatError: if it is neither yes nor no.
    """
    said = read_consent(reply.text, seat) if kind == "consent" else kind
    return said, {"kind": kind, **_person(kind), **measured(reply.move or {}, seat)}


def _person(kind: Kind) -> dict[str, Any]:
    return {"person": True, "private": list(PRIVATE.get(kind, ()))}
