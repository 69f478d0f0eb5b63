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
    Message,
    ModelOptions,
    RateLimited,
    Refused,
    Request,
    TimedOut,
    TokenLogprob,
    Unavailable,
    Unsupported,
    Usage,
    load_model,
)
from simulator.models.anthropic_backend import AnthropicModel
from simulator.models.openai_backend import OpenAIModel


class Colour(BaseModel):
    name: str
    shade: int = 0


@pytest.fixture(params=["openai", "anthropic"])
def provider(request):
    return request.param


@pytest.fixture
async def model(server, provider):
    made = make(provider, server)
    yield made
    await made.close()


def make(provider, server, name="", **options):
    kind = {"openai": OpenAIModel, "anthropic": AnthropicModel}[provider]
    options = {"api_key": "secret", "timeout": 5.0, **options}
    return kind(name or "some-model", base_url=server.base_url(provider), **options)


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


async def test_slow(server, says, ask, provider):
    model = make(provider, server, timeout=0.1)
    server.always = says.slow()
    with pytest.raises(TimedOut, match=r"0\.1 seconds"):
        await model.complete(ask())
    await model.close()


async def test_a_dripping_answer_times_out_too(server, says, ask, provider):
    model = make(provider, server, timeout=0.3)
    server.always = says.dripping()
    with pytest.raises(TimedOut):
        await model.complete(ask())
    await model.close()


@pytest.mark.parametrize("fault", ["dropped", "truncated"])
async def test_broken_connections(model, server, says, ask, fault):
    server.always = getattr(says, fault)()
    with pytest.raises(Unavailable) as caught:
        await model.complete(ask())
    assert caught.value.maybe_billed
    server.always = says.good()
    assert (await model.complete(ask())).text == "hello", "the client recovers"


async def test_nobody_listens(ask, provider):
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        kind = {"openai": OpenAIModel, "anthropic": AnthropicModel}[provider]
        model = kind("m", base_url=f"http://127.0.0.1:{reserved.getsockname()[1]}", timeout=5.0)
        with pytest.raises(Unavailable, match="cannot reach the server") as caught:
            await model.complete(ask())
        await model.close()
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


async def test_a_content_filter_refuses(server, says, ask):
    model = make("openai", server)
    server.queue = [says.status(400, code="content_filter"), says.good("half a", end="content_filter")]
    for _ in range(2):
        with pytest.raises(Refused):
            await model.complete(ask())
    await model.close()


async def test_a_cancelled_call_leaves_the_client_usable(model, server, says, ask):
    server.queue = [says.slow()]
    task = asyncio.create_task(model.complete(ask()))
    while not server.requests:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await model.complete(ask())).text == "hello"


# --- what is sent ------------------------------------------------------------------------------------


async def test_openai_body(server, ask):
    model = make("openai", server, extra={"reasoning_effort": "low"})
    await model.complete(ask(temperature=0.3, max_tokens=5, seed=9, stop=("\n",)))
    await model.close()
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].body == {
        "model": "some-model",
        "messages": [{"role": "user", "content": "Which colour?"}],
        "temperature": 0.3,
        "max_tokens": 5,
        "seed": 9,
        "stop": ["\n"],
        "reasoning_effort": "low",
    }


@pytest.mark.parametrize("name", ["o3", "o4-mini", "gpt-5", "gpt-5.5", "gpt-6-luna", "gpt-5.2-chat-latest"])
async def test_reasoning_models_take_other_parameters(server, says, ask, name):
    model = make("openai", server, name)
    server.always = says.good("red. Blue")
    completion = await model.complete(ask(stop=(".",), max_tokens=5))
    await model.close()
    assert completion.text == "red", "stop sequences are cut here instead"
    body = server.requests[0].body
    assert body["max_completion_tokens"] == 5
    assert not {"max_tokens", "temperature", "stop"} & set(body)
    assert model.ignored == {"temperature"}
    assert not model.capabilities.logprobs


@pytest.mark.parametrize(
    "name", ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "gpt-35-turbo", "Qwen/Qwen3-8B"]
)
async def test_other_models_take_temperature(server, ask, name):
    model = make("openai", server, name)
    await model.complete(ask())
    await model.close()
    assert server.requests[0].body["temperature"] == 0.0
    assert model.capabilities.logprobs


async def test_openai_itself_wants_the_new_name_of_max_tokens(ask):
    model = OpenAIModel("gpt-4o", api_key="secret")
    assert model._body(ask(max_tokens=5))["max_completion_tokens"] == 5
    await model.close()


