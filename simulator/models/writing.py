"""Concurrent calls of a model in this process: texts scored in batches, answers generated in parallel.

Everything runs in the model's own thread. Calls wait in a queue; each round serves calls from the queue, and
other work can use the thread between two rounds.

`Gatherer` scores the waiting texts in batches of similar length and returns each result as soon as it is
computed.

`Writer` generates several answers in parallel, one token per pass (continuous batching). On a CPU, a token's
time goes into fetching the weights, and one fetch serves all answers. A finished answer makes room for the
next call. Every pass has the same number of rows, free ones included, and prompts are read one by one: the
number of rows changes the last bits of the numbers, but the other answers in the pass do not. A round starts
waiting calls, adds a token to each answer, and schedules the next round.
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

from simulator.models.forward import Prediction, Reader, Row, batches, pick, prediction_at
from simulator.models.slots import Slots

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")

# Seconds a round waits for calls begun at the same time; a pass takes many times longer.
_GATHERING: Final = 0.005


@dataclass(slots=True, eq=False)
class _Call(Generic[_Request, _Answer]):
    """A waiting call; `given_up` once its caller has stopped waiting."""

    request: _Request
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
class _Reading(_Call[_Request, tuple[list[Row], list[list[Prediction]]]]):
    rows: list[Row] = field(default_factory=list)
    looks: dict[int, list[Prediction]] = field(default_factory=dict)


class Gatherer(Generic[_Request]):
    """Scores texts in batches; may be used from several event loops concurrently."""

    def __init__(
        self,
        thread: ThreadPoolExecutor,
        rows_of: Callable[[_Request], list[Row]],
        read: Callable[[Sequence[Row]], list[list[Prediction]]],
        budget: int,
    ) -> None:
        """Make a queue for calls.

        Args:
            thread: the single thread in which `rows_of` and `read` run.
            rows_of: returns the rows to read for a call; may raise.
            read: reads a batch of rows in one pass; may raise.
            budget: most tokens in a batch.
        """
        self._thread = thread
        self._rows_of = rows_of
        self._read = read
        self._budget = budget
        self._waiting: list[_Reading[_Request]] = []
        self._lock = threading.Lock()
        self._closed = False

    async def __call__(self, request: _Request) -> tuple[list[Row], list[list[Prediction]]]:
        """Return the rows read for a call, and the looks at each.

        Raises:
            Exception: any error of `rows_of` or `read`.
        """
        call = _Reading(request)
        with self._lock:
            self._waiting.append(call)
        self._thread.submit(self._round)
        return await call.answer()

    def close(self) -> None:
        """Cancel all waiting calls; call it when the thread is shut down."""
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
                call.rows = self._rows_of(call.request)
            except Exception as error:
                call.future.set_exception(error)
        rows = [(call, number) for call in calls for number in range(len(call.rows))]
        for batch in batches([call.rows[number] for call, number in rows], self._budget):
            waiting = [rows[index] for index in batch if rows[index][0].open]
            if waiting:
                self._pass(waiting)

    def _pass(self, waiting: Sequence[tuple[_Reading[_Request], int]]) -> None:
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
    """A requested answer and its tokens so far.

    Attributes:
        ids: tokens of the prompt.
        head: how many of them other prompts share.
        temperature: 0 for the likeliest tokens.
        top_p: sample only from the likeliest tokens whose probabilities add up to this.
        top: alternatives to return per token; None for no log-probabilities.
        seed: seed of the sampling; None for a random one.
        most: most tokens of an answer.
        over: returns True if an answer of these tokens is complete.
        written: tokens of each sample.
        looks: log-probabilities at each token of the first sample, if requested.
        generator: torch's random generator for this answer.
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
    looks: list[Prediction] = field(default_factory=list)
    generator: Any = None

    def ended(self, tokens: list[int]) -> bool:
        """Return True if nothing follows `tokens`."""
        return len(tokens) >= self.most or self.over(tokens)


@dataclass(slots=True, eq=False)
class _Writing(_Call[_Request, _Answer]):
    """A call with its number of samples, and its job once it has begun."""

    rows: int = 1
    job: Job | None = None


@dataclass(frozen=True, slots=True)
class Engine(Generic[_Request, _Answer]):
    """The parts with which a model generates answers.

    Attributes:
        slots: the memory of the answers in progress.
        prepare: builds the job of a call.
        finish: builds the answer of a call from its finished job.
    """

    torch: Any
    reader: Reader
    slots: Slots
    prepare: Callable[[_Request], Job]
    finish: Callable[[_Request, Job], _Answer]


