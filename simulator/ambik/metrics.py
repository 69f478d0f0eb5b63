"""The metrics of one task or one pair, by the paper's rule or as the published code has them (spec 10).

``mode = "reference"`` reproduces what the published code returns, faults included (spec 10.1); it is there
for comparison with printed numbers alone. ``do nothing`` fillers are removed before any metric by the paper's
rule, and stay where the published code is followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from simulator.ambik.files.published import READINGS, MetricCase
from simulator.ambik.intents import Intent, is_found, parse_intent
from simulator.ambik.items import PairItem
from simulator.ambik.naming import bare, is_filler, named
from simulator.ambik.prompts import read_certainty
from simulator.ambik.records import ABORTED, Outcome
from simulator.ambik.terms import CONFORMAL, TASK_TYPES, IcrRule, Metrics, Settings, TaskType
from simulator.ambik.truth import expected_type

PREFERENCES: Final[TaskType] = "preferences"


def icr(
    intent: Intent | None, predicted: Sequence[str], rule: IcrRule = "set", mode: Metrics = "paper"
) -> float | None:
    """Return intent coverage: the share of the intent's concepts that the prediction set realises.

    `rule`: ``set``: any option of the set will do for a concept; ``best_option``: the option that realises
    most concepts.

    Returns:
        None if there is no intent, or none that can be read.
    """
    if intent is None or intent.malformed:
        return None
    if mode == "reference":
        return _reference_icr(intent.text, predicted)
    hits, total = icr_counts(intent, predicted, rule)
    return hits / total


def without_fillers(predicted: Iterable[str]) -> tuple[str, ...]:
    """Return what of a set the paper's rule looks at: all but ``do nothing``."""
    return tuple(text for text in predicted if not is_filler(text))


def icr_counts(intent: Intent, predicted: Sequence[str], rule: IcrRule = "set") -> tuple[int, int]:
    """Count the concepts of an intent that a set realises, and all of them, by the paper's rule."""
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
    """Return correct help: whether the robot asks where it should and does not where it should not.

    `size`: of the prediction set; of robots that ask by other means 2 if they do and 1 if not. `mode`: the
    published code expects a question of every ambiguous type, and exactly one option of a clear task.
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
    """Return set size correctness: the overlap of a set's objects with the shortlist, over both.

    Each option yields every shortlist object that it names; an option that names none stays in the set as an
    element of its own.

    `cell`: the shortlist as it is written, of which the published code makes elements of its own; None: its
    objects with comma and blank between them.

    Returns:
        None if the task has no shortlist or its type is not one of those that count.
    """
    if mode == "reference":
        written = ", ".join(shortlist) if cell is None else cell
        return _reference_ssc(written, predicted) if written and "unambiguous" not in task_type else None
    if not shortlist or task_type != PREFERENCES:
        return None
    objects, others = set_elements(shortlist, predicted)
    return len(objects) / (len(dict.fromkeys(map(bare, shortlist))) + len(others))


def set_elements(
    shortlist: Sequence[str], predicted: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return shortlist objects that a set names, and its options that name none, each once; no fillers."""
    objects: dict[str, None] = {}
    others: dict[str, None] = {}
    for text in without_fillers(predicted):
        things = named(text, shortlist)
        objects |= dict.fromkeys(map(bare, things))
        others |= {} if things else {bare(text): None}
    return tuple(objects), tuple(others)


def ambdif(clear: int, ambiguous: int, mode: Metrics = "paper") -> int:
    """Return AmbDif of a pair: 1 if the ambiguous task has the larger set, and the clear one's is not empty.

    `mode`: the published code allows an empty set of the clear task.
    """
    return int(ambiguous > clear and (clear != 0 or mode == "reference"))


def ambdif_binary(clear: str, ambiguous: str, mode: Metrics = "paper") -> int:
    """Return AmbDif of a robot that says how certain it is: of the clear task, and not of the other.

    `mode`: the published code compares the sizes of sets of one, so nothing ever differs.
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
            "HR": sum(map(hr, held)) / len(held),
            "CHR": sum(chr_(task_type, size, mode) for size in held) / len(held),
        }
        for task_type, held in sizes.items()
    }


def _reference_icr(intent: str, predicted: Sequence[str]) -> float:
    # Concepts keep the blank after the comma; a minus behind it is a letter like any other; the answer alone
    # is made lower case; all hyphens of a negative concept are taken out.
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
    # The blank after a comma stays with the object, and another one is looked for before it, so that mostly
    # only the first object can be found. An empty part is an object too.
    objects = cell.split(",")
    hits: list[str] = []
    for text in predicted:
        fresh = (thing for thing in objects if thing not in hits)
        hit = next((thing for thing in fresh if _reference_found(thing, text.lower(), before=" ")), None)
        hits += [] if hit is None else [hit]
    return len(hits) / len(dict.fromkeys(objects))


# ---- unit cases of the metrics, by the paper's rule and as the published code has it


def computed(case: MetricCase, mode: Metrics) -> Any:
    """Return what the metric of a case gives.

    Where the paper can be read in two ways (an intent whose concepts are spread over several options), it is
    an object with both readings, as the case has it.
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


def expected(case: MetricCase, mode: Metrics) -> Any:
    """Return what the case says that it is."""
    return case.paper if mode == "paper" else case.reference


def agrees(case: MetricCase, mode: Metrics) -> bool:
    """Return True if both are the same."""
    return _is_same(computed(case, mode), expected(case, mode))


def _is_same(value: Any, other: Any) -> bool:
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_is_same(value[key], other[key]) for key in value)
    if value is None or other is None:
        return value is other
    return abs(float(value) - float(other)) < 1e-12


# ---- what each metric says of each outcome: a number, or why it does not count

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


def outcome_values(outcomes: Sequence[Outcome], settings: Settings) -> tuple[Mapping[str, Value], ...]:
    """Return what each of `MEASURES` says of each outcome, in order.

    `outcomes`: in the order of the tasks; in reference mode a task without an intent takes the one before.
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
    """Return whether it asks where a good robot does and does not elsewhere; None where nothing says."""
    judged = expected_type(outcome.decision)
    if judged is not None and ABORTED in outcome.decision.flags:
        return 0  # not to decide is not to act as one should, where nothing had to be asked
    return None if judged is None else chr_(judged, size_for_asking(outcome, settings), mode)


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
    # A type that does not count does not count with a shortlist either.
    listed = ssc(("anything",), (), judged, settings.metrics) is not None
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
        return ambdif_binary(clear.decision.certainty or "", ambiguous.decision.certainty or "", mode)
    return ambdif(len(clear.predicted), len(ambiguous.predicted), mode)
