"""The page of an episode that is going on, for either seat."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from simulator.handmethat.env.questions import price_rule
from simulator.handmethat.graph import HUMAN, ROBOT
from simulator.handmethat.views import CommandView, HumanView, LineView, QuestionView, RobotView
from trees import Language
from ui.handmethat.drawing import chip, draw, glyph_of
from ui.render.environment import render
from ui.render.frame import Frame
from ui.render.play import Company, Notice

_QUESTION: Final = re.compile(r"^\s*(?:question|问题|提问)\s*[:：]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something that can be typed: the text, what it means in words, and its price if it is a question."""

    text: str
    label: str
    price: int | None = None


def play_page(
    frame: Frame,
    view: HumanView | RobotView,
    company: Company,
    *,
    render_id: str,
    notice: Notice | None = None,
) -> str:
    """Return the page of the seat that `view` belongs to."""
    if isinstance(view, RobotView):
        return robot_page(frame, view, company, render_id, notice)
    return human_page(frame, view, company, render_id, notice)


def robot_page(frame: Frame, view: RobotView, company: Company, render_id: str, notice: Notice | None) -> str:
    """Return what the person in the robot's seat sees: the house, the story, what can be done."""
    commands = view.commands if view.my_turn else ()
    language: Language = "zh" if view.language == "zh" else "en"
    drawing = draw(view.places, commands, language)
    return render(
        "handmethat/play_robot",
        frame.texts,
        frame=frame,
        view=view,
        render_id=render_id,
        company=company,
        notice=notice,
        other=HUMAN,
        spoken=spoken,
        drawing=drawing,
        holding=chip(view.holding, commands, language) if view.holding else None,
        hand_glyph=glyph_of(view.holding.kind) if view.holding else "",
        human_holds=[chip(thing, commands, language) for thing in view.human_holds],
        suggestions=suggestions(commands, view.questions if view.my_turn else ()),
        prices=price_rule()._asdict(),
    )


def human_page(frame: Frame, view: HumanView, company: Company, render_id: str, notice: Notice | None) -> str:
    """Return what the person in the human's seat sees: what is meant, and what the robot does and asks."""
    return render(
        "handmethat/play_human",
        frame.texts,
        frame=frame,
        view=view,
        render_id=render_id,
        company=company,
        notice=notice,
        other=ROBOT,
        pending=asked(view.pending) if view.pending else "",
        spoken=spoken,
    )


def spoken(line: LineView) -> str:
    """Return a turn as people read it: a question without the word that marks it as one."""
    return asked(line.text) if line.kind == "question" else line.text


def asked(text: str) -> str:
    """Return a question without the word that marks it as one."""
    return _QUESTION.sub("", text)


def suggestions(commands: tuple[CommandView, ...], questions: tuple[QuestionView, ...]) -> list[Suggestion]:
    """Return what the line for typing offers."""
    return [
        *(Suggestion(command.text, command.label) for command in commands),
        *(Suggestion(question.text, question.label, question.cost) for question in questions),
    ]
