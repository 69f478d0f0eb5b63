"""Scores of one episode and its record of asking (`simulator.asking`), from its logged turns (spec 10).

============== ==========================================================================================
metric         meaning, for an episode of the task decide
============== ==========================================================================================
icr, hr, chr, ssc   of the first decision's prediction set (`metrics`); null where not applicable
set_size       number of actions in the set
covered        an acceptable action is in the set; null if none is known
needed         a good robot asks here (preferences, not clarified); null for KnowNo's data
questions      number of questions asked
relevant       share of questions that ask for what is open (`questions.interpret`); null if no question has
               words, or nothing is open
right_before   the first action, done or not, is right (`truth.is_right`); null if it named none
right_after    the final action is right; null if the episode ended with a question
============== ==========================================================================================

The task annotate has ``deleted`` (the row was deleted) and ``problems`` (the number of rules that the form
breaks, without warnings). An episode of a calibration run has no sets, only ``right_before``.

The type of the task determines what is open (spec 1): preferences, which only this user knows; common sense
and safety, which everybody can infer; nothing in clear or clarified tasks. Every decision to ask is a
question, with or without words (`asked`). It is useful if its answer contains something that the intent
requires and that neither the task nor earlier answers contained.
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
"""In version 1 an action was right if it had the words of the intent, regardless of what else it named."""
_SHOWN: Final = (
    *((name, name) for name in ("icr", "hr", "chr", "ssc", "set_size")),
    ("covered", "coverage"),
)
"""Names of scores, each with its name in `metrics`."""
Values = dict[str, float | None]


def score_rows(episode_id: str, item: Item, turns: Sequence[Turn], *_: object) -> tuple[Score, ...]:
    """Return the score rows of an ended episode."""
    return machines.score_rows(episode_id, values(item, turns), VERSION)


def values(item: Item, turns: Sequence[Turn]) -> Values:
    """Return the value of each metric, None where it does not apply; see the table above."""
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
    """Return the options that a decision's set depends on, from its payload."""
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


# ---- the record of asking

_KINDS: Final = {"common_sense_knowledge": "common sense", "unambiguous_direct": "unambiguous"}


def asking_record(
    item: Item, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
) -> Asked | None:
    """Return an episode's record of asking; None for annotations and for calibration runs."""
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
        # Without answers the effect of a question is unknown, so there is nothing to compare with.
        right_before=_yes_or_no(scores.get("right_before")) if options.get("questions") else None,
        right=_yes_or_no(scores.get("right_after")),
        manner=_manner(first, answered=bool(options.get("questions"))),
    )


def need_of(item: DecideItem, dialogue: str = "before") -> Need | None:
    """Return how what is open in a task can be resolved; None for KnowNo's data, which do not say.

    After the data's question and answer (dialogue ``after``) nothing is open.
    """
    if not isinstance(item, PairItem):
        return None
    if item.member == "clear" or dialogue == "after":
        return "nothing"
    return "person" if item.type == "preferences" else "inferred"


def useful(item: DecideItem, turns: Sequence[Turn]) -> int | None:
    """Return the number of useful answers; None without a valid intent or without answers."""
    intent = item.about.intent
    if intent is None or intent.malformed:
        return None
    count, context = 0, item.instruction
    answers = _answers(turns)
    for answer in answers:
        count += _adds_concept(intent, context, answer)
        context = f"{context} {answer}"
    return count if answers else None


def _adds_concept(intent: Intent, context: str, answer: str) -> bool:
    """Return True if an answer contains a concept of the intent that the context lacks."""
    concepts = (concept for concept in intent.concepts if not concept.negative)
    return any(is_found(concept, answer) and not is_found(concept, context) for concept in concepts)


def _kind(item: DecideItem, first: Mapping[str, Any]) -> str:
    name = _KINDS.get(item.type, item.type)
    ambiguous = isinstance(item, PairItem) and item.member == "ambiguous"
    return f"{name}, clarified" if ambiguous and first.get("dialogue") == "after" else name


def _manner(first: Mapping[str, Any], *, answered: bool) -> tuple[str, ...]:
    """Return labels of how a robot played: its method, if it saw only the step, if nobody answered."""
    parts = [NAMES.get(str(first.get("method")), "")]
    parts += ["action only"] if first.get("context") == "action_only" else []
    parts += [] if answered else ["decides once"]
    return tuple(filter(None, parts))


def _yes_or_no(value: float | None) -> bool | None:
    return None if value is None else bool(value)
