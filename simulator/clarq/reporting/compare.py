"""Two runs side by side on the items they share: paired differences, and the items where they differ."""

from __future__ import annotations

from collections import defaultdict
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

    @property
    def item(self) -> str:
        """The item's hash."""
        return self.first.episode.item_hash


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
    groups: defaultdict[Language, list[Pair]] = defaultdict(list)
    for pair in pairs(first, second):
        groups[pair.first.task.language].append(pair)
    return tuple(_comparison(language, group) for language, group in groups.items())


def pairs(first: Sequence[Scored], second: Sequence[Scored]) -> tuple[Pair, ...]:
    """Return the plays of the same items in two runs, in the order of the first."""
    waiting: defaultdict[str, list[Scored]] = defaultdict(list)
    for scored in sorted(second, key=lambda scored: scored.episode.repeat):
        waiting[scored.episode.item_hash].append(scored)
    partner: dict[str, Scored] = {}
    for scored in sorted(first, key=lambda scored: scored.episode.repeat):
        if same := waiting[scored.episode.item_hash]:
            partner[scored.episode.id] = same.pop(0)
    return tuple(Pair(scored, partner[scored.episode.id]) for scored in first if scored.episode.id in partner)


def _comparison(language: Language, pairs: Sequence[Pair]) -> Comparison:
    ended = [pair for pair in pairs if pair.first.ended and pair.second.ended]
    return Comparison(
        language=language,
        pairs=tuple(pairs),
        differences=(
            _difference("success", pairs),
            *(_difference(metric, ended) for metric in ("aqd", "aql") if ended),
        ),
        gained=sum(pair.change == 1 for pair in pairs),
        lost=sum(pair.change == -1 for pair in pairs),
    )


def _difference(metric: str, pairs: Sequence[Pair]) -> Difference:
    items = [pair.item for pair in pairs]
    before, after = (
        [getattr(scored.scores, metric) for scored in side]
        for side in zip(*((pair.first, pair.second) for pair in pairs), strict=True)
    )
    if metric == "success":
        first, second = share(before, items), share(after, items)
        return Difference(
            metric=metric,
            first=first,
            second=second,
            difference=paired_bootstrap(before, after, items),
            p=mcnemar(before, after, items),
        )
    return Difference(
        metric=metric,
        first=bootstrap_mean(before, items, bounds=None),
        second=bootstrap_mean(after, items, bounds=None),
        difference=paired_bootstrap(before, after, items, bounds=None),
    )
