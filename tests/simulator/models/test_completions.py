"""Text completions of a server that echoes what it is sent with log-probabilities."""

import json
import re

import pytest

from simulator.models import (
    BadRequest,
    Capabilities,
    Malformed,
    Message,
    ModelOptions,
    Request,
    ScoreRequest,
    Unavailable,
    Unsupported,
    load_model,
)
from simulator.models.openai_backend import CompletionsModel

TEXT = "Output 'X'.\nThe duck is in.\n>X\nHe is in.\nA: Y"
ARROW, QA = TEXT.index(">X") + 1, len(TEXT) - 1


def words(text, pattern=r" ?\w+|[^\w]"):
    return re.findall(pattern, text)


def answers(*, tokens=words, first=(), written=(" so",), echo=True, logprobs=True, rare=-99.0, **choice):
    """A server whose n-th token has log-probability -n; `first` is what it puts before a text."""

    def behave(handler):
        body = handler.asked.body
        returned = [*first, *tokens(body["prompt"])] if body.get("echo") and echo else []
        returned += list(written)
        table = {
            "tokens": returned,
            "token_logprobs": [
                None if n == 0 and body.get("echo") else -float(n) for n in range(len(returned))
            ],
            "top_logprobs": [
                None
                if n == 0 and body.get("echo")
                else {"else": -2.0 * n - 1 if n else -99.0, word: -float(n), "rare": rare}
                for n, word in enumerate(returned)
            ],
            "text_offset": [0] * len(returned),
        }
        made = {
            "index": 0, "text": "".join(returned), "finish_reason": "length",
            "logprobs": table if logprobs and body.get("logprobs") is not None else None,
        }  # fmt: skip
        usage = {"prompt_tokens": len(returned) - 1, "completion_tokens": 1, "total_tokens": len(returned)}
        handler.send_json(
            {"id": "c", "object": "text_completion", "created": 1, "model": "m", "usage": usage,
             "choices": [{**made, **choice}]}
        )  # fmt: skip

    return behave


@pytest.fixture
async def model(server):
    made = CompletionsModel("org/m", base_url=server.base_url("openai"), timeout=5.0)
    yield made
    await made.close()


def asked(**fields):
    return ScoreRequest(**{"text": TEXT, "offsets": (ARROW, QA), "top": 2, **fields})


async def test_all_labels_take_one_request(server, model):
    server.always = answers()
    scored = await model.score(asked())
    (request,) = server.requests
    assert request.path == "/v1/completions"
    assert request.body == {
        "model": "org/m", "prompt": TEXT, "max_tokens": 1, "temperature": 0.0, "echo": True, "logprobs": 2,
    }  # fmt: skip
    text = words(TEXT)
    places = [text.index(">") + 1, len(text) - 1]
    assert [each.offset for each in scored.positions] == [ARROW, QA]
    assert [each.token for each in scored.positions] == ["X", " Y"]
    assert [each.logprob for each in scored.positions] == [-float(place) for place in places]
    for position, place in zip(scored.positions, places, strict=True):
        assert position.top == ((position.token, -float(place)), ("else", -2.0 * place - 1))
    assert scored.usage.output_tokens == 1


async def test_what_the_server_puts_before_a_text_moves_nothing(server, model):
    server.always = answers(first=["<s>"])
    assert [each.token for each in (await model.score(asked())).positions] == ["X", " Y"]


async def test_tokens_without_their_blanks_are_found(server, model):
    server.always = answers(tokens=lambda text: words(text, r"\w+|[^\w ]"))
    assert [each.token for each in (await model.score(asked())).positions] == ["X", "Y"]


async def test_parts_of_a_character_are_passed_over(server, model):
    server.always = answers(
        tokens=lambda text: [t for w in words(text) for t in (["�", "�"] if w == "ö" else [w])]
    )
    text = "ö\n>X"
    assert (await model.score(asked(text=text, offsets=(3,)))).positions[0].token == "X"


async def test_a_glued_label_is_told(server, model):
    server.always = answers(tokens=lambda text: words(text, r">?\w+|[^\w]"))
    with pytest.raises(BadRequest, match=rf"no separate token for character {ARROW} of the text"):
        await model.score(asked())


async def test_nothing_is_expected_of_the_first_token(server, model):
    server.always = answers()
    with pytest.raises(BadRequest, match="character 0 cannot be scored: no text comes before it"):
        await model.score(asked(offsets=(0,)))


@pytest.mark.parametrize("cannot", [{"echo": False}, {"logprobs": False}])
async def test_a_server_that_does_not_echo_is_told(server, model, cannot):
    server.always = answers(**cannot)
    with pytest.raises(Unsupported, match="returned no log-probabilities of the text it was sent"):
        await model.score(asked())


async def test_a_plain_text_is_continued(server, model):
    server.always = answers(written=[" in", " the"], finish_reason="stop")
    request = Request(
        messages=(Message("user", "The duck is"),),
        plain=True,
        max_tokens=5,
        stop=("\n",),
        seed=3,
        top_logprobs=2,
    )
    completion = await model.complete(request)
    assert (completion.text, completion.finish_reason) == (" in the", "stop")
    assert [each.token for each in completion.logprobs] == [" in", " the"]
    assert completion.logprobs[1].top == ((" the", -1.0), ("else", -3.0), ("rare", -99.0))
    assert server.requests[0].body == {
        "model": "org/m", "prompt": "The duck is", "max_tokens": 5, "temperature": 0.0, "stop": ["\n"],
        "seed": 3, "logprobs": 2,
    }  # fmt: skip


async def test_log_probabilities_that_do_not_come_are_told(server, model, ask):
    server.always = answers(logprobs=False)
    assert (await model.complete(ask(plain=True))).text == " so"
    with pytest.raises(Unsupported, match="was asked for log-probabilities and returned none"):
        await model.complete(ask(plain=True, top_logprobs=1))


async def test_tables_that_are_no_probabilities_are_told(server, model, ask):
    server.always = answers(rare=1.0)
    with pytest.raises(Unsupported, match="more than 1; use another server"):
        await model.complete(ask(plain=True, top_logprobs=2))
    with pytest.raises(Unsupported, match="more than 1; use another server"):
        await model.score(asked())


async def test_a_chat_is_not_its_business(model, ask):
    with pytest.raises(Unsupported, match="can only continue plain texts; for chats use openai/…"):
        await model.complete(ask())
    assert model.capabilities == Capabilities(
        logprobs=True, schema=False, seed=True, scoring=True, plain=True, samples=True
    )


@pytest.mark.parametrize("content", [b"{}", b'{"choices": []}', b"[]", b"hello"])
async def test_garbage_is_malformed(server, model, says, content):
    server.always = says.raw(content)
    with pytest.raises(Malformed):
        await model.score(asked())


async def test_failures_are_those_of_every_provider(server, model, says):
    server.always = says.status(503)
    with pytest.raises(Unavailable, match="completions/org/m"):
        await model.score(asked())


async def test_it_is_loaded_by_name_and_retried(server, says):
    server.queue = [says.status(500), answers()]
    rows = []
    options = ModelOptions(recorder=rows.append, extra={"priority": 1})
    model = load_model(f"completions/org/m@{server.base_url('openai')}", options)
    scored = await model.score(asked())
    await model.close()
    assert (scored.attempts, rows[0].model, rows[0].output_tokens) == (2, "completions/org/m", 1)
    assert server.requests[1].body["priority"] == 1
    json.dumps(rows[0].response, allow_nan=False)
