"""Conditions under which a server is given up."""

from __future__ import annotations

import pytest

from simulator.models import BadRequest, Completion, Malformed, RateLimited, ServerDown, TimedOut, Unavailable
from simulator.models.limits import Circuit, Limited, Limiter, duration
from simulator.models.retry import Retried


@pytest.fixture
def limited(fake, clock):
    def make(*answers):
        limiter = Limiter(16, server="the server", clock=clock, sleep=clock.sleep)
        return Retried(Limited(fake(*answers), 16, limiter), clock=clock, sleep=clock.sleep)

    return make


async def test_a_retry_after_of_a_day_is_not_waited_for(limited, ask, clock):
    model = limited(RateLimited("busy", retry_after=86_400.0))
    with pytest.raises(ServerDown, match="asks for a pause of 24 h"):
        await model.complete(ask())
    with pytest.raises(ServerDown):
        await model.complete(ask("another"))
    assert clock.now == 0.0
    assert len(model.inner.inner.requests) == 1


async def test_a_silent_server_is_given_up_after_three_requests(limited, ask):
    model = limited(TimedOut("no answer"))
    for _ in range(2):
        with pytest.raises(ServerDown, match="has not answered"):
            await model.complete(ask())
    assert len(model.inner.inner.requests) == 3


async def test_a_broken_server_is_given_up_only_after_a_minute(limited, ask, clock):
    model = limited(Unavailable("502"))
    for _ in range(20):
        with pytest.raises((Unavailable, ServerDown)) as failed:
            await model.complete(ask())
        if isinstance(failed.value, ServerDown):
            break
    assert isinstance(failed.value, ServerDown)
    assert clock.now >= 60
    assert len(model.inner.inner.requests) >= 6


async def test_after_a_while_somebody_may_try_again(limited, ask, clock):
    model = limited(TimedOut("1"), TimedOut("2"), TimedOut("3"), Completion(text="back"))
    for _ in range(2):
        with pytest.raises(ServerDown):
            await model.complete(ask())
    clock.now += 31
    assert (await model.complete(ask())).text == "back"


@pytest.mark.parametrize("harmless", [BadRequest("x"), Malformed("x"), RateLimited("x", retry_after=1.0)])
def test_who_answers_is_there(clock, harmless):
    circuit = Circuit("the server", clock=clock)
    for _ in range(5):
        circuit.record_failure(TimedOut("x"), clock.now)
        circuit.record_failure(TimedOut("x"), clock.now)
        circuit.record_failure(harmless, clock.now)
        clock.now += 100
    circuit.require_closed()


def test_who_is_waited_for_is_said_now_and_then(clock, caplog):
    circuit = Circuit("the server https://here", clock=clock)
    for _ in range(10):
        circuit.say("waiting")
        clock.now += 10
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["the server https://here: waiting"] * 4
    assert [duration(seconds) for seconds in (5, 300, 86_400)] == ["5 s", "5 min", "24 h"]
