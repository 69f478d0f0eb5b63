"""Who asked when, and what it brought: one record for all rooms in which somebody may ask back.

ClarQ-LLM's seekers ask until nothing is open, HandMeThat's robots ask what an instruction means, AmbiK's ask
or act at one step of a plan. An `Asking` says of an episode of any of them whether asking was needed, whether
it was done, what the questions brought and whether the end was right. It is read from logged turns and the
item alone, whoever sat there. One taxonomy holds for all rooms; each derives it from its items in `need_of`
of its `asking.py` (`Part`):

============  ========================================================================================
``person``    something is open that only this person can know: asking is needed
``inferred``  something is open that knowledge everybody has, or of what people do, settles: it is not
``nothing``   nothing is open: it is not
============  ========================================================================================

A question is *useful* if its answer told something that was open and had not been told. How well somebody
asks is told corrected for chance (Youden's J): the share of decisions to ask where only this person knows,
less the share where asking is not needed. Who always asks has J = 0, as has who never does.

An episode that a failing seat aborted (`simulator.runner.logged`) was not right in the end. That nothing was
asked in it was nobody's decision: only if something was, it tells of asking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar, cast

from logs import LogReader
from logs.rows import Item, Judgment, Turn
from simulator import asking_measures as measures
from simulator.errors import InputError
from simulator.runner.logged import ENDED, ERASED, seat_failed, seat_failures, took_part
from simulator.runner.rooms import load_part
from simulator.stats import Interval, paired_bootstrap

BENCHMARKS: Final = ("clarq", "handmethat", "ambik")
"""The rooms that have an `asking.py`, in the order of tables."""
PERSON: Final = "person"
Need = Literal["person", "inferred", "nothing"]
"""What settles what an item leaves open; see above."""
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Decision(NamedTuple):
    """A decision to ask or not.

    Attributes:
        need: what was open.
        asked: whether something was asked.
    """

    need: Need
    asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a room tells of an episode.

    Attributes:
        kind: under which results are told: ClarQ's task type, HandMeThat's level, AmbiK's type.
        need: what was open before any question; None where the data do not say.
        questions: how many were asked.
        useful: questions whose answer told something open; None where that cannot be told.
        right_before: whether the choice before any question was right; None where none was made.
        right: whether the end was right; None where nothing was done in the end, or nobody knows.
        may_ask: whether asking was allowed; if not, it says nothing that nobody asked.
        open: whether a judge has still to settle `right`, which is a lower bound until then.
        manner: how the robot played, point by point, where its seat's name does not say it.
        price: what the questions cost, in points of the room's score; None where they are free.
        later: decisions after the first that are told apart, by what was then open.
        aborted: whether a failing seat broke it off.
    """

    kind: str
    need: Need | None
    questions: int
    useful: int | None
    right_before: bool | None
    right: bool | None
    may_ask: bool = True
    open: bool = False
    manner: tuple[str, ...] = ()
    price: float | None = None
    later: tuple[Decision, ...] = ()
    aborted: bool = False

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Each decision to ask or not; none where asking was not allowed, or the data do not say.

        Of an aborted episode only those to ask: who fell silent has not decided against it.
        """
        if self.need is None or not self.may_ask:
            return ()
        made = (Decision(self.need, self.questions > 0), *self.later)
        return tuple(one for one in made if one.asked or not self.aborted)


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
        """What an episode with these options says; None if nobody could be asked anything in it.

        It may have been aborted at any turn, also before the first.
        """
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
        when_needed: share that asked of the decisions where only this person could know.
        when_inferred: of those where it could be inferred.
        when_nothing: of those where nothing was open.
        when_not: of the last two together.
        youden: `when_needed` less `when_not` (Youden's J, bootstrap over items); None without one of the two.
        decided: share of decisions in which asking or not was what was needed; not corrected for chance.
        questions: per episode (bootstrap over items).
        useful: share of questions whose answer told something open (bootstrap over items).
        price: of a question, in points of the room's score (bootstrap over items); None where they are free.
        right: share that was right in the end, of all of which that is known.
        right_asking: of those that asked.
        right_silent: of those that did not.
        before: share that was right before any question, of episodes with a choice before and after.
        after: share of the same that was right in the end.
        gain: `after` less `before` (paired bootstrap).
        open: episodes whose success a judge has still to settle.
        aborted: episodes that a failing seat aborted.
        seat: who could ask, by name alone.
        manner: how they played (`Asked.manner`); with the name it makes `robot`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The records of some runs.

    Attributes:
        askings: by room, run, item and episode.
        left_out: why episodes are not among them -> how many.
        aborted: why seats failed -> how many episodes that aborted; they were not right in the end.
        exclude_aborted: whether these are left out instead.
    """

    askings: tuple[Asking, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False


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


def askings(reader: LogReader, runs: Iterable[str], *, exclude_aborted: bool = False) -> Found:
    """The records of `runs`: of ended episodes, the latest attempt of each, of nobody who was erased.

    Those that a failing seat aborted are among them, unless they are excluded.

    Raises:
        InputError: if in one of them nobody can ask.
        NotInLog: if there is no such run.
    """
    found: list[Asking] = []
    left_out: Counter[str] = Counter()
    gone = reader.erased_participants()
    names = tuple(dict.fromkeys(runs))
    for run in names:
        _read_run(reader, run, gone, found, left_out, exclude_aborted)
    return Found(
        askings=tuple(sorted(found, key=_place)),
        left_out=dict(sorted(left_out.items())),
        aborted=seat_failures(reader, names),
        exclude_aborted=exclude_aborted,
    )


def rows(found: Sequence[Asking], *, by_kind: bool = False, by_user: bool = False) -> tuple[Row, ...]:
    """One row per room and robot (and who answered, and kind), people first."""

    def key(one: Asking) -> tuple[str, str, str, str]:
        user = one.user if by_user else ""
        return (one.benchmark, one.robot, user, one.told.kind if by_kind else "")

    groups = _grouped(found, key)
    return tuple(_row(groups[each], *each) for each in sorted(groups, key=_row_place))


def _read_run(
    reader: LogReader,
    run: str,
    gone: frozenset[str],
    found: list[Asking],
    left_out: Counter[str],
    exclude_aborted: bool,
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
        aborted = ending is not None and seat_failed(episode, ending)
        if took_part(gone, played):
            left_out[ERASED] += 1
        elif ending is None or (ending.status not in ENDED and (exclude_aborted or not aborted)):
            left_out[ending.status if ending else "not ended"] += 1
        elif (
            told := part.asked(read[episode.item_hash], episode.options, turns, judgments.get(episode.id, ()))
        ) is None:
            left_out["nothing could be asked"] += 1
        else:
            if aborted:
                told = replace(told, right=False, open=False, aborted=True)
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
    made = [(one, decision) for one in some for decision in one.told.decisions]
    settled = [one for one in some if one.told.right is not None]
    both = [one for one in settled if one.told.right_before is not None]
    before, after = (
        [float(bool(getattr(one.told, name))) for one in both] for name in ("right_before", "right")
    )
    return Row(
        benchmark=benchmark,
        robot=robot,
        user=user,
        kind=kind,
        episodes=len(some),
        when_needed=measures.asked(made, "person"),
        when_inferred=measures.asked(made, "inferred"),
        when_nothing=measures.asked(made, "nothing"),
        when_not=measures.asked(made, "inferred", "nothing"),
        youden=measures.youden(made),
        decided=measures.share_of(
            made, lambda one: one[1].asked == (one[1].need == "person"), lambda one: one[0]
        ),
        questions=measures.questions(
            [one for one in some if one.told.may_ask and (one.asked or not one.told.aborted)]
        ),
        useful=measures.per_question(some, lambda told: told.useful),
        price=measures.per_question(some, lambda told: told.price, bounds=None),
        right=measures.right(settled),
        right_asking=measures.right([one for one in settled if one.asked]),
        right_silent=measures.right([one for one in settled if not one.asked]),
        before=measures.share_of(both, lambda one: bool(one.told.right_before), lambda one: one),
        after=measures.right(both),
        gain=paired_bootstrap(before, after, [one.item for one in both]) if both else None,
        open=sum(one.told.open for one in some),
        aborted=sum(one.told.aborted for one in some),
        seat=some[0].seat,
        manner=some[0].told.manner,
    )


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
