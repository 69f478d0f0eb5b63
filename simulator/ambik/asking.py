"""What AmbiK's episodes say of asking (see `simulator.asking`).

Asking is needed where only the user's wish settles what is meant: ambiguous tasks of the type preferences,
before anything is clarified (spec 1). Every decision to ask is a question, with or without words. It is
useful if its answer tells something that the intent wants and that neither task nor earlier answers told, or
if the choice realises the intent after it and did not before. What is right is said by `score`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from logs.rows import Item as Row
from logs.rows import Judgment, Turn
from simulator.ambik.intents import Intent, is_found
from simulator.ambik.items import DecideItem, DraftItem, Item, PairItem
from simulator.ambik.playing import ROBOT, USER, task_of
from simulator.ambik.rows import item_from_row
from simulator.ambik.score import is_right, values
from simulator.ambik.terms import NAMES
from simulator.asking import Asked

__all__ = ["ROBOT", "USER", "asked", "read_item", "useful"]
_KINDS: Final = {"common_sense_knowledge": "common sense", "unambiguous_direct": "unambiguous"}
_MANNERS: Final[Mapping[str, str]] = {str(method): name for method, name in NAMES.items()}


def read_item(row: Row) -> Item:
    """The item out of its row."""
    return item_from_row(row)


def asked(
    item: Item, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
) -> Asked | None:
    """What an ended episode says; None of forms, and of decisions that a method is calibrated on."""
    if isinstance(item, DraftItem):
        return None
    scores = values(item, turns)
    if "questions" not in scores:
        return None
    first = next(turn.payload for turn in turns if turn.payload.get("kind") == "decide")
    return Asked(
        kind=_kind(item, first),
        needed=_yes_or_no(scores.get("needed")),
        questions=int(scores["questions"] or 0),
        useful=useful(item, turns),
        # Where nobody answers, what would have come of a question is not known: nothing to set beside it.
        right_before=_yes_or_no(scores.get("right_before")) if options.get("questions") else None,
        right=_yes_or_no(scores.get("right_after")),
        manner=_manner(first, answered=bool(options.get("questions"))),
    )


def useful(item: DecideItem, turns: Sequence[Turn]) -> int | None:
    """How many answers brought something; None if there is no intent to tell by, or nothing was answered."""
    intent = item.pair.intent if isinstance(item, PairItem) else item.scenario.intent
    if intent is None or intent.malformed:
        return None
    count, told, before = 0, task_of(item), ""
    answers = 0
    for place, turn in enumerate(turns):
        kind = turn.payload.get("kind")
        if kind == "decide":
            before = str(turn.payload.get("action") or "")
        elif kind == "answer":
            answers += 1
            after = next((one.payload for one in turns[place:] if one.payload.get("kind") == "decide"), {})
            count += _brings(intent, told, turn.text) or _rights(
                item, before, str(after.get("action") or ""), turn.text
            )
            told = f"{told} {turn.text}"
    return count if answers else None


def _brings(intent: Intent, told: str, answer: str) -> bool:
    """Whether an answer holds something wanted that had not been told."""
    wanted = (one for one in intent.concepts if not one.negative)
    return any(is_found(one, answer) and not is_found(one, told) for one in wanted)


def _rights(item: DecideItem, before: str, after: str, answer: str) -> bool:
    return bool(is_right(item, after, (answer,))) and not is_right(item, before)


def _kind(item: DecideItem, first: Mapping[str, Any]) -> str:
    name = _KINDS.get(item.type, item.type)
    clarified = isinstance(item, PairItem) and item.member == "ambiguous" and first.get("dialogue") == "after"
    return f"{name}, clarified" if clarified else name


def _manner(first: Mapping[str, Any], *, answered: bool) -> tuple[str, ...]:
    """The method that a model played, whether it saw the step alone, whether anybody answers."""
    parts = [_MANNERS.get(str(first.get("method")), "")]
    parts += ["action only"] if first.get("context") == "action_only" else []
    parts += [] if answered else ["decides once"]
    return tuple(filter(None, parts))


def _yes_or_no(value: float | None) -> bool | None:
    return None if value is None else bool(value)
