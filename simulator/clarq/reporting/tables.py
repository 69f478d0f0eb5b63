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
            Each `Interval.n` counts items. Aborted dialogues count as unsuccessful.
        aqd: D, with a bootstrap interval, over the dialogues that were played to their end; None without any.
        aql: L, likewise: a dialogue that broke off has no length to be compared.
        needs_judge: episodes whose success a judge has still to settle.
        aborted: episodes that a seat's failure aborted, among those of `success`.
    """

    label: str
    success: Interval
    aqd: Interval | None
    aql: Interval | None
    needs_judge: int
    aborted: int = 0


def rows(
    scored: Sequence[Scored],
    label: Callable[[Scored], str],
    order: Callable[[Scored], tuple[str, int]] | None = None,
) -> tuple[Row, ...]:
    """Return one row per label, in the order of `order` (default: of first appearance)."""
    groups: dict[str, list[Scored]] = {}
    for one in sorted(scored, key=order) if order else scored:
        groups.setdefault(label(one), []).append(one)
    return tuple(row(name, some) for name, some in groups.items())


def row(label: str, scored: Sequence[Scored]) -> Row:
    """Summarise episodes, at least one."""
    ended = [one for one in scored if one.ended]
    items = [one.episode.item_hash for one in ended]
    success = [one.scores.success for one in scored]
    return Row(
        label=label,
        success=share(success, [one.episode.item_hash for one in scored]),
        aqd=bootstrap_mean([one.scores.aqd for one in ended], items, bounds=None) if ended else None,
        aql=bootstrap_mean([one.scores.aql for one in ended], items, bounds=None) if ended else None,
        needs_judge=sum(one.scores.needs_judge for one in scored),
        aborted=len(scored) - len(ended),
    )
