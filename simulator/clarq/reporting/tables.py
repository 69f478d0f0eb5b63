"""Rows of tables, with intervals (the shapes of the paper's Tables I to V)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simulator.clarq.reporting.scored import Scored
from simulator.stats import Interval, bootstrap_mean, share


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table.

    Attributes:
        label: a language, or a task type.
        success: S, with Wilson's interval; of items played several times, a bootstrap interval over items.
            Each `Interval.n` counts items.
        aqd: D, with a bootstrap interval.
        aql: L, with a bootstrap interval.
        needs_judge: episodes whose success a judge has still to settle.
    """

    label: str
    success: Interval
    aqd: Interval
    aql: Interval
    needs_judge: int


def rows(
    scored: Sequence[Scored],
    label: Callable[[Scored], str],
    order: Callable[[Scored], tuple[str, int]] | None = None,
) -> tuple[Row, ...]:
    """One row per label, in the order of `order` (default: of first appearance)."""
    groups: dict[str, list[Scored]] = {}
    for one in sorted(scored, key=order) if order else scored:
        groups.setdefault(label(one), []).append(one)
    return tuple(row(name, some) for name, some in groups.items())


def row(label: str, scored: Sequence[Scored]) -> Row:
    """Summarise episodes, at least one."""
    scores, items = [one.scores for one in scored], [one.episode.item_hash for one in scored]
    return Row(
        label=label,
        success=share([score.success for score in scores], items),
        aqd=bootstrap_mean([score.aqd for score in scores], items, bounds=None),
        aql=bootstrap_mean([score.aql for score in scores], items, bounds=None),
        needs_judge=sum(score.needs_judge for score in scores),
    )
