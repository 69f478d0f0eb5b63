"""Ground truth: right options and actions (spec 7.1, 9), relevant questions, types to ask about (spec 1, 5).

For calibration, an option of a pair's member is right if it realises all concepts of at least one line of the
variants. In the test file that column has phrases that are not for scoring, so the intent decides; our own
data have lines of keywords for every pair. For a KnowNo scenario the original program's rule decides. In runs
with the option "none of the others", that option is right if no other is.

Intent coverage (spec 10) looks for words in a text, so an action that names everything covers everything. An
action is right (`fulfils`) if it realises the complete intent and names no alternative: no other object of
the shortlist, no thing of the nearest category with others in the scene, no other amount. Things in the clear
task are not alternatives. Additions in brackets, and sentences that only repeat an answer, are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from simulator.ambik.intents import Intent, acceptable, fold, realises
from simulator.ambik.items import DecideItem, Pair, PairItem, Scenario
from simulator.ambik.naming import Thing, bare, is_filler, is_not_listed, names_any, names_in, stems, thing
from simulator.ambik.questions import interpret, interpret_scenario
from simulator.ambik.records import Decision
from simulator.ambik.terms import Settings, TaskType, table
from simulator.ambik.topics import intended_things

PICK_UP: Final = "pick-up"
FIXED: Final = ("drawer", "bin", "microwave", "cooktop")
"""Places that are not objects; an option to pick something up names none of them."""
BINS: Final = ("recycling", "landfill", "compost", "trash")
DIRECTIONS: Final = (
    *("next to", "close to", "to the left of", "to the right of", "in front of", "on top of"),
    *("beside", "near", "behind", "under", "towards", "toward"),
    *("by", "at", "onto", "into", "to", "on", "in"),
)
"""Words that introduce the place where an option puts something."""
_PLACE: Final = re.compile(rf"\b(?:{'|'.join(FIXED)})s?\b")
_AND: Final = re.compile(r"\band\b")
_DIRECTION: Final = re.compile(rf"\b(?:{'|'.join(DIRECTIONS)})\b")
_CLEAN: Final = re.compile(r"\bclean\b")
_DIRTY_WORD: Final = re.compile(r"\bdirty\b")
_DIRTY: Final = re.compile(r"\bdirty sponge(?: with food residue)?\b")
_ANY_SPONGE: Final = re.compile(r"\b(?:clean |dirty )sponge\b")


def candidates(decision: Decision) -> Mapping[str, str]:
    """Return the candidates of a decision: texts by letter, or by the text itself without letters."""
    if decision.method in ("knowno", "lap"):
        return decision.options
    if decision.method == "lofreecp":
        return {text: text for text in decision.samples}
    if decision.chosen is not None:
        return {text: text for text in decision.chosen}
    return {decision.action: decision.action} if decision.action else {}


def acceptable_options(decision: Decision, settings: Settings) -> frozenset[str] | None:
    """Return the right candidates of a decision.

    Returns:
        Keys of `candidates` (letters, or texts without letters); empty if none is right; None if the data do
        not say what is right.
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
    """Return the type by which asking is judged: after the answer an ambiguous task counts as clear (spec 5).

    None for KnowNo's scenarios, whose types do not say whether a good robot asks.
    """
    if not isinstance(decision.item, PairItem):
        return None
    return "unambiguous_direct" if decision.dialogue == "after" else decision.item.type


def fits(scenario: Scenario, option: str) -> bool:
    """Return True if an option's text does what the user of a scenario wants (spec 9)."""
    if is_filler(option) or is_not_listed(option):
        return False
    text = fold(option)
    if _CLEAN.search(text) and _DIRTY_WORD.search(text):
        return False
    same = _sponge_names(scenario.objects)
    text, objects = same(text), [same(fold(name)) for name in scenario.objects]
    intended = [same(fold(name)) for name in scenario.intended]
    place = same(fold(scenario.location))
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
    if _PLACE.search(text) or len(names_in(text, objects)) > 1:
        return False
    return names_any(text, intended, objects)


def _put_beside(text: str, intended: Iterable[str], place: str, objects: Sequence[str]) -> bool:
    cut = _AND.search(text) or _DIRECTION.search(text)
    if cut is None:
        return False
    what, where = text[: cut.start()], text[cut.end() :]
    return names_any(what, intended, objects) and names_any(where, [place], objects)


def _sponge_names(objects: Iterable[str]) -> Callable[[str], str]:
    # All sponges are the same unless the scene has both a clean and a dirty one.
    names = [fold(name) for name in objects]
    two = all(any(name.startswith(kind) for name in names) for kind in ("clean sponge", "dirty sponge"))

    def same(text: str) -> str:
        short = _DIRTY.sub("dirty sponge", text)
        return short if two else _ANY_SPONGE.sub("sponge", short)

    return same


# ---- right actions and relevant questions

