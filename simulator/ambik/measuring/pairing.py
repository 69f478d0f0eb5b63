"""Both members of a pair side by side (spec 10: AmbDif)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.ambik.items import PairItem
from simulator.ambik.measuring import metrics
from simulator.ambik.records import Outcome
from simulator.ambik.settings import Metrics


@dataclass(frozen=True, slots=True)
class Matched:
    """Pairs of which both members are there.

    Attributes:
        values: AmbDif of each; where a member was decided on several times, the mean over all combinations.
        clusters: the pairs' ids.
        unmatched: outcomes whose other member is missing.
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
    clear, ambiguous = (
        [outcome for outcome in outcomes if _member(outcome) == name] for name in ("clear", "ambiguous")
    )
    if mode == "reference":
        both = list(zip(clear, ambiguous, strict=False))
        values = tuple(float(difference(one, other, mode)) for one, other in both)
        ids = tuple(_id(one) for one, _ in both)
        return Matched(values, ids, len(clear) + len(ambiguous) - 2 * len(both), True)
    by_id: dict[str, tuple[list[Outcome], list[Outcome]]] = {}
    for place, some in enumerate((clear, ambiguous)):
        for one in some:
            by_id.setdefault(_id(one), ([], []))[place].append(one)
    full = {name: some for name, some in by_id.items() if all(some)}
    missing = sum(len(one) + len(other) for name, (one, other) in by_id.items() if name not in full)
    plain = all(len(one) == len(other) == 1 for one, other in full.values())
    return Matched(tuple(_mean(*some) for some in full.values()), tuple(full), missing, plain)


def difference(clear: Outcome, ambiguous: Outcome, mode: Metrics = "paper") -> int:
    """AmbDif of one pair: by what they said of Binary, by set sizes of everybody else."""
    if clear.decision.method == "binary" and ambiguous.decision.method == "binary":
        return metrics.ambdif_binary(clear.decision.certainty or "", ambiguous.decision.certainty or "", mode)
    return metrics.ambdif(len(clear.predicted), len(ambiguous.predicted), mode)


def _mean(clear: Sequence[Outcome], ambiguous: Sequence[Outcome]) -> float:
    found = [difference(one, other) for one in clear for other in ambiguous]
    return sum(found) / len(found)


def _member(outcome: Outcome) -> str:
    item = outcome.decision.item
    return item.member if isinstance(item, PairItem) else ""


def _id(outcome: Outcome) -> str:
    item = outcome.decision.item
    return item.pair.id if isinstance(item, PairItem) else item.id
