"""Who asked when, and what it brought: one record for all rooms in which somebody may ask back.

ClarQ-LLM's seekers ask until nothing is open, HandMeThat's robots ask what an instruction means, AmbiK's ask
or act at one step of a plan. An `Asking` says of an episode of any of them whether asking was needed, whether
it was done, what the questions brought and whether the end was right. It is read from logged turns and the
item alone, whoever sat there. What counts as a question, and as needed, each room says in its `asking.py`
(`Part`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar, cast

from logs import LogReader
from logs.rows import Item, Judgment, Turn
from simulator.errors import InputError
from simulator.runner.logged import ENDED, ERASED, took_part
from simulator.runner.rooms import load_part
from simulator.stats import Interval, bootstrap_mean, cluster_bootstrap, paired_bootstrap, wilson

BENCHMARKS: Final = ("clarq", "handmethat", "ambik")
"""The rooms that have an `asking.py`, in the order of tables."""
PERSON: Final = "person"
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a room tells of an episode.

    Attributes:
        kind: under which results are told: ClarQ's task type, HandMeThat's level, AmbiK's type.
        needed: whether asking was needed; None where the data do not say.
        questions: how many were asked.
        useful: questions whose answer brought something; None where that cannot be told.
        right_before: whether the choice before any question was right; None where none was made.
        right: whether the end was right; None where nothing was done in the end, or nobody knows.
        may_ask: whether asking was allowed; if not, it says nothing that nobody asked.
        open: whether a judge has still to settle `right`, which is a lower bound until then.
        manner: how the robot played, point by point, where its seat's name does not say it.
    """

    kind: str
    needed: bool | None
    questions: int
    useful: int | None
    right_before: bool | None
    right: bool | None
    may_ask: bool = True
    open: bool = False
    manner: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One episode.

    Attributes:
        benchmark: the room.
        run: of the log.
        item: its name.
        robot: who could ask; with its manner in brackets.
        user: who answered.
        seat: who could ask, by name alone.
        told: what the room tells.
    """

    benchmark: str
    run: str
    episode_id: str
    item: str
    robot: str
    user: str
    seat: str
    told: Asked

    @property
    def asked(self) -> bool:
        """Whether anything was asked."""
        return self.told.questions > 0


class Part(Protocol):
    """A room's `asking.py`.

    Attributes:
        ROBOT: the seat that may ask.
        USER: the seat that answers.
    """

    ROBOT: str
    USER: str

    def read_item(self, row: Item) -> Any:
        """The item out of its row."""
        ...

    def asked(
        self, item: Any, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
    ) -> Asked | None:
        """What an ended episode with these options says; None if nobody could be asked anything in it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Measures of some episodes; None where nothing can be counted. Every interval tells its n.

    Attributes:
        benchmark: the room.
        robot: who could ask.
        user: who answered; empty where several did.
        kind: under which results are told; empty for all of them together.
        episodes: that are counted.
        when_needed: share that asked of those where asking was needed (Wilson).
        when_not: share that asked of those where it was not.
        decided: share in which asking or not was what was needed.
        questions: per episode (bootstrap over episodes).
        useful: share of questions that brought something (bootstrap over episodes).
        right: share that was right in the end, of all of which that is known.
        right_asking: of those that asked.
        right_silent: of those that did not.
        before: share that was right before any question, of episodes with a choice before and after.
        after: share of the same that was right in the end.
        gain: `after` less `before` (paired bootstrap).
        open: episodes whose success a judge has still to settle.
        seat: who could ask, by name alone.
        manner: how they played (`Asked.manner`); with the name it makes `robot`.
    """

    benchmark: str
    robot: str
    user: str
    kind: str
    episodes: int
    when_needed: Interval | None
    when_not: Interval | None
    decided: Interval | None
    questions: Interval | None
    useful: Interval | None
    right: Interval | None
    right_asking: Interval | None
    right_silent: Interval | None
    before: Interval | None
    after: Interval | None
    gain: Interval | None
    open: int = 0
    seat: str = ""
    manner: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The records of some runs.

    Attributes:
        askings: by room, run, item and episode.
        left_out: why episodes are not among them -> how many.
    """

    askings: tuple[Asking, ...]
    left_out: dict[str, int] = field(default_factory=dict)


def load_asking(benchmark: str) -> Part:
    """What a room says of asking.

    Raises:
        InputError: if nobody asks anything there.
    """
    if benchmark not in BENCHMARKS:
        raise InputError(
            f"nobody asks back in {benchmark}; runs of {', '.join(BENCHMARKS)} can be compared",
            code="nobody_asks",
            benchmark=benchmark,
            known=", ".join(BENCHMARKS),
        )
    return cast(Part, load_part(benchmark, "asking"))


def may_ask_back(benchmark: str, seats: Collection[str]) -> bool:
    """Whether somebody may ask back in runs with these seats; if none are told, in the room at all."""
    return benchmark in BENCHMARKS and (not seats or load_asking(benchmark).ROBOT in seats)


def askings(reader: LogReader, runs: Iterable[str]) -> Found:
    """The records of `runs`: of ended episodes, the latest attempt of each, of nobody who was erased.

    Raises:
        InputError: if in one of them nobody can ask.
        NotInLog: if there is no such run.
    """
    found: list[Asking] = []
    left_out: Counter[str] = Counter()
    gone = reader.erased_participants()
    for run in dict.fromkeys(runs):
        _read_run(reader, run, gone, found, left_out)
    return Found(askings=tuple(sorted(found, key=_place)), left_out=dict(sorted(left_out.items())))