_BRACKETS: Final = re.compile(r"\([^()]*\)?|\[[^\[\]]*\]?|\{[^{}]*\}?|（[^（）]*）?|【[^【】]*】?")
_SENTENCE: Final = re.compile(r"(?<=[.!?;:。！？；])\s+|\s+[-–—]+\s+|\n+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)?")
_TOO_WIDE: Final = ("tool", "utensil", "kitchenware", "tableware", "ingredient")


def fulfils(pair: Pair, action: str, answers: Iterable[str] = ()) -> bool | None:
    """Return True if an action does what the user of a pair wants and names no alternative.

    Returns:
        None if there is no valid intent.
    """
    if pair.intent is None or pair.intent.malformed:
        return None
    done = bare_action(action, answers, (*pair.clear_plan, *pair.ambiguous_plan, pair.clear, pair.ambiguous))
    return realises(pair.intent, done) and not names_alternative(pair, done)


def bare_action(action: str, answers: Iterable[str] = (), task_texts: Iterable[str] = ()) -> str:
    """Return an action without additions in brackets and without sentences that repeat an answer.

    `task_texts`: brackets that occur in them are kept.
    """
    kept = {fold(brackets) for text in task_texts for brackets in _BRACKETS.findall(text)}
    text = action
    while (shorter := _BRACKETS.sub(lambda hit: hit[0] if fold(hit[0]) in kept else " ", text)) != text:
        text = shorter
    sentences = {_strip_sentence(part) for answer in answers for part in (answer, *_SENTENCE.split(answer))}
    first, *rest = _SENTENCE.split(text) or [""]
    return " ".join((first, *(sentence for sentence in rest if _strip_sentence(sentence) not in sentences)))


def _strip_sentence(sentence: str) -> str:
    return bare(sentence).strip(" .,!")


def names_alternative(pair: Pair, action: str) -> bool:
    """Return True if an action names a thing or an amount that is an alternative to the one wanted."""
    names, words, numbers = _alternatives(pair)
    if any(fold(name) in names for name in names_in(action, pair.things)):
        return True
    if any(word in words for word in stems(action)):
        return True
    return numbers is not None and not _numbers(action) <= numbers


@lru_cache(maxsize=4096)
def _alternatives(pair: Pair) -> tuple[frozenset[str], frozenset[str], frozenset[str] | None]:
    """Return the alternatives' names, words that only they have, and the allowed numbers (None: any)."""
    clear = " ".join((pair.clear, *pair.clear_plan))
    ambiguous = " ".join((pair.ambiguous, *pair.ambiguous_plan))
    target, shortlist = intended_things(pair)
    things = tuple(map(thing, pair.things))
    # Things that the clear task names are not alternatives, unless the shortlist has them.
    listed = {each.name for each in shortlist} & set(pair.shortlist)
    fit = {each.name for each in target} | set(names_in(clear, pair.things)) - listed
    fit |= set(names_in(pair.clear_step, [*pair.things, *listed]))
    group = dict.fromkeys((*shortlist, *(each for goal in target for each in _nearest_kind(goal, things))))
    others = [each for each in group if each.name not in fit]
    # A word that also names another thing does not identify an alternative: the cheese of the cheese knife.
    known = [
        stems(f"{clear} {ambiguous}"),
        *map(stems, fit),
        *(each.stems for each in things if each not in others),
    ]
    distinctive = {word for other in others for word in other.stems}.difference(*known)
    numbers = None
    if pair.intent and any(
        _numbers(way.text) for concept in pair.intent.concepts for way in concept.alternatives
    ):
        numbers = _numbers(f"{clear} {pair.intent.text} {ambiguous}")
    return frozenset(fold(other.name) for other in others), frozenset(distinctive), numbers


def _nearest_kind(goal: Thing, things: Sequence[Thing]) -> tuple[Thing, ...]:
    """Return the other things in the nearest category of `goal` that has any."""
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
    """Return True if an action does what is wanted and nothing else (`fulfils`), or fits a scenario (spec 9).

    None if there is no action or no valid intent.
    """
    if not action:
        return None
    if not isinstance(item, PairItem):
        return fits(item.scenario, action) if item.scenario.intended else None
    return fulfils(item.pair, action, answers)


def right_in_the_end(
    item: DecideItem, asks: bool | None, action: str | None, answers: Iterable[str] = ()
) -> bool | None:
    """Return True if the last decision is right; None also if it was a question, since nothing was done."""
    return None if asks else is_right(item, action or "", answers)


def is_relevant(item: DecideItem, question: str) -> bool | None:
    """Return True if a question asks for what is open; None if nothing is open or it has no words."""
    if not question:
        return None
    if not isinstance(item, PairItem):
        return bool(interpret_scenario(item.scenario, question))
    return bool(interpret(item.pair, question)) if item.member == "ambiguous" else None


def relevance(item: DecideItem, questions: Iterable[str]) -> float | None:
    """Return the share of relevant questions; None if there are no questions to judge."""
    counted = [known for question in questions if (known := is_relevant(item, question)) is not None]
    return sum(counted) / len(counted) if counted else None
