"""The blocks of AmbiK's pages while an episode goes on: instructions, the kitchen, act or ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simulator.ambik.annotation.page import pair_form, type_guide
from simulator.ambik.data import load_guidelines
from simulator.ambik.playing import ANNOTATOR, USER
from simulator.ambik.show import TELL
from simulator.ambik.views import ParticipantView
from simulator.benchmark import Move
from simulator.blocks import Block, Card, Chips, Detail, Plan, Points, Talk, Text, Translated, message
from simulator.form_blocks import Choice, Field, Form, Part, Way, Ways

_SEARCHED: Final = 12
"""So many things are seen at a glance; among more, one can be looked for."""


def page_blocks(view: ParticipantView) -> tuple[Block, ...]:
    """Return what somebody is shown at the stage of a view."""
    if view.stage == "instructions":
        return instructions(view.seat)
    if view.stage == "done":
        quiet = view.seat == USER and not any(move.seat == USER for move in view.moves)
        return (Text(message("result.not_asked")),) if view.study and quiet else ()
    if view.stage not in ("task", TELL):
        return ()
    if view.draft is not None:
        return (pair_form(view.draft),)
    talk, beside = Talk((*view.opening, *view.moves)), _beside(view)
    if view.seat == USER:
        cards = (Card(message("wish"), _wish(view)), Card(message("look"), beside, folded=True))
        return (cards[0], talk, cards[1])
    if not view.my_turn:
        return (talk, Card(message("look"), beside))
    return (
        talk,
        Part("", beside, beside=True),
        decision(view.options, may_ask=view.may_ask, asked=bool(view.moves)),
    )


def instructions(seat: str) -> tuple[Block, ...]:
    """Return what a seat is told before it begins; annotators besides, what tells the types apart."""
    guides = [load_guidelines(language) for language in ("en", "zh")]
    texts_by_language = [
        [step.text for step in guide.steps] if seat == ANNOTATOR else getattr(guide, seat) for guide in guides
    ]
    points = Points([("", Translated(*texts)) for texts in zip(*texts_by_language, strict=True)])
    return (points, Part(message("form.types"), type_guide())) if seat == ANNOTATOR else (points,)


def _wish(view: ParticipantView) -> tuple[Block, ...]:
    detail = [Detail(message("detail"), Text(view.detail))] if view.detail else []
    return (Text(view.wish, "strong", view.wish_language), *detail)


def _beside(view: ParticipantView) -> tuple[Block, ...]:
    """Return the kitchen, and the plan as far as it is there."""
    things = Chips(view.scene, search=len(view.scene) > _SEARCHED)
    kitchen: list[Block] = [things if view.scene else Text(message("scene.empty"), "muted")]
    if view.appliances:
        kitchen += [Text(message("scene.appliances"), "muted"), Chips(view.appliances)]
    plan: Sequence[Block] = ()
    if view.step:
        first = () if view.previous else (Text(message("plan.first"), "muted"),)
        plan = (Plan((*view.previous, view.step), len(view.previous)), *first)
    parts = ((message("scene.heading"), kitchen), (message("plan.heading"), plan))
    return tuple(Part(heading, blocks) for heading, blocks in parts if blocks)


def decision(options: Sequence[str], *, may_ask: bool, asked: bool) -> Form:
    """Return the form of a robot: what may be meant, then an action or a question.

    `options`: that can be marked; without any, they are written.
    """
    marked = Field("marked", "lines", rows=3, note=message("field.marked.own"))
    if options:
        choices = [Choice(option, option) for option in options]
        marked = Field("marked", "choices", choices=choices, keys="123456789")
    act = Field("act", "entry", picks="marked")
    if not may_ask:
        why = Text(message("no_more" if asked else "no_questions"))
        return Form((marked, Ways([Way("act", (why, act), "d")])), keys=message("keys.act"))
    ask = (Field("ask", "text", own_words=True), Text(message("ask_note"), "muted"))
    return Form(
        (marked, Ways([Way("act", (act,), "d"), Way("ask", ask, "a", "clay")])), keys=message("keys.ask")
    )


def picture() -> tuple[Block, ...]:
    """Return an instruction, what stands about, and what may be meant; of no data set."""
    things = ("lentil soup", "ladle", "glass bowl", "wooden bowl", "bread rolls", "chopping board")
    options = ("ladle the soup into the glass bowl", "ladle the soup into the wooden bowl")
    return (
        Talk([Move(USER, "", "Put the soup into a bowl, please.")]),
        Chips(things),
        Text(message("entry.set"), "muted"),
        Chips(options),
        Text(message("entry.ask")),
    )
