"""Retries of model calls, with exponential backoff."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from simulator.models.answers import check_answer
from simulator.models.base import Request, ScoreRequest, Usage
from simulator.models.errors import Malformed, ModelError, RateLimited, TimedOut
from simulator.models.layers import AnswerT, Backend, Layer, Send, amend
from simulator.models.schema import parse_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """The conditions of a retry.

    Attributes:
        max_attempts: how often a request is sent, busy servers of a fleet with free others not counted.
        max_malformed: how many malformed answers are retried.
        max_timed_out: how many time-outs are retried.
        first_delay: upper bound of the first pause, in seconds; it doubles with every attempt.
        max_delay: upper bound, in seconds, of any pause that the server did not ask for.
        max_seconds: seconds after the first attempt in which new attempts may start.
    """

    max_attempts: int = 6
    max_malformed: int = 2
    max_timed_out: int = 2
    first_delay: float = 1.0
    max_delay: float = 60.0
    max_seconds: float = 600.0

    def delay(self, error: ModelError, attempt: int, uniform: Callable[[float, float], float]) -> float:
        """Return the seconds to wait after failed attempt number `attempt` (1, 2, …).

        The pause is uniform between 0 and an exponentially growing bound (full jitter), so that dialogues
        that failed together do not return together. A Retry-After is honoured, with up to a quarter added
        for the same reason. Malformed answers, and requests for another server of a fleet, are retried
        immediately.
        """
        if isinstance(error, Malformed) or error.has_alternative:
            return 0.0
        bound = min(self.max_delay, self.first_delay * 2.0 ** (attempt - 1))
        pause = error.retry_after
        return pause * uniform(1.0, 1.25) if pause else uniform(0.0, bound)


class Retried(Layer):
    """Parses the answer, and retries errors that may pass."""

    def __init__(
        self,
        inner: Backend,
        policy: RetryPolicy | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        """Wrap `inner`; `clock`, `sleep` and `rng` are for tests."""
        super().__init__(inner)
        self.policy = policy or RetryPolicy()
        self._clock = clock
        self._sleep = sleep
        # It only affects when requests are sent, never an answer, so it needs no seed.
        self._uniform = (rng or random.Random()).uniform

    async def intercept(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Return a checked answer; usage and cost include failed attempts as far as they are known.

        Raises:
            ModelError: the last attempt's, with attempts, usage and cost of all attempts.
        """
        start = self._clock()
        attempts = malformed = timed_out = busy = 0
        wasted: list[ModelError] = []
        while True:
            attempts += 1
            try:
                answer = parse_answer(check_answer(self.name, await send()), request)
                attempts += answer.attempts - 1
            except ModelError as error:
                malformed += isinstance(error, Malformed)
                timed_out += isinstance(error, TimedOut)
                # A server that claims more capacity than it has may refuse the same request many times.
                busy += isinstance(error, RateLimited) and error.has_alternative
                wasted.append(error)
                pause = self._pause(error, attempts - busy, malformed, start)
                if timed_out > self.policy.max_timed_out or _is_cancelled():
                    pause = None
                if pause is None:
                    _total(error, wasted, attempts)
                    raise
                if pause > 0:
                    await self._sleep(pause)
            else:
                seconds = self._clock() - start
                if wasted:
                    answer = _with_waste(answer, wasted)
                return amend(answer, attempts=attempts, seconds=seconds)

    def _pause(self, error: ModelError, attempts: int, malformed: int, start: float) -> float | None:
        """Return the seconds to wait before the next attempt; None to give up."""
        policy = self.policy
        if not error.retryable or attempts >= policy.max_attempts or malformed > policy.max_malformed:
            return None
        pause = policy.delay(error, attempts, self._uniform)
        return pause if self._clock() - start + pause <= policy.max_seconds else None


def _is_cancelled() -> bool:
    """Return True if the task is being cancelled; some clients turn a cancellation into another error."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _total(error: ModelError, wasted: list[ModelError], attempts: int) -> None:
    usage, cost = sum((each.usage for each in wasted), Usage()), _known_cost(wasted)
    error.attempts, error.usage, error.cost = attempts, usage, cost


def _with_waste(answer: AnswerT, wasted: list[ModelError]) -> AnswerT:
    cost = _known_cost(wasted)
    return amend(
        answer,
        usage=sum((each.usage for each in wasted), answer.usage),
        cost=answer.cost if answer.cost is None else answer.cost + (cost or 0.0),
    )


def _known_cost(errors: list[ModelError]) -> float | None:
    """Return what is known to have been billed; None if nothing is known, but something may have been."""
    costs = [error.cost for error in errors]
    known = sum(filter(None, costs))
    return known if known or None not in costs else None
