"""The truth: right options and actions (spec 7.1, 9), and questions; which types expect one (spec 1, 5).

Of a pair's member an option is right if it realises all concepts of at least one line of its variants; that
is for calibration. In the test file the column holds phrases that are not for scoring: there the intent is
what is right. Own data have lines of keywords for every pair. Of a KnowNo scenario the rule of the original
program, in words, decides. Where a run has the option that none of the others is right, that one is right if
no other is.

Intent coverage (spec 10) looks for words in a text, so whoever names everything covers everything. An action
is right (`takes`) if it holds all that the intent wants and names none of the alternatives: of the shortlist,
of the things of the nearest kind that has others in the scene, of other amounts. What the clear task names as
well is none. What is added in brackets, and a sentence that only says an answer again, is not done and does
not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from simulator.ambik.intents import Intent, acceptable, folded, realises
from simulator.ambik.items import DecideItem, Pair, PairItem, Scenario
from simulator.ambik.naming import Thing, bare, is_filler, is_not_listed, named, names_any, stems, thing
from simulator.ambik.questions import hear, hear_scenario
from simulator.ambik.records import Decision
from simulator.ambik.terms import Settings, TaskType, table
from simulator.ambik.topics import meant

PICK_UP: Final = "pick-up"
FIXED: Final = ("drawer", "bin", "microwave", "cooktop")
"""Places that are no object to put something beside; no option to pick something up names one."""
BINS: Final = ("recycling", "landfill", "compost", "trash")
DIRECTIONS: Final = (
    *("next to", "close to", "to the left of", "to the right of", "in front of", "on top of"),
    *("beside", "near", "behind", "under", "towards", "toward"),
    *("by", "at", "onto", "into", "to", "on", "in"),
)
"""Words after which an option says where something is put."""
_PLACE: Final = re.compile(rf"\b(?:{'|'.join(FIXED)})s?\b")
_AND: Final = re.compile(r"\band\b")
_DIRECTION: Final = re.compile(rf"\b(?:{'|'.join(DIRECTIONS)})\b")
_CLEAN: Final = re.compile(r"\bclean\b")
_DIRTY_WORD: Final = re.compile(r"\bdirty\b")
_DIRTY: Final = re.compile(r"\bdirty sponge(?: with food residue)?\b")
_ANY_SPONGE: Final = re.compile(r"\b(?:clean |dirty )sponge\b")


def candidates(decision: Decision) -> Mapping[str, str]:
    """Return what a decision chose from: letter -> text, or text -> text where there are no letters."""
    if decision.method in ("knowno", "lap"):
        return decision.options
    if decision.method == "lofreecp":
        return {text: text for text in decision.samples}
    if decision.chosen is not None:
        return {text: text for text in decision.chosen}
    return {decision.action: decision.action} if decision.action else {}


def acceptable_options(decision: Decision, settings: Settings) -> frozenset[str] | None:
    """Return the right ones of a decision's candidates.

    Returns:
        Keys of `candidates` (letters, or texts where there are none); empty if none of them is right; None if
        the data do not say what is right.
    """
    if decision.right is not None:
        return frozenset(decision.right)
    texts = candidates(decision)
    actions = {key: text for key, text in texts.items() if not is_filler(text) and not is_not_listed(text)}
    item = decision.item
    if isinstance(item, PairItem):
        intents = _intents(item, decision, settings)
        if not intents:
            return None
        right = [key for key, text in actions.items() if acceptable(intents, text)]
    elif not item.scenario.intended:
        return None
    else:
        right = [key for key, text in actions.items() if fits(item.scenario, text)]
    return frozenset(right or (key for key, text in texts.items() if is_not_listed(text)))


def expected_type(decision: Decision) -> TaskType | None:
    """Return the type by which asking is judged: after the answer an ambiguous task is a clear one (spec 5).

    None for KnowNo's scenarios, of which no type says whether a good robot asks.
    """
    if not isinstance(decision.item, PairItem):
        return None
    return "unambiguous_direct" if decision.dialogue == "after" else decision.item.type


def fits(scenario: Scenario, option: str) -> bool:
    """Return True if an option, in words, does what the user of a scenario wants (spec 9)."""
    if is_filler(option) or is_not_listed(option):
        return False
    text = folded(option)
    if _CLEAN.search(text) and _DIRTY_WORD.search(text):
        return False
    same = _sponge_names(scenario.objects)
    text, objects = same(text), [same(folded(name)) for name in scenario.objects]
    intended = [same(folded(name)) for name in scenario.intended]
    place = same(folded(scenario.location))
    if place == PICK_UP:
        return _picked_up(text, intended, objects)
    if _PLACE.search(place) or place in BINS:
        return names_any(text, intended, objects) and place in text
    return _put_beside(text, intended, place, objects)


def _intents(item: PairItem, decision: Decision, settings: Settings) -> Sequence[Intent]:
    pair = item.pair
    intents = [pair.intent] if pair.intent is not None and not pair.intent.malformed else []
    cleared = item.member == "clear" or decision.dialogue == "after"
    if settings.calibration_truth == "intent_for_clear" and cleared:
        return intents
    keywords = item.part == "calibration" or bool(pair.options)
    variants = [variant for variant in pair.variants if not variant.malformed] if keywords else []
    return variants or intents


def _picked_up(text: str, intended: Iterable[str], objects: Sequence[str]) -> bool:
    if _PLACE.search(text) or len(named(text, objects)) > 1:
        return False
    return names_any(text, intended, objects)


def _put_beside(text: str, intended: Iterable[str], place: str, objects: Sequence[str]) -> bool:
    cut = _AND.search(text) or _DIRECTION.search(text)
    if cut is None:
        return False
    what, where = text[: cut.start()], text[cut.end() :]
    return names_any(what, intended, objects) and names_any(where, [place], objects)


def _sponge_names(objects: Iterable[str]) -> Callable[[str], str]:
    # They are one and the same unless the scene has a clean one and a dirty one.
    here = [folded(name) for name in objects]
    two = all(any(name.startswith(kind) for name in here) for kind in ("clean sponge", "dirty sponge"))

    def same(text: str) -> str:
        short = _DIRTY.sub("dirty sponge", text)
        return short if two else _ANY_SPONGE.sub("sponge", short)

    return same


# ---- whether an action is right, and whether a question asks for what is open

_BRACKETS: Final = re.compile(r"\([^()]*\)?|\[[^\[\]]*\]?|\{[^{}]*\}?|（[^（）]*）?|【[^【】]*】?")
_SENTENCE: Final = re.compile(r"(?<=[.!?;:。！？；])\s+|\s+[-–—]+\s+|\n+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)?")
_TOO_WIDE: Final = ("tool", "utensil", "kitchenware", "tableware", "ingredient")


def takes(pair: Pair, action: str, answers: Iterable[str] = ()) -> bool | None:
    """Return True if an action does what the user of a pair wants, and takes nothing else instead or besides.

    Returns:
        None if there is no intent that can be read.
    """
    if pair.intent is None or pair.intent.malformed:
        return None
    done = what_is_done(action, answers, (*pair.clear_plan, *pair.ambiguous_plan, pair.clear, pair.ambiguous))
    return realises(pair.intent, done) and not names_alternative(pair, done)


def what_is_done(action: str, answers: Iterable[str] = (), given: Iterable[str] = ()) -> str:
    """Return an action without what it adds in brackets, and without sentences that are an answer's.

    `given`: texts of the task; brackets that stand in them are a part of the action.
    """
    own = {folded(brackets) for text in given for brackets in _BRACKETS.findall(text)}
    text = action
    while (shorter := _BRACKETS.sub(lambda hit: hit[0] if folded(hit[0]) in own else " ", text)) != text:
        text = shorter
    sentences = {_strip_sentence(part) for answer in answers for part in (answer, *_SENTENCE.split(answer))}
    first, *rest = _SENTENCE.split(text) or [""]
    return " ".join((first, *(sentence for sentence in rest if _strip_sentence(sentence) not in sentences)))


def _strip_sentence(sentence: str) -> str:
    return bare(sentence).strip(" .,!")


def names_alternative(pair: Pair, action: str) -> bool:
    """Return True if an action names a thing or an amount that stands in for what is wanted."""
    names, words, numbers = _name_alternatives(pair)
    if any(folded(name) in names for name in named(action, pair.things)):
        return True
    if any(word in words for word in stems(action)):
        return True
    return numbers is not None and not _numbers(action) <= numbers


@lru_cache(maxsize=4096)
def _name_alternatives(pair: Pair) -> tuple[frozenset[str], frozenset[str], frozenset[str] | None]:
    """Return names of alternatives, words that tell them apart, and numbers that are no alternative."""
    clear = " ".join((pair.clear, *pair.clear_plan))
    ambiguous = " ".join((pair.ambiguous, *pair.ambiguous_plan))
    target, shortlist = meant(pair)
    things = tuple(map(thing, pair.things))
    # What the task names elsewhere is no alternative, unless the data say that people hesitate over it here.
    listed = {each.name for each in shortlist} & set(pair.shortlist)
    fit = {each.name for each in target} | set(named(clear, pair.things)) - listed
    fit |= set(named(pair.clear_step, [*pair.things, *listed]))
    group = dict.fromkeys((*shortlist, *(each for goal in target for each in _kind(goal, things))))
    others = [each for each in group if each.name not in fit]
    # A word for a thing of its own tells no alternative: the cheese of the cheese knife.
    known = [
        stems(f"{clear} {ambiguous}"),
        *map(stems, fit),
        *(each.stems for each in things if each not in others),
    ]
    apart = {word for other in others for word in other.stems}.difference(*known)
    numbers = None
    if pair.intent and any(
        _numbers(way.text) for concept in pair.intent.concepts for way in concept.alternatives
    ):
        numbers = _numbers(f"{clear} {pair.intent.text} {ambiguous}")
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


def is_right(item: DecideItem, action: str, answers: Iterable[str] = ()) -> bool | None:
    """Return True if an action takes what is wanted and nothing else (`takes`), or fits a scenario (spec 9).

    None if there is no action, or no intent that can be read.
    """
    if not action:
        return None
    if not isinstance(item, PairItem):
        return fits(item.scenario, action) if item.scenario.intended else None
    return takes(item.pair, action, answers)


def right_in_the_end(
    item: DecideItem, asks: bool | None, action: str | None, answers: Iterable[str] = ()
) -> bool | None:
    """Return True if the last decision is right; None of a question, too: nothing was done then."""
    return None if asks else is_right(item, action or "", answers)


def is_relevant(item: DecideItem, question: str) -> bool | None:
    """Return True if a question asks for what is open; None where nothing is, and of one without words."""
    if not question:
        return None
    if not isinstance(item, PairItem):
        return bool(hear_scenario(item.scenario, question))
    return bool(hear(item.pair, question)) if item.member == "ambiguous" else None


def relevance(item: DecideItem, questions: Iterable[str]) -> float | None:
    """Return the share of questions that ask for what is open; None if none counts."""
    counted = [known for question in questions if (known := is_relevant(item, question)) is not None]
    return sum(counted) / len(counted) if counted else None
