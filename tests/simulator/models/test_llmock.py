"""The stack against an independent mock of both APIs, with its quotas and its verdict on clients."""

import asyncio

import pytest
from pydantic import BaseModel

from simulator.models import ModelOptions, load_model


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


async def test_an_object_made_from_the_schema_that_was_sent(llmock, ask):
    model = load_model("openai/gpt-4o", options("openai/gpt-4o", llmock))
    assert isinstance((await model.complete(ask(schema=Colour))).parsed, Colour)
    await model.close()


@pytest.mark.slow  # it waits as long as it is told to
async def test_it_is_a_well_behaved_client(model, llmock, ask):
    llmock.rate_limit(times=2, retry_after=0.2)
    llmock.fail(500)
    completion = await model.complete(ask())
    assert completion.attempts == 4
    llmock.assert_resilient()


async def test_real_quotas(model, llmock, ask):
    llmock.limits(rpm=1200)  # twenty at once, then one every 50 ms
    answers = await asyncio.gather(*(model.complete(ask(f"Question {n}?")) for n in range(30)))
    assert len(answers) == 30
    assert all(answer.text for answer in answers)
    assert not [each for each in llmock.verdict().errors if each.code == "retry_after_ignored"]
