"""Which options are right (spec 7.1, 9), and which types expect a question (spec 1, 5).

Of a pair's member an option is right if it realises all concepts of at least one line of its variants; that
is for calibration. In the test file the column holds phrases that are not for scoring: there the intent is
what is right. Own data have lines of keywords for every pair. Of a KnowNo scenario the rule of the original
program, in words, decides. Where a run has the option that none of the others is right, that one is right if
no other is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from simulator.ambik.intents import Intent, acceptable, folded
from simulator.ambik.items import PairItem, Scenario
from simulator.ambik.naming import is_filler, is_not_listed, named, names_any
from simulator.ambik.records import Decision
from simulator.ambik.settings import Settings
from simulator.ambik.terms import TaskType

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
