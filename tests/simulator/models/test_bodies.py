"""Requests that the backends send, and good answers as they read them."""

import pytest
from pydantic import BaseModel

from simulator.models import (
    AuthenticationFailed,
    BadRequest,
    Message,
    ModelOptions,
    Request,
    TokenLogprob,
    Unsupported,
    load_model,
)
from simulator.models.openai_backend import OpenAIModel


class Colour(BaseModel):
    name: str
    shade: int = 0


async def test_openai_body(make, server, ask):
    model = make("openai", extra={"reasoning_effort": "low"})
    await model.complete(ask(temperature=0.3, max_tokens=5, seed=9, stop=("\n",)))
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
async def test_reasoning_models_take_other_parameters(make, server, says, ask, name):
    model = make("openai", name)
    server.always = says.good("red. Blue")
    completion = await model.complete(ask(stop=(".",), max_tokens=5))
    assert completion.text == "red", "stop sequences are cut here instead"
    body = server.requests[0].body
    assert body["max_completion_tokens"] == 5
    assert not {"max_tokens", "temperature", "stop"} & set(body)
    assert model.ignored == {"temperature", "top_p"}
    assert not model.capabilities.logprobs


@pytest.mark.parametrize(
    "name", ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "gpt-35-turbo", "Qwen/Qwen3-8B"]
)
async def test_other_models_take_temperature(make, server, ask, name):
    model = make("openai", name)
    await model.complete(ask())
    assert server.requests[0].body["temperature"] == 0.0
    assert model.capabilities.logprobs


async def test_openai_itself_wants_the_new_name_of_max_tokens(ask):
    model = OpenAIModel("gpt-4o", api_key="secret")
    assert model._body(ask(max_tokens=5))["max_completion_tokens"] == 5


async def test_openai_schema(make, server, says, ask):
    model = make("openai")
    await model.complete(ask(schema=Colour))
    sent = server.requests[0].body["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["name"] == "Colour"
    assert sent["json_schema"]["strict"] is True
    assert sent["json_schema"]["schema"]["required"] == ["name", "shade"]
    assert sent["json_schema"]["schema"]["additionalProperties"] is False


async def test_openai_logprobs(make, server, says, ask):
    top = [{"token": "red", "logprob": -0.1}, {"token": "blue", "logprob": -2.5}]
    server.always = says.good("red", logprobs=[{"token": "red", "logprob": -0.1, "top_logprobs": top}])
    model = make("openai")
    completion = await model.complete(ask(top_logprobs=2))
    assert completion.logprobs == (TokenLogprob("red", -0.1, (("red", -0.1), ("blue", -2.5))),)
    assert server.requests[0].body["logprobs"] is True
    assert server.requests[0].body["top_logprobs"] == 2


async def test_tables_that_are_no_probabilities_are_told(make, server, says, ask):
    top = [{"token": "red", "logprob": -0.1}, {"token": "blue", "logprob": -0.2}]
    server.always = says.good("red", logprobs=[{"token": "red", "logprob": -0.1, "top_logprobs": top}])
    with pytest.raises(Unsupported, match=r"returned 2 tokens .* add up to 1.72, more than 1; use another"):
        await make("openai").complete(ask(top_logprobs=2))


async def test_impossible_tokens_get_a_number_that_the_log_can_store(make, server, says, ask):
    top = [{"token": "red", "logprob": 0.0}, {"token": "blue", "logprob": float("-inf")}]
    server.always = says.good("red", logprobs=[{"token": "red", "logprob": 0.0, "top_logprobs": top}])
    (token,) = (await make("openai").complete(ask(top_logprobs=2))).logprobs
    assert token.top == (("red", 0.0), ("blue", -9999.0))


async def test_a_server_that_forgets_logprobs(make, server, ask):
    model = make("openai")
    with pytest.raises(Unsupported, match="returned none"):
        await model.complete(ask(top_logprobs=2))


async def test_anthropic_body(make, server):
    model = make("anthropic", "claude-sonnet-4-6", extra={"output_config": {"effort": "low"}})
    system, user = Message("system", "Be brief."), Message("user", "Which colour?")
    settings = {"temperature": 0.3, "max_tokens": 5, "seed": 9, "stop": ("\n", "END"), "schema": Colour}
    await model.complete(Request(messages=(system, user), **settings))
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


async def test_blank_stop_sequences_are_cut_here(make, server, says, ask):
    server.always = says.good("red\nblue")
    model = make("anthropic")
    assert (await model.complete(ask(stop=("\n",)))).text == "red"
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
async def test_which_claude_takes_a_temperature(make, server, ask, name, takes):
    model = make("anthropic", name)  # not asked: the SDK warns about old names
    assert ("temperature" in model._body(ask()).get("extra_body", {})) is takes
    assert ("temperature" in model.ignored) is not takes


async def test_sampling_can_be_said(make, server, ask, provider):
    name = {"openai": "gpt-5.5", "anthropic": "claude-opus-5"}[provider]
    model = make(provider, name, sampling=True)
    await model.complete(ask(temperature=1.0))
    assert server.requests[0].body["temperature"] == 1.0
    assert "temperature" not in model.ignored


async def test_anthropic_has_no_logprobs(make, server, ask):
    model = make("anthropic")
    assert not model.capabilities.logprobs
    with pytest.raises(Unsupported, match="no log-probabilities"):
        await model.complete(ask(top_logprobs=5))
    assert not server.requests


async def test_a_late_system_message_is_told(make, server):
    model = make("anthropic")
    with pytest.raises(BadRequest, match="before all others"):
        await model.complete(Request(messages=(Message("user", "a"), Message("system", "b"))))


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
