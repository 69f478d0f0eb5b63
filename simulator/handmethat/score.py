"""HandMeThat's metrics, as pure functions of a task and the logged turns (spec 9.5).

* **success**: an object of A(m) is as the human wants it.
* **score**: the paper's: 100 - n for success with n commands, -40 for every failure. The points of
  questions, which the paper leaves out, are subtracted in both cases.
* **raw_sum**: the running sum of rewards; a robot that stops early loses little.
* **moves**: commands and questions; **moves_of_success**: the same, only for successes.

Turns are replayed: the commands determine the score, not the logged outcomes. Only the content of a question,
and so its cost, is taken from the log, so that an episode keeps its score when the reading or pricing of
questions changes later.

The need to ask (see `simulator.asking`) follows from the level (spec 8). At level 1 the instruction fits
exactly what was meant. At levels 2 and 3 it fits more, but the rest can be inferred from the human's goal or
from how people speak. At level 4 only the human can resolve it. Only answered questions are counted. A
question is useful if its answer leaves fewer matching things, or fewer possible destinations. Matches are
computed for the household at the time of the instruction, with the rules by which the built-in robot reads
answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final

from logs.rows import Judgment, Score, Turn
from simulator.asking import Asked, Need
from simulator.errors import InputError
from simulator.handmethat.benchmark import BENCHMARK
from simulator.handmethat.env.game import Costs
from simulator.handmethat.env.observe import Mode
from simulator.handmethat.env.questions import question_cost
from simulator.handmethat.items import Task
from simulator.handmethat.players.asking import believe, candidates, destinations
from simulator.handmethat.playing import ROBOT, Options, Play, Protocol, Step
from simulator.runner import machines
from simulator.runner.machines import task_turns

VERSION: Final = "handmethat-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeScores:
    """The metrics of one episode (see the module docstring).

    Attributes:
        moves_of_success: `moves`; None without success.
        questions: number of questions, including one that the limit leaves unanswered.
        question_cost: their points, a positive number.
        invalid: commands without effect (not understood, not possible or refused).
        over: ``success``, ``stopped`` or ``limit``; empty if the turns end before.
    """

    success: bool
    score: int
    raw_sum: int
    moves: int
    moves_of_success: int | None
    questions: int
    question_cost: int
    invalid: int
    level: int
    quest: str
    mode: Mode
    protocol: Protocol
    over: str


def score_episode(
    task: Task, turns: Sequence[Turn], options: Mapping[str, Any] | None = None
) -> EpisodeScores:
    """Score an episode from its logged turns.

    `options`: the episode's options, used if it broke off before the first turn (a failure).

    Raises:
        InputError: if the first turn is not the instruction with the episode's options.
    """
    turns = task_turns(turns)
    rules = options_of(turns) if turns or options is None else Options.read(options)
    play, moves = Play(task, "en", rules, text=False), [turn for turn in turns if turn.seat == ROBOT]
    steps = play.steps([str(turn.payload["command"]) for turn in moves])
    game = steps[-1].game if steps else play.game.start()
    difference = _price_difference(steps, moves)
    question_cost, total = game.question_cost + difference, game.score - difference
    return EpisodeScores(
        success=game.success,
        score=total if game.success else Costs().failure - question_cost,
        raw_sum=total,
        moves=game.moves,
        moves_of_success=game.moves if game.success else None,
        questions=sum(step.question for step in steps),
        question_cost=question_cost,
        invalid=sum(bool(step.refused or step.outcome.error) for step in steps),
        level=task.level,
        quest=task.meaning.quest,
        mode=rules.mode,
        protocol=rules.protocol,
        over=steps[-1].over if steps else "",
    )


def _price_difference(steps: Sequence[Step], moves: Sequence[Turn]) -> int:
    """Return the cost of an episode's questions as read when it was played, less their cost as read now."""
    return sum(
        question_cost(str(turn.payload["heard"])) - question_cost(step.outcome.answer.key)
        for step, turn in zip(steps, moves, strict=False)
        if step.outcome.answer is not None and "heard" in turn.payload
    )


def options_of(turns: Sequence[Turn]) -> Options:
    """Return an episode's options, as recorded in the instruction's turn.

    Raises:
        InputError: if the first turn is not the instruction.
    """
    payload = next((turn.payload for turn in task_turns(turns)), {})
    if payload.get("kind") != "utterance":
        raise InputError("An episode of HandMeThat begins with the human's instruction; these turns do not.")
    return Options.read({"longest": None, **payload})


def score_rows(episode_id: str, scores: EpisodeScores) -> tuple[Score, ...]:
    """Return the metrics as rows of the log, each with the other values as details."""
    details: dict[str, Any] = asdict(scores)
    values = {metric.name: details.pop(metric.name) for metric in BENCHMARK.metrics}
    return machines.score_rows(episode_id, values, VERSION, details)


# ---- records of asking or acting (see `simulator.asking`)


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
