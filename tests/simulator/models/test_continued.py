"""Texts that may follow a text: each one's log-probability as a whole, in one call."""

import re

import pytest

from simulator.models import Malformed, ScoreRequest, Unsupported
from simulator.models.answers import scored_of
from simulator.models.base import Likelihood, Scored
from simulator.models.budget import most_tokens
from simulator.models.cache import decode, encode, response_row
from simulator.models.keys import Identity, request_key
from simulator.models.openai_backend import CompletionsModel

PREFIX = "The duck is in."
AFTER = (" He went.", " She came home.", " ö!")


def asked(**fields):
    return ScoreRequest(**{"text": PREFIX, "continuations": AFTER, "top": 0, **fields})


@pytest.mark.each(
    "fields",
    [{"offsets": (3,)}, {"continuations": ("a", "")}, {"text": ""}, {"continuations": ()}],
)
def test_what_cannot_be_asked(fields):
    with pytest.raises(ValueError):
        asked(**fields)


def test_continuations_are_part_of_the_key():
    identity = Identity("completions", "m")
    keys = {request_key(identity, asked(continuations=AFTER[:n])) for n in (1, 2, 3)}
    assert len(keys) == 3
    assert most_tokens(asked()).output_tokens == 3


def test_likelihoods_are_cached_and_logged():
    scored = Scored(likelihoods=(Likelihood(-1.5, 3), Likelihood(None, 0), Likelihood(float("-inf"), 2)))
    assert decode(encode(scored)).likelihoods == scored.likelihoods
    logged = scored_of(response_row(scored)).likelihoods
    assert logged == (Likelihood(-1.5, 3), Likelihood(None, 0), Likelihood(-9999.0, 2))
    assert "likelihoods" not in encode(Scored()) + str(response_row(Scored()))


def words(text, pattern=r" ?\w+|[^\w]"):
    """Tokens; a letter that is no ASCII is two parts of a character."""
    parts = re.findall(pattern, text)
    return [part for word in parts for part in ([" ", "�", "�"] if word == " ö" else [word])]


def echoes(tokens=words, first=(), turned=False, missing=0, logprobs=True):
    """A server whose n-th token has log-probability -n, and which writes one token more."""

    def behave(handler):
        body = handler.asked.body
        choices = []
        for number, text in enumerate(body["prompt"]):
            echoed = [*first, *tokens(text), " so"]
            values = [None, *(-float(n) for n in range(1, len(echoed)))]
            table = {"tokens": echoed, "token_logprobs": values, "top_logprobs": None, "text_offset": []}
            choices.append(
                {
                    "index": number,
                    "text": "",
                    "finish_reason": "length",
                    "logprobs": table if logprobs else None,
                }
            )
        choices = choices[missing:]
        handler.send_json(
            {"id": "c", "object": "text_completion", "created": 1, "model": "m",
             "choices": choices[::-1] if turned else choices}
        )  # fmt: skip

    return behave


@pytest.fixture
async def model(server):
    made = CompletionsModel("m", base_url=server.base_url("openai"), timeout=5.0)
    yield made
    await made.close()


@pytest.mark.parametrize("first", [(), ("<s>",)])
@pytest.mark.parametrize("turned", [False, True])
async def test_a_server_is_asked_once_for_all(server, model, first, turned):
    server.always = echoes(first=first, turned=turned)
    scored = await model.score(asked())
    (request,) = server.requests
    assert request.body["prompt"] == [PREFIX + after for after in AFTER]
    assert (request.body["echo"], request.body["logprobs"]) == (True, 0)
    begin = len(first) + len(words(PREFIX))
    expected = [(-float(sum(range(begin, begin + len(words(after))))), len(words(after))) for after in AFTER]
    assert [tuple(each) for each in scored.likelihoods] == expected
    assert [tokens for _, tokens in expected] == [3, 4, 4]


async def test_a_token_over_the_boundary_has_no_number(server, model):
    server.always = echoes(tokens=lambda text: re.findall(r"\. He| ?\w+|[^\w]", text))
    scored = await model.score(asked(continuations=AFTER[:2]))
    assert scored.likelihoods[0] == Likelihood(None, 0)
    assert scored.likelihoods[1].tokens == 4


async def test_servers_that_cannot(server, model):
    server.always = echoes(missing=1)
    with pytest.raises(Malformed, match="3 texts were sent, but 2 came back"):
        await model.score(asked())
    server.always = echoes(logprobs=False)
    with pytest.raises(Unsupported, match="no log-probabilities"):
        await model.score(asked())
