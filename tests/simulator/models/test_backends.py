"""The openai and anthropic backends: their real SDKs over real HTTP, good answers and every fault."""

import asyncio
import json
import socket

import pytest
from pydantic import BaseModel

from simulator.models import (
    AuthenticationFailed,
    BadRequest,
    Malformed,
    ModelOptions,
    RateLimited,
    Refused,
    TimedOut,
    Unavailable,
    load_model,
)
from simulator.models.base import Usage


class Colour(BaseModel):
    name: str
    shade: int = 0


@pytest.fixture
def model(make, provider):
    return make(provider)


async def test_an_answer(model, server, ask):
    completion = await model.complete(ask())
    assert completion.text == "hello"
    assert completion.finish_reason == "stop"
    assert completion.usage == Usage(11, 7, 4)


async def test_the_key_goes_as_a_bearer_token(model, server, ask):
    await model.complete(ask())
    assert server.requests[0].headers["authorization"] == "Bearer secret"


async def test_cut_off(model, server, says, ask, provider):
    server.queue = [says.good("hel", end={"openai": "length", "anthropic": "max_tokens"}[provider])]
    assert (await model.complete(ask())).finish_reason == "length"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, BadRequest),
        (401, AuthenticationFailed),
        (403, AuthenticationFailed),
        (404, BadRequest),
        (408, TimedOut),
        (422, BadRequest),
        (429, RateLimited),
        (500, Unavailable),
        (503, Unavailable),
        (529, RateLimited),
    ],
)
async def test_failure_statuses(model, server, says, ask, status, error):
    server.always = says.status(status)
    with pytest.raises(error, match="the server's own words") as caught:
        await model.complete(ask())
    assert type(caught.value) is error
    assert len(server.requests) == 1, "the SDK must not retry by itself"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_retry_after(model, server, says, ask, headers, seconds):
    server.always = says.status(429, headers=headers)
    with pytest.raises(RateLimited) as caught:
        await model.complete(ask())
    assert caught.value.retry_after == seconds


async def test_an_account_without_credit_is_not_a_rate_limit(model, server, says, ask):
    server.always = says.status(429, code="insufficient_quota")
    with pytest.raises(AuthenticationFailed, match="credit") as caught:
        await model.complete(ask())
    assert not caught.value.retryable


async def test_slow(make, server, says, ask, provider):
    model = make(provider, timeout=0.1)
    server.always = says.slow()
    with pytest.raises(TimedOut, match=r"0\.1 seconds"):
        await model.complete(ask())


async def test_a_dripping_answer_times_out_too(make, server, says, ask, provider):
    model = make(provider, timeout=0.3)
    server.always = says.dripping()
    with pytest.raises(TimedOut):
        await model.complete(ask())


@pytest.mark.parametrize("fault", ["dropped", "truncated"])
async def test_broken_connections(model, server, says, ask, fault):
    server.always = getattr(says, fault)()
    with pytest.raises(Unavailable) as caught:
        await model.complete(ask())
    assert caught.value.maybe_billed
    server.always = says.good()
    assert (await model.complete(ask())).text == "hello", "the client recovers"


async def test_nobody_listens(make, provider, ask):
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        model = make(provider, base_url=f"http://127.0.0.1:{reserved.getsockname()[1]}")
        with pytest.raises(Unavailable, match="cannot reach the server") as caught:
            await model.complete(ask())
    assert not caught.value.maybe_billed


@pytest.mark.parametrize(
    "content",
    [
        b"<html>proxy error</html>",
        b"",
        b'{"id": "x", "choi',
        b"\xff\xfe",
        b"null",
        b"[]",
        b'{"hello": 1}',
        b'"x"',
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
async def test_garbage_instead_of_an_answer(model, server, says, ask, content, kind):
    server.always = says.raw(content, kind=kind)
    with pytest.raises(Malformed):
        await model.complete(ask())


async def test_refusal(model, server, says, ask):
    server.always = says.refusal("no, thank you")
    with pytest.raises(Refused, match="no, thank you") as caught:
        await model.complete(ask())
    assert not caught.value.retryable
    assert caught.value.usage == Usage(11, 7, 4)


async def test_a_content_filter_refuses(make, server, says, ask):
    model = make("openai")
    server.queue = [says.status(400, code="content_filter"), says.good("half a", end="content_filter")]
    for _ in range(2):
        with pytest.raises(Refused):
            await model.complete(ask())


async def test_a_cancelled_call_leaves_the_client_usable(model, server, says, ask):
    server.queue = [says.slow()]
    task = asyncio.create_task(model.complete(ask()))
    while not server.requests:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await model.complete(ask())).text == "hello"


# --- the whole stack over HTTP -----------------------------------------------------------------------


async def test_the_stack_recovers_and_parses(server, says, ask, provider):
    good = says.good(json.dumps({"name": "red", "shade": 2}))
    wait = {"retry-after-ms": "1"}
    server.queue = [
        says.status(429, headers=wait),
        says.status(500, headers=wait),
        says.raw(b"garbage"),
        says.good("no JSON here"),
        good,
    ]
    rows = []
    options = ModelOptions(base_url=server.base_url(provider), recorder=rows.append)
    model = load_model(f"{provider}/some-model", options)
    completion = await model.complete(ask(schema=Colour))
    await model.close()
    assert completion.parsed == Colour(name="red", shade=2)
    assert completion.attempts == 5
    assert completion.usage == Usage(22, 14, 8), "the malformed answer was paid for, too"
    assert completion.cost is None, "there is no price for it"
    assert [row.attempts for row in rows] == [5]


async def test_many_at_once_at_a_server_that_complains(server, says, ask, provider):
    server.queue = [says.status(429, headers={"retry-after-ms": "5"}) for _ in range(10)]
    model = load_model(f"{provider}/m", ModelOptions(base_url=server.base_url(provider)))
    answers = await asyncio.gather(*(model.complete(ask(f"question {n}")) for n in range(40)))
    await model.close()
    assert [answer.text for answer in answers] == ["hello"] * 40
    assert sum(answer.attempts for answer in answers) == 50 == len(server.requests)
