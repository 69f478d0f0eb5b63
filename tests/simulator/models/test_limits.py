import asyncio

import pytest

from simulator.models import RateLimited
from simulator.models.limits import Limited, Limiter, shared_limiter


@pytest.fixture
def limiter(clock):
    return lambda maximum, start=4: Limiter(maximum, start=start, clock=clock, sleep=clock.sleep)


async def fill(limiter, count):
    """Start `count` tasks that want a place; returns them after those who could have got one."""
    tasks = [asyncio.create_task(limiter.acquire()) for _ in range(count)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def cancel(tasks):
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_no_more_than_the_limit(limiter):
    made = limiter(10, start=3)
    tasks = await fill(made, 5)
    assert made.active == 3 == sum(task.done() for task in tasks)
    made.release()
    await asyncio.sleep(0)
    assert made.active == 3
    made.release()
    await asyncio.gather(*tasks)
    assert made.active == 3


async def test_first_come_first_served(limiter):
    made = limiter(1, start=1)
    _, second, third = await fill(made, 3)
    made.release()
    await second
    assert not third.done()
    await cancel([third])


async def test_it_doubles_per_round_until_the_first_complaint(limiter):
    made = limiter(100, start=4)
    for _ in range(4):
        await made.acquire()
    for _ in range(4):
        made.record_success()
    assert made.limit == 8


async def test_it_grows_only_if_it_was_in_the_way(limiter):
    made = limiter(100, start=4)
    await made.acquire()
    made.record_success()
    assert made.limit == 4


async def test_it_never_exceeds_the_maximum(limiter):
    made = limiter(5, start=16)
    assert made.limit == 5
    for _ in range(5):
        await made.acquire()
    made.record_success()
    assert made.limit == 5


async def test_a_complaint_halves_it_once_per_round(limiter, clock):
    made = limiter(100, start=16)
    clock.now = 1.0
    sent = await made.acquire()
    clock.now = 2.0
    made.record_complaint(sent)
    assert made.limit == 8
    made.record_complaint(sent)
    assert made.limit == 8, "that request was sent before the cut"
    made.record_complaint(await made.acquire())
    assert made.limit == 4


async def test_afterwards_it_grows_by_one_per_round(limiter):
    made = limiter(100, start=8)
    made.record_complaint(await made.acquire())
    for _ in range(3):
        await made.acquire()
    for _ in range(4):
        made.record_success()
    assert 4.8 < made.limit < 5.1


async def test_it_never_closes_for_good(limiter, clock):
    made = limiter(100, start=2)
    for _ in range(10):
        clock.now += 1
        made.record_complaint(clock.now)
    assert made.limit == 1


async def test_retry_after_holds_everybody_back(limiter, clock):
    made = limiter(100)
    made.record_complaint(await made.acquire(), retry_after=20.0)
    made.release()
    assert await made.acquire() == 20.0
    assert clock.slept == [20.0]


async def test_a_cancelled_waiter_takes_no_place(limiter):
    made = limiter(1, start=1)
    _, second, third = await fill(made, 3)
    await cancel([second])
    made.release()
    await third
    assert made.active == 1


async def test_a_place_given_at_the_moment_of_cancelling_comes_back(limiter):
    made = limiter(1, start=1)
    _, second = await fill(made, 2)
    made.release()  # gives the place to the second …
    second.cancel()  # … which is cancelled before it runs
    await asyncio.gather(second, return_exceptions=True)
    assert made.active == 0


async def test_the_layer(limiter, fake, ask):
    made = limiter(100)
    layer = Limited(fake(RateLimited("x", retry_after=5.0), "red"), 100, made)
    with pytest.raises(RateLimited):
        await layer.complete(ask())
    assert made.limit == 2
    assert (await layer.complete(ask())).text == "red"
    assert made.active == 0


async def test_any_failure_gives_the_place_back(limiter, fake, ask):
    made = limiter(100)
    with pytest.raises(ZeroDivisionError):
        await Limited(fake(ZeroDivisionError()), 100, made).complete(ask())
    assert made.active == 0
    assert made.limit == 4


async def test_one_limiter_per_provider_and_server():
    assert shared_limiter("a", "x", 10) is shared_limiter("a", "x", 10)
    assert shared_limiter("a", "x", 10) is not shared_limiter("a", "y", 10)
    assert shared_limiter("a", "x", 3).maximum == 3
    assert shared_limiter("a", "x", 10).maximum == 3, "of several maxima the smallest counts"


async def test_models_of_one_provider_share_places(fake, ask):
    gate = asyncio.Event()
    under_way = 0
    most = 0

    async def complete(request):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await gate.wait()
        under_way -= 1
        return "done"

    inner = [fake(), fake()]
    for each in inner:
        each.complete = complete
    layers = [Limited(each, 3) for each in inner]
    tasks = [asyncio.create_task(layers[n % 2].complete(ask())) for n in range(10)]
    await asyncio.sleep(0.01)
    gate.set()
    await asyncio.gather(*tasks)
    assert most == 3


def test_event_loops_do_not_share(fake):
    async def get():
        return shared_limiter("a", "b", 1)

    assert asyncio.run(get()) is not asyncio.run(get())
