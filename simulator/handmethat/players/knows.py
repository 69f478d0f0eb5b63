"""What the seats are told when it is their turn (`View.task`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.handmethat.env.asking import read_question
from simulator.handmethat.env.game import GameState
from simulator.handmethat.env.questions import official_questions, question_cost, question_key
from simulator.handmethat.players.listening import HeardQuestion
from simulator.handmethat.playing import Play
from simulator.handmethat.task import Task
from trees import Language


@dataclass(frozen=True, slots=True)
class Question:
    """A question that may be asked, without ``question:`` in front, and what it costs in points."""

    text: str
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotKnows:
    """All that a robot is told: texts, and nothing that it cannot see.

    Attributes:
        opening: the room, what the human did and said, and the first view.
        description: what the human did and said.
        history: each command so far and what it led to, or each question and the human's answer.
        valid: commands that are offered now; others may be understood too.
        questions: what may be asked; empty if nothing may be asked any more. Other words may be understood.
        questions_left: how many more will be answered; None for any number.
        moves: commands and questions so far, of at most `limit`.
        one_thing: the paper's protocol holds: one thing may be taken, one try.
    """

    opening: str
    description: str
    look: str
    inventory: str
    history: tuple[tuple[str, str], ...]
    valid: tuple[str, ...]
    questions: tuple[Question, ...]
    questions_left: int | None
    moves: int
    limit: int
    cost: int
    one_thing: bool


@dataclass(frozen=True, slots=True)
class InsiderKnows:
    """The knowledge of a built-in robot; each keeps to what its description lets it see."""

    play: Play
    commands: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]
    seed: int

    @property
    def game(self) -> GameState:
        """Return where the episode stands."""
        return self.play.after(self.commands)


@dataclass(frozen=True, slots=True)
class AskedKnows:
    """The human seat's knowledge when it is asked something.

    Attributes:
        heard: what was asked, what the built-in expert would answer, and what may be told.
    """

    task: Task
    language: Language
    heard: HeardQuestion
    exchange: tuple[tuple[str, str], ...]


def robot_knows(play: Play, commands: Sequence[str], history: Sequence[tuple[str, str]]) -> RobotKnows:
    """Return what the robot is told after `commands`, which led to what `history` says."""
    game, now = play.game, play.after(commands)
    asked = sum(step.question for step in play.steps(commands))
    left = play.questions_left(asked)
    return RobotKnows(
        opening=game.opening(),
        description=game.description,
        look=game.look(now),
        inventory=game.observer.inventory(now.state),
        history=tuple(history),
        valid=play.valid(now),
        questions=() if left == 0 else questions_for(play),
        questions_left=left,
        moves=now.moves,
        limit=play.options.limit,
        cost=-now.score,
        one_thing=play.options.protocol == "paper",
    )


def questions_for(play: Play) -> tuple[Question, ...]:
    """Return the published questions that make sense here, with their costs."""
    task = play.task
    priced = (
        (text, question_key(task, read_question(task.world, text)))
        for text in official_questions(play.language)
    )
    return tuple(
        Question(text, question_cost(key, play.game.costs.questions))
        for text, key in priced
        if key != "other"
    )
