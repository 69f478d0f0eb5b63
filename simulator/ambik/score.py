"""Scores of one episode out of its logged turns (spec 10): pure functions of item and turns.

============== ==========================================================================================
metric         of an episode of the task decide
============== ==========================================================================================
icr, hr, chr, ssc   of the first decision's prediction set (`measuring.metrics`); null where not counted
set_size       actions in it
covered        an acceptable action is in it; null where none is known
needed         a good robot asks here (preferences, nothing clarified); null for KnowNo's data
questions      that it asked
relevant       share of its questions that ask for what is open (`questions.hear`); null if none was in
               words, or nothing is open
right_before   what it did or would have done at first is right (`is_right`); null if it named nothing
right_after    what it did in the end is; null if it ended with a question
============== ==========================================================================================

The task annotate has ``deleted`` (the row was thrown away) and ``problems`` (how many rules the form breaks;
hints are not counted).
While a method is being calibrated there are no sets: only ``right_before``.

Intent coverage (spec 10) looks for words in a text, so whoever names everything covers everything. An action
is right (`takes`) if it holds all that the intent wants and names none of the alternatives: of the shortlist,
of the things of the nearest kind that has others in the scene, of other amounts. What the clear task names as
well is none. What is added in brackets, and a sentence that only says an answer again, is not done and does
not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from logs.rows import Score, Turn
from simulator.ambik.intents import folded, realises
from simulator.ambik.items import DecideItem, DraftItem, Item, Pair, PairItem
from simulator.ambik.kitchen.categories import Thing, stems, thing
from simulator.ambik.measuring.metrics import outcome_values
from simulator.ambik.naming import bare, named
from simulator.ambik.payloads import outcome_of, read_decision
from simulator.ambik.playing import Options, needs_question
from simulator.ambik.questions import hear, hear_scenario
from simulator.ambik.sets.truth import fits
from simulator.ambik.terms import table
from simulator.ambik.topics import meant
from simulator.runner import machines

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


VERSION: Final = "2"
"""1: an action was right if it held the words of the intent, whatever else it named."""
_SHOWN: Final = (
    *((name, name) for name in ("icr", "hr", "chr", "ssc", "set_size")),
    ("covered", "coverage"),
)
"""Scores, and what `measuring.metrics` calls them."""
Values = dict[str, float | None]


def score_rows(episode_id: str, item: Item, turns: Sequence[Turn], *_: object) -> tuple[Score, ...]:
    """Return the rows of the log for one ended episode."""
    return machines.score_rows(episode_id, values(item, turns), VERSION)


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


def values(item: Item, turns: Sequence[Turn]) -> Values:
    """Return metric -> value, None where it means nothing; see the table above."""
    if isinstance(item, DraftItem):
        return _annotation_values(turns)
    decided = [turn.payload for turn in turns if turn.payload.get("kind") == "decide"]
    if not decided:
        return {}
    first, last = decided[0], decided[-1]
    right_before = {"right_before": _number(is_right(item, str(first.get("action") or "")))}
    if first.get("asks") is None:
        return right_before
    needed = needs_question(item, first.get("dialogue", "before"))
    answers = [turn.text for turn in turns if turn.payload.get("kind") == "answer"]
    return {
        **_decision_values(item, first),
        **right_before,
        "needed": _number(needed),
        "questions": float(sum(bool(payload["asks"]) for payload in decided)),
        "relevant": relevance(item, (str(each.get("question") or "") for each in decided if each["asks"])),
        "right_after": _number(right_in_the_end(item, last["asks"], last.get("action"), answers)),
    }


def _decision_values(item: DecideItem, payload: Mapping[str, Any]) -> Values:
    options = logged_options(payload)
    outcome = outcome_of(read_decision(payload, item, episode_id="", run=""), options)
    if outcome is None:
        return {}
    (values,) = outcome_values([outcome], options.settings)
    measured = {name: values[measure] for name, measure in _SHOWN}
    return {name: None if isinstance(value, str) else float(value) for name, value in measured.items()}


def logged_options(payload: Mapping[str, Any]) -> Options:
    """Return what of an episode's options a decision's set rests on, out of its payload."""
    options = {"settings": payload.get("settings", {})}
    if payload.get("q_hat") is not None:
        options["calibration"] = {
            "q_hat": payload["q_hat"],
            "n": payload["n_calibration"],
            "epsilon": payload["epsilon"],
            "rank": payload["rank"],
        }
    return Options.read(options)


def _annotation_values(turns: Sequence[Turn]) -> Values:
    for turn in turns:
        if turn.payload.get("kind") == "annotate":
            deleted = bool(turn.payload["form"]["delete"])
            broken = sum(problem["level"] == "error" for problem in turn.payload["problems"])
            return {"deleted": float(deleted), "problems": float(broken)}
    return {}


def _number(value: bool | None) -> float | None:
    return None if value is None else float(value)
