"""Ten servers behind one name: dead ones, a slow one, one that lies; nothing fails, and the rest is busy.

Time is virtual (`virtual_time`), so that what is measured here is exact on any machine.
"""

import asyncio
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from simulator.models import (
    AuthenticationFailed,
    BadRequest,
    Capabilities,
    Completion,
    Identity,
    Message,
    RateLimited,
    Request,
    ScoreRequest,
    ServerDown,
    TimedOut,
    Unavailable,
)
from simulator.models.fleet import Fleet, FleetServer
from simulator.models.fleet_model import FleetModel
from simulator.models.pool import heads_of
from simulator.models.retry import Retried, RetryPolicy

sys.path.insert(0, str(Path(__file__).parent))

from virtual_time import run


@dataclass
class Fake:
    """A server: `places` requests at a time, each `seconds` long; complains of more, or has them wait."""

    address: str
    places: int = 4
    seconds: float = 1.0
    complains: bool = False
    alive: bool = True
    hangs: bool = False
    error: Exception | None = None
    served: list[float] = field(default_factory=list)
    dialogues: set[str] = field(default_factory=set)
    busy: int = 0
    most: int = 0

    def __post_init__(self):
        self.identity = Identity("openai", "llama", self.address)
        self.name = self.identity.name
        self.capabilities = Capabilities()
        self.ignored = frozenset()
        self._free = asyncio.Semaphore(self.places)

    async def is_alive(self):
        await asyncio.sleep(0.01)
        return self.alive

    async def complete(self, request):
        self.most = max(self.most, self.busy + 1)
        if self.error is not None:
            await asyncio.sleep(0.01)
            raise self.error
        if self.complains and self.busy >= self.places:
            await asyncio.sleep(0.01)
            raise RateLimited("too many")
        self.busy += 1
        try:
            async with self._free:
                end = asyncio.get_running_loop().time() + self.seconds
                while asyncio.get_running_loop().time() < end or self.hangs:
                    await asyncio.sleep(120 if self.hangs else min(self.seconds, 0.5))
                    if self.hangs:
                        raise TimedOut("no answer")
                    if not self.alive:
                        raise Unavailable("cannot reach the server")
        finally:
            self.busy -= 1
        self.served.append(asyncio.get_running_loop().time())
        self.dialogues.add(request.messages[0].content)
        return Completion(text="yes")

    async def close(self):
        pass


def fakes_of(count, **more):
    return [Fake(f"http://gpu{number}/v1", **more) for number in range(count)]


def fleet_of(fakes, *settings):
    """The model behind these servers, with retries around it, as `load_model` has it."""
    chosen = [*settings, *[{}] * len(fakes)]
    servers = tuple(
        FleetServer(url=fake.address, **{"capacity": fake.places, **more})
        for fake, more in zip(fakes, chosen, strict=False)
    )
    model = FleetModel(Fleet("fleet:test", servers), fakes, concurrency=64)
    loop = asyncio.get_running_loop()
    return Retried(model, RetryPolicy(), clock=loop.time, rng=random.Random(1))


def ask(text="hello", **more):
    return Request(messages=(Message("user", text),), **more)


async def dialogues(model, count, turns, *, at_once):
    """Play dialogues side by side; the seconds that they take together."""
    loop = asyncio.get_running_loop()
    begin, places = loop.time(), asyncio.Semaphore(at_once)

    async def dialogue(number):
        async with places:
            await turns_of(number)

    async def turns_of(number):
        messages = []
        for turn in range(turns):
            messages.append(Message("user", f"dialogue {number}, turn {turn} " * 60))
            await model.complete(Request(messages=tuple(messages)))

    await asyncio.gather(*map(dialogue, range(count)))
    await model.close()
    return loop.time() - begin


def test_two_die_one_is_slow_one_lies_and_nothing_fails():
    async def scene():
        fakes = fakes_of(10)
        fakes[0].seconds = 8.0
        fakes[1].places, fakes[1].complains = 1, True
        model = fleet_of(fakes, {}, {"capacity": 16})

        async def die():
            await asyncio.sleep(3.3)
            fakes[2].alive = False
            await asyncio.sleep(4.0)
            fakes[3].alive, fakes[3].hangs = False, True

        dying = asyncio.create_task(die())
        seconds = await dialogues(model, 200, 5, at_once=60)
        await dying
        return fakes, seconds

    fakes, seconds = run(scene())
    served = sum(len(fake.served) for fake in fakes)
    assert served == 1000
    healthy = 6 * 4  # places of those that are as they say, a second per answer
    assert served / seconds >= 0.9 * healthy
    assert len(fakes[0].served) < 60, "the slow one gets little"
    assert fakes[1].most <= 16


