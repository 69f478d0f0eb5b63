"""Records of asking back: one format for all benchmarks in which a player may ask.

Some benchmarks ask until nothing is open, some what an instruction means, some whether to ask or act at a
step of a plan. An `Asking` records of an episode whether asking was needed, whether it was done, what the
questions brought and whether the end was right. It is read from logged turns and the item alone, for people
and models in the same way. All benchmarks share one taxonomy, derived from the item in their `need_of`:

============  ==========================================================================
``person``    something is open that only this person can know: asking is needed
``inferred``  common knowledge, or what people do, settles what is open: asking is not needed
``nothing``   nothing is open: asking is not needed
============  ==========================================================================

A question is *useful* if its answer settled something open. How well a player decides to ask is corrected for
chance (Youden's J): the share of decisions to ask where only this person knows, less the share where asking
is not needed. Always asking has J = 0, and so has never asking.

An episode that a failing seat aborted (`simulator.runner.logged`) was not right in the end. If nothing was
asked in it, that does not count as a decision.
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
from simulator.catalog import package_error
from simulator.errors import InputError
from simulator.runner.logged import ENDED, ERASED, endings_of_runs, played_items

PERSON: Final = "person"
Need = Literal["person", "inferred", "nothing"]
"""The source that settles the open points of an item; see above."""


class Decision(NamedTuple):
    """A decision to ask or not."""

    need: Need
    asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A benchmark's record of asking in an episode.

    Attributes:
        kind: the kind under which results are reported: the type or level of a task.
        need: the need to ask before any question; None if the data do not determine it.
        useful: the number of questions whose answer settled something open; None if unknown.
        right_before: True if the choice before any question was right; None if there was no such choice.
        right: True if the end was right; None if nothing was done in the end, or it is unknown.
        may_ask: True if asking was allowed; otherwise not asking is not a decision.
        open: True if a judge has yet to settle `right`, which is a lower bound until then.
        manner: how the robot played, in parts, if its seat's name does not tell.
        price: the cost of the questions, in points of the benchmark's score; None if they are free.
        later: further decisions that are counted separately, with the need at that point.
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
        """All decisions to ask or not; empty if asking was not allowed, or the need is unknown.

        For an aborted episode only decisions to ask: a player who fell silent did not decide against it.
        """
        if self.need is None or not self.may_ask:
            return ()
        decisions = (Decision(self.need, self.questions > 0), *self.later)
        return tuple(decision for decision in decisions if decision.asked or not self.aborted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One episode.

    Attributes:
        cluster: the item's cluster (`simulator.benchmark.Benchmark.cluster`).
        robot: the player that could ask, with its manner in brackets.
        seat: the player that could ask, by name only.
        record: the benchmark's record.
    """

    benchmark: str
    run: str
    episode_id: str
    item: str
    cluster: str
    robot: str
    user: str
    seat: str
    record: Asked

    @property
    def asked(self) -> bool:
        """Return True if anything was asked."""
        return self.record.questions > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingRecords:
    """The records of runs.

    Attributes:
        askings: the records, sorted by benchmark, run, item and episode.
        left_out: reason -> number of episodes that were left out.
        aborted: cause -> number of episodes that a failing seat aborted; they were not right in the end.
    """

    askings: tuple[Asking, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    aborted: Mapping[str, int] = field(default_factory=dict)
    exclude_aborted: bool = False


def askable() -> tuple[str, ...]:
    """Return the benchmarks in which a player may ask back, in the order of tables."""
    return tuple(benchmark.name for benchmark in catalog.installed() if benchmark.asking is not None)


def asking_spec(benchmark: str) -> AskingSpec:
    """Return the `AskingSpec` of a benchmark.

    Raises:
        InputError: if nobody asks back in it.
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
    """Return True if a player may ask back in runs with these seats, or with any seats if none are given."""
    return benchmark in askable() and (not seats or asking_spec(benchmark).robot in seats)


def read_asking(reader: LogReader, runs: Iterable[str], *, exclude_aborted: bool = False) -> AskingRecords:
    """Return the records of `runs`: the latest attempt of each ended episode, without erased people.

    Episodes that a failing seat aborted are included unless `exclude_aborted`.

    Raises:
        InputError: if nobody asks back in one of the runs.
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
    """Yield the record of each episode that counts; None if asking was impossible in it."""
    benchmark = catalog.find(reader.run(run).benchmark)
    try:
        spec = asking_spec(benchmark.name)
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
            record=asked,
        )


def _reading(
    benchmark: Benchmark[Any, Any], spec: AskingSpec
) -> tuple[Callable[[Item], Any], Callable[..., Asked | None]]:
    """Return the reader of items from rows, and of records from episodes."""
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
        except Exception as error:  # third-party code
            raise package_error(f"{benchmark.name}: record", error) from error

    return machine.read_item, read


def _place(record: Asking) -> tuple[int, str, str, str]:
    # Intervals are resampled: they must not depend on the order in which episodes ended.
    return catalog.find(record.benchmark).position, record.run, record.item, record.episode_id
