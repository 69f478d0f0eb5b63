"""One request per need before a run; servers that cannot give what is needed are told apart."""

from __future__ import annotations

import json
import pickle

import pytest

from simulator.models import (
    Message,
    ModelError,
    ModelOptions,
    Needs,
    PreflightFailed,
    Request,
    load_model,
    run_preflight,
    sample,
)
from simulator.models.base import Usage

TOKEN = {"token": "A", "logprob": -0.1, "bytes": None, "top_logprobs": [{"token": "B", "logprob": -2.0}]}


def answer(text="ready", *, logprobs=None, count=1):
    choice = {
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
        "logprobs": None if logprobs is None else {"content": logprobs},
    }
    choices = [{"index": number, **choice} for number in range(count)]
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}


def able(handler):
    """Gives whatever it is asked for."""
    body = handler.asked.body
    text = '{"ready": true}' if "response_format" in body else "ready"
    logprobs = [TOKEN] if body.get("logprobs") else None
    handler.send_json(answer(text, logprobs=logprobs, count=body.get("n", 1)))


def bare(handler):
    """Ignores everything but the messages."""
    handler.send_json(answer())


def rejecting(name):
    def behave(handler):
        if name in handler.asked.body:
            error = {"message": f"unknown parameter {name}", "type": "invalid_request_error"}
            handler.send_json({"error": error}, status=400)
        else:
            able(handler)

    return behave


@pytest.fixture
async def model(server):
    made = load_model("openai/some", ModelOptions(base_url=server.base_url("openai"), max_attempts=1))
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("needs", "requests"),
    [
        (None, 1),
        (Needs(), 1),
        (Needs(top_logprobs=20), 1),
        (Needs(schema=True), 1),
        (Needs(samples=True), 2),
        (Needs(top_logprobs=5, samples=True, schema=True), 3),
        (Needs(scoring=True), 1),
    ],
)
async def test_a_model_is_asked_once_for_each_need(server, model, needs, requests):
    server.always = able
    await run_preflight(model, needs)
    assert len(server.requests) == requests
    assert model.capabilities.samples


@pytest.mark.parametrize(
    ("behaviour", "needs", "problem"),
    [
        (bare, Needs(top_logprobs=5), "log-probabilities"),
        (bare, Needs(schema=True), "JSON schema"),
        (rejecting("logprobs"), Needs(top_logprobs=5), "unknown parameter logprobs"),
        (rejecting("response_format"), Needs(schema=True), "unknown parameter response_format"),
        (rejecting("messages"), None, "unknown parameter messages"),
    ],
)
async def test_what_a_server_lacks_is_said_before_anything_is_played(
    server, model, behaviour, needs, problem
):
    server.always = behaviour
    with pytest.raises(PreflightFailed, match=problem) as failed:
        await run_preflight(model, needs)
    assert "Nothing was played" in str(failed.value)
    assert len(server.requests) <= 3


async def test_who_declines_is_told_in_whole_sentences(server, model, says):
    server.always = says.refusal("I cannot help with that.")
    with pytest.raises(PreflightFailed, match=r"declined: I cannot help with that\. Nothing was played\.$"):
        await run_preflight(model, None)


async def test_alternatives_are_needed_and_not_the_written_token_alone(server, model):
    alone = {**TOKEN, "top_logprobs": []}
    server.always = lambda handler: handler.send_json(answer(logprobs=[alone]))
    with pytest.raises(PreflightFailed, match="returned no alternative tokens"):
        await run_preflight(model, Needs(top_logprobs=5))


@pytest.mark.parametrize("behaviour", [bare, rejecting("n")])
async def test_samples_are_drawn_one_by_one_where_a_server_draws_one(server, model, behaviour):
    server.always = behaviour
    await run_preflight(model, Needs(samples=True))
    server.requests.clear()
    request = Request(messages=(Message("user", "hi"),), temperature=1.0, seed=3, samples=3)
    assert len((await sample(model, request)).samples) == 3
    assert [asked.body.get("n") for asked in server.requests] == [None] * 3
    assert len({json.dumps(asked.body["seed"]) for asked in server.requests}) == 3


async def test_sampling_falls_back_without_a_preflight_too(server, model):
    server.always = bare
    request = Request(messages=(Message("user", "hi"),), temperature=1.0, seed=3, samples=3)
    for _ in range(2):
        assert len((await sample(model, request)).samples) == 3
    assert [asked.body.get("n") for asked in server.requests] == [3] + [None] * 6


def test_two_seats_of_one_model_need_what_both_need():
    both = Needs(top_logprobs=5, schema=True) | Needs(top_logprobs=20, samples=True)
    assert both == Needs(top_logprobs=20, schema=True, samples=True)
    assert (Needs() | Needs()).top_logprobs is None


def test_what_is_wrong_can_be_sent_to_another_process():
    def kinds(kind=ModelError):
        return [kind, *(below for each in kind.__subclasses__() for below in kinds(each))]

    for kind in kinds():
        error = kind("why", text="said", retry_after=2.0, usage=Usage(1, 2))
        error.code = "another"
        received = pickle.loads(pickle.dumps(error))
        assert (type(received), str(received), vars(received)) == (kind, "why", vars(error))
