"""The question that a method's robot asks, in words: none of the five methods has one of its own."""

from __future__ import annotations

from typing import Final, NamedTuple

from personas.templates import render
from simulator.ambik.methods.kit import SEED
from simulator.ambik.naming import is_filler, is_not_listed
from simulator.ambik.prompts import Case, one_line, prompt, read_line, request_for
from simulator.forms import LONGEST
from simulator.models import ChatModel
from simulator.seats import View

MOST_TOKENS: Final = 64


class Asked(NamedTuple):
    """A question.

    Attributes:
        question: in words.
        prompt: what the model read.
        raw: what it wrote.
        made: whether the model wrote none, so that the actions were named instead.
    """

    question: str
    prompt: str
    raw: str
    made: bool


async def ask(model: ChatModel, case: Case, actions: tuple[str, ...], view: View) -> Asked:
    """Return a question whose answer tells which of several actions is meant.

    Args:
        model: words it.
        case: the task.
        actions: of the prediction set, or the one that Binary is uncertain of.
        view: of the seat; for the log.

    Raises:
        ModelError: if the model fails.
    """
    open_ones = tuple(text for text in actions if not is_filler(text) and not is_not_listed(text))
    asked = prompt("ask", case, actions=open_ones)
    request = request_for(
        model,
        asked,
        temperature=0.0,
        seed=SEED,
        max_tokens=MOST_TOKENS,
        repeat=view.repeat,
        purpose="robot.ask",
        episode_id=view.episode_id,
        turn_number=view.number,
    )
    text = await one_line(model, request, case.language)
    question = read_line(text, LONGEST)
    made = not question
    if made:
        question = render("ambik/which", case.language, {"actions": open_ones}).text[:LONGEST]
    return Asked(question, asked.text, text, made)
