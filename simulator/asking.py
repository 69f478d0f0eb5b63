"""Who asked when, and what it brought: one record for all benchmarks in which somebody may ask back.

Some ask until nothing is open, some what an instruction means, some ask or act at one step of a plan. An
`Asking` says of an episode whether asking was needed, whether it was done, what the questions brought and
whether the end was right. It is read from logged turns and the item alone, whoever sat there. One taxonomy
holds for all benchmarks; each derives it from its items in its `need_of`:

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

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from logs import LogReader
from logs.rows import Item, Judgment, Turn
from simulator import catalog
from simulator.benchmark import AskingSpec, Benchmark
from simulator.catalog import fault_in
from simulator.errors import InputError
from simulator.runner.logged import ENDED, ERASED, endings_of_runs, played_items

PERSON: Final = "person"
Need = Literal["person", "inferred", "nothing"]
"""What settles what an item leaves open; see above."""


class Decision(NamedTuple):
    """A decision to ask or not."""

    need: Need
    asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A benchmark's account of an episode.

    Attributes:
        kind: under which results are told: the type or the level of a task.
        need: what was open before any question; None where the data do not say.
        useful: questions whose answer told something open; None where that cannot be told.
        right_before: whether the choice before any question was right; None where none was made.
        right: whether the end was right; None where nothing was done in the end, or nobody knows.
        may_ask: whether asking was allowed; if not, it says nothing that nobody asked.
        open: whether a judge has still to settle `right`, which is a lower bound until then.
        manner: how the robot played, point by point, where its seat's name does not say it.
        price: what the questions cost, in points of the benchmark's score; None where they are free.
        later: decisions after the first that are told apart, by what was then open.
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
        decisions = (Decision(self.need, self.questions > 0), *self.later)
        return tuple(decision for decision in decisions if decision.asked or not self.aborted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One episode.

    Attributes:
        cluster: what the item hangs together with (`simulator.benchmark.Benchmark.cluster`).
        robot: who could ask; with its manner in brackets.
        seat: who could ask, by name alone.
    """

    benchmark: str
    run: str
    episode_id: str
    item: str
    cluster: str
    robot: str
    user: str
    seat: str
    told: Asked

    @property
    def asked(self) -> bool:
        """Return True if anything was asked."""
        return self.told.questions > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingRecords:
    """The records of some runs.

    Attributes:
        askings: by benchmark, run, item and episode.
        left_out: why episodes are not among them -> how many.
        aborted: why seats failed -> how many episodes that aborted; they were not right in the end.
    """

    askings: tuple[Asking, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False


def askable() -> tuple[str, ...]:
    """Return the benchmarks in which somebody may ask back, in the order of tables."""
    return tuple(benchmark.name for benchmark in catalog.installed() if benchmark.asking is not None)


def load_asking(benchmark: str) -> AskingSpec:
    """Return what a benchmark says of asking.

    Raises:
        InputError: if nobody asks anything there.
    """
    asking = catalog.find(benchmark).asking
    if asking is None:
        known = ", ".join(askable())
        raise InputError(
            f"nobody asks back in {benchmark}; runs of {known} can be compared",
            code="nobody_asks",
            benchmark=benchmark,
            known=known,
        )
    return asking


def may_ask_back(benchmark: str, seats: Collection[str]) -> bool:
    """Return True if somebody may ask back in runs with these seats; if none are told, at all."""
    return benchmark in askable() and (not seats or load_asking(benchmark).robot in seats)


def askings(reader: LogReader, runs: Iterable[str], *, exclude_aborted: bool = False) -> AskingRecords:
    """Return the records of `runs`: of ended episodes, the latest attempt of each, of nobody who was erased.

    Those that a failing seat aborted are among them, unless they are excluded.

    Raises:
        InputError: if in one of them nobody can ask.
        NotInLog: if there is no such run.
    """
    names = tuple(dict.fromkeys(runs))
    records = [record for run in names for record in _records_of(reader, run, exclude_aborted)]
    endings = endings_of_runs(reader, names)
    left_out = {
        ERASED: endings.statuses.get(ERASED, 0),
        "aborted": sum(endings.left.values()) + exclude_aborted * sum(endings.aborted.values()),
        "failed": sum(endings.failures.values()),
        "not ended": endings.statuses.get("open", 0),
        "nothing could be asked": records.count(None),
    }
    return AskingRecords(
        askings=tuple(sorted((record for record in records if record is not None), key=_place)),
        left_out={why: left_out[why] for why in sorted(left_out) if left_out[why]},
        aborted=endings.aborted,
        exclude_aborted=exclude_aborted,
    )


def _records_of(reader: LogReader, run: str, exclude_aborted: bool) -> Iterator[Asking | None]:
    """Yield the record of each episode that counts; None for one in which nothing could be asked."""
    benchmark = catalog.find(reader.run(run).benchmark)
    try:
        spec = load_asking(benchmark.name)
    except InputError as error:
        raise InputError(f"{run}: {error}", code=error.code, **error.named) from error
    read_item, read = _reading(benchmark, spec)
    judgments: defaultdict[str | None, list[Judgment]] = defaultdict(list)
    for judgment in reader.judgments(run_id=run):
        judgments[judgment.episode_id].append(judgment)
    counted = played_items(reader, run, lambda row: (row.name, read_item(row)), aborted=not exclude_aborted)
    for episode, (name, item), turns, ending in counted:
        if not (asked := read(item, episode.options, turns, judgments[episode.id])):
            yield None
            continue
        if ending.status not in ENDED:
            asked = replace(asked, right=False, open=False, aborted=True)
        seat = episode.seats.get(spec.robot, "")
        yield Asking(
            benchmark=benchmark.name,
            run=run,
            episode_id=episode.id,
            item=name,
            cluster=benchmark.cluster(name),
            robot=f"{seat} ({', '.join(asked.manner)})" if asked.manner else seat,
            user=episode.seats.get(spec.user, ""),
            seat=seat,
            told=asked,
        )


def _reading(
    benchmark: Benchmark[Any, Any], spec: AskingSpec
) -> tuple[Callable[[Item], Any], Callable[..., Asked | None]]:
    """Return what makes items of rows, and records of episodes."""
    if spec.read is not None and spec.read_item is not None:
        return spec.read_item, spec.read
    from simulator.runner.declared_machine import DeclaredMachine

    machine, record = DeclaredMachine(benchmark), spec.record
    assert record is not None

    def read(
        item: Any, options: Mapping[str, Any], turns: Sequence[Turn], judgments: Sequence[Judgment]
    ) -> Asked | None:
        try:
            return record(machine.final(item, turns, options))
        except Exception as error:  # another's package
            raise fault_in(f"{benchmark.name}: record", error) from error

    return machine.read_item, read


def _place(record: Asking) -> tuple[int, str, str, str]:
    # Intervals are resampled: they must not depend on which episode happened to end first.
    return catalog.find(record.benchmark).position, record.run, record.item, record.episode_id