async def ask_all(model, count, text="hello"):
    """Ask at once; the seconds that it took."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await asyncio.gather(*(model.complete(ask(text, repeat=number)) for number in range(count)))
    return loop.time() - begin


def test_a_server_that_comes_back_gets_work_again():
    async def scene():
        fakes = fakes_of(2)
        model = fleet_of(fakes)
        fakes[0].alive = False
        await ask_all(model, 40)
        assert fakes[0].served == [] and len(fakes[1].served) == 40
        fakes[0].alive = True
        await asyncio.sleep(30)
        await ask_all(model, 80)
        assert len(fakes[0].served) > 25
        await model.close()

    run(scene())


def test_what_a_silent_server_has_is_sent_elsewhere():
    async def scene():
        fakes = fakes_of(3)
        fakes[0].alive, fakes[0].hangs = False, True
        seconds = await ask_all(fleet_of(fakes), 12)
        assert seconds < 10, "nobody waits for the time-out of 120 s"
        assert sum(len(fake.served) for fake in fakes) == 12

    run(scene())


def test_a_busy_server_that_shows_signs_of_life_is_waited_for():
    async def scene():
        fakes = fakes_of(2, seconds=60.0)
        model = fleet_of(fakes)
        assert await ask_all(model, 8) == pytest.approx(60, abs=1)
        assert all(member.in_service for member in next(iter(model.inner._pools.values())).members)

    run(scene())


@pytest.mark.parametrize("back", [True, False])
def test_where_nobody_is_there_requests_wait_for_a_minute(back):
    async def scene():
        fakes = fakes_of(2, alive=False)
        model = fleet_of(fakes)
        asking = asyncio.create_task(ask_all(model, 4))
        await asyncio.sleep(40)
        fakes[0].alive = back
        if back:
            await asking
        else:
            with pytest.raises(ServerDown, match=r"no server of .* can be reached \(2 tried"):
                await asking
        await model.close()

    run(scene())


def test_a_server_gets_no_more_a_minute_than_it_may():
    async def scene():
        fakes = fakes_of(2)
        model = fleet_of(fakes, {"per_minute": 10})
        await asyncio.gather(*(ask_all(model, 400, f"{number}") for number in range(2)))
        times = fakes[0].served
        assert all(later - earlier >= 59 for earlier, later in zip(times, times[10:], strict=False))
        assert len(times) >= 20, "the minutes pass, and it gets its requests"

    async def alone():
        assert 120 < await ask_all(fleet_of(fakes_of(1), {"per_minute": 10}), 25) < 125

    run(scene())
    run(alone())


def test_a_server_that_asks_to_be_left_alone_is():
    async def scene():
        fakes = fakes_of(2)
        model = fleet_of(fakes)
        fakes[0].error = RateLimited("too many", retry_after=30.0)
        await ask_all(model, 8)
        fakes[0].error = None
        await ask_all(model, 80)
        assert min(fakes[0].served, default=100) > 30

    run(scene())


def test_weight_is_a_share_of_the_load():
    async def scene():
        fakes = fakes_of(2, places=32)
        model = fleet_of(fakes, {"weight": 3.0})
        await ask_all(model, 32)
        assert 22 <= len(fakes[0].served) <= 26

    run(scene())


def test_a_dialogue_stays_where_its_beginning_was_read():
    async def scene(at_once, most):
        fakes = fakes_of(4)
        await dialogues(fleet_of(fakes), 40, 8, at_once=at_once)
        visits = [
            sum(f"dialogue {each}, " in text for fake in fakes for text in fake.dialogues)
            for each in range(40)
        ]
        assert sum(visits) / 40 <= most
        loads = [len(fake.served) for fake in fakes]
        assert max(loads) <= 1.5 * min(loads), loads

    run(scene(12, 1.3))
    run(scene(24, 2.5))  # more than there are places, so that requests wait for each other


def test_a_head_that_all_have_draws_nobody_to_one_server():
    async def scene():
        fakes = fakes_of(4)
        model = fleet_of(fakes)
        head = "an example. " * 500
        await asyncio.gather(*(model.complete(ask(head + str(number))) for number in range(160)))
        assert [len(fake.served) for fake in fakes] == [40] * 4

    run(scene())


def test_heads_are_those_of_equal_beginnings():
    short, long = ask("a" * 3000), Request(messages=(*ask("a" * 3000).messages, Message("assistant", "b")))
    assert heads_of(long)[:3] == heads_of(short) and len(heads_of(long)) == 4
    assert heads_of(ask("a" * 3001))[:2] == heads_of(short)[:2]
    scored = ScoreRequest(text="a" * 3000, continuations=("b",))
    assert len(heads_of(scored)) == 3


@pytest.mark.parametrize("error", [BadRequest("no such model"), AuthenticationFailed("wrong key")])
def test_a_server_that_refuses_what_others_answer_is_left_out(error):
    async def scene():
        fakes = fakes_of(3)
        fakes[0].error = error
        model = fleet_of(fakes)
        for _ in range(10):
            await ask_all(model, 12)
        assert sum(len(fake.served) for fake in fakes) == 120

    run(scene())


def test_a_request_that_all_refuse_is_wrong_and_no_server_is():
    async def scene():
        fakes = fakes_of(3)
        for fake in fakes:
            fake.error = BadRequest("the prompt is too long")
        model = fleet_of(fakes)
        with pytest.raises(BadRequest, match="too long"):
            await model.complete(ask())
        assert all(member.in_service for member in next(iter(model.inner._pools.values())).members)
        await model.close()

    run(scene())


def test_who_gives_up_takes_no_place():
    async def scene():
        fakes = fakes_of(1)
        model = fleet_of(fakes)
        asking = [asyncio.create_task(model.complete(ask(repeat=number))) for number in range(12)]
        await asyncio.sleep(0.5)
        for task in asking[:8]:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        assert len(fakes[0].served) == 4
        assert await ask_all(model, 4) == pytest.approx(1, abs=0.1)

    run(scene())


def test_models_of_one_fleet_share_its_places():
    async def scene():
        fakes = fakes_of(1, complains=True)
        models = [fleet_of(fakes), fleet_of(fakes)]
        await asyncio.gather(*(ask_all(model, 10) for model in models))
        assert fakes[0].most == 4

    run(scene())
