import asyncio
import random

import pytest
from pydantic import BaseModel

from simulator.models import (
    AuthenticationFailed,
    BadRequest,
    BudgetExceeded,
    Completion,
    Malformed,
    NotRecorded,
    RateLimited,
    Refused,
    TimedOut,
    Unavailable,
    Unsupported,
)
from simulator.models.base import Usage
from simulator.models.retry import Retried, RetryPolicy


class Colour(BaseModel):
    name: str


@pytest.fixture
def retried(clock):
    def wrap(inner, **policy):
        return Retried(inner, RetryPolicy(**policy), clock=clock, sleep=clock.sleep, rng=random.Random(1))

    return wrap


async def test_nothing_to_retry(retried, fake, ask, clock):
    completion = await retried(fake("red")).complete(ask())
    assert (completion.text, completion.attempts, completion.seconds) == ("red", 1, 0.0)
    assert clock.slept == []


@pytest.mark.parametrize("error", [RateLimited("x"), TimedOut("x"), Unavailable("x")])
async def test_transient_failures_are_tried_again(retried, fake, ask, clock, error):
    inner = fake(error, error, "red")
    completion = await retried(inner).complete(ask())
    assert (completion.text, completion.attempts) == ("red", 3)
    assert completion.seconds == sum(clock.slept)
    assert 0 <= clock.slept[0] <= 1 and 0 <= clock.slept[1] <= 2


@pytest.mark.parametrize(
    "kind", [Refused, AuthenticationFailed, BadRequest, Unsupported, BudgetExceeded, NotRecorded]
)
async def test_final_failures_are_not(retried, fake, ask, clock, kind):
    inner = fake(kind("x"))
    with pytest.raises(kind) as caught:
        await retried(inner).complete(ask())
    assert len(inner.requests) == 1 == caught.value.attempts
    assert clock.slept == []


async def test_what_is_given_up_is_not_sent_again(retried, stubborn, ask, clock):
    task = asyncio.create_task(retried(stubborn).complete(ask()))
    await stubborn.under_way.wait()
    task.cancel()
    with pytest.raises(Unavailable, match="while giving up"):
        await task
    assert len(stubborn.requests) == 1
    assert clock.slept == []


async def test_retry_after_is_waited_in_full(retried, fake, ask, clock):
    limited = [RateLimited("x", retry_after=30.0), Unavailable("x", retry_after=40.0)]
    await retried(fake(*limited, "red")).complete(ask())
    assert 30 <= clock.slept[0] <= 37.5
    assert 40 <= clock.slept[1] <= 50


async def test_a_retry_after_of_nothing_still_backs_off(retried, fake, ask, clock):
    await retried(fake(RateLimited("x", retry_after=0.0), "red")).complete(ask())
    assert 0 < clock.slept[0] <= 1


async def test_attempts_are_bounded(retried, fake, ask):
    inner = fake(Unavailable("down"))
    with pytest.raises(Unavailable, match=r"down \(after 4 attempts\)") as caught:
        await retried(inner, max_attempts=4).complete(ask())
    assert len(inner.requests) == 4 == caught.value.attempts


async def test_busy_servers_of_a_fleet_are_no_attempts(retried, fake, ask, clock):
    busy = RateLimited("x")
    busy.has_alternative = True
    completion = await retried(fake(*[busy] * 9, "red"), max_attempts=2).complete(ask())
    assert (completion.text, completion.attempts, clock.slept) == ("red", 10, [])


async def test_time_is_bounded(retried, fake, ask, clock):
    inner = fake(RateLimited("x", retry_after=40.0))
    with pytest.raises(RateLimited):
        await retried(inner, max_attempts=100, max_seconds=100).complete(ask())
    assert clock.now <= 100
    assert len(inner.requests) in (2, 3)


async def test_a_pause_longer_than_the_time_left_is_not_begun(retried, fake, ask, clock):
    with pytest.raises(RateLimited):
        await retried(fake(RateLimited("x", retry_after=3600.0))).complete(ask())
    assert clock.slept == []


async def test_the_pause_grows_up_to_its_bound(clock):
    policy = RetryPolicy(first_delay=1.0, max_delay=10.0)
    longest = [policy.delay(TimedOut("x"), attempt, lambda low, high: high) for attempt in range(1, 7)]
    assert longest == [1, 2, 4, 8, 10, 10]
    shortest = [policy.delay(TimedOut("x"), attempt, lambda low, high: low) for attempt in range(1, 7)]
    assert shortest == [0] * 6


async def test_malformed_answers_are_asked_for_again_at_once(retried, fake, ask, clock):
    inner = fake("red, I think", '{"colour": "red"}', '{"name": "red"}')
    completion = await retried(inner).complete(ask(schema=Colour))
    assert completion.parsed == Colour(name="red")
    assert completion.attempts == 3
    assert clock.slept == []


async def test_malformed_answers_are_not_asked_for_for_ever(retried, fake, ask):
    inner = fake("red, I think")
    with pytest.raises(Malformed, match="no JSON") as caught:
        await retried(inner, max_malformed=2, max_attempts=50).complete(ask(schema=Colour))
    assert len(inner.requests) == 3
    assert caught.value.text == "red, I think"


async def test_an_answer_cut_off_says_so(retried, fake, ask):
    inner = fake(Completion(text='{"name": "re', finish_reason="length"))
    with pytest.raises(Malformed, match="cut off at max_tokens=7"):
        await retried(inner).complete(ask(schema=Colour, max_tokens=7))


async def test_usage_and_cost_count_every_attempt(retried, fake, ask):
    bad = Completion(text="hm", usage=Usage(10, 5), cost=0.5)
    good = Completion(text='{"name": "red"}', usage=Usage(10, 6, 3), cost=0.25)
    completion = await retried(fake(bad, Unavailable("x"), good)).complete(ask(schema=Colour))
    assert completion.usage == Usage(20, 11, 3)
    assert completion.cost == 0.75
    with pytest.raises(Malformed) as caught:
        await retried(fake(bad)).complete(ask(schema=Colour))
    assert caught.value.usage == Usage(30, 15)
    assert caught.value.cost == 1.5


async def test_an_unknown_price_stays_unknown(retried, fake, ask):
    completion = await retried(fake("hm", '{"name": "red"}')).complete(ask(schema=Colour))
    assert completion.cost is None


async def test_other_exceptions_pass(retried, fake, ask):
    inner = fake(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await retried(inner).complete(ask())
    assert len(inner.requests) == 1
