"""The seam below the SDKs: a transport that needs no socket."""

import httpx2
import pytest

from simulator.models import TimedOut, Unavailable
from simulator.models.anthropic_backend import AnthropicModel
from simulator.models.openai_backend import OpenAIModel


def answering(kind, handler):
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    return kind("m", base_url="http://test", http_client=client)


@pytest.fixture(params=[OpenAIModel, AnthropicModel])
def kind(request):
    return request.param


@pytest.mark.parametrize(
    ("failure", "error", "billed"),
    [
        (httpx2.ConnectError, Unavailable, False),
        (httpx2.UnsupportedProtocol, Unavailable, False),
        (httpx2.ReadError, Unavailable, True),
        (httpx2.RemoteProtocolError, Unavailable, True),
        (httpx2.ReadTimeout, TimedOut, True),
        (httpx2.PoolTimeout, TimedOut, True),
    ],
)
async def test_transport_failures(kind, ask, failure, error, billed):
    def fail(request):
        raise failure("on purpose")

    model = answering(kind, fail)
    with pytest.raises(error) as caught:
        await model.complete(ask())
    assert caught.value.maybe_billed is billed
    await model.close()


async def test_an_answer_without_choices_or_usage(ask):
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    choice = {"index": 0, "finish_reason": None, "message": {"role": "assistant", "content": None}}
    model = answering(OpenAIModel, lambda request: httpx2.Response(200, json={**body, "choices": [choice]}))
    completion = await model.complete(ask())
    assert (completion.text, completion.finish_reason) == ("", "stop")
    assert completion.usage.input_tokens is None
    await model.close()
