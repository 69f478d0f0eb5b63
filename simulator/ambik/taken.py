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
from simulator.ambik.kitchen.categories import Thing, thing
from simulator.ambik.kitchen.words import stems
from simulator.ambik.naming import bare, folded, named
from simulator.ambik.pairs import Pair
from simulator.ambik.terms import table
from simulator.ambik.topics import meant

_BRACKETS: Final = re.compile(r"\([^()]*\)?|\[[^\[\]]*\]?|\{[^{}]*\}?|（[^（）]*）?|【[^【】]*】?")
_SENTENCE: Final = re.compile(r"(?<=[.!?;:。！？；])\s+|\s+[-–—]+\s+|\n+")
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
    own = {folded(brackets) for text in given for brackets in _BRACKETS.findall(text)}
    text = action
    while (shorter := _BRACKETS.sub(lambda hit: hit[0] if folded(hit[0]) in own else " ", text)) != text:
        text = shorter
    said = {_plain(part) for answer in answers for part in (answer, *_SENTENCE.split(answer))}
    first, *rest = _SENTENCE.split(text) or [""]
    return " ".join((first, *(sentence for sentence in rest if _plain(sentence) not in said)))


def _plain(sentence: str) -> str:
    return bare(sentence).strip(" .,!")


def names_alternative(pair: Pair, action: str) -> bool:
    """Return True if an action names a thing or an amount that stands in for what is wanted."""
    names, words, numbers = _alternatives(pair)
    if any(folded(name) in names for name in named(action, pair.things)):
        return True
    if any(word in words for word in stems(action)):
        return True
    return numbers is not None and not _numbers(action) <= numbers


@lru_cache(maxsize=4096)
def _alternatives(pair: Pair) -> tuple[frozenset[str], frozenset[str], frozenset[str] | None]:
    """Return names of alternatives, words that tell them apart, and numbers that are no alternative."""
    told = " ".join((pair.clear, *pair.clear_plan))
    ambiguous = " ".join((pair.ambiguous, *pair.ambiguous_plan))
    target, shortlist = meant(pair)
    things = tuple(map(thing, pair.things))
    # What the task names elsewhere is no alternative, unless the data say that people hesitate over it here.
    listed = {each.name for each in shortlist} & set(pair.shortlist)
    fit = {each.name for each in target} | set(named(told, pair.things)) - listed
    fit |= set(named(pair.clear_step, [*pair.things, *listed]))
    group = dict.fromkeys((*shortlist, *(each for goal in target for each in _kind(goal, things))))
    others = [each for each in group if each.name not in fit]
    # A word for a thing of its own tells no alternative: the cheese of the cheese knife.
    known = [
        stems(f"{told} {ambiguous}"),
        *map(stems, fit),
        *(each.stems for each in things if each not in others),
    ]
    apart = {word for other in others for word in other.stems}.difference(*known)
    numbers = None
    if pair.intent and any(
        _numbers(way.text) for concept in pair.intent.concepts for way in concept.alternatives
    ):
        numbers = _numbers(f"{told} {pair.intent.text} {ambiguous}")
    return frozenset(folded(other.name) for other in others), frozenset(apart), numbers


def _kind(goal: Thing, things: Sequence[Thing]) -> tuple[Thing, ...]:
    """Return the things of the nearest kind of `goal` that has others."""
    rest = [thing for thing in things if thing != goal]
    for kind in goal.kinds:
        if kind not in _TOO_WIDE and (others := tuple(thing for thing in rest if thing.is_a(kind))):
            return others
    return tuple(thing for thing in rest if thing.head == goal.head)


def _numbers(text: str) -> frozenset[str]:
    words = table("common_sense")["numbers"]
    digits = {match.group().replace(",", ".") for match in _NUMBER.finditer(text)}
    return frozenset(digits | {str(words[word]) for word in stems(text) if word in words})
