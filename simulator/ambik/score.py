"""Scores of one episode, and what it says of asking (`simulator.asking`), out of its logged turns (spec 10).

============== ==========================================================================================
metric         of an episode of the task decide
============== ==========================================================================================
icr, hr, chr, ssc   of the first decision's prediction set (`metrics`); null where not counted
set_size       actions in it
covered        an acceptable action is in it; null where none is known
needed         a good robot asks here (preferences, nothing clarified); null for KnowNo's data
questions      that it asked
relevant       share of its questions that ask for what is open (`questions.hear`); null if none was in
               words, or nothing is open
right_before   what it did or would have done at first is right (`truth.is_right`); null if it named nothing
right_after    what it did in the end is; null if it ended with a question
============== ==========================================================================================

The task annotate has ``deleted`` (the row was thrown away) and ``problems`` (how many rules the form breaks;
hints are not counted).
While a method is being calibrated there are no sets: only ``right_before``.

What is open follows from the type of the task (spec 1): preferences only this user can tell, common sense and
safety everybody can infer, and nothing is open in tasks that are clear or have been clarified. Every decision
to ask is a question, with or without words (`asked`). It is useful if its answer tells something that the
intent wants and that neither task nor earlier answers told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from logs.rows import Judgment, Score, Turn
from simulator.ambik.intents import Intent, is_found
from simulator.ambik.items import DecideItem, DraftItem, Item, PairItem
from simulator.ambik.metrics import outcome_values
from simulator.ambik.payloads import outcome_of, read_decision
from simulator.ambik.playing import Options, needs_question
from simulator.ambik.terms import CONFORMAL, NAMES
from simulator.ambik.truth import is_right, relevance, right_in_the_end
from simulator.asking import Asked, Need
from simulator.runner import machines

VERSION: Final = "2"
"""1: an action was right if it held the words of the intent, whatever else it named."""
_SHOWN: Final = (
    *((name, name) for name in ("icr", "hr", "chr", "ssc", "set_size")),
    ("covered", "coverage"),
)
"""Scores, and what `metrics` calls them."""
Values = dict[str, float | None]


def score_rows(episode_id: str, item: Item, turns: Sequence[Turn], *_: object) -> tuple[Score, ...]:
    """Return the rows of the log for one ended episode."""
    return machines.score_rows(episode_id, values(item, turns), VERSION)


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
    return {
        **_decision_values(item, first),
        **right_before,
        "needed": _number(needed),
        "questions": float(sum(bool(payload["asks"]) for payload in decided)),
        "relevant": relevance(item, (str(each.get("question") or "") for each in decided if each["asks"])),
        "right_after": _number(right_in_the_end(item, last["asks"], last.get("action"), _answers(turns))),
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


def _answers(turns: Sequence[Turn]) -> list[str]:
    return [turn.text for turn in turns if turn.payload.get("kind") == "answer"]


def _number(value: bool | None) -> float | None:
    return None if value is None else float(value)


# ---- what an episode says of asking

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
    answers = _answers(turns)
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
