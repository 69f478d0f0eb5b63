"""HandMeThat's metrics, as pure functions of a task and the logged turns (spec 9.5).

* **success**: something of A(m) is as the human wants it.
* **score**: the paper's: 100 - n for success with n commands, -40 for every failure. The points of
  questions, which the paper leaves out, are taken off in both cases.
* **raw_sum**: the running sum of rewards: who stops early loses little.
* **moves**: commands and questions; **moves_of_success**: the same, of successes alone.

Turns are replayed: what counts is where the commands lead, not what was logged of it. Only what a question
asked, and so what it cost, is taken from the log: an episode keeps its score when questions are understood
better, or are priced by another rule, than when it was played.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from logs.rows import Score, Turn
from simulator.errors import InputError
from simulator.handmethat.env.game import Costs
from simulator.handmethat.env.questions import question_cost
from simulator.handmethat.playing import Options, Play, Step
from simulator.handmethat.task import Task
from simulator.handmethat.views import Mode, Protocol

VERSION: Final = "handmethat-1"
ROBOT: Final = "robot"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeScores:
    """The metrics of one episode.

    Attributes:
        success: whether the human got what was meant.
        score: see the module.
        raw_sum: see the module.
        moves: commands and questions.
        moves_of_success: `moves`; None without success.
        questions: how many were answered.
        question_cost: their points, a positive number.
        invalid: commands that led to nothing (not understood, not possible, refused).
        level: hardness of the task, 1 to 4.
        quest: bring_me, move_to or change_state.
        mode: what the robot saw.
        protocol: ``free`` or ``paper``.
        over: ``success``, ``stopped`` or ``limit``; empty if the turns stop before.
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


def score_episode(task: Task, turns: Sequence[Turn]) -> EpisodeScores:
    """Score an episode out of its logged turns.

    Raises:
        InputError: if the first turn does not say how the episode was played.
    """
    options = options_of(turns)
    play = Play(task, "en", options, text=False)
    steps = play.steps([str(turn.payload["command"]) for turn in turns if turn.seat == ROBOT])
    game = steps[-1].game if steps else play.game.start()
    dearer = _dearer(steps, [turn for turn in turns if turn.seat == ROBOT])
    game = game._replace(score=game.score - dearer, question_cost=game.question_cost + dearer)
    failure = Costs().failure
    return EpisodeScores(
        success=game.success,
        score=game.score if game.success else failure - game.question_cost,
        raw_sum=game.score,
        moves=game.moves,
        moves_of_success=game.moves if game.success else None,
        questions=sum(step.question for step in steps),
        question_cost=game.question_cost,
        invalid=sum(bool(step.refused or step.outcome.error) for step in steps),
        level=task.level,
        quest=task.meaning.quest,
        mode=options.mode,
        protocol=options.protocol,
        over=steps[-1].over if steps else "",
    )


def _dearer(steps: Sequence[Step], turns: Sequence[Turn]) -> int:
    """Return how much more the questions of an episode cost when it was played than they would now."""
    asked = (
        (str(turn.payload["heard"]), step.outcome.answer.key)
        for step, turn in zip(steps, turns, strict=False)
        if step.outcome.answer is not None and "heard" in turn.payload
    )
    return sum(question_cost(then) - question_cost(now) for then, now in asked)


def score_unplayed(task: Task, options: Options) -> EpisodeScores:
    """Score an episode that broke off before anything was said: a failure."""
    return EpisodeScores(
        success=False,
        score=Costs().failure,
        raw_sum=0,
        moves=0,
        moves_of_success=None,
        questions=0,
        question_cost=0,
        invalid=0,
        level=task.level,
        quest=task.meaning.quest,
        mode=options.mode,
        protocol=options.protocol,
        over="",
    )


def options_of(turns: Sequence[Turn]) -> Options:
    """Return how an episode was played, as the instruction's turn says.

    Raises:
        InputError: if there is no such turn.
    """
    payload = turns[0].payload if turns else {}
    if payload.get("kind") != "utterance":
        raise InputError("An episode of HandMeThat begins with the human's instruction; these turns do not.")
    return Options.read({"longest": None, **payload})


def score_rows(episode_id: str, scores: EpisodeScores) -> tuple[Score, ...]:
    """Return the scores as rows of the log."""
    metrics = ("success", "score", "raw_sum", "moves", "moves_of_success", "questions", "question_cost")
    plain: dict[str, Any] = asdict(scores)
    details = {key: value for key, value in plain.items() if key not in metrics}
    return tuple(
        Score(
            episode_id=episode_id,
            metric=metric,
            value=None if plain[metric] is None else float(plain[metric]),
            version=VERSION,
            details=details,
        )
        for metric in metrics
    )


def paper_average(rate: float, moves: float, failure: float = Costs().failure) -> float:
    """Return the average score that a success rate and the mean moves of successes make (spec 9.5).

    Args:
        rate: share of successes, 0 to 1.
        moves: mean moves of successes.
        failure: score of a failure.
    """
    return rate * (100 - moves) + failure * (1 - rate)