class Writer(Generic[_Request, _Answer]):
    """Generates answers; may be used from several event loops concurrently."""

    def __init__(self, thread: ThreadPoolExecutor, engine: Engine[_Request, _Answer], together: int) -> None:
        """Make a queue for calls.

        Args:
            thread: the single thread in which the model runs.
            engine: the parts with which the model generates.
            together: answers in parallel. Several samples of one prompt are always generated together.
        """
        self._thread = thread
        self._engine = engine
        self._together = together
        self._waiting: list[_Writing[_Request, _Answer]] = []
        # The call and the sample in each place of the slots.
        self._places: list[tuple[_Writing[_Request, _Answer], int] | None] = []
        self._lock = threading.Lock()
        self._booked = False
        self._closed = False

    async def __call__(self, request: _Request, samples: int) -> _Answer:
        """Return the answer; a cancelled call stops at the next token.

        Raises:
            Exception: any error of `prepare` or the model.
        """
        call = _Writing[_Request, _Answer](request, rows=samples)
        with self._lock:
            if self._closed:
                raise _closed_error()
            self._waiting.append(call)
            if not self._booked:
                self._thread.submit(self._round)
                self._booked = True
        return await call.answer()

    def close(self) -> None:
        """Cancel waiting calls and fail those in progress; call it when the thread is shut down."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, []
        for call in waiting:
            call.future.cancel()
        _fail(self._writing(), _closed_error())

    def _writing(self) -> list[_Writing[_Request, _Answer]]:
        """Return the calls in progress."""
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
        if closed:  # calls that `_begin` was placing when `close` looked
            _fail(self._writing(), _closed_error())

    def _next_to_write(self) -> Iterator[_Writing[_Request, _Answer]]:
        """Yield waiting calls that fit, in order; always at least one if no answer is in progress."""
        while True:
            with self._lock:
                taken = sum(place is not None for place in self._places)
                if not self._waiting or (taken and taken + self._waiting[0].rows > self._together):
                    return
                call = self._waiting.pop(0)
            if not call.given_up and call.future.set_running_or_notify_cancel():
                yield call

    def _begin(self, call: _Writing[_Request, _Answer]) -> None:
        """Read a prompt, generate the first token, and place the samples that go on."""
        engine = self._engine
        job = call.job = engine.prepare(call.request)
        job.written = [[] for _ in range(job.samples)]
        job.generator = engine.torch.Generator(device=engine.reader.device)
        if job.seed is None:
            job.generator.seed()
        else:
            job.generator.manual_seed(job.seed)
        read = engine.reader.read(job.ids, job.head)
        left = self._take(job, range(job.samples), read.logits.expand(job.samples, -1))
        if not left:
            return self._give(call, job)
        more = max(self._together, len(left)) - len(self._places)
        self._places += [None] * more
        engine.slots.resize(len(self._places))
        free = [number for number, place in enumerate(self._places) if place is None]
        for sample, number in zip(left, free, strict=False):
            engine.slots.put(number, read.state)
            self._places[number] = (call, sample)

    def _take(self, job: Job, samples: Sequence[int], logits: Any) -> list[int]:
        """Add the next token to each of the job's `samples`; return the samples that go on."""
        torch = self._engine.torch
        tokens = pick(torch, logits, temperature=job.temperature, top_p=job.top_p, generator=job.generator)
        for sample, token in zip(samples, tokens, strict=True):
            job.written[sample].append(token)
        if job.top is not None:
            job.looks.append(prediction_at(torch, logits[0], tokens[0], job.top))
        return [sample for sample in samples if not job.ended(job.written[sample])]

    def _give(self, call: _Writing[_Request, _Answer], job: Job) -> None:
        try:
            answer = self._engine.finish(call.request, job)
        except Exception as error:
            return _fail([call], error)
        with suppress(InvalidStateError):  # closed meanwhile
            call.future.set_result(answer)

    def _add_a_token(self) -> None:
        """Run one pass for all answers in progress."""
        self._leave(number for number, place in enumerate(self._places) if place and not place[0].open)
        if not self._places:
            return
        rows: dict[_Writing[_Request, _Answer], list[tuple[int, int]]] = {}
        tokens = [0] * len(self._places)
        for number, place in enumerate(self._places):
            if place is not None:
                call, sample = place
                rows.setdefault(call, []).append((sample, number))
                tokens[number] = _job(call).written[sample][-1]
        logits = self._engine.slots.step(tokens)
        over: list[int] = []
        done: list[_Writing[_Request, _Answer]] = []
        for call, pairs in rows.items():
            # In the order of the samples, not of their places: the random draws depend on it.
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
        """Free places, and drop those that are no longer needed."""
        slots = self._engine.slots
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
        self._engine.slots.resize(0)


def _job(call: _Writing[_Request, _Answer]) -> Job:
    assert call.job is not None
    return call.job


def _closed_error() -> RuntimeError:
    return RuntimeError("the model was closed during the call")


def _fail(calls: Iterable[_Call[Any, Any]], error: Exception) -> None:
    for call in calls:
        with suppress(InvalidStateError):
            call.future.set_exception(error)