def rows(found: Sequence[Asking], *, by_kind: bool = False, by_user: bool = False) -> tuple[Row, ...]:
    """One row per room and robot (and who answered, and kind), people first."""

    def key(one: Asking) -> tuple[str, str, str, str]:
        user = one.user if by_user else ""
        return (one.benchmark, one.robot, user, one.told.kind if by_kind else "")

    groups = _grouped(found, key)
    return tuple(_row(groups[each], *each) for each in sorted(groups, key=_row_place))


def _read_run(
    reader: LogReader, run: str, gone: frozenset[str], found: list[Asking], left_out: Counter[str]
) -> None:
    benchmark = reader.run(run).benchmark
    try:
        part = load_asking(benchmark)
    except InputError as error:
        raise InputError(f"{run}: {error}", code=error.code, **error.named) from error
    items = {row.hash: row for row in reader.items(run)}
    read = {hash: part.read_item(row) for hash, row in items.items()}
    judgments = _grouped(reader.judgments(run_id=run), lambda one: one.episode_id)
    endings = reader.endings(run)
    for played in reader.turns_of_run(run):
        episode, turns = played
        ending = endings.get(episode.id)
        if took_part(gone, played):
            left_out[ERASED] += 1
        elif ending is None or ending.status not in ENDED:
            left_out[ending.status if ending else "not ended"] += 1
        elif (
            told := part.asked(read[episode.item_hash], episode.options, turns, judgments.get(episode.id, ()))
        ) is None:
            left_out["nothing could be asked"] += 1
        else:
            robot = episode.seats.get(part.ROBOT, "")
            found.append(
                Asking(
                    benchmark=benchmark,
                    run=run,
                    episode_id=episode.id,
                    item=items[episode.item_hash].name,
                    robot=f"{robot} ({', '.join(told.manner)})" if told.manner else robot,
                    user=episode.seats.get(part.USER, ""),
                    seat=robot,
                    told=told,
                )
            )


def _row(some: Sequence[Asking], benchmark: str, robot: str, user: str, kind: str) -> Row:
    could = [one for one in some if one.told.may_ask]
    known = [one for one in could if one.told.needed is not None]
    settled = [one for one in some if one.told.right is not None]
    both = [one for one in settled if one.told.right_before is not None]
    before, after = ([float(bool(value)) for value in side] for side in _sides(both))
    return Row(
        benchmark=benchmark,
        robot=robot,
        user=user,
        kind=kind,
        episodes=len(some),
        when_needed=_share(known, lambda one: one.asked, lambda one: bool(one.told.needed)),
        when_not=_share(known, lambda one: one.asked, lambda one: not one.told.needed),
        decided=_share(known, lambda one: one.asked == one.told.needed),
        questions=bootstrap_mean([one.told.questions for one in could]) if could else None,
        useful=_useful(some),
        right=_share(settled, _is_right),
        right_asking=_share(settled, _is_right, lambda one: one.asked),
        right_silent=_share(settled, _is_right, lambda one: not one.asked),
        before=_share(both, lambda one: bool(one.told.right_before)),
        after=_share(both, _is_right),
        gain=paired_bootstrap(before, after) if both else None,
        open=sum(one.told.open for one in some),
        seat=some[0].seat,
        manner=some[0].told.manner,
    )


def _sides(both: Sequence[Asking]) -> tuple[list[bool | None], list[bool | None]]:
    return [one.told.right_before for one in both], [one.told.right for one in both]


def _is_right(one: Asking) -> bool:
    return bool(one.told.right)


def _share(
    some: Sequence[Asking], holds: Callable[[Asking], bool], among: Callable[[Asking], bool] | None = None
) -> Interval | None:
    counted = [one for one in some if among is None or among(one)]
    return wilson(sum(map(holds, counted)), len(counted)) if counted else None


def _useful(some: Sequence[Asking]) -> Interval | None:
    """Of all questions; questions of one episode hang together, so episodes are resampled."""
    asked = [one for one in some if one.asked and one.told.useful is not None]
    if not asked:
        return None
    weights = [one.told.questions for one in asked]
    shares = [(one.told.useful or 0) / weight for one, weight in zip(asked, weights, strict=True)]
    whole = cluster_bootstrap(shares, range(len(asked)), weights=weights)
    return whole._replace(n=sum(weights))


def _grouped(some: Iterable[Any], key: Callable[[Any], K]) -> dict[K, list[Any]]:
    groups: dict[K, list[Any]] = {}
    for one in some:
        groups.setdefault(key(one), []).append(one)
    return groups


def _place(one: Asking) -> tuple[int, str, str, str]:
    # Intervals are resampled: they must not depend on which episode happened to end first.
    return BENCHMARKS.index(one.benchmark), one.run, one.item, one.episode_id


def _row_place(key: tuple[str, str, str, str]) -> tuple[int, bool, str, str, str]:
    benchmark, robot, user, kind = key
    return BENCHMARKS.index(benchmark), not robot.startswith(PERSON), robot, user, kind
