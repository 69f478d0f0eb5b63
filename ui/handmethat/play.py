"""The page of an episode that is going on, for either seat."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from simulator.handmethat.env.questions import price_rule
from simulator.handmethat.views import CommandView, HumanView, LineView, QuestionView, RobotView
from trees import Language
from ui.handmethat.drawing import chip, draw, glyph_of

_QUESTION: Final = re.compile(r"^\s*(?:question|问题|提问)\s*[:：]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something that can be typed: the text, what it means in words, and its price if it is a question."""

    text: str
    label: str
    price: int | None = None


def play_parts(view: HumanView | RobotView) -> dict[str, object]:
    """Return what the page of a seat shows beside its view: the house, or the question that is due."""
    if isinstance(view, HumanView):
        return {"pending": asked(view.pending) if view.pending else "", "spoken": spoken}
    commands = view.commands if view.my_turn else ()
    language: Language = "zh" if view.language == "zh" else "en"
    return {
        "spoken": spoken,
        "drawing": draw(view.places, commands, language),
        "holding": chip(view.holding, commands, language) if view.holding else None,
        "hand_glyph": glyph_of(view.holding.kind) if view.holding else "",
        "human_holds": [chip(thing, commands, language) for thing in view.human_holds],
        "suggestions": suggestions(commands, view.questions if view.my_turn else ()),
        "prices": price_rule()._asdict(),
    }


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
