"""What HandMeThat's episodes say of asking (see `simulator.asking`).

What is open follows from the level (spec 8). At level 1 the words fit what was meant and nothing else. At
levels 2 and 3 more fits, and whoever knows the human's goal, or how people speak, can infer the rest. At
level 4 something stays open that only this human can tell. A question is one that was put
to the human and answered; useful if by it fewer things, or fewer places to put them, fit than before. What
fits is asked of the household as it was at the instruction, with the rules by which the built-in robot reads
answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from logs.rows import Judgment, Turn
from simulator.asking import Asked, Need
from simulator.handmethat.items import Task
from simulator.handmethat.players.asking import believe, candidates, destinations
from simulator.handmethat.playing import Options
from simulator.handmethat.score import options_of, score_episode
from simulator.runner.machines import task_turns


def asked(
    item: Task, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
) -> Asked:
    """Return what an episode says; before the instruction its options tell how it was to be played.

    Raises:
        InputError: if the first turn does not say how the episode was played.
    """
    turns = task_turns(turns)
    played, answers = options_of(turns) if turns else Options.read(options), exchange(turns)
    scores = score_episode(item, turns, options)
    return Asked(
        kind=f"level {item.level}",
        need=need_of(item),
        questions=len(answers),
        useful=useful(item, answers),
        # A robot that has not asked has not said what it would have fetched.
        right_before=None,
        right=scores.success,
        may_ask=played.questions != 0,
        manner=("sees all",) if played.mode == "full" else (),
        price=float(sum(question.payload["cost"] for question, _ in _answered(turns))),
    )


def need_of(item: Task) -> Need:
    """Return what settles what the instruction leaves open, by its level."""
    return "nothing" if item.level == 1 else "inferred" if item.level in (2, 3) else "person"


def exchange(turns: Sequence[Turn]) -> tuple[tuple[str, str], ...]:
    """Return each question that was answered, and the answer."""
    return tuple((str(turn.payload["command"]), two.text) for turn, two in _answered(turns))


def _answered(turns: Sequence[Turn]) -> list[tuple[Turn, Turn]]:
    kinds = ("question", "answer")
    return [two for two in pairwise(turns) if tuple(turn.payload.get("kind") for turn in two) == kinds]


def useful(task: Task, answers: Sequence[tuple[str, str]]) -> int:
    """Return how many answers left fewer possibilities than there had been."""
    left = [_count_possible(task, answers[:count]) for count in range(len(answers) + 1)]
    return sum(after < before for before, after in pairwise(left))


def _count_possible(task: Task, answers: Sequence[tuple[str, str]]) -> int:
    """Return pairs of a thing that fits and a place where it may have to go."""
    belief = believe(task, answers)
    things = candidates(task.world, task.current, belief).bit_count()
    places = destinations(task.world, belief).bit_count() if task.utterance.quest == "move_to" else 1
    return things * places
