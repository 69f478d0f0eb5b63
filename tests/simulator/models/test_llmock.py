"""The stack against an independent mock of both APIs, with its quotas and its verdict on clients."""

import asyncio
import json

import pytest
from pydantic import BaseModel

from simulator.models import (
    AuthenticationFailed,
    BadRequest,
    ModelOptions,
    RateLimited,
    ServerDown,
    TimedOut,
    Unavailable,
    load_model,
)


class Colour(BaseModel):
    name: str
    shade: int


@pytest.fixture(params=["openai/gpt-4o", "anthropic/claude-haiku-4-5"])
def name(request):
    return request.param


@pytest.fixture
async def model(name, llmock):
    made = load_model(name, options(name, llmock))
    yield made
    await made.close()


def options(name, llmock, **more):
    return ModelOptions(base_url=llmock.base_url(name.split("/")[0]), api_key="any", **more)


async def test_an_answer(model, llmock, ask):
    llmock.reply("red")
    completion = await model.complete(ask())
    assert completion.text == "red"
    assert completion.usage.input_tokens and completion.usage.output_tokens


async def test_an_object(model, llmock, ask):
    llmock.reply(json.dumps({"name": "red", "shade": 1}))
    assert (await model.complete(ask(schema=Colour))).parsed == Colour(name="red", shade=1)


async def test_an_object_made_from_the_schema_that_was_sent(llmock, ask):
    model = load_model("openai/gpt-4o", options("openai/gpt-4o", llmock))
    assert isinstance((await model.complete(ask(schema=Colour))).parsed, Colour)
    await model.close()


async def test_it_is_a_well_behaved_client(model, llmock, ask):
    llmock.rate_limit(times=2, retry_after=0.2)
    llmock.fail(500)
    completion = await model.complete(ask())
    assert completion.attempts == 4
    llmock.assert_resilient()


@pytest.mark.parametrize(
    ("status", "error"), [(400, BadRequest), (401, AuthenticationFailed), (404, BadRequest)]
)
async def test_it_does_not_retry_what_will_not_change(model, llmock, ask, status, error):
    llmock.fail(status, times=None)
    with pytest.raises(error):
        await model.complete(ask())
    assert len(llmock.requests) == 1
    llmock.assert_resilient()


async def test_it_gives_up(name, llmock, ask):
    llmock.outage()
    model = load_model(name, options(name, llmock, max_attempts=2))
    with pytest.raises(Unavailable, match="after 2 attempts"):
        await model.complete(ask())
    await model.close()


async def test_it_does_not_wait_for_ever(name, llmock, ask):
    llmock.delay(5)
    model = load_model(name, options(name, llmock, max_attempts=1, timeout=0.2))
    with pytest.raises(TimedOut):
        await model.complete(ask())
    await model.close()


async def test_it_does_not_come_back_in_an_hour(model, llmock, ask):
    llmock.rate_limit(times=None, retry_after=3600)
    with pytest.raises(ServerDown, match="for 60 min") as down:
        await model.complete(ask())
    assert isinstance(down.value.__cause__, RateLimited)
    assert len(llmock.requests) == 1


async def test_a_prompt_that_is_too_long(model, llmock, ask):
    llmock.limits(context_window=10)
    with pytest.raises(BadRequest, match=r"long|context"):
        await model.complete(ask("word " * 100))


async def test_real_quotas(model, llmock, ask):
    llmock.limits(rpm=1200)  # twenty at once, then one every 50 ms
    answers = await asyncio.gather(*(model.complete(ask(f"Question {n}?")) for n in range(30)))
    assert len(answers) == 30
    assert all(answer.text for answer in answers)
    assert not [each for each in llmock.verdict().errors if each.code == "retry_after_ignored"]
