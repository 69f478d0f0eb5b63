"""Several samples of one request: at once, call by call, from the cache and out of a log."""

import pytest

from logs import LogWriter
from logs.rows import Episode, Item, Run
from simulator.models import (
    Capabilities,
    Completion,
    Message,
    ModelOptions,
    Request,
    ScriptModel,
    Unsupported,
    load_model,
)
from simulator.models.answers import completion_of
from simulator.models.anthropic_backend import AnthropicModel
from simulator.models.base import Usage
from simulator.models.budget import most_tokens
from simulator.models.cache import decode, encode, response_row
from simulator.models.decoding import merge_answers, sample, split_samples
from simulator.models.keys import request_key
from simulator.models.load import add_layers
from simulator.models.openai_backend import CompletionsModel, OpenAIModel


def asked(**fields):
    given = {"temperature": 1.0, "samples": 3, "seed": 5, "max_tokens": 4, **fields}
    return Request(messages=(Message("user", "Once"),), **given)


def script(**capabilities):
    calls = []

    def answer(request):
        calls.append(request)
        texts = tuple(f"{request.seed}-{request.repeat}-{n}" for n in range(request.samples))
        return Completion(
            text=texts[0], samples=texts if len(texts) > 1 else (), usage=Usage(2, 3), cost=0.5, seconds=1.0
        )

    return ScriptModel(answer, capabilities=Capabilities(**capabilities)), calls


async def test_a_model_that_can_is_asked_once():
    model, calls = script(samples=True)
    answer = await sample(model, asked())
    assert answer.samples == ("5-0-0", "5-0-1", "5-0-2")
    assert [call.samples for call in calls] == [3]


async def test_another_is_asked_for_each():
    model, calls = script()
    answer = await sample(model, asked(repeat=2))
    assert len(set(answer.samples)) == 3
    assert answer.text == answer.samples[0]
    assert [(call.samples, call.repeat) for call in calls] == [(1, 6), (1, 7), (1, 8)]
    assert len({call.seed for call in calls}) == 3
    assert (answer.usage, answer.cost, answer.seconds, answer.attempts) == (Usage(6, 9), 1.5, 1.0, 3)
    assert await sample(model, asked(repeat=2)) == answer
    unpriced = merge_answers([Completion(text="a", cost=1.0), Completion(text="b")])
    assert (unpriced.cost, unpriced.samples) == (None, ("a", "b"))


async def test_one_sample_is_an_answer():
    model, calls = script()
    assert (await sample(model, asked(samples=1))).samples == ("5-0-0",)
    assert calls == [asked(samples=1)]


@pytest.mark.each(
    "fields", [{"samples": 0}, {"temperature": 0.0}, {"schema": {"type": "object"}}, {"top_logprobs": 0}]
)
def test_what_cannot_be_sampled(fields):
    with pytest.raises(ValueError, match="several samples"):
        asked(**fields)


def test_samples_are_part_of_the_key():
    identity = ScriptModel(lambda request: "").identity
    keys = {request_key(identity, asked(samples=n)) for n in (1, 2, 3)}
    assert len(keys) == 3
    assert most_tokens(asked()).output_tokens == 12


def test_samples_are_cached_and_logged():
    answer = Completion(text="a", samples=("a", "b"))
    assert decode(encode(answer)).samples == ("a", "b")
    assert completion_of(response_row(answer)).samples == ("a", "b")
    assert "samples" not in encode(Completion(text="a")) + str(response_row(Completion(text="a")))


async def test_what_was_sampled_one_by_one_is_replayed(tmp_path):
    path = tmp_path / "log.sqlite"
    requests = split_samples(asked(episode_id="e"))
    async with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="clarq", setup="L2L", seed=1))
        log.put(Item(hash="h", benchmark="clarq", name="i", language="en", data={}))
        log.put(Episode(id="e", run_id="r", item_hash="h", language="en", seats={}, seed=1))
        model = add_layers(ScriptModel(lambda request: str(request.seed)), ModelOptions(recorder=log.put))
        for request in requests:
            await model.complete(request)
    replay = load_model("replay/r", ModelOptions(recordings=path))
    answer = await sample(replay, asked())
    assert answer.samples == tuple(str(sampled.seed) for sampled in requests)


def completions(texts):
    def behave(handler):
        choices = [
            {"index": n, "text": text, "finish_reason": "stop", "logprobs": None}
            for n, text in enumerate(texts)
        ]
        handler.send_json(
            {"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": choices}
        )

    return behave


def chats(texts):
    def behave(handler):
        choices = [
            {"index": n, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            for n, text in enumerate(texts)
        ]
        handler.send_json(
            {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
        )

    return behave


@pytest.mark.parametrize(
    ("make", "behave", "plain"), [(CompletionsModel, completions, True), (OpenAIModel, chats, False)]
)
async def test_servers_are_asked_for_n(server, make, behave, plain):
    model = make("m", base_url=server.base_url("openai"), timeout=5.0)
    server.always = behave(["a", "b", "c"])
    answer = await model.complete(asked(plain=plain))
    assert (answer.text, answer.samples) == ("a", ("a", "b", "c"))
    assert server.requests[0].body["n"] == 3
    server.always = behave(["a"])
    with pytest.raises(Unsupported, match="asked for 3 samples and returned 1"):
        await model.complete(asked(plain=plain))
    answer = await model.complete(asked(plain=plain, samples=1))
    assert answer.samples == ()
    assert "n" not in server.requests[-1].body
    await model.close()


async def test_who_draws_one_only_says_so(server):
    model = AnthropicModel("claude-x", base_url=server.base_url("anthropic"), api_key="k", timeout=5.0)
    with pytest.raises(Unsupported, match="returned 1"):
        await model.complete(asked())
    assert not model.capabilities.samples
    assert not OpenAIModel("gpt-5", api_key="k").capabilities.samples
    await model.close()
