"""Providers that LiteLLM reaches, through the library itself, against a server on 127.0.0.1."""

import importlib.util
import json
import subprocess
import sys

import pytest
from pydantic import BaseModel

from simulator.errors import InputError
from simulator.models import (
    AuthenticationFailed,
    BadRequest,
    Budget,
    Malformed,
    ModelOptions,
    Needs,
    PreflightFailed,
    RateLimited,
    Refused,
    TimedOut,
    Unavailable,
    Unsupported,
    load_model,
    run_preflight,
)
from simulator.studies.known import missing_models

INSTALLED = importlib.util.find_spec("litellm") is not None


def needs_library(test):
    """Mark a test that waits for the library, whose import alone takes seconds."""
    test = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class:UserWarning")(
        pytest.mark.slow(test)
    )
    reason = "the models of LiteLLM need: pip install '.[providers]'"
    return pytest.mark.skipif(not INSTALLED, reason=reason)(test)


MODELS = {
    "gemini": "gemini-2.5-flash",
    "mistral": "mistral-small-latest",
    "azure": "gpt-4o",
    "bedrock": "anthropic.claude-3-5-sonnet-20240620-v1:0",
}
KEYS = {
    "GEMINI_API_KEY": "gemini-secret",
    "MISTRAL_API_KEY": "mistral-secret",
    "AZURE_API_KEY": "azure-secret",
    "AZURE_API_VERSION": "2024-10-21",
    "AWS_ACCESS_KEY_ID": "AKIAXXXXXX",
    "AWS_SECRET_ACCESS_KEY": "aws-secret-key",
    "AWS_REGION_NAME": "us-east-1",
}


class Colour(BaseModel):
    name: str


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for variable, value in KEYS.items():
        monkeypatch.setenv(variable, value)


@pytest.fixture(params=MODELS)
def provider(request):
    return request.param


@pytest.fixture
async def model(server, provider):
    """A provider's model at our server, with all its layers; asked once."""
    server.always = good()
    made = load_model(at(provider, server), ModelOptions(timeout=5.0, max_attempts=1, max_malformed=0))
    yield made
    await made.close()


def at(provider, server):
    return f"{provider}/{MODELS[provider]}@{server.url}" + ("/v1" if provider == "mistral" else "")


def good(text="hello", end="stop", message=None):
    """Answers as the provider does whose path is asked."""

    def behave(handler):
        path = handler.asked.path
        if "generateContent" in path:
            ends = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
            part = {"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": ends[end]}
            usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
            handler.send_json({"candidates": [part], "usageMetadata": usage})
        elif "converse" in path:
            ends = {"stop": "end_turn", "length": "max_tokens", "content_filter": "content_filtered"}
            content = [{"text": text}]
            if "toolConfig" in handler.asked.body and end == "stop":
                name = handler.asked.body["toolConfig"]["tools"][0]["toolSpec"]["name"]
                content = [{"toolUse": {"toolUseId": "t", "name": name, "input": json.loads(text)}}]
            usage = {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
            output = {"message": {"role": "assistant", "content": content}}
            handler.send_json(
                {"output": output, "stopReason": ends[end], "usage": usage, "metrics": {"latencyMs": 1}}
            )
        else:
            choice = {"index": 0, "finish_reason": end, "message": {"role": "assistant", "content": text}}
            usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
            common = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
            handler.send_json({**common, "choices": [choice], "usage": usage})

    return behave


def failing(status, words="the server's own words", code="oops", **headers):
    def behave(handler):
        error = {"message": words, "code": code, "status": "OOPS", "type": code}
        headers_sent = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.send_json({"error": error, "message": words}, status=status, headers=headers_sent)

    return behave


@needs_library
async def test_a_model_answers_and_the_library_has_its_price(server, model, provider, ask):
    answer = await model.complete(ask("hi", temperature=0.5, stop=("END",), seed=3))
    assert (answer.text, answer.finish_reason) == ("hello", "stop")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)
    assert model.name == f"{provider}/{MODELS[provider]}"
    (asked,) = server.requests
    assert "0.5" in json.dumps(asked.body) and "END" in json.dumps(asked.body)
    assert answer.cost is None or provider == "azure", "another's server may cost something else"
    own = (
        load_model(f"{provider}/{MODELS[provider]}", ModelOptions(budget=Budget(1.0)))
        if provider != "azure"
        else model
    )
    assert own.identity.base_url == ("" if provider != "azure" else server.url)
    if own is not model:
        await own.close()


@needs_library
async def test_an_answer_follows_a_schema(server, model, ask):
    server.always = good('{"name": "red"}')
    assert (await model.complete(ask(schema=Colour))).parsed == Colour(name="red")
    assert '"name"' in json.dumps(server.requests[0].body)
    await run_preflight(model, Needs()), "one that is there passes"


@needs_library
@pytest.mark.parametrize(
    ("status", "error"),
    [(401, AuthenticationFailed), (403, AuthenticationFailed), (404, BadRequest), (400, BadRequest),
     (500, Unavailable), (503, Unavailable)],
)  # fmt: skip
async def test_failures_are_ours(server, model, ask, status, error):
    server.always = failing(status)
    with pytest.raises(error, match="the server's own words"):
        await model.complete(ask())


@needs_library
async def test_a_provider_may_ask_to_wait(server, model, ask):
    server.always = failing(429, retry_after="7")
    with pytest.raises(RateLimited) as limited:
        await model.complete(ask())
    assert limited.value.retry_after == 7.0


