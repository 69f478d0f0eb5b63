"""The knowledge of the seats when it is their turn (`View.task`), and what an answer may tell.

The built-in expert hears what is asked and answers it (`env.questions`). Whoever answers in its place, what
may be told is what was asked, and what has been said already.
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

# Why an answer cannot stand: it tells more than was asked, not what was asked, or something that is not so.
Guard = Literal["reveals", "misses", "contradicts"]
Polarity = Literal["yes", "no", ""]

_PLACES: Final = frozenset({"place", "destination", "object"})
_YES: Final = re.compile(
    r"^\W*(yes|yeah|yep|right|correct|exactly|sure)\b|^\W*(是|对|没错|要的)", re.IGNORECASE
)
_NO: Final = re.compile(r"^\W*(no|nope|wrong|not)\b|^\W*(不|否|没有|错)", re.IGNORECASE)


class HeardQuestion(NamedTuple):
    """A question that was asked.

    Attributes:
        fair: what may be mentioned: what the question, that answer and earlier words mention.
    """

    text: str
    answer: Answer
    fair: tuple[Mention, ...]


def hear(task: Task, question: str, language: Language, said: Iterable[str]) -> HeardQuestion:
    """Listen to `question`; `said` is what the human has said before, the instruction included."""
    text = question.removeprefix("question:").strip()
    reply = answer(task, text, language)
    # Who names too much at once may not be told any of it.
    words = (*([text] if reply.key != "too_many" else []), reply.text, *said)
    fair = (mention._replace(negated=False) for each in words for mention in read_mentions(task.world, each))
    return HeardQuestion(text, reply, tuple(dict.fromkeys(fair)))


def reveals(task: Task, heard: HeardQuestion, text: str) -> tuple[str, ...]:
    """Return what `text` tells beyond what is fair: ``color=red``, ``place=table`` and so on."""
    mentions = dict.fromkeys(mention._replace(negated=False) for mention in read_mentions(task.world, text))
    return tuple(
        _name_mention(task.world, mention)
        for mention in mentions
        if not _is_fair(task.world, mention, heard.fair)
    )


def guards(task: Task, heard: HeardQuestion, text: str) -> tuple[Guard, ...]:
    """Return why `text` cannot stand as the answer; empty if it can."""
    guards: list[Guard] = []
    if reveals(task, heard, text):
        guards.append("reveals")
    if _misses(task, heard, text):
        guards.append("misses")
    if polarity(text) not in _FITS[heard.answer.kind]:
        guards.append("contradicts")
    return tuple(guards)


def polarity(text: str) -> Polarity:
    """Return True if an answer begins with a yes or a no."""
    return "yes" if _YES.search(text) else "no" if _NO.search(text) else ""


# What an answer may begin with, by the kind of the expert's: a yes to what the human has no wish about would
# tell a wish, and so would a yes to what nobody has understood.
_FITS: Final[dict[str, frozenset[Polarity]]] = {
    "value": frozenset({"yes", "no", ""}),
    "yes": frozenset({"yes"}),
    "no": frozenset({"no"}),
    "indifferent": frozenset({"no", ""}),
    "unknown": frozenset({"", "no"}),
}


def _misses(task: Task, heard: HeardQuestion, text: str) -> bool:
    if heard.answer.kind != "value":
        return False
    read = tuple(read_mentions(task.world, text))
    mentions = dict.fromkeys(read_mentions(task.world, heard.answer.text))
    return not all(_is_fair(task.world, mention, read) for mention in mentions)


def _is_fair(world: World, mention: Mention, fair: tuple[Mention, ...]) -> bool:
    """Return True if some mention of `fair` tells as much or more."""
    if mention in fair:
        return True
    if mention.key == "kind":
        return any(
            other.key == "kind" and str(mention.value) in kinds_above(str(other.value)) for other in fair
        ) or any(
            _is_within(_extent(world, other), world.of(str(mention.value)))
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
        return world.of(str(mention.value))
    return int(mention.value) if mention.key in _PLACES else 0


def _name_mention(world: World, mention: Mention) -> str:
    if mention.key not in _PLACES:
        value = mention.value
        return f"{mention.key}={str(value).lower() if isinstance(value, bool) else value}"
    return f"{mention.key}={','.join(world.names[entity] for entity in entities(_extent(world, mention)))}"


# ---- what seats are told


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
