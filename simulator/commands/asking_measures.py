"""Measures of asking back over episodes (`simulator.asking`): shares, Youden's J, means per question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simulator import catalog
from simulator.asking import PERSON, Asked, Asking
from simulator.stats import (
    SHARE,
    Bounds,
    Interval,
    bootstrap_mean,
    cluster_bootstrap,
    interval_of,
    paired_bootstrap,
    resample,
    share,
    share_difference,
)
from simulator.tables.importing import PUBLISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Measures over episodes; None if there is nothing to count. Every interval carries its n.

    Attributes:
        user: the player that answered; empty if several did.
        kind: the kind under which results are reported (`Asked.kind`); empty for all kinds together.
        when_needed: share that asked among decisions where only this person could know.
        when_inferred: share that asked among decisions where the answer could be inferred.
        when_nothing: share that asked among decisions where nothing was open.
        when_not: share that asked among the last two together.
        youden: `when_needed` less `when_not` (Youden's J, see `_youden`); None without one of the two.
        decided: share of decisions that matched the need; not corrected for chance.
        useful: share of questions whose answer settled something open (bootstrap over items).
        price: price of a question, in points of the score (bootstrap over items); None if free.
        right: share that was right in the end, among episodes for which that is known.
        right_asking: the same among episodes that asked.
        right_silent: the same among episodes that did not ask.
        before: share that was right before any question, among episodes with a choice before and after.
        after: share of the same episodes that was right in the end.
        gain: `after` less `before` (paired bootstrap).
        open: number of episodes whose success a judge has yet to settle.
        seat: the player that could ask, by name only.
        manner: how it played (`Asked.manner`); `robot` is the name with the manner.
    """

    benchmark: str
    robot: str
    user: str
    kind: str
    episodes: int
    when_needed: Interval | None
    when_inferred: Interval | None
    when_nothing: Interval | None
    when_not: Interval | None = None
    youden: Interval | None
    decided: Interval | None
    questions: Interval | None
    useful: Interval | None
    price: Interval | None
    right: Interval | None
    right_asking: Interval | None
    right_silent: Interval | None
    before: Interval | None
    after: Interval | None
    gain: Interval | None
    open: int = 0
    aborted: int = 0
    seat: str = ""
    manner: tuple[str, ...] = ()


def rows(episodes: Sequence[Asking], *, by_kind: bool = False, by_user: bool = False) -> tuple[Row, ...]:
    """Return one row per benchmark and robot (and per user and kind, if asked for), people first.

    Files that do not name the robot may come from different systems, so several such runs get a row each.
    """
    unnamed = {episode.run for episode in episodes if episode.seat == PUBLISHED}
    if len(unnamed) > 1:
        episodes = [
            replace(episode, robot=f"{episode.robot} ({episode.run})")
            if episode.seat == PUBLISHED
            else episode
            for episode in episodes
        ]
    groups: dict[tuple[str, str, str, str], list[Asking]] = {}
    for episode in episodes:
        user, kind = episode.user if by_user else "", episode.record.kind if by_kind else ""
        groups.setdefault((episode.benchmark, episode.robot, user, kind), []).append(episode)
    return tuple(_row(groups[key], *key) for key in sorted(groups, key=_row_place))


