"""What an action takes: whether it is the one that the user wants, and no other besides.

Intent coverage (spec 10) looks for words in a text, so whoever names everything covers everything. An action
is right if it holds all that the intent wants and names none of the alternatives: of the shortlist, of the
things of the nearest kind that has others in the scene, of other amounts. What the clear task names as well
is none. What is added in brackets, and a sentence that only says an answer again, is not done and does not
count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from simulator.ambik.intents import realises
from simulator.ambik.kitchen.categories import Thing, categories, thing
from simulator.ambik.kitchen.words import stems
from simulator.ambik.naming import bare, folded, named
from simulator.ambik.pairs import Pair
from simulator.ambik.topics import meant

_BRACKETS: Final = re.compile(r"\([^()]*\)?|\[[^\[\]]*\]?|\{[^{}]*\}?|（[^（）]*）?|【[^【】]*】?")
_SENTENCE: Final = re.compile(r"(?<=[.!?;:。！？；])\s+|\s+[-–—]+\s+|\n+")
_NUMBERS: Final = {
    word: str(number)
    for number, word in enumerate(
        (
            *(
                "zero",
                "one",
                "two",
                "three",
                "four",
                "five",
                "six",
                "seven",
                "eight",
                "nine",
                "ten",
                "eleven",
            ),
            *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
            "twenty",
        )
    )
} | {"half": "0.5", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60"}
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)?")
_TOO_WIDE: Final = ("tool", "utensil", "kitchenware", "tableware", "ingredient")


def takes(pair: Pair, action: str, answers: Iterable[str] = ()) -> bool | None:
    """Return True if an action does what the user of a pair wants, and takes nothing else instead or besides.

    Args:
        pair: with the intent.
        action: in words.
        answers: that were given before it.

    Returns:
        None if there is no intent that can be read.
    """
    if pair.intent is None or pair.intent.malformed:
        return None
    done = what_is_done(action, answers, (*pair.clear_plan, *pair.ambiguous_plan, pair.clear, pair.ambiguous))
    return realises(pair.intent, done) and not names_alternative(pair, done)


def what_is_done(action: str, answers: Iterable[str] = (), given: Iterable[str] = ()) -> str:
    """Return an action without what it adds in brackets, and without sentences that are an answer's.

    Args:
        action: in words.
        answers: that were given before it.
        given: texts of the task; brackets that stand in them are a part of the action.
    """
    own = {folded(one) for text in given for one in _BRACKETS.findall(text)}
    text = action
    while (shorter := _BRACKETS.sub(lambda hit: hit[0] if folded(hit[0]) in own else " ", text)) != text:
        text = shorter
    said = {bare(one).strip(" .,!") for answer in answers for one in (answer, *_SENTENCE.split(answer))}
    first, *rest = _SENTENCE.split(text) or [""]
    return " ".join((first, *(one for one in rest if bare(one).strip(" .,!") not in said)))


def names_alternative(pair: Pair, action: str) -> bool:
    """Whether an action names a thing or an amount that could stand for what is wanted, and is not wanted."""
    names, words, told = _alternatives(pair)
    if any(folded(one) in names for one in named(action, pair.things)):
        return True
    if any(word in words for word in stems(action)):
        return True
    return told is not None and not _numbers(action) <= told


@lru_cache(maxsize=4096)
def _alternatives(pair: Pair) -> tuple[frozenset[str], frozenset[str], frozenset[str] | None]:
    """Names of alternatives, words that tell them apart, numbers that may be named where one is wanted."""
    told = " ".join((pair.clear, *pair.clear_plan))
    target, shortlist = meant(pair)
    things = tuple(thing(name) for name in pair.things)
    fit = {one.name for one in target}
    # What the task names elsewhere is no alternative, unless the data say that people hesitate over it here.
    listed = {one.name for one in shortlist} & set(pair.shortlist)
    fit |= set(named(told, pair.things)) - listed
    fit |= set(named(pair.clear_step, [*pair.things, *listed]))
    group = {
        one.name: one for one in (*shortlist, *(each for goal in target for each in _kind(goal, things)))
    }
    others = [one for name, one in group.items() if name not in fit]
    spoken = frozenset(stems(f"{told} {pair.ambiguous} {' '.join(pair.ambiguous_plan)}"))
    wanted = frozenset(word for name in fit for word in stems(name))
    apart = frozenset(word for other in others for word in other.stems) - wanted - spoken
    # A word for a thing of its own tells no alternative: the cheese of the cheese knife.
    apart -= frozenset(word for one in things if one not in others for word in one.stems)
    assert pair.intent is not None
    numbers = None
    if any(
        _numbers(alternative.text) for concept in pair.intent.concepts for alternative in concept.alternatives
    ):
        numbers = _numbers(f"{told} {pair.intent.text} {pair.ambiguous} {' '.join(pair.ambiguous_plan)}")
    return frozenset(folded(other.name) for other in others), apart, numbers


def _kind(goal: Thing, things: Sequence[Thing]) -> tuple[Thing, ...]:
    """Return the things of the nearest kind of `goal` that has others."""
    kinds = categories()[goal.category].wider if goal.category else ()
    for kind in (one for one in kinds if one not in _TOO_WIDE):
        if others := tuple(thing for thing in things if thing != goal and thing.is_a(kind)):
            return others
    return tuple(thing for thing in things if thing != goal and thing.head == goal.head)


def _numbers(text: str) -> frozenset[str]:
    found = {one.group().replace(",", ".") for one in _NUMBER.finditer(text)}
    return frozenset(found | {_NUMBERS[word] for word in stems(text) if word in _NUMBERS})
