"""The views of the seats (`View.task`), and checks on the answers of the human seat.

The built-in expert answers any question (`env.questions`). Another player in its seat may say only what was
asked and what has been said before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from simulator.handmethat.env.asked_words import kinds_above
from simulator.handmethat.env.asking import Mention, read_mentions, read_question
from simulator.handmethat.env.game import GameState
from simulator.handmethat.env.questions import Answer, answer, official_questions, question_cost, question_key
from simulator.handmethat.items import Task
from simulator.handmethat.playing import Play
from simulator.handmethat.world import BitSet, World, entities
from trees import Language

# Why an answer is rejected: it says more than was asked, not what was asked, or something false.
Guard = Literal["reveals", "misses", "contradicts"]
Polarity = Literal["yes", "no", ""]

_PLACES: Final = frozenset({"place", "destination", "object"})
_YES: Final = re.compile(
    r"^\W*(yes|yeah|yep|right|correct|exactly|sure)\b|^\W*(是|对|没错|要的)", re.IGNORECASE
)
_NO: Final = re.compile(r"^\W*(no|nope|wrong|not)\b|^\W*(不|否|没有|错)", re.IGNORECASE)


class HeardQuestion(NamedTuple):
    """A question, the built-in expert's answer, and what an answer may mention (also earlier words)."""

    text: str
    answer: Answer
    fair: tuple[Mention, ...]


def hear(task: Task, question: str, language: Language, said: Iterable[str]) -> HeardQuestion:
    """Return `question` with the built-in expert's answer; `said`: the instruction and earlier answers."""
    text = question.removeprefix("question:").strip()
    reply = answer(task, text, language)
    # A question that names too many things allows none of them in the answer.
    texts = (*([text] if reply.key != "too_many" else []), reply.text, *said)
    fair = (mention._replace(negated=False) for text in texts for mention in read_mentions(task.world, text))
    return HeardQuestion(text, reply, tuple(dict.fromkeys(fair)))


def reveals(task: Task, heard: HeardQuestion, text: str) -> tuple[str, ...]:
    """Return what `text` reveals beyond what is fair: ``color=red``, ``place=table`` and so on."""
    mentions = dict.fromkeys(mention._replace(negated=False) for mention in read_mentions(task.world, text))
    return tuple(
        _name_mention(task.world, mention)
        for mention in mentions
        if not _is_fair(task.world, mention, heard.fair)
    )


def guards(task: Task, heard: HeardQuestion, text: str) -> tuple[Guard, ...]:
    """Return why `text` is rejected as the answer; empty if it is accepted."""
    guards: list[Guard] = []
    if reveals(task, heard, text):
        guards.append("reveals")
    if _misses(task, heard, text):
        guards.append("misses")
    if polarity(text) not in _ALLOWED[heard.answer.kind]:
        guards.append("contradicts")
    return tuple(guards)


def polarity(text: str) -> Polarity:
    """Return ``yes`` or ``no`` if an answer begins with it, else an empty string."""
    return "yes" if _YES.search(text) else "no" if _NO.search(text) else ""


# Allowed polarity by the kind of the expert's answer. A yes where the human is indifferent, or to a question
# that was not understood, would reveal a wish.
_ALLOWED: Final[dict[str, frozenset[Polarity]]] = {
    "value": frozenset({"yes", "no", ""}),
    "yes": frozenset({"yes"}),
    "no": frozenset({"no"}),
    "indifferent": frozenset({"no", ""}),
    "unknown": frozenset({"", "no"}),
}


def _misses(task: Task, heard: HeardQuestion, text: str) -> bool:
    if heard.answer.kind != "value":
        return False
    mentions = tuple(read_mentions(task.world, text))
    required = dict.fromkeys(read_mentions(task.world, heard.answer.text))
    return not all(_is_fair(task.world, mention, mentions) for mention in required)


def _is_fair(world: World, mention: Mention, fair: tuple[Mention, ...]) -> bool:
    """Return True if a mention in `fair` says as much or more."""
    if mention in fair:
        return True
    if mention.key == "kind":
        return any(
            other.key == "kind" and str(mention.value) in kinds_above(str(other.value)) for other in fair
        ) or any(
            _is_within(_extent(world, other), world.find_all(str(mention.value)))
            for other in fair
            if other.key in _PLACES
        )
    if mention.key in _PLACES:
        return any(_is_within(_extent(world, other), _extent(world, mention)) for other in fair)
    return False


def _is_within(inner: BitSet, outer: BitSet) -> bool:
    return bool(inner) and not inner & ~outer


def _extent(world: World, mention: Mention) -> BitSet:
    if mention.key == "kind":
        return world.find_all(str(mention.value))
    return int(mention.value) if mention.key in _PLACES else 0


def _name_mention(world: World, mention: Mention) -> str:
    if mention.key not in _PLACES:
        value = mention.value
        return f"{mention.key}={str(value).lower() if isinstance(value, bool) else value}"
    return f"{mention.key}={','.join(world.names[entity] for entity in entities(_extent(world, mention)))}"


# ---- the views


@dataclass(frozen=True, slots=True)
class Question:
    """A question that may be asked, without ``question:``, and its cost in points."""

    text: str
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotKnows:
    """The robot's view: texts only, with nothing that it cannot see.

    Attributes:
        opening: the room, the human's actions and instruction, and the first observation.
        description: the human's actions and instruction.
        history: each command with its observation, or each question with the human's answer.
        valid: commands offered now; others may be understood.
        questions: questions offered now, empty if no more may be asked; other words may be understood.
        questions_left: number of questions that will still be answered; None: unlimited.
        moves: commands and questions so far, at most `limit`.
        cost: points spent so far.
        one_thing: True under the paper's protocol: one thing may be taken, and there is one try.
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
    """The view of a built-in robot, which uses only what its own documentation says."""

    play: Play
    commands: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]
    seed: int

    @property
    def game(self) -> GameState:
        """The current state of the game."""
        return self.play.after(self.commands)


@dataclass(frozen=True, slots=True)
class AskedKnows:
    """The human seat's view when a question is pending, with the earlier questions and answers."""

    task: Task
    language: Language
    heard: HeardQuestion
    exchange: tuple[tuple[str, str], ...]


def robot_knows(play: Play, commands: Sequence[str], history: Sequence[tuple[str, str]]) -> RobotKnows:
    """Return the robot's view after `commands`; `history` pairs each with its result."""
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
    """Return the published questions that apply to this task, with their costs."""
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
