import asyncio
import multiprocessing
import sqlite3

import pytest
from pydantic import BaseModel, field_validator

from simulator.errors import InputError
from simulator.models import Completion, Identity, Malformed, TokenLogprob
from simulator.models.base import Usage
from simulator.models.cache import Cached, ResponseCache, decode, encode
from simulator.models.keys import request_key
from simulator.models.retry import Retried


class Colour(BaseModel):
    name: str


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "cache.sqlite"


@pytest.fixture
async def cached(path):
    made = []

    def wrap(inner):
        made.append(Cached(Retried(inner), ResponseCache(path)))
        return made[-1]

    yield wrap
    for each in made:
        await each.close()


def slowly(fake, gate):
    """Let a fake wait for `gate` before it answers."""
    answer = fake.complete

    async def complete(request):
        fake.requests.append(request)
        await gate.wait()
        fake.requests.pop()
        return await answer(request)

    fake.complete = complete
    return fake


async def test_the_second_time_nobody_is_asked(cached, fake, ask):
    inner = fake(Completion(text="red", usage=Usage(3, 4, 1), finish_reason="length", cost=0.5), "blue")
    model = cached(inner)
    first = await model.complete(ask())
    second = await model.complete(ask())
    assert (first.text, first.cached, first.attempts, first.cost) == ("red", False, 1, 0.5)
    assert (second.text, second.cached, second.attempts, second.cost) == ("red", True, 0, 0.0)
    assert (second.usage, second.finish_reason) == (first.usage, "length")
    assert len(inner.requests) == 1


async def test_logprobs_come_back(cached, fake, ask):
    logprobs = (TokenLogprob("röt", -0.25, (("röt", -0.25), ("\ud83d", float("-inf")))),)
    model = cached(fake(Completion(text="röt 红 🙂", logprobs=logprobs)))
    await model.complete(ask())
    again = await model.complete(ask())
    assert again.logprobs == logprobs
    assert again.text == "röt 红 🙂"


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.1},
        {"max_tokens": 9},
        {"seed": 0},
        {"stop": ("x",)},
        {"schema": Colour},
        {"schema": {"type": "object", "properties": {}}},
        {"top_logprobs": 0},
        {"repeat": 1},
    ],
)
async def test_whatever_changes_the_answer_is_in_the_key(ask, change):
    who = Identity("a", "b")
    assert request_key(who, ask(**change)) != request_key(who, ask())


@pytest.mark.parametrize(
    "change", [{"purpose": "judge"}, {"prompt_version": "2"}, {"episode_id": "e"}, {"turn_number": 3}]
)
async def test_what_is_for_the_log_alone_is_not(ask, change):
    who = Identity("a", "b")
    assert request_key(who, ask(**change)) == request_key(who, ask())


async def test_who_answers_is_in_the_key(ask):
    whos = [
        Identity("a", "b"), Identity("c", "b"), Identity("a", "c"), Identity("a", "b", "http://x"),
        Identity("a", "b", extra={"effort": "low"}),
    ]  # fmt: skip
    assert len({request_key(who, ask()) for who in whos}) == len(whos)


async def test_messages_cannot_be_mistaken_for_each_other(ask):
    who = Identity("a", "b")
    different = [ask("a", "b"), ask("ab"), ask("a", "", "b"), ask('a","assistant","b')]
    assert len({request_key(who, each) for each in different}) == len(different)


async def test_the_key_is_the_same_in_every_process(ask):
    # If this changes, every cache is cold and no old run can be replayed: say so in the changelog.
    pinned = "301119f1a4e0"
    assert request_key(Identity("openai", "gpt-4o"), ask()).startswith(pinned)


async def test_objects_are_parsed_from_the_cache(cached, fake, ask):
    model = cached(fake('```json\n{"name": "red"}\n```'))
    for cached_already in (False, True):
        completion = await model.complete(ask(schema=Colour))
        assert completion.parsed == Colour(name="red")
        assert completion.cached is cached_already


async def test_failures_are_not_kept(cached, fake, ask):
    inner = fake(Malformed("x"), Malformed("x"), Malformed("x"), "red")
    model = cached(inner)
    with pytest.raises(Malformed):
        await model.complete(ask())
    assert (await model.complete(ask())).text == "red"


async def test_an_answer_that_fits_no_more_is_asked_for_anew(cached, fake, ask, path):
    class Strict(Colour):
        @field_validator("name")
        @classmethod
        def no_red(cls, name):
            if name == "red":
                raise ValueError("no red")
            return name

    Strict.__name__ = "Colour"
    schema = Colour.model_json_schema()
    assert {**Strict.model_json_schema(), "title": "Colour"} == schema
    model = cached(fake('{"name": "blue"}'))
    key = request_key(model.identity, ask(schema=Strict))
    await model.cache.put(key, "fake/model", Completion(text='{"name": "red"}'))
    completion = await model.complete(ask(schema=Strict))
    assert completion.parsed.name == "blue"
    assert not completion.cached
    assert (await model.cache.get(key)).text == '{"name": "blue"}'