async def test_openai_schema(server, says, ask):
    model = make("openai", server)
    await model.complete(ask(schema=Colour))
    await model.close()
    sent = server.requests[0].body["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["name"] == "Colour"
    assert sent["json_schema"]["strict"] is True
    assert sent["json_schema"]["schema"]["required"] == ["name", "shade"]
    assert sent["json_schema"]["schema"]["additionalProperties"] is False


async def test_openai_logprobs(server, says, ask):
    top = [{"token": "red", "logprob": -0.1}, {"token": "blue", "logprob": -2.5}]
    server.always = says.good("red", logprobs=[{"token": "red", "logprob": -0.1, "top_logprobs": top}])
    model = make("openai", server)
    completion = await model.complete(ask(top_logprobs=2))
    await model.close()
    assert completion.logprobs == (TokenLogprob("red", -0.1, (("red", -0.1), ("blue", -2.5))),)
    assert server.requests[0].body["logprobs"] is True
    assert server.requests[0].body["top_logprobs"] == 2


async def test_a_server_that_forgets_logprobs(server, ask):
    model = make("openai", server)
    with pytest.raises(Unsupported, match="gave none"):
        await model.complete(ask(top_logprobs=2))
    await model.close()


async def test_anthropic_body(server):
    model = make("anthropic", server, "claude-sonnet-4-6", extra={"output_config": {"effort": "low"}})
    system, user = Message("system", "Be brief."), Message("user", "Which colour?")
    wanted = {"temperature": 0.3, "max_tokens": 5, "seed": 9, "stop": ("\n", "END"), "schema": Colour}
    await model.complete(Request(messages=(system, user), **wanted))
    await model.close()
    body = server.requests[0].body
    schema = body.pop("output_config")
    assert server.requests[0].path == "/v1/messages"
    assert body == {
        "model": "claude-sonnet-4-6",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Which colour?"}],
        "temperature": 0.3,
        "max_tokens": 5,
        "stop_sequences": ["END"],
    }
    assert schema["effort"] == "low"
    assert schema["format"]["type"] == "json_schema"
    assert schema["format"]["schema"]["additionalProperties"] is False
    assert model.ignored == {"seed"}


async def test_blank_stop_sequences_are_cut_here(server, says, ask):
    server.always = says.good("red\nblue")
    model = make("anthropic", server)
    assert (await model.complete(ask(stop=("\n",)))).text == "red"
    await model.close()
    assert "stop_sequences" not in server.requests[0].body


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("claude-3-haiku-20240307", True),
        ("claude-opus-4-1-20250805", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-haiku-4-5-20251001", True),
        ("claude-opus-4-6", True),
        ("claude-opus-4-7", False),
        ("claude-opus-4-8", False),
        ("claude-sonnet-5", False),
        ("claude-haiku-5-5", False),
        ("claude-fable-5-1", False),
        ("MiniMax-M2", True),
    ],
)
async def test_which_claude_takes_a_temperature(server, ask, name, takes):
    model = make("anthropic", server, name)  # not asked: the SDK warns about old names
    await model.close()
    assert ("temperature" in model._body(ask()).get("extra_body", {})) is takes
    assert ("temperature" in model.ignored) is not takes


async def test_sampling_can_be_said(server, ask, provider):
    name = {"openai": "gpt-5.5", "anthropic": "claude-opus-5"}[provider]
    model = make(provider, server, name, sampling=True)
    await model.complete(ask(temperature=1.0))
    await model.close()
    assert server.requests[0].body["temperature"] == 1.0
    assert "temperature" not in model.ignored


async def test_anthropic_has_no_logprobs(server, ask):
    model = make("anthropic", server)
    assert not model.capabilities.logprobs
    with pytest.raises(Unsupported, match="no log-probabilities"):
        await model.complete(ask(top_logprobs=5))
    await model.close()
    assert not server.requests


async def test_a_late_system_message_is_told(server):
    model = make("anthropic", server)
    with pytest.raises(BadRequest, match="before all others"):
        await model.complete(Request(messages=(Message("user", "a"), Message("system", "b"))))
    await model.close()


async def test_environment(server, ask, provider, monkeypatch):
    monkeypatch.setenv(f"{provider.upper()}_BASE_URL", server.base_url(provider))
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "from-the-environment")
    model = load_model(f"{provider}/some-model")
    await model.complete(ask())
    await model.close()
    assert server.requests[0].headers["authorization"] == "Bearer from-the-environment"


async def test_a_missing_key_is_told_before_the_run(provider):
    with pytest.raises(AuthenticationFailed, match=f"{provider.upper()}_API_KEY"):
        load_model(f"{provider}/some-model")


async def test_other_servers_need_no_key(server, ask, provider):
    model = load_model(f"{provider}/some-model", ModelOptions(base_url=server.base_url(provider)))
    assert (await model.complete(ask())).text == "hello"
    await model.close()


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
