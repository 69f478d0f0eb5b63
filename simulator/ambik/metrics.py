"""The metrics of one task or one pair, by the paper's rule or as in the published code (spec 10).

``mode = "reference"`` reproduces the published code including its faults (spec 10.1), only for comparison
with printed numbers. The paper's rule removes ``do nothing`` fillers before any metric; the published code
keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from simulator.ambik.files.published import READINGS, MetricCase
from simulator.ambik.intents import Intent, is_found, parse_intent
from simulator.ambik.items import PairItem
from simulator.ambik.naming import bare, is_filler, names_in
from simulator.ambik.prompts import read_certainty
from simulator.ambik.records import ABORTED, Outcome
from simulator.ambik.terms import CONFORMAL, TASK_TYPES, IcrRule, Metrics, Settings, TaskType
from simulator.ambik.truth import expected_type

PREFERENCES: Final[TaskType] = "preferences"


def icr(
    intent: Intent | None, predicted: Sequence[str], rule: IcrRule = "set", mode: Metrics = "paper"
) -> float | None:
    """Return intent coverage: the share of the intent's concepts that the prediction set realises.

    `rule`: ``set``: a concept counts if any option realises it; ``best_option``: only the option that
    realises most concepts counts.

    Returns:
        A share; None if there is no intent or it is malformed.
    """
    if intent is None or intent.malformed:
        return None
    if mode == "reference":
        return _reference_icr(intent.text, predicted)
    hits, total = icr_counts(intent, predicted, rule)
    return hits / total


def without_fillers(predicted: Iterable[str]) -> tuple[str, ...]:
    """Return a set without ``do nothing`` fillers, as the paper's rule sees it."""
    return tuple(text for text in predicted if not is_filler(text))


def icr_counts(intent: Intent, predicted: Sequence[str], rule: IcrRule = "set") -> tuple[int, int]:
    """Return the number of concepts that a set realises and the number of all, by the paper's rule."""
    actions = without_fillers(predicted)
    hits = [[is_found(concept, action) for action in actions] for concept in intent.concepts]
    if rule == "set":
        return sum(map(any, hits)), len(hits)
    by_action = [sum(row[place] for row in hits) for place in range(len(actions))]
    return max(by_action, default=0), len(hits)


def hr(size: int) -> int:
    """Return help: 1 if a set of `size` actions makes the robot ask."""
    return int(size > 1)


def chr_(task_type: str, size: int, mode: Metrics = "paper") -> int:
    """Return correct help: 1 if the robot asks where it should, or does not where it should not.

    `size`: size of the prediction set; for robots that ask by other means, 2 if they ask and 1 if not.
    `mode`: the published code expects a question for every ambiguous type, and exactly one option for a clear
    task.
    """
    if mode == "reference":
        return int(size == 1 if "unambiguous" in task_type else size > 1)
    return int(bool(hr(size)) == (task_type == PREFERENCES))


def ssc(
    shortlist: Sequence[str],
    predicted: Sequence[str],
    task_type: str,
    mode: Metrics = "paper",
    cell: str | None = None,
) -> float | None:
    """Return set size correctness: the intersection of a set's objects and the shortlist, over their union.

    Each option contributes every shortlist object that it names; an option that names none is an element of
    its own.

    `cell`: the shortlist as written, which the published code splits itself; None: the objects joined by
    comma and blank.

    Returns:
        A share; None if the task has no shortlist or the metric does not apply to its type.
    """
    if mode == "reference":
        text = ", ".join(shortlist) if cell is None else cell
        return _reference_ssc(text, predicted) if text and "unambiguous" not in task_type else None
    if not shortlist or task_type != PREFERENCES:
        return None
    objects, others = set_elements(shortlist, predicted)
    return len(objects) / (len(dict.fromkeys(map(bare, shortlist))) + len(others))