async def test_the_cache_outlives_the_process(path, fake, ask):
    first = Cached(fake("red"), ResponseCache(path))
    await first.complete(ask())
    await first.close()
    second = Cached(fake("blue"), ResponseCache(path))
    assert (await second.complete(ask())).text == "red"
    await second.close()


async def test_closing_closes_what_is_inside(path, fake):
    inner = fake()
    await Cached(inner, ResponseCache(path)).close()
    assert inner.closed


async def test_a_file_that_is_no_cache_is_told(tmp_path, fake, ask):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    model = Cached(fake(), ResponseCache(path))
    with pytest.raises(InputError, match=r"notes\.txt"):
        await model.complete(ask())
    await model.close()
    assert path.read_text().startswith("dear diary")


def test_what_is_stored_is_plain_json():
    completion = Completion(text="x", parsed=Colour(name="red"), cost=3.0, seconds=2.0)
    assert decode(encode(completion)) == Completion(text="x", cost=0.0, cached=True, attempts=0)


# --- identical requests in flight --------------------------------------------------------------------


async def test_two_identical_requests_make_one_call(cached, fake, ask):
    gate = asyncio.Event()
    inner = slowly(fake(Completion(text="red", cost=0.5), "blue"), gate)
    model = cached(inner)
    tasks = [asyncio.create_task(model.complete(ask())) for _ in range(5)]
    other = asyncio.create_task(model.complete(ask("Another question")))
    while len(inner.requests) < 2:
        await asyncio.sleep(0.001)
    gate.set()
    answers = await asyncio.gather(*tasks)
    assert {answer.text for answer in answers} == {"red"}
    assert [answer.cached for answer in answers] == [False, True, True, True, True]
    assert [answer.cost for answer in answers] == [0.5, 0, 0, 0, 0]
    assert (await other).text == "blue"
    assert len(inner.requests) == 2


async def test_they_share_a_failure_and_the_next_tries_anew(cached, fake, ask):
    gate = asyncio.Event()
    inner = slowly(fake(Malformed("x"), Malformed("x"), Malformed("x"), "red"), gate)
    model = cached(inner)
    tasks = [asyncio.create_task(model.complete(ask())) for _ in range(3)]
    await asyncio.sleep(0.01)
    gate.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(answer) for answer in answers] == [Malformed] * 3
    assert (await model.complete(ask())).text == "red"


async def test_the_call_goes_on_if_the_first_caller_leaves(cached, fake, ask):
    gate = asyncio.Event()
    inner = slowly(fake("red"), gate)
    model = cached(inner)
    first, second = (asyncio.create_task(model.complete(ask())) for _ in range(2))
    while not inner.requests:
        await asyncio.sleep(0.001)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    gate.set()
    assert (await second).text == "red"
    assert len(inner.requests) == 1


async def test_the_call_is_given_up_if_everybody_leaves(cached, fake, ask):
    given_up = asyncio.Event()
    inner = fake()

    async def complete(request):
        inner.requests.append(request)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            given_up.set()
            raise

    inner.complete = complete
    model = cached(inner)
    tasks = [asyncio.create_task(model.complete(ask())) for _ in range(2)]
    while not inner.requests:
        await asyncio.sleep(0.001)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.wait_for(given_up.wait(), 60)


async def test_a_failure_nobody_waits_for_is_silent(cached, stubborn, ask):
    task = asyncio.create_task(cached(stubborn).complete(ask()))
    await stubborn.under_way.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0.01)


# --- several at once ---------------------------------------------------------------------------------


async def test_the_event_loop_waits_for_no_lock(path, fake, ask):
    model = Cached(fake("red"), ResponseCache(path))
    await model.complete(ask())
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    blocked = asyncio.create_task(model.complete(ask("A new question")))
    beats = 0
    for _ in range(20):
        await asyncio.sleep(0.005)
        beats += 1
    assert beats == 20 and not blocked.done(), "the loop lives while the cache waits for another process"
    holder.execute("ROLLBACK")
    holder.close()
    assert (await blocked).text == "red"
    await model.close()


def write_many(path, worker):
    async def main():
        cache = ResponseCache(path)
        for number in range(100):
            await cache.put(f"{worker}-{number}", "fake/model", Completion(text=f"{worker} {number}" * 50))
            await cache.put(f"shared-{number}", "fake/model", Completion(text=f"shared {number}"))
        await cache.close()

    asyncio.run(main())


@pytest.mark.slow
async def test_processes_share_a_cache(path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_many, args=(path, f"w{number}")) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        await asyncio.to_thread(worker.join)
        assert worker.exitcode == 0
        worker.close()
    cache = ResponseCache(path)
    for worker in range(3):
        for number in range(100):
            assert (await cache.get(f"w{worker}-{number}")).text == f"w{worker} {number}" * 50
            assert (await cache.get(f"shared-{number}")).text == f"shared {number}"
    await cache.close()
