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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from logs.rows import Score, Turn
from simulator.ambik.items import DecideItem, DraftItem, Item, PairItem
from simulator.ambik.measuring.outcome_rows import outcome_rows
from simulator.ambik.payloads import outcome_of, read_decision
from simulator.ambik.playing import Options, needs_question
from simulator.ambik.questions import hear, hear_scenario
from simulator.ambik.sets.truth import fits
from simulator.ambik.taken import takes

VERSION: Final = "2"
"""1: an action was right if it held the words of the intent, whatever else it named."""
_SHOWN: Final = (
    *((name, name) for name in ("icr", "hr", "chr", "ssc", "set_size")),
    ("covered", "coverage"),
)
"""Scores, and what `measuring.outcome_rows` calls them."""
Values = dict[str, float | None]


def score_rows(episode_id: str, item: Item, turns: Sequence[Turn]) -> tuple[Score, ...]:
    """Return the rows of the log for one ended episode."""
    return tuple(
        Score(episode_id=episode_id, metric=metric, value=value, version=VERSION)
        for metric, value in values(item, turns).items()
    )


def is_right(item: DecideItem, action: str, answers: Iterable[str] = ()) -> bool | None:
    """Return True if an action takes what is wanted and nothing else (`taken`), or fits a scenario (spec 9).

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
        return _annotated(turns)
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
        **_measured(item, first),
        **right_before,
        "needed": _number(needed),
        "questions": float(sum(bool(payload["asks"]) for payload in decided)),
        "relevant": relevance(item, (str(each.get("question") or "") for each in decided if each["asks"])),
        "right_after": _number(right_in_the_end(item, last["asks"], last.get("action"), answers)),
    }


def _measured(item: DecideItem, payload: Mapping[str, Any]) -> Values:
    options = logged_options(payload)
    outcome = outcome_of(read_decision(payload, item, episode_id="", run=""), options)
    if outcome is None:
        return {}
    (row,) = outcome_rows([outcome], options.settings)
    measured = {name: row.values[measure] for name, measure in _SHOWN}
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


def _annotated(turns: Sequence[Turn]) -> Values:
    for turn in turns:
        if turn.payload.get("kind") == "annotate":
            deleted = bool(turn.payload["form"]["delete"])
            broken = sum(problem["level"] == "error" for problem in turn.payload["problems"])
            return {"deleted": float(deleted), "problems": float(broken)}
    return {}


def _number(value: bool | None) -> float | None:
    return None if value is None else float(value)
