"""Twenty questions: an asker finds out with yes/no questions what thing an answerer is thinking of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from simulator.asking import Asked
from simulator.benchmark import AskingSpec, Benchmark, Due, Metric, Move, SeatSpec, State
from simulator.blocks import Block, Chips, Heading, Meter, Talk
from simulator.errors import SeatError
from simulator.items import ItemFiles
from simulator.seats import Reply, View

FOLDER = Path(__file__).parent
ANSWERS = ("yes", "no", "I cannot tell")
GUESS = re.compile(r"\W*(?:is it |it's )?(?:an? |the )?([\w-]+)(?:, right)?\W*", re.IGNORECASE)


class Thing(BaseModel, frozen=True):
    """A thing to guess, with the facts that are true of it."""

    name: str = Field(pattern=r"[a-z]+")
    facts: tuple[str, ...] = Field(min_length=1)


class Rules(BaseModel, frozen=True):
    """The rules of a game."""

    questions: int = Field(20, ge=1, description="maximum number of questions, including guesses")


GameState = State[Thing, Rules]
load = ItemFiles("twenty_questions", Thing, FOLDER / "items.yaml")
THINGS = load()


def guessed_thing(question: str) -> str | None:
    """Return the name of the thing that a question guesses; None if it is not a guess."""
    match = GUESS.fullmatch(question)
    word = match[1].lower() if match else ""
    return word if any(thing.name == word for thing in THINGS) else None


def true_answer(thing: Thing, question: str) -> str:
    """Return the true answer to a question about a thing, if the facts in it are known."""
    if (name := guessed_thing(question)) is not None:
        return "yes" if name == thing.name else "no"
    all_facts = {fact for other in THINGS for fact in other.facts}
    words = set(re.findall(r"[\w'-]+", question.lower()))
    facts, denied = words & all_facts, words & {"not", "neither", "isn't", "doesn't"}
    true = facts & set(thing.facts)
    holds = bool(true) if "or" in words else true == facts
    return "I cannot tell" if denied or not facts else "yes" if holds else "no"


def candidates(exchanges: Sequence[tuple[str, str]]) -> list[Thing]:
    """Return the things that fit all questions and answers so far."""
    definite = [(question, answer) for question, answer in exchanges if answer in ("yes", "no")]
    return [
        thing for thing in THINGS if all(true_answer(thing, asked) == answer for asked, answer in definite)
    ]


def answered_questions(state: GameState) -> list[tuple[str, str]]:
    """Return the answered questions with their answers."""
    return list(zip(state.texts("ask"), state.texts("answer"), strict=False))


def questions_left(state: GameState) -> int:
    """Return the number of questions that the asker may still ask."""
    return state.rules.questions - len(state.texts("ask"))


def is_found(state: GameState) -> bool:
    """Return True if the asker has guessed the thing."""
    return any(guessed_thing(question) == state.item.name for question in state.texts("ask"))


def next_seat(state: GameState) -> Due | None:
    """Return the seat to move: asker and answerer in turn; None when the game is over."""
    if state.moves and state.moves[-1].kind == "ask":
        return Due("answerer", "answer", ANSWERS)
    if is_found(state) or questions_left(state) <= 0:
        return None
    return Due("asker", "ask")


def accept(state: GameState, due: Due, reply: Reply) -> Move:
    """Return a reply as a move.

    Raises:
        SeatError: if the reply is empty, or the answerer says anything but one of `ANSWERS`.
    """
    text = reply.text.strip().splitlines()[0] if reply.text.strip() else ""
    answer = next((answer for answer in ANSWERS if text.rstrip(".").lower() == answer.lower()), None)
    if not text or (due.kind == "answer" and answer is None):
        raise SeatError(f"The {due.seat} said {text!r}.", due.seat, code="not_an_answer")
    return Move(due.seat, due.kind, answer or text)


def outcome(state: GameState) -> Literal["completed", "truncated"]:
    """Return the status of a game that is over."""
    return "completed" if is_found(state) else "truncated"


def knowledge(state: GameState, seat: str) -> dict[str, Any]:
    """Return what a seat knows; only the answerer knows the thing."""
    if seat == "answerer":
        return {"thing": state.item, "question": state.moves[-1].text if state.moves else ""}
    return {"exchanges": answered_questions(state), "remaining": questions_left(state)}


def score(state: GameState) -> dict[str, float | None]:
    """Return success, and for a success the number of questions."""
    success, count = is_found(state), len(state.texts("ask"))
    return {"success": float(success), "questions": float(count) if success else None}


def asking_record(state: GameState) -> Asked:
    """Return the record of asking: a question is useful if its answer leaves fewer candidates."""
    exchanges = answered_questions(state)
    left = [len(candidates(exchanges[:count])) for count in range(len(exchanges) + 1)]
    return Asked(
        kind="plant" if "plant" in state.item.facts else "other",
        need="person",
        questions=len(state.texts("ask")),
        useful=sum(after < before for before, after in pairwise(left)),
        right_before=None,
        right=is_found(state),
    )


def halve(view: View) -> str:
    """Ask for the fact that splits the candidates most evenly; guess once they cannot be split."""
    things = candidates(view.task["exchanges"]) or list(THINGS)
    counts = {fact: sum(fact in thing.facts for thing in things) for thing in things for fact in thing.facts}
    splitting = {fact: count for fact, count in counts.items() if count < len(things)}
    if not splitting:
        return f"Is it a {things[0].name}?"
    best = min(sorted(splitting), key=lambda fact: abs(2 * splitting[fact] - len(things)))
    return f"Is it {best}?"


def guess(view: View) -> str:
    """Guess the things one after the other."""
    return f"Is it a {THINGS[len(view.task['exchanges']) % len(THINGS)].name}?"


def tell_truth(view: View) -> str:
    """Answer the question truthfully."""
    return true_answer(view.task["thing"], view.task["question"])


def page(state: GameState, seat: str) -> list[Block]:
    """Return the page of a seat: the thing (for the answerer), the dialogue, and the questions left."""
    thing = reveal(state) if seat == "answerer" else []
    return [*thing, Talk(state.moves), Meter("remaining", questions_left(state), state.rules.questions)]


def reveal(state: GameState) -> list[Block]:
    """Return the thing and its facts."""
    return [Heading(state.item.name), Chips(state.item.facts)]


BENCHMARK = Benchmark[Thing, Rules](
    name="twenty_questions",
    title="Twenty questions",
    item=Thing,
    rules=Rules,
    load=load,
    seats=(
        SeatSpec(name="asker", players={"offline/halver": halve, "offline/guesser": guess}, prompt="asker"),
        SeatSpec(name="answerer", players={"offline/oracle": tell_truth}, prompt="answerer"),
    ),
    next_seat=next_seat,
    accept=accept,
    outcome=outcome,
    score=score,
    metrics=(
        Metric("success", "success", unsuccessful=0.0),
        Metric("questions", "questions", "questions"),
    ),
    knows=knowledge,
    view=page,
    reveal=reveal,
    asking=AskingSpec(robot="asker", user="answerer", record=asking_record),
    folder=FOLDER,
)
