"""What each metric says of each outcome: a number, or why it does not count (spec 10, 10.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simulator.ambik.intents import Intent
from simulator.ambik.items import DecideItem, PairItem
from simulator.ambik.measuring import metrics
from simulator.ambik.records import ABORTED, Outcome
from simulator.ambik.sets.truth import expected_type
from simulator.ambik.settings import Settings
from simulator.ambik.terms import CONFORMAL

ALL: Final = "all"
MEASURES: Final = ("icr", "hr", "chr", "ssc", "coverage", "set_size", "empty", "accuracy")
NO_INTENT: Final = "no intent"
MALFORMED: Final = "malformed intent"
OTHER_TYPE: Final = "other type"
NO_SHORTLIST: Final = "no shortlist"
NOT_DECIDED: Final = "nothing decided"
UNKNOWN: Final = "right option unknown"
NOT_JUDGED: Final = "no rule for asking"
Value = float | str
"""A number, or why there is none."""


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One outcome in a table.

    Attributes:
        type: under which it is told.
        cluster: rows of one cluster are not independent: those of a pair.
        task: what was decided; one that was played several times is one.
        values: by measure (`MEASURES`).
    """

    type: str
    cluster: str
    task: str
    values: Mapping[str, Value]


def outcome_rows(outcomes: Sequence[Outcome], settings: Settings) -> tuple[OutcomeRow, ...]:
    """Return one row for each outcome, in order.

    Args:
        outcomes: in the order of the tasks; in reference mode a task without an intent takes the one before.
        settings: whose rules hold.
    """
    intents = _intents(outcomes, settings)
    return tuple(_row(one, intent, settings) for one, intent in zip(outcomes, intents, strict=True))


def asked_well(outcome: Outcome, settings: Settings) -> int | None:
    """Whether it asks where a good robot does and does not where that does not; None where nothing says."""
    judged = expected_type(outcome.decision)
    if judged is not None and ABORTED in outcome.decision.flags:
        return 0  # not to decide is not to act as one should, where nothing had to be asked
    return None if judged is None else metrics.chr_(judged, size_for_asking(outcome, settings))


def cluster_of(item: DecideItem) -> str:
    """Return the pair of a task, or the scenario."""
    return item.pair.id if isinstance(item, PairItem) else item.id


def size_for_asking(outcome: Outcome, settings: Settings) -> int:
    """Return the size of a set by which asking is judged.

    It is the set's own where a question is asked of sets with more than one action; of everybody who asks by
    other means it is 2 if they ask and 1 if not. What is neither certain nor uncertain is no help; the
    published code finds it wrong either way, as it does an empty set.
    """
    decision = outcome.decision
    if decision.method in CONFORMAL and settings.help == "size":
        return len(outcome.predicted)
    if decision.method == "binary" and decision.certainty not in ("certain", "uncertain"):
        return 0
    return 2 if outcome.help else 1


def _row(outcome: Outcome, intent: Intent | None, settings: Settings) -> OutcomeRow:
    size, judged = size_for_asking(outcome, settings), expected_type(outcome.decision)
    asking: Value = NOT_JUDGED if judged is None else metrics.chr_(judged, size, settings.metrics)
    if judged is not None and ABORTED in outcome.decision.flags:
        asking = 0
    decided = asked_well(outcome, settings)
    return OutcomeRow(
        outcome.decision.item.type,
        cluster_of(outcome.decision.item),
        outcome.decision.task,
        {
            "icr": _icr(outcome, intent, settings),
            "hr": float(outcome.help),
            "chr": asking,
            "ssc": _ssc(outcome, settings),
            "coverage": UNKNOWN if outcome.covered is None else float(outcome.covered),
            "set_size": float(len(outcome.predicted)) if outcome.decision.was_made else NOT_DECIDED,
            "empty": float(not outcome.predicted) if outcome.decision.was_made else NOT_DECIDED,
            "accuracy": NOT_JUDGED if decided is None else float(decided),
        },
    )


def _icr(outcome: Outcome, intent: Intent | None, settings: Settings) -> Value:
    if intent is None:
        return NO_INTENT
    found = metrics.icr(intent, outcome.predicted, settings.icr, settings.metrics)
    return MALFORMED if found is None else found


def _ssc(outcome: Outcome, settings: Settings) -> Value:
    item, judged = outcome.decision.item, expected_type(outcome.decision)
    if not isinstance(item, PairItem) or judged is None:
        return OTHER_TYPE
    pair = item.pair
    value = metrics.ssc(pair.shortlist, outcome.predicted, judged, settings.metrics, pair.shortlist_cell)
    if value is not None:
        return value
    # A type that does not count does not count with a shortlist either.
    listed = metrics.ssc(("anything",), (), judged, settings.metrics) is not None
    return NO_SHORTLIST if listed else OTHER_TYPE


def _intents(outcomes: Sequence[Outcome], settings: Settings) -> list[Intent | None]:
    own = [_intent(outcome) for outcome in outcomes]
    if settings.metrics == "paper":
        return own
    intents: list[Intent | None] = []
    for intent in own:
        usable = intent is not None and not intent.malformed
        intents.append(intent if usable else (intents[-1] if intents else None))
    return intents


def _intent(outcome: Outcome) -> Intent | None:
    item = outcome.decision.item
    return item.pair.intent if isinstance(item, PairItem) else item.scenario.intent
