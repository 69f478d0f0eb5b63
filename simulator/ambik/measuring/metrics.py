"""The metrics of one task or one pair, by the paper's rule or as the published code has them (spec 10).

``mode = "reference"`` reproduces what the published code returns, faults included (spec 10.1); it is there
for comparison with printed numbers alone. ``do nothing`` fillers are removed before any metric by the paper's
rule, and stay where the published code is followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simulator.ambik.files.metric_cases import READINGS, MetricCase
from simulator.ambik.intents import Intent, is_found, parse_intent
from simulator.ambik.naming import bare, is_filler, named
from simulator.ambik.parsing import read_certainty
from simulator.ambik.settings import IcrRule, Metrics
from simulator.ambik.terms import TaskType

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
