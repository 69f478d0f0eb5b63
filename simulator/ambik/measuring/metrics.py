"""The metrics of one task or one pair, by the paper's rule or as the published code has them (spec 10).

``mode = "reference"`` reproduces what the published code returns, faults included (spec 10.1); it is there
for comparison with printed numbers alone. ``do nothing`` fillers are removed before any metric by the paper's
rule, and stay where the published code is followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from simulator.ambik.intents import Intent, is_found
from simulator.ambik.naming import bare, is_filler, named
from simulator.ambik.parsing import read_certainty
from simulator.ambik.settings import IcrRule, Metrics
from simulator.ambik.terms import TaskType

PREFERENCES: Final[TaskType] = "preferences"


def icr(
    intent: Intent | None, predicted: Sequence[str], rule: IcrRule = "set", mode: Metrics = "paper"
) -> float | None:
    """Intent coverage: the share of the intent's concepts that the prediction set realises.

    Args:
        intent: what the user wants.
        predicted: the set's actions, with or without labels.
        rule: ``set``: any option of the set will do for a concept; ``best_option``: the option that realises
            most concepts.
        mode: whose rule.

    Returns:
        None if there is no intent, or none that can be read.
    """
    if intent is None or intent.malformed:
        return None
    if mode == "reference":
        return _reference_icr(intent.text, predicted)
    found, total = icr_counts(intent, predicted, rule)
    return found / total


def without_fillers(predicted: Iterable[str]) -> tuple[str, ...]:
    """Return what of a set the paper's rule looks at: all but ``do nothing``."""
    return tuple(text for text in predicted if not is_filler(text))


def icr_counts(intent: Intent, predicted: Sequence[str], rule: IcrRule = "set") -> tuple[int, int]:
    """Concepts of an intent that a set realises, and all of them, by the paper's rule."""
    actions = without_fillers(predicted)
    hits = [[is_found(concept, action) for action in actions] for concept in intent.concepts]
    if rule == "set":
        return sum(map(any, hits)), len(hits)
    by_action = [sum(row[place] for row in hits) for place in range(len(actions))]
    return max(by_action, default=0), len(hits)


def hr(size: int) -> int:
    """Help: 1 if a set of `size` actions makes the robot ask."""
    return int(size > 1)


def chr_(task_type: str, size: int, mode: Metrics = "paper") -> int:
    """Correct help: whether the robot asks where it should and does not where it should not.

    Args:
        task_type: under which the task is judged.
        size: of the prediction set; of robots that ask by other means 2 if they do and 1 if not.
        mode: the published code expects a question of every ambiguous type, and exactly one option of a clear
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
    """Set size correctness: the overlap of the objects in the prediction set with the shortlist, over both.

    Each option yields every shortlist object that it names; an option that names none stays in the set as an
    element of its own.

    Args:
        shortlist: objects between which a person would hesitate.
        predicted: the set's actions.
        task_type: of the task.
        mode: whose rule.
        cell: the shortlist as it is written, of which the published code makes elements of its own; None: its
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
    """Shortlist objects that a set names, and its options that name none (each once); no fillers."""
    objects: dict[str, None] = {}
    others: dict[str, None] = {}
    for text in without_fillers(predicted):
        found = named(text, shortlist)
        if found:
            objects.update(dict.fromkeys(map(bare, found)))
        else:
            others[bare(text)] = None
    return tuple(objects), tuple(others)


def ambdif(clear: int, ambiguous: int, mode: Metrics = "paper") -> int:
    """Ambiguity differentiation of a pair: the ambiguous task has the larger set, the clear one is not empty.

    Args:
        clear: size of the clear task's set.
        ambiguous: size of the ambiguous task's.
        mode: the published code allows an empty set of the clear task.
    """
    return int(ambiguous > clear and (clear != 0 or mode == "reference"))


def ambdif_binary(clear: str, ambiguous: str, mode: Metrics = "paper") -> int:
    """The same of a robot that says how certain it is: certain of the clear task, uncertain of the other.

    Args:
        clear: what it said of the clear task.
        ambiguous: what it said of the ambiguous one.
        mode: the published code compares the sizes of sets of one, so nothing ever differs.
    """
    if mode == "reference":
        return 0
    return int(read_certainty(clear) == "certain" and read_certainty(ambiguous) == "uncertain")


def means_by_type(
    rows: Iterable[tuple[str, int]], mode: Metrics = "paper"
) -> Mapping[str, Mapping[str, float]]:
    """Mean HR and CHR per type.

    Args:
        rows: type and set size of each task.
        mode: whose rule.
    """
    sizes: dict[str, list[int]] = {}
    for task_type, size in rows:
        sizes.setdefault(task_type, []).append(size)
    return {
        task_type: {
            "HR": sum(map(hr, some)) / len(some),
            "CHR": sum(chr_(task_type, size, mode) for size in some) / len(some),
        }
        for task_type, some in sizes.items()
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
    found: list[str] = []
    for text in predicted:
        fresh = (one for one in objects if one not in found)
        hit = next((one for one in fresh if _reference_found(one, text.lower(), before=" ")), None)
        if hit is not None:
            found.append(hit)
    return len(found) / len(dict.fromkeys(objects))