def _row(episodes: Sequence[Asking], benchmark: str, robot: str, user: str, kind: str) -> Row:
    decisions = [(episode, *decision) for episode in episodes for decision in episode.record.decisions]
    settled = [episode for episode in episodes if episode.record.right is not None]
    chosen = [episode for episode in settled if episode.record.right_before is not None]
    before = [bool(episode.record.right_before) for episode in chosen]
    could_ask = [
        episode
        for episode in episodes
        if episode.record.may_ask and (episode.asked or not episode.record.aborted)
    ]

    def share_asked(*needs: str) -> Interval | None:
        return _share([(episode, asked) for episode, need, asked in decisions if need in needs])

    def right(among: Sequence[Asking]) -> Interval | None:
        return _share([(episode, bool(episode.record.right)) for episode in among])

    needed, not_needed = share_asked("person"), share_asked("inferred", "nothing")
    return Row(
        benchmark=benchmark,
        robot=robot,
        user=user,
        kind=kind,
        episodes=len(episodes),
        when_needed=needed,
        when_inferred=share_asked("inferred"),
        when_nothing=share_asked("nothing"),
        when_not=not_needed,
        youden=_youden(
            [(each.cluster, need == "person", asked) for each, need, asked in decisions], needed, not_needed
        ),
        decided=_share([(episode, asked == (need == "person")) for episode, need, asked in decisions]),
        questions=_by_item(
            bootstrap_mean(
                [episode.record.questions for episode in could_ask],
                [episode.cluster for episode in could_ask],
                bounds=None,
            ),
            could_ask,
        )
        if could_ask
        else None,
        useful=_per_question(episodes, lambda record: record.useful),
        price=_per_question(episodes, lambda record: record.price, bounds=None),
        right=right(settled),
        right_asking=right([episode for episode in settled if episode.asked]),
        right_silent=right([episode for episode in settled if not episode.asked]),
        before=_share(list(zip(chosen, before, strict=True))),
        after=right(chosen),
        gain=_by_item(
            paired_bootstrap(
                before,
                [bool(episode.record.right) for episode in chosen],
                [episode.cluster for episode in chosen],
            ),
            chosen,
        )
        if chosen
        else None,
        open=sum(episode.record.open for episode in episodes),
        aborted=sum(episode.record.aborted for episode in episodes),
        seat=episodes[0].seat,
        manner=episodes[0].record.manner,
    )


def _share(observed: Sequence[tuple[Asking, bool]]) -> Interval | None:
    """Return the share of true values, with a bootstrap interval if items form clusters."""
    if not observed:
        return None
    episodes, values = zip(*observed, strict=True)
    return _by_item(share(values, [episode.cluster for episode in episodes]), episodes)


def _by_item(mean: Interval, episodes: Sequence[Asking]) -> Interval:
    """Return a mean whose `n` counts items, even if clusters of items were resampled."""
    return mean._replace(n=len({episode.item for episode in episodes}))


def _youden(
    decisions: Sequence[tuple[str, bool, bool]], needed: Interval | None, not_needed: Interval | None
) -> Interval | None:
    """Return the share asked when needed less the share when not, from decisions (item, needed, asked).

    Items are resampled, unless one of the two shares does not vary: then resampling would hide its
    uncertainty, and the interval is Newcombe's.
    """
    if needed is None or not_needed is None:
        return None
    sums: dict[str, list[float]] = {}
    for item, is_needed, asked in decisions:
        cells, place = sums.setdefault(item, [0.0] * 4), 0 if is_needed else 2
        cells[place] += asked
        cells[place + 1] += 1
    drawn = resample(np.array(list(sums.values())))
    with np.errstate(invalid="ignore", divide="ignore"):
        both = drawn[:, [0, 2]] / drawn[:, [1, 3]]
    if (np.nanmax(both, axis=0) - np.nanmin(both, axis=0) < 1e-12).any():
        return share_difference(needed, not_needed)._replace(n=len(decisions))
    return interval_of(both[:, 0] - both[:, 1], len(decisions), groups=len(sums), bounds=(-1, 1))


def _per_question(
    episodes: Sequence[Asking], value: Callable[[Asked], float | None], bounds: Bounds | None = SHARE
) -> Interval | None:
    """Return the mean over all questions; questions on one item are correlated, so items are resampled."""
    known = [
        (episode.cluster, total, episode.record.questions)
        for episode in episodes
        if episode.asked and (total := value(episode.record)) is not None
    ]
    if not known:
        return None
    items, totals, weights = zip(*known, strict=True)
    means = [total / weight for total, weight in zip(totals, weights, strict=True)]
    mean = cluster_bootstrap(means, items, weights=weights, bounds=bounds)
    return mean._replace(n=sum(weights))


def _row_place(key: tuple[str, str, str, str]) -> tuple[int, bool, str, str, str]:
    benchmark, robot, user, kind = key
    return catalog.find(benchmark).position, not robot.startswith(PERSON), robot, user, kind
