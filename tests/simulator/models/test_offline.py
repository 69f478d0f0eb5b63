import asyncio

import pytest
from pydantic import BaseModel

from simulator.models import (
    Capabilities,
    Completion,
    Malformed,
    ModelOptions,
    ScriptModel,
    TokenLogprob,
    load_model,
)


class Colour(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("red", "red"),
        ({"name": "röt"}, '{"name": "röt"}'),
        ([1, 2], "[1, 2]"),
        (Colour(name="red"), '{"name":"red"}'),
        (Completion(text="red", logprobs=(TokenLogprob("red", -1.0),)), "red"),
    ],
)
async def test_what_a_script_may_return(ask, answer, text):
    assert (await ScriptModel(lambda request: answer).complete(ask())).text == text


async def test_a_script_may_fail(ask):
    with pytest.raises(Malformed, match="on purpose"):
        await ScriptModel(lambda request: Malformed("on purpose")).complete(ask())


async def test_the_script_sees_the_request(ask):
    model = ScriptModel(lambda request: request.messages[-1].content.upper())
    assert (await model.complete(ask("a", "b", "c"))).text == "C"


async def test_objects_are_checked_like_any_answer(ask):
    options = ModelOptions(script=lambda request: {"name": 3})
    with pytest.raises(Malformed):
        await load_model("offline/script", options).complete(ask(schema=Colour))
    options = ModelOptions(script=lambda request: Colour(name="red"))
    completion = await load_model("offline/script", options).complete(ask(schema=Colour))
    assert completion.parsed == Colour(name="red")
    assert completion.cost == 0.0


async def test_latency_is_simulated_without_blocking(ask):
    model = ScriptModel(lambda request: "red", latency=lambda request: 0.05 * (request.repeat + 1))
    loop = asyncio.get_running_loop()
    start = loop.time()
    answers = await asyncio.gather(*(model.complete(ask(repeat=number % 2)) for number in range(50)))
    assert loop.time() - start >= 0.099
    assert sorted({answer.seconds for answer in answers}) == [0.05, 0.1]


async def test_names_and_capabilities():
    model = ScriptModel(lambda request: "", name="parrot", capabilities=Capabilities(schema=False))
    assert model.name == "offline/parrot"
    assert model.capabilities == Capabilities(schema=False)
    await model.close()
