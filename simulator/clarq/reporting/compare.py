"""Two runs side by side on the items they share: paired differences, and the items where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.clarq.score import Scored
from simulator.stats import Interval, bootstrap_mean, mcnemar, paired_bootstrap, share
from trees import Language


@dataclass(frozen=True, slots=True)
class Pair:
    """One item as both runs played it."""

    first: Scored
    second: Scored

    @property
    def change(self) -> int:
        """1 if only the second succeeded, -1 if only the first did, else 0."""
        return int(self.second.scores.success) - int(self.first.scores.success)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One metric in both runs.

    Attributes:
        metric: ``success``, ``aqd`` or ``aql``.
        first: in the first run, over the shared items.
        second: in the second.
        difference: second minus first, paired, with a bootstrap interval.
        p: two-sided exact McNemar test of success (repeats of an item change together); None for the other
            metrics.
    """

    metric: str
    first: Interval
    second: Interval
    difference: Interval
    p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs on the items they share, in one language.

    Attributes:
        pairs: the shared items, in the order of the first run.
        differences: S; D and L where both dialogues of a pair were played to their end.
        gained: items that only the second run succeeds on.
        lost: items that only the first run succeeds on.
    """

    language: Language
    pairs: tuple[Pair, ...]
    differences: tuple[Difference, ...]
    gained: int
    lost: int

    @property
    def differing(self) -> tuple[Pair, ...]:
        """The items on which one succeeds and the other does not, those gained first."""
        return tuple(sorted((pair for pair in self.pairs if pair.change), key=lambda pair: -pair.change))


def compare(first: Sequence[Scored], second: Sequence[Scored]) -> tuple[Comparison, ...]:
    """Compare two runs, one comparison per language; empty if they share no item.

    Episodes are paired by the item's content; several plays of one item in their order.
    """
    groups: dict[Language, list[Pair]] = {}
    for pair in pairs(first, second):
        groups.setdefault(pair.first.task.language, []).append(pair)
    return tuple(_comparison(language, some) for language, some in groups.items())


def pairs(first: Sequence[Scored], second: Sequence[Scored]) -> tuple[Pair, ...]:
    """Return the plays of the same items in two runs, in the order of the first."""
    waiting: dict[str, list[Scored]] = {}
    for one in sorted(second, key=_repeat):
        waiting.setdefault(one.episode.item_hash, []).append(one)
    partner: dict[str, Scored] = {}
    for one in sorted(first, key=_repeat):
        if same := waiting.get(one.episode.item_hash):
            partner[one.episode.id] = same.pop(0)
    return tuple(Pair(one, partner[one.episode.id]) for one in first if one.episode.id in partner)


def _repeat(scored: Scored) -> int:
    return scored.episode.repeat


def _comparison(language: Language, pairs: Sequence[Pair]) -> Comparison:
    return Comparison(
        language=language,
        pairs=tuple(pairs),
        differences=(
            _success(pairs),
            *(_mean(metric, ended) for metric in ("aqd", "aql") if (ended := _both_ended(pairs))),
        ),
        gained=sum(pair.change == 1 for pair in pairs),
        lost=sum(pair.change == -1 for pair in pairs),
    )


def _both_ended(pairs: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair.first.ended and pair.second.ended]


def _success(pairs: Sequence[Pair]) -> Difference:
    one = [pair.first.scores.success for pair in pairs]
    two = [pair.second.scores.success for pair in pairs]
    items = _items(pairs)
    return Difference(
        metric="success",
        first=share(one, items),
        second=share(two, items),
        difference=paired_bootstrap(one, two, items),
        p=mcnemar(one, two, items),
    )


def _mean(metric: str, pairs: Sequence[Pair]) -> Difference:
    one = [float(getattr(pair.first.scores, metric)) for pair in pairs]
    two = [float(getattr(pair.second.scores, metric)) for pair in pairs]
    items = _items(pairs)
    return Difference(
        metric=metric,
        first=bootstrap_mean(one, items, bounds=None),
        second=bootstrap_mean(two, items, bounds=None),
        difference=paired_bootstrap(one, two, items, bounds=None),
    )


def _items(pairs: Sequence[Pair]) -> list[str]:
    return [pair.first.episode.item_hash for pair in pairs]
