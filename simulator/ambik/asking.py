"""What AmbiK's episodes say of asking (see `simulator.asking`).

What is open follows from the type of the task (spec 1): preferences only this user can tell, common sense and
safety everybody can infer, and nothing is open in tasks that are clear or have been clarified. Every decision
to ask is a question, with or without words. It is useful if its answer tells something that the intent wants
and that neither task nor earlier answers told. What is right is said by `score`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from logs.rows import Judgment, Turn
from simulator.ambik.intents import Intent, is_found
from simulator.ambik.items import DecideItem, DraftItem, Item, PairItem
from simulator.ambik.score import values
from simulator.ambik.terms import CONFORMAL, NAMES
from simulator.asking import Asked, Need

_KINDS: Final = {"common_sense_knowledge": "common sense", "unambiguous_direct": "unambiguous"}


def asked(
    item: Item, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
) -> Asked | None:
    """Return what an episode says; None of forms, and of decisions that a method is calibrated on."""
    if isinstance(item, DraftItem):
        return None
    scores = values(item, turns)
    first = next((turn.payload for turn in turns if turn.payload.get("kind") == "decide"), options)
    calibrates = first is options and options.get("method") in CONFORMAL and not options.get("calibration")
    if calibrates or (scores and "questions" not in scores):
        return None
    return Asked(
        kind=_kind(item, first),
        need=need_of(item, str(first.get("dialogue", "before"))),
        questions=int(scores.get("questions") or 0),
        useful=useful(item, turns),
        # Where nobody answers, what would have come of a question is not known: nothing to set beside it.
        right_before=_yes_or_no(scores.get("right_before")) if options.get("questions") else None,
        right=_yes_or_no(scores.get("right_after")),
        manner=_manner(first, answered=bool(options.get("questions"))),
    )


def need_of(item: DecideItem, dialogue: str = "before") -> Need | None:
    """Return what settles what the task leaves open; None of KnowNo's data, which do not say.

    After the data's question and answer (dialogue ``after``) nothing is open.
    """
    if not isinstance(item, PairItem):
        return None
    if item.member == "clear" or dialogue == "after":
        return "nothing"
    return "person" if item.type == "preferences" else "inferred"


def useful(item: DecideItem, turns: Sequence[Turn]) -> int | None:
    """Count the answers that brought something; None without an intent to tell by, or without answers."""
    intent = item.about.intent
    if intent is None or intent.malformed:
        return None
    count, message = 0, item.instruction
    answers = [turn.text for turn in turns if turn.payload.get("kind") == "answer"]
    for answer in answers:
        count += _brings(intent, message, answer)
        message = f"{message} {answer}"
    return count if answers else None


def _brings(intent: Intent, told: str, answer: str) -> bool:
    """Return True if an answer holds something wanted that had not been told."""
    concepts = (concept for concept in intent.concepts if not concept.negative)
    return any(is_found(concept, answer) and not is_found(concept, told) for concept in concepts)


def _kind(item: DecideItem, first: Mapping[str, Any]) -> str:
    name = _KINDS.get(item.type, item.type)
    ambiguous = isinstance(item, PairItem) and item.member == "ambiguous"
    return f"{name}, clarified" if ambiguous and first.get("dialogue") == "after" else name


def _manner(first: Mapping[str, Any], *, answered: bool) -> tuple[str, ...]:
    """Return the method that a model played, whether it saw the step alone, whether anybody answers."""
    parts = [NAMES.get(str(first.get("method")), "")]
    parts += ["action only"] if first.get("context") == "action_only" else []
    parts += [] if answered else ["decides once"]
    return tuple(filter(None, parts))


def _yes_or_no(value: float | None) -> bool | None:
    return None if value is None else bool(value)
