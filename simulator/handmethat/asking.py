"""Records of asking or acting for HandMeThat's episodes (see `simulator.asking`).

The need to ask follows from the level (spec 8). At level 1 the instruction fits exactly what was meant. At
levels 2 and 3 it fits more, but the rest can be inferred from the human's goal or from how people speak. At
level 4 only the human can resolve it. Only answered questions are counted. A question is useful if its answer
leaves fewer matching things, or fewer possible destinations. Matches are computed for the household at the
time of the instruction, with the rules by which the built-in robot reads answers.
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


def asking_record(
    item: Task, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
) -> Asked:
    """Return the record of an episode; `options` are used only if it broke off before the instruction.

    Raises:
        InputError: if the first turn is not the instruction with the episode's options.
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
        price=float(sum(question.payload["cost"] for question, _ in _exchanges(turns))),
    )


def need_of(item: Task) -> Need:
    """Return who or what can resolve the instruction, by its level."""
    return "nothing" if item.level == 1 else "inferred" if item.level in (2, 3) else "person"


def exchange(turns: Sequence[Turn]) -> tuple[tuple[str, str], ...]:
    """Return each answered question with its answer."""
    return tuple((str(question.payload["command"]), answer.text) for question, answer in _exchanges(turns))


def _exchanges(turns: Sequence[Turn]) -> list[tuple[Turn, Turn]]:
    kinds = ("question", "answer")
    return [pair for pair in pairwise(turns) if tuple(turn.payload.get("kind") for turn in pair) == kinds]


def useful(task: Task, answers: Sequence[tuple[str, str]]) -> int:
    """Return the number of answers that reduced the number of possibilities."""
    left = [_count_possible(task, answers[:count]) for count in range(len(answers) + 1)]
    return sum(after < before for before, after in pairwise(left))


def _count_possible(task: Task, answers: Sequence[tuple[str, str]]) -> int:
    """Return the number of pairs of a matching thing and a possible destination."""
    belief = believe(task, answers)
    things = candidates(task.world, task.current, belief).bit_count()
    places = destinations(task.world, belief).bit_count() if task.utterance.quest == "move_to" else 1
    return things * places