@needs_library
@pytest.mark.parametrize("content", [b"<html>", b'{"a": 1}'])
async def test_what_is_no_answer_is_malformed(server, model, ask, says, content):
    server.always = says.raw(content)
    with pytest.raises(Malformed):
        await model.complete(ask())


@needs_library
async def test_a_filter_declines(server, model, provider, ask):
    server.always = good("", "content_filter")
    with pytest.raises(Refused, match="content filter"):
        await model.complete(ask())
    if provider == "azure":
        server.always = failing(400, "The response was filtered", code="content_filter")
        with pytest.raises(Refused, match="was filtered"):
            await model.complete(ask())


@needs_library
async def test_silence_ends(server, provider, says, ask):
    server.always = says.slow()
    model = load_model(at(provider, server), ModelOptions(timeout=0.2, max_attempts=1))
    with pytest.raises(TimedOut, match=r"no answer within 0\.2 seconds"):
        await model.complete(ask())
    await model.close()


@needs_library
async def test_nobody_listens(provider, ask):
    model = load_model(f"{provider}/{MODELS[provider]}@http://127.0.0.1:9/v1", ModelOptions(max_attempts=1))
    with pytest.raises(Unavailable, match="cannot reach the server") as failed:
        await model.complete(ask())
    assert not failed.value.maybe_billed
    await model.close()


@needs_library
async def test_what_is_secret_stays_so(server, model, ask):
    secrets = " ".join(KEYS.values())
    server.always = failing(400, secrets)
    with pytest.raises(BadRequest) as failed:
        await model.complete(ask())
    assert "secret" not in str(failed.value)
    server.always = good(secrets)
    assert "secret" not in (await model.complete(ask("again"))).text


@needs_library
async def test_what_it_cannot_do_is_said(server, model, ask):
    with pytest.raises(Unsupported, match="returns no log-probabilities; use openai/…"):
        await model.complete(ask(top_logprobs=3))
    with pytest.raises(Unsupported, match="chat messages only"):
        await model.complete(ask("hi", plain=True))
    with pytest.raises(PreflightFailed):
        server.always = failing(401)
        await run_preflight(model)
    assert not model.capabilities.logprobs and not model.capabilities.scoring


@needs_library
def test_names_and_keys(monkeypatch):
    with pytest.raises(InputError, match="litellm/nobody/m: LiteLLM does not know this provider"):
        load_model("litellm/nobody/m")
    with pytest.raises(InputError, match="api_base cannot be set"):
        load_model("gemini/m", ModelOptions(extra={"api_base": "http://x"}))
    with pytest.raises(InputError, match="a fleet only serves models called openai"):
        load_model("gemini/m@http://a/v1,http://b/v1")
    monkeypatch.delenv("GEMINI_API_KEY")
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    with pytest.raises(
        AuthenticationFailed, match="gemini/m needs a key: set GOOGLE_API_KEY or GEMINI_API_KEY in"
    ):
        load_model("gemini/m")


@needs_library
async def test_base_url_is_about_other_models():
    model = load_model("gemini/gemini-2.5-flash", ModelOptions(base_url="http://127.0.0.1:9/v1"))
    assert model.identity.base_url == ""
    await model.close()


@needs_library
async def test_prices_are_those_that_the_library_brings(tmp_path):
    from simulator.models.library_backend import LibraryModel

    flash = LibraryModel("gemini", "gemini-2.5-flash")
    pro = LibraryModel("gemini", "gemini-2.5-pro")
    price, tiered = flash.listed_price, pro.listed_price
    assert price is not None and tiered is not None
    assert 0 < price.cached_input < price.input < price.output < 100 and price.up_to is None
    assert tiered.up_to == 200_000, "a prompt beyond it costs more"
    assert LibraryModel("azure", "my-deployment", base_url="http://a").listed_price is None
    other = LibraryModel("gemini", "gemini-2.5-flash", base_url="http://127.0.0.1:9")
    assert other.listed_price is None
    for each in (flash, pro, other):
        await each.close()


@needs_library
def test_nothing_is_asked_for_outside():
    """The library is imported, and a model loaded and priced, without a look at any network."""
    script = """
import socket, sys

def refuse(*arguments, **more):
    print("asked for", arguments[:2], file=sys.stderr)
    raise OSError("no network")

socket.getaddrinfo = socket.socket.connect = refuse
from simulator.models import ModelOptions, Budget, load_model
model = load_model("gemini/gemini-2.5-flash", ModelOptions(budget=Budget(1.0)))
print(model.name)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, "asked for" in done.stderr) == ("gemini/gemini-2.5-flash\n", False), done.stderr


@pytest.mark.skipif(INSTALLED, reason="LiteLLM is installed")
def test_a_missing_library_is_said():
    with pytest.raises(Unsupported, match=r"gemini/m needs LiteLLM.*pip install 'askback\[prov"):
        load_model("gemini/m")


def test_a_library_that_cannot_be_imported_is_said(monkeypatch):
    from simulator.models import library_backend

    monkeypatch.setitem(sys.modules, "litellm", None)
    library_backend._library.cache_clear()
    with pytest.raises(Unsupported, match=r"gemini/m needs LiteLLM.*pip install 'askback\[prov"):
        load_model("gemini/m")
    missing = missing_models({"gemini/m": Needs()}, ModelOptions())
    assert "pip install 'askback[providers]'" in str(missing["gemini/m"]), "before a study is opened, too"
    library_backend._library.cache_clear()
