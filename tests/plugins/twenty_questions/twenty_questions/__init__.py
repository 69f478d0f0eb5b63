"""Twenty questions: an asker finds out, with yes/no questions, what an answerer thinks of."""

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
GUESS = re.compile(r"\W*is it (?:an? |the )?([\w-]+)\W*", re.IGNORECASE)


class Thing(BaseModel, frozen=True):
    """Something to be found out, and what is true of it."""

    name: str = Field(pattern=r"[a-z]+")
    facts: tuple[str, ...] = Field(min_length=1)


class Rules(BaseModel, frozen=True):
    """How long the game may be."""

    questions: int = Field(20, ge=1, description="questions that may be asked, guesses included")


GameState = State[Thing, Rules]
load = ItemFiles("twenty_questions", Thing, FOLDER / "items.yaml")
THINGS = load()


def guessed(question: str) -> str | None:
    """Return the thing that a question names; None if it is no guess."""
    match = GUESS.fullmatch(question)
    word = match[1].lower() if match else ""
    return word if any(thing.name == word for thing in THINGS) else None


def answer(thing: Thing, question: str) -> str:
    """Return the true answer to a question, as far as the table of facts knows it."""
    if (name := guessed(question)) is not None:
        return "yes" if name == thing.name else "no"
    facts = {fact for other in THINGS for fact in other.facts}
    asked = set(re.findall(r"[\w-]+", question.lower())) & facts
    return "I cannot tell" if not asked else "yes" if asked <= set(thing.facts) else "no"


def possible(exchanges: Sequence[tuple[str, str]]) -> list[Thing]:
    """Return the things that fit all answers."""
    known = [(question, said) for question, said in exchanges if said in ("yes", "no")]
    return [thing for thing in THINGS if all(answer(thing, question) == said for question, said in known)]


def exchanges(state: GameState) -> list[tuple[str, str]]:
    """Return the questions that were answered, with their answers."""
    return list(zip(state.texts("ask"), state.texts("answer"), strict=False))


def is_found(state: GameState) -> bool:
    """Return True if the asker has named the thing."""
    return any(guessed(question) == state.item.name for question in state.texts("ask"))


def next_seat(state: GameState) -> Due | None:
    """Return whose move it is: asker and answerer in turn, until it is found or no question is left."""
    if state.moves and state.moves[-1].kind == "ask":
        return Due("answerer", "answer", ANSWERS)
    if is_found(state) or len(state.texts("ask")) >= state.rules.questions:
        return None
    return Due("asker", "ask")


def accept(state: GameState, due: Due, reply: Reply) -> Move:
    """Return a reply as a move; an answerer who says anything but an answer breaks the rules."""
    text = reply.text.strip().splitlines()[0] if reply.text.strip() else ""
    said = next((known for known in ANSWERS if text.rstrip(".").lower() == known.lower()), None)
    if not text or (due.kind == "answer" and said is None):
        raise SeatError(f"The {due.seat} said {text!r}.", due.seat, code="not_an_answer")
    return Move(due.seat, due.kind, said or text)


def outcome(state: GameState) -> Literal["completed", "truncated"]:
    """Return how a game ended."""
    return "completed" if is_found(state) else "truncated"


def knows(state: GameState, seat: str) -> dict[str, Any]:
    """Return what a seat is shown: the thing and the question to the answerer alone."""
    if seat == "answerer":
        return {"thing": state.item, "question": state.moves[-1].text if state.moves else ""}
    return {"exchanges": exchanges(state), "remaining": state.rules.questions - len(state.texts("ask"))}


def score(state: GameState) -> dict[str, float | None]:
    """Return whether the thing was found, and after how many questions."""
    asked = len(state.texts("ask"))
    return {"success": float(is_found(state)), "questions": float(asked) if is_found(state) else None}


def record(state: GameState) -> Asked:
    """Return the record of asking: a question is useful if fewer things fit after its answer."""
    pairs = exchanges(state)
    left = [len(possible(pairs[:count])) for count in range(len(pairs) + 1)]
    useful = sum(after < before for before, after in pairwise(left))
    return Asked(
        kind="plant" if "plant" in state.item.facts else "other",
        need="person",
        questions=len(state.texts("ask")),
        useful=useful,
        right_before=None,
        right=is_found(state),
    )


def halve(view: View) -> str:
    """Return the question that splits what is left most evenly; a guess once one thing is left."""
    things = possible(view.task["exchanges"]) or list(THINGS)
    counts = {fact: sum(fact in thing.facts for thing in things) for thing in things for fact in thing.facts}
    splitting = {fact: count for fact, count in counts.items() if count < len(things)}
    if not splitting:
        return f"Is it a {things[0].name}?"
    best = min(sorted(splitting), key=lambda fact: abs(2 * splitting[fact] - len(things)))
    return f"Is it {best}?"


def guess(view: View) -> str:
    """Return a guess at the next thing of the list."""
    return f"Is it a {THINGS[len(view.task['exchanges']) % len(THINGS)].name}?"


def oracle(view: View) -> str:
    """Return the answer by the table of facts."""
    return answer(view.task["thing"], view.task["question"])


def page(state: GameState, seat: str) -> list[Block]:
    """Return what a person sees: the thing if it is theirs, what was said, and how much is left."""
    left = state.rules.questions - len(state.texts("ask"))
    own: list[Block] = reveal(state) if seat == "answerer" else []
    return [*own, Talk(state.moves), Meter("remaining", left, state.rules.questions)]


def reveal(state: GameState) -> list[Block]:
    """Return the thing and what is true of it."""
    return [Heading(state.item.name), Chips(state.item.facts)]


BENCHMARK = Benchmark[Thing, Rules](
    name="twenty_questions",
    title="Twenty questions",
    item=Thing,
    rules=Rules,
    load=load,
    seats=(
        SeatSpec(name="asker", players={"offline/halver": halve, "offline/guesser": guess}, prompt="asker"),
        SeatSpec(name="answerer", players={"offline/oracle": oracle}, prompt="answerer"),
    ),
    next_seat=next_seat,
    accept=accept,
    outcome=outcome,
    score=score,
    metrics=(
        Metric("success", "success", unsuccessful=0.0),
        Metric("questions", "questions", "questions"),
    ),
    knows=knows,
    view=page,
    reveal=reveal,
    asking=AskingSpec(robot="asker", user="answerer", record=record),
    folder=FOLDER,
)
