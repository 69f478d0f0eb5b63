"""Calls of a model in this process: texts that are scored in batches, answers that are written side by side.

Everything runs in the model's own thread. Calls wait in a queue; a round takes what has come, and other work
of the thread has its turn between two rounds.

`Gatherer` reads whatever has come by then in batches of about the same length, and hands every result back as
soon as it is there; rounds that find the queue empty are nothing.

`Writer` writes token by token, up to so many answers at a time. A model on a CPU spends the time of a token
on fetching its weights; fetched once, they serve all answers that are being written. An answer that is over
makes room for the next that waits. Each pass has as many rows as may be written together, taken or not, and
prompts are read one by one: how many those are changes the last bits of the numbers, but who they are does
not. A round lets some of the calls begin, adds a token to each answer, and books the thread for the next.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from simulator.models.forward import Look, Reader, Row, batches, chance, pick
from simulator.models.slots import Slots

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")

# Seconds a round waits for calls that were begun together; a pass takes many times as long.
_GATHERING: Final = 0.005


@dataclass(slots=True, eq=False)
class _Call(Generic[_Asked, _Answer]):
    """A call that waits; `given_up` once nobody waits for it any more."""

    asked: _Asked
    future: Future[_Answer] = field(default_factory=Future)
    given_up: bool = False

    @property
    def open(self) -> bool:
        return not self.given_up and not self.future.done()

    async def answer(self) -> _Answer:
        try:
            return await asyncio.wrap_future(self.future)
        finally:
            self.given_up = True


@dataclass(slots=True, eq=False)
class _Reading(_Call[_Asked, tuple[list[Row], list[list[Look]]]]):
    rows: list[Row] = field(default_factory=list)
    looks: dict[int, list[Look]] = field(default_factory=dict)


class Gatherer(Generic[_Asked]):
    """Reads what is asked for in batches; usable from several event loops at a time."""

    def __init__(
        self,
        thread: ThreadPoolExecutor,
        rows_of: Callable[[_Asked], list[Row]],
        read: Callable[[Sequence[Row]], list[list[Look]]],
        budget: int,
    ) -> None:
        """Gather calls.

        Args:
            thread: one thread, in which `rows_of` and `read` run.
            rows_of: what has to be read for a call; may raise.
            read: one pass over a batch; may raise.
            budget: tokens in a batch at most.
        """
        self._thread = thread
        self._rows_of = rows_of
        self._read = read
        self._budget = budget
        self._waiting: list[_Reading[_Asked]] = []
        self._lock = threading.Lock()
        self._closed = False

    async def __call__(self, asked: _Asked) -> tuple[list[Row], list[list[Look]]]:
        """Return the rows that had to be read, and what was found in each.

        Raises:
            Exception: whatever `rows_of` or `read` raised.
        """
        call = _Reading(asked)
        with self._lock:
            self._waiting.append(call)
        self._thread.submit(self._round)
        return await call.answer()

    def close(self) -> None:
        """Have what waits fail; call it when the thread is shut down."""
        with self._lock:
            self._closed = True
            calls, self._waiting = self._waiting, []
        for call in calls:
            call.future.cancel()

    def _round(self) -> None:
        if not self._waiting:
            return
        time.sleep(_GATHERING)
        with self._lock:
            gathered, self._waiting = self._waiting, []
        calls = [call for call in gathered if call.future.set_running_or_notify_cancel()]
        for call in calls:
            try:
                call.rows = self._rows_of(call.asked)
            except Exception as error:
                call.future.set_exception(error)
        rows = [(call, number) for call in calls for number in range(len(call.rows))]
        for batch in batches([call.rows[number] for call, number in rows], self._budget):
            waiting = [rows[index] for index in batch if rows[index][0].open]
            if waiting:
                self._pass(waiting)

    def _pass(self, waiting: Sequence[tuple[_Reading[_Asked], int]]) -> None:
        try:
            if self._closed:
                raise _closed_error()
            read = self._read([call.rows[number] for call, number in waiting])
        except Exception as error:
            return _fail((call for call, _ in waiting), error)
        for (call, number), looks in zip(waiting, read, strict=True):
            call.looks[number] = looks
            if len(call.looks) == len(call.rows):
                call.future.set_result((call.rows, [call.looks[each] for each in range(len(call.rows))]))


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """An answer that is wanted, and what there is of it.

    Attributes:
        ids: tokens of the prompt.
        head: how many of them are shared with others.
        temperature: 0 for the likeliest tokens.
        top_p: only the likeliest tokens whose probabilities add up to this are drawn.
        top: likeliest tokens wanted at each place; None for no probabilities.
        seed: of what is drawn; None for chance.
        over: whether an answer has come to its end, by what it has written.
        looks: what was expected at each place of the first answer, if asked for.
        generator: where chance comes from.
    """

    ids: tuple[int, ...]
    head: int
    samples: int
    temperature: float
    top_p: float
    top: int | None
    seed: int | None
    most: int
    over: Callable[[list[int]], bool]
    written: list[list[int]] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    generator: Any = None

    def ended(self, tokens: list[int]) -> bool:
        """Return True if nothing more is to be written after `tokens`."""
        return len(tokens) >= self.most or self.over(tokens)


@dataclass(slots=True, eq=False)
class _Writing(_Call[_Asked, _Answer]):
    """A call with the number of its answers, and what there is of them once it has begun."""

    rows: int = 1
    job: Job | None = None


@dataclass(frozen=True, slots=True)
class Desk(Generic[_Asked, _Answer]):
    """The functions with which a model writes.

    Attributes:
        slots: where answers are written.
        finish: the answer to what was asked, when it is written.
    """

    torch: Any
    reader: Reader
    slots: Slots
    prepare: Callable[[_Asked], Job]
    finish: Callable[[_Asked, Job], _Answer]


class Writer(Generic[_Asked, _Answer]):
    """Writes what is asked for; usable from several event loops at a time."""

    def __init__(self, thread: ThreadPoolExecutor, desk: Desk[_Asked, _Answer], together: int) -> None:
        """Wait for calls.

        Args:
            thread: one thread, in which everything else runs.
            desk: how it is done.
            together: answers at a time. Several samples of one prompt are written together in any case.
        """
        self._thread = thread
        self._desk = desk
        self._together = together
        self._waiting: list[_Writing[_Asked, _Answer]] = []
        # Who is written in each place of the slots, and which sample of it.
        self._places: list[tuple[_Writing[_Asked, _Answer], int] | None] = []
        self._lock = threading.Lock()
        self._booked = False
        self._closed = False

    async def __call__(self, asked: _Asked, samples: int) -> _Answer:
        """Return the answer; a cancelled call stops at the next token.

        Raises:
            Exception: whatever `prepare` or the model raised.
        """
        call = _Writing[_Asked, _Answer](asked, rows=samples)
        with self._lock:
            if self._closed:
                raise _closed_error()
            self._waiting.append(call)
            if not self._booked:
                self._thread.submit(self._round)
                self._booked = True
        return await call.answer()

    def close(self) -> None:
        """Have what waits and what is being written fail; call it when the thread is shut down."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, []
        for call in waiting:
            call.future.cancel()
        _fail(self._writing(), _closed_error())

    def _writing(self) -> list[_Writing[_Asked, _Answer]]:
        """Return those whose answers are being written."""
        return list(dict.fromkeys(place[0] for place in self._places if place is not None))

    def _round(self) -> None:
        for call in self._next_to_write():
            try:
                self._begin(call)
            except Exception as error:
                _fail([call], error)
        try:
            self._add_a_token()
        except Exception as error:
            _fail(self._writing(), error)
            self._clear()
        with self._lock:
            closed = self._closed
            self._booked = not closed and bool(self._waiting or self._writing())
            if self._booked:
                self._thread.submit(self._round)
        if closed:  # whatever was on its way to its place when `close` looked
            _fail(self._writing(), _closed_error())

    def _next_to_write(self) -> Iterator[_Writing[_Asked, _Answer]]:
        """Yield those for whom there is room, in order; one in any case where nothing is being written."""
        while True:
            with self._lock:
                taken = sum(place is not None for place in self._places)
                if not self._waiting or (taken and taken + self._waiting[0].rows > self._together):
                    return
                call = self._waiting.pop(0)
            if not call.given_up and call.future.set_running_or_notify_cancel():
                yield call

    def _begin(self, call: _Writing[_Asked, _Answer]) -> None:
        """Read a prompt, write the first token after it, and give what goes on a place."""
        desk = self._desk
        job = call.job = desk.prepare(call.asked)
        job.written = [[] for _ in range(job.samples)]
        job.generator = desk.torch.Generator(device=desk.reader.device)
        if job.seed is None:
            job.generator.seed()
        else:
            job.generator.manual_seed(job.seed)
        read = desk.reader.read(job.ids, job.head)
        left = self._take(job, range(job.samples), read.logits.expand(job.samples, -1))
        if not left:
            return self._give(call, job)
        more = max(self._together, len(left)) - len(self._places)
        self._places += [None] * more
        desk.slots.resize(len(self._places))
        free = [number for number, place in enumerate(self._places) if place is None]
        for sample, number in zip(left, free, strict=False):
            desk.slots.put(number, read.state)
            self._places[number] = (call, sample)

    def _take(self, job: Job, samples: Sequence[int], logits: Any) -> list[int]:
        """Write the next token of each of `samples`, the job's that are left; those that go on."""
        torch = self._desk.torch
        tokens = pick(torch, logits, temperature=job.temperature, top_p=job.top_p, generator=job.generator)
        for sample, token in zip(samples, tokens, strict=True):
            job.written[sample].append(token)
        if job.top is not None:
            job.looks.append(chance(torch, logits[0], tokens[0], job.top))
        return [sample for sample in samples if not job.ended(job.written[sample])]

    def _give(self, call: _Writing[_Asked, _Answer], job: Job) -> None:
        """Hand an answer over, once nothing is kept of it here."""
        try:
            answer = self._desk.finish(call.asked, job)
        except Exception as error:
            return _fail([call], error)
        with suppress(InvalidStateError):  # closed meanwhile
            call.future.set_result(answer)

    def _add_a_token(self) -> None:
        """Run one pass for everything that is being written."""
        self._leave(number for number, place in enumerate(self._places) if place and not place[0].open)
        if not self._places:
            return
        rows: dict[_Writing[_Asked, _Answer], list[tuple[int, int]]] = {}
        tokens = [0] * len(self._places)
        for number, place in enumerate(self._places):
            if place is not None:
                call, sample = place
                rows.setdefault(call, []).append((sample, number))
                tokens[number] = _job(call).written[sample][-1]
        logits = self._desk.slots.step(tokens)
        over: list[int] = []
        done: list[_Writing[_Asked, _Answer]] = []
        for call, pairs in rows.items():
            # In the samples' order, wherever they stand: what is drawn depends on it.
            samples, numbers = zip(*sorted(pairs), strict=True)
            try:
                left = self._take(_job(call), samples, logits[list(numbers)])
            except Exception as error:
                _fail([call], error)
                left = []
            over += [number for sample, number in pairs if sample not in left]
            done += [] if left else [call]
        self._leave(over)
        for call in done:
            self._give(call, _job(call))

    def _leave(self, numbers: Iterable[int]) -> None:
        """Free places, and have no more of them than are needed."""
        slots = self._desk.slots
        for number in numbers:
            self._places[number] = None
            slots.free(number)
        taken = sum(place is not None for place in self._places)
        if not taken:
            return self._clear()
        while len(self._places) > max(self._together, taken):
            last = self._places.pop()
            if last is not None:
                hole = self._places.index(None)
                slots.move(len(self._places), hole)
                self._places[hole] = last
        slots.resize(len(self._places))

    def _clear(self) -> None:
        self._places = []
        self._desk.slots.resize(0)


def _job(call: _Writing[_Asked, _Answer]) -> Job:
    """Return the job of a call that has begun."""
    assert call.job is not None
    return call.job


def _closed_error() -> RuntimeError:
    return RuntimeError("the model was closed while it was asked")


def _fail(calls: Iterable[_Call[Any, Any]], error: Exception) -> None:
    for call in calls:
        with suppress(InvalidStateError):
            call.future.set_exception(error)
