"""What each metric says of each outcome: a number, or why it does not count; and pairs (spec 10, 10.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from simulator.ambik.intents import Intent
from simulator.ambik.items import DecideItem, PairItem
from simulator.ambik.measuring import metrics
from simulator.ambik.records import ABORTED, Outcome
from simulator.ambik.sets.truth import expected_type
from simulator.ambik.settings import Metrics, Settings
from simulator.ambik.terms import CONFORMAL, TASK_TYPES

ALL: Final = "all"
SHORT: Final[Mapping[str, str]] = {
    "unambiguous_direct": "clear",
    "preferences": "preferences",
    "common_sense_knowledge": "common sense",
    "safety": "safety",
}
"""Types as they stand above columns."""
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

    `outcomes`: in the order of the tasks; in reference mode a task without an intent takes the one before.
    """
    rows: list[OutcomeRow] = []
    before: Intent | None = None
    for outcome in outcomes:
        item = outcome.decision.item
        intent = item.pair.intent if isinstance(item, PairItem) else item.scenario.intent
        if settings.metrics == "reference" and (intent is None or intent.malformed):
            intent = before
        before = intent
        rows.append(_row(outcome, intent, settings))
    return tuple(rows)


def asked_well(outcome: Outcome, settings: Settings, mode: Metrics = "paper") -> int | None:
    """Return whether it asks where a good robot does and does not elsewhere; None where nothing says."""
    judged = expected_type(outcome.decision)
    if judged is not None and ABORTED in outcome.decision.flags:
        return 0  # not to decide is not to act as one should, where nothing had to be asked
    return None if judged is None else metrics.chr_(judged, size_for_asking(outcome, settings), mode)


def cluster_of(item: DecideItem) -> str:
    """Return the pair of a task, or the scenario."""
    return item.pair.id if isinstance(item, PairItem) else item.id


def ordered_types(types: Iterable[str]) -> tuple[str, ...]:
    """Return types, each once: those of AmbiK in the order of the paper's tables, others as they occur."""
    there = dict.fromkeys(types)
    return (*(kind for kind in TASK_TYPES if kind in there), *(k for k in there if k not in TASK_TYPES))


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
    decision, size = outcome.decision, len(outcome.predicted)
    covered = metrics.icr(intent, outcome.predicted, settings.icr, settings.metrics)
    correct, accurate = (asked_well(outcome, settings, mode) for mode in (settings.metrics, "paper"))
    return OutcomeRow(
        decision.item.type,
        cluster_of(decision.item),
        decision.task,
        {
            "icr": _or(covered, NO_INTENT if intent is None else MALFORMED),
            "hr": float(outcome.help),
            "chr": _or(correct, NOT_JUDGED),
            "ssc": _ssc(outcome, settings),
            "coverage": UNKNOWN if outcome.covered is None else float(outcome.covered),
            "set_size": float(size) if decision.was_made else NOT_DECIDED,
            "empty": float(not size) if decision.was_made else NOT_DECIDED,
            "accuracy": NOT_JUDGED if accurate is None else float(accurate),
        },
    )


def _or(value: float | None, why: str) -> Value:
    return why if value is None else value


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


# ---- both members of a pair side by side (spec 10: AmbDif)


@dataclass(frozen=True, slots=True)
class Matched:
    """Pairs of which both members are there.

    Attributes:
        values: AmbDif of each; where a member was decided on several times, the mean over all combinations.
        plain: whether each member is there once, so that every value is 0 or 1.
    """

    values: tuple[float, ...]
    clusters: tuple[str, ...]
    unmatched: int
    plain: bool


def matched(outcomes: Sequence[Outcome], mode: Metrics = "paper") -> Matched:
    """Match outcomes by the id of their pair; in reference mode by position (spec 10.1).

    KnowNo's scenarios have no pairs and do not count as unmatched.
    """
    members: dict[str, list[tuple[str, Outcome]]] = {"clear": [], "ambiguous": []}
    for outcome in outcomes:
        item = outcome.decision.item
        if isinstance(item, PairItem):
            members[item.member].append((item.pair.id, outcome))
    clear, ambiguous = members.values()
    if mode == "reference":
        both = list(zip(clear, ambiguous, strict=False))
        values = tuple(float(_difference(first, second, mode)) for (_, first), (_, second) in both)
        left_out = len(clear) + len(ambiguous) - 2 * len(both)
        return Matched(values, tuple(id for (id, _), _ in both), left_out, True)
    by_pair: dict[str, tuple[list[Outcome], list[Outcome]]] = {}
    for place, side in enumerate((clear, ambiguous)):
        for id, outcome in side:
            by_pair.setdefault(id, ([], []))[place].append(outcome)
    full = {id: sides for id, sides in by_pair.items() if all(sides)}
    differences = [[_difference(*both) for both in product(*sides)] for sides in full.values()]
    return Matched(
        tuple(sum(values) / len(values) for values in differences),
        tuple(full),
        sum(len(first) + len(second) for id, (first, second) in by_pair.items() if id not in full),
        all(len(values) == 1 for values in differences),
    )


def _difference(clear: Outcome, ambiguous: Outcome, mode: Metrics = "paper") -> int:
    """Return AmbDif of one pair: by what they said of Binary, by set sizes of everybody else."""
    if clear.decision.method == "binary" and ambiguous.decision.method == "binary":
        return metrics.ambdif_binary(clear.decision.certainty or "", ambiguous.decision.certainty or "", mode)
    return metrics.ambdif(len(clear.predicted), len(ambiguous.predicted), mode)
