"""Listening to the robot, and what an answer may tell: pure functions.

The built-in expert hears what is asked and answers it (`env.questions`). Whoever answers in its place, what
may be told is what was asked, and what has been said already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from simulator.handmethat.env.asked_words import kinds_above
from simulator.handmethat.env.asking import Mention, read_mentions
from simulator.handmethat.env.questions import Answer, answer
from simulator.handmethat.task import Task
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