def set_elements(
    shortlist: Sequence[str], predicted: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the shortlist objects that a set names, and its options that name none; without fillers."""
    objects: dict[str, None] = {}
    others: dict[str, None] = {}
    for text in without_fillers(predicted):
        things = names_in(text, shortlist)
        objects |= dict.fromkeys(map(bare, things))
        others |= {} if things else {bare(text): None}
    return tuple(objects), tuple(others)


def ambdif(clear: int, ambiguous: int, mode: Metrics = "paper") -> int:
    """Return AmbDif of a pair: 1 if the ambiguous task has the larger set and the clear task's is not empty.

    `mode`: the published code allows an empty set for the clear task.
    """
    return int(ambiguous > clear and (clear != 0 or mode == "reference"))


def ambdif_binary(clear: str, ambiguous: str, mode: Metrics = "paper") -> int:
    """Return AmbDif for stated certainty: 1 if certain of the clear task and uncertain of the ambiguous one.

    `mode`: the published code compares the sizes of one-element sets, so the result is always 0.
    """
    if mode == "reference":
        return 0
    return int(read_certainty(clear) == "certain" and read_certainty(ambiguous) == "uncertain")


def means_by_type(
    rows: Iterable[tuple[str, int]], mode: Metrics = "paper"
) -> Mapping[str, Mapping[str, float]]:
    """Return mean HR and CHR per type."""
    sizes: dict[str, list[int]] = {}
    for task_type, size in rows:
        sizes.setdefault(task_type, []).append(size)
    return {
        task_type: {
            "HR": sum(map(hr, of_type)) / len(of_type),
            "CHR": sum(chr_(task_type, size, mode) for size in of_type) / len(of_type),
        }
        for task_type, of_type in sizes.items()
    }


def _reference_icr(intent: str, predicted: Sequence[str]) -> float:
    # Concepts keep the blank after the comma; a minus after that blank is an ordinary letter; only the answer
    # is lower-cased; all hyphens of a negative concept are removed.
    concepts = intent.split(",")
    shares = (
        sum(_reference_found(concept, text.lower()) for concept in concepts) / len(concepts)
        for text in predicted
    )
    return max(shares, default=0.0)


def _reference_found(concept: str, action: str, before: str = "") -> bool:
    negative = concept.startswith("-")
    names = (concept.replace("-", "") if negative else concept).split("|")
    return any(before + name in action for name in names) != negative


def _reference_ssc(cell: str, predicted: Sequence[str]) -> float:
    # Objects keep the blank after the comma, and another blank is required before them, so usually only the
    # first object can be found. An empty part counts as an object.
    objects = cell.split(",")
    hits: list[str] = []
    for text in predicted:
        remaining = (thing for thing in objects if thing not in hits)
        hit = next((thing for thing in remaining if _reference_found(thing, text.lower(), before=" ")), None)
        hits += [] if hit is None else [hit]
    return len(hits) / len(dict.fromkeys(objects))


# ---- unit cases of the metrics, by the paper's rule and as in the published code


def computed_value(case: MetricCase, mode: Metrics) -> Any:
    """Return the value of a case's metric.

    Where the paper allows two readings (an intent whose concepts are spread over several options), this is an
    object with both, as in the case.
    """
    values = case.input
    match case.metric:
        case "ICR":
            intent = parse_intent(values["user_intent"]) if values["user_intent"] else None
            predicted = values["prediction_set"]
            if mode == "paper" and isinstance(case.paper, dict):
                readings = (icr(intent, predicted, rule) for rule in ("set", "best_option"))
                return dict(zip(READINGS, readings, strict=True))
            return icr(intent, predicted, mode=mode)
        case "HR":
            return hr(values["set_size"])
        case "CHR":
            return chr_(values["type"], values["set_size"], mode)
        case "SSC":
            cell = values["amb_shortlist"] or ""
            names = tuple(dict.fromkeys(name for part in cell.split(",") if (name := part.strip())))
            return ssc(names, values["prediction_set"], values["type"], mode, cell)
        case "AmbDif":
            return ambdif(values["size_unambiguous"], values["size_ambiguous"], mode)
        case "AmbDif-Binary":
            return ambdif_binary(values["unambiguous"], values["ambiguous"], mode)
        case _:
            return means_by_type(((kind, size) for kind, size in values["rows"]), mode)


def agrees(case: MetricCase, mode: Metrics) -> bool:
    """Return True if the computed value and the one that the case expects are equal."""
    return _is_same(computed_value(case, mode), getattr(case, mode))


def _is_same(value: Any, other: Any) -> bool:
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_is_same(value[key], other[key]) for key in value)
    if value is None or other is None:
        return value is other
    return abs(float(value) - float(other)) < 1e-12


# ---- values of the metrics for each outcome: a number, or why it is excluded

ALL: Final = "all"
SHORT: Final[Mapping[str, str]] = {
    "unambiguous_direct": "clear",
    "preferences": "preferences",
    "common_sense_knowledge": "common sense",
    "safety": "safety",
}
"""Type names in column headings."""
MEASURES: Final = ("icr", "hr", "chr", "ssc", "coverage", "set_size", "empty", "accuracy")
NO_INTENT: Final = "no intent"
MALFORMED: Final = "malformed intent"
OTHER_TYPE: Final = "other type"
NO_SHORTLIST: Final = "no shortlist"
NOT_DECIDED: Final = "nothing decided"
UNKNOWN: Final = "right option unknown"
NOT_JUDGED: Final = "no rule for asking"
Value = float | str
"""A number, or the reason why there is none."""


def outcome_values(outcomes: Sequence[Outcome], settings: Settings) -> tuple[Mapping[str, Value], ...]:
    """Return the value of each of `MEASURES` for each outcome, in order.

    `outcomes`: in the order of the tasks; in reference mode a task without an intent takes the previous one.
    """
    values: list[Mapping[str, Value]] = []
    before: Intent | None = None
    for outcome in outcomes:
        intent = outcome.decision.item.about.intent
        if settings.metrics == "reference" and (intent is None or intent.malformed):
            intent = before
        before = intent
        values.append(_values(outcome, intent, settings))
    return tuple(values)


def asks_as_needed(outcome: Outcome, settings: Settings, mode: Metrics = "paper") -> int | None:
    """Return 1 if the robot asks, or does not ask, as a good robot would, else 0; None if that is unknown."""
    judged = expected_type(outcome.decision)
    if judged is not None and ABORTED in outcome.decision.flags:
        return 0  # an aborted decision is never right, not even where no question was needed
    return None if judged is None else chr_(judged, size_for_asking(outcome, settings), mode)


def ordered_types(types: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct types: AmbiK's in the order of the paper's tables, others by first occurrence."""
    kinds = dict.fromkeys(types)
    return (*(kind for kind in TASK_TYPES if kind in kinds), *(k for k in kinds if k not in TASK_TYPES))


def size_for_asking(outcome: Outcome, settings: Settings) -> int:
    """Return the set size by which asking is judged.

    It is the actual size if the robot asks whenever its set has more than one action; for robots that ask by
    other means, 2 if they ask and 1 if not. A certainty that cannot be read counts as 0: the robot does not
    ask, and the published code counts that as wrong for any task, like an empty set.
    """
    decision = outcome.decision
    if decision.method in CONFORMAL and settings.help == "size":
        return len(outcome.predicted)
    if decision.method == "binary" and decision.certainty not in ("certain", "uncertain"):
        return 0
    return 2 if outcome.help else 1


def _values(outcome: Outcome, intent: Intent | None, settings: Settings) -> Mapping[str, Value]:
    decision, size = outcome.decision, len(outcome.predicted)
    covered = icr(intent, outcome.predicted, settings.icr, settings.metrics)
    correct, accurate = (asks_as_needed(outcome, settings, mode) for mode in (settings.metrics, "paper"))
    return {
        "icr": _value_or_reason(covered, NO_INTENT if intent is None else MALFORMED),
        "hr": float(outcome.help),
        "chr": _value_or_reason(correct, NOT_JUDGED),
        "ssc": _ssc(outcome, settings),
        "coverage": UNKNOWN if outcome.covered is None else float(outcome.covered),
        "set_size": float(size) if decision.was_made else NOT_DECIDED,
        "empty": float(not size) if decision.was_made else NOT_DECIDED,
        "accuracy": NOT_JUDGED if accurate is None else float(accurate),
    }


def _value_or_reason(value: float | None, why: str) -> Value:
    return why if value is None else value


def _ssc(outcome: Outcome, settings: Settings) -> Value:
    item, judged = outcome.decision.item, expected_type(outcome.decision)
    if not isinstance(item, PairItem) or judged is None:
        return OTHER_TYPE
    pair = item.pair
    value = ssc(pair.shortlist, outcome.predicted, judged, settings.metrics, pair.shortlist_cell)
    if value is not None:
        return value
    # If the metric gives nothing even with a shortlist, it does not apply to this type.
    applies = ssc(("anything",), (), judged, settings.metrics) is not None
    return NO_SHORTLIST if applies else OTHER_TYPE


# ---- comparison of both members of a pair (spec 10: AmbDif)


@dataclass(frozen=True, slots=True)
class Matched:
    """Pairs with outcomes of both members.

    `values`: AmbDif of each pair; if a member was played several times, the mean over all combinations.
    `plain`: True if each member was played once, so that every value is 0 or 1.
    """

    values: tuple[float, ...]
    clusters: tuple[str, ...]
    unmatched: int
    plain: bool


def match_pairs(outcomes: Sequence[Outcome], mode: Metrics = "paper") -> Matched:
    """Match outcomes by the id of their pair; in reference mode by position (spec 10.1).

    KnowNo's scenarios have no pairs and are ignored.
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
    """Return AmbDif of one pair: by stated certainty for Binary, otherwise by set sizes."""
    if clear.decision.method == "binary" and ambiguous.decision.method == "binary":
        return ambdif_binary(clear.decision.certainty or "", ambiguous.decision.certainty or "", mode)
    return ambdif(len(clear.predicted), len(ambiguous.predicted), mode)
