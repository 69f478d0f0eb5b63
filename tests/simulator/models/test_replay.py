"""Recording and replaying: every call becomes a row, and a logged run answers again."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from pydantic import BaseModel

from logs import LogWriter
from logs.rows import Episode, Item, ModelCall, Run
from simulator.errors import InputError
from simulator.models import (
    BadRequest,
    Capabilities,
    Completion,
    Identity,
    Malformed,
    Message,
    ModelOptions,
    NotRecorded,
    Refused,
    Request,
    ScriptModel,
    TokenLogprob,
    load_model,
)
from simulator.models.base import Usage
from simulator.models.cache import Recorded
from simulator.models.keys import request_key
from simulator.models.load import add_layers


class Colour(BaseModel):
    name: str


FOR_THE_LOG = {"purpose": "judge", "prompt_version": "v1", "episode_id": "e", "turn_number": 3}


async def test_an_answer_becomes_a_row(fake, ask):
    rows = []
    answer = Completion(
        text='{"name": "red"}', parsed=Colour(name="red"), usage=Usage(3, 4, 1), cost=0.5, attempts=2,
        logprobs=(TokenLogprob("red", -0.5, (("red", -0.5), ("blue", float("-inf")))),),
    )  # fmt: skip
    inner = fake(
        answer, identity=Identity("openai", "m", "http://x", {"effort": "low"}), ignored=frozenset({"seed"})
    )
    request = ask("a", "b", schema=Colour, seed=5, stop=("x",), repeat=2, **FOR_THE_LOG)
    assert await Recorded(inner, rows.append).complete(request) is answer
    (row,) = rows
    assert isinstance(row, ModelCall)
    assert (row.episode_id, row.turn_number, row.purpose, row.prompt_version) == ("e", 3, "judge", "v1")
    assert (row.model, row.attempts, row.cached, row.error) == ("openai/m", 2, False, "")
    assert (row.input_tokens, row.output_tokens, row.cost) == (3, 4, 0.5)
    assert row.request == {
        "key": request_key(inner.identity, request),
        "base_url": "http://x",
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        "parameters": {
            "temperature": 0.0, "max_tokens": 1024, "seed": 5, "stop": ["x"], "top_logprobs": None,
        },
        "extra": {"effort": "low"},
        "ignored": ["seed"],
        "schema": Colour.model_json_schema(),
        "repeat": 2,
    }  # fmt: skip
    assert row.response == {
        "text": '{"name": "red"}',
        "parsed": {"name": "red"},
        "logprobs": [["red", -0.5, [["red", -0.5], ["blue", -9999.0]]]],
        "finish_reason": "stop",
        "cached_input_tokens": 1,
    }
    json.dumps([row.request, row.response], allow_nan=False)


async def test_rows_have_ids_of_their_own(fake, ask):
    rows = []
    model = Recorded(fake(), rows.append)
    for _ in range(3):
        await model.complete(ask())
    assert len({row.id for row in rows}) == 3


async def test_a_failure_becomes_a_row(fake, ask):
    rows = []
    model = add_layers(
        fake(Malformed("garbage", text="blah", usage=Usage(1, 2))), ModelOptions(recorder=rows.append)
    )
    with pytest.raises(Malformed):
        await model.complete(ask(**FOR_THE_LOG))
    (row,) = rows
    assert (row.error, row.attempts, row.purpose) == ("Malformed", 3, "judge")
    assert row.response == {"text": "blah", "message": "garbage (after 3 attempts)"}
    assert (row.input_tokens, row.output_tokens) == (3, 6)


async def test_a_refusal_keeps_what_was_said(fake, ask):
    rows = []
    with pytest.raises(Refused):
        await Recorded(fake(Refused("declined", text="no")), rows.append).complete(ask())
    assert rows[0].response["text"] == "no"


async def test_cached_answers_are_recorded_as_such(fake, ask, tmp_path):
    rows = []
    model = add_layers(fake("red"), ModelOptions(recorder=rows.append, cache_path=tmp_path / "c.sqlite"))
    await model.complete(ask())
    await model.complete(ask())
    await model.close()
    assert [(row.cached, row.attempts, row.cost) for row in rows] == [(False, 1, None), (True, 0, 0.0)]


# --- replay ------------------------------------------------------------------------------------------


@pytest.fixture
async def logged(tmp_path):
    """A log of one run in which two models were asked; gives its path."""
    path = tmp_path / "log.sqlite"
    async with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="clarq", setup="L2L", seed=1))
        log.put(Item(hash="h", benchmark="clarq", name="i", language="en", data={}))
        for id, run in (("e", "r"), ("other", "r2")):
            if run == "r2":
                log.put(Run(id="r2", benchmark="clarq", setup="L2L", seed=1))
            log.put(Episode(id=id, run_id=run, item_hash="h", language="en", seats={}, seed=1))
        options = ModelOptions(recorder=log.put)
        logprobs = (TokenLogprob("r", -1.0, (("r", -1.0),)),)
        seeker = Named("openai", "m", lambda request: Completion(text="red", logprobs=logprobs))
        provider = Named("anthropic", "n", lambda request: {"name": f"blue {request.repeat}"})
        failing = Named("openai", "m", lambda request: BadRequest("no"))
        declining = Named("openai", "m", lambda request: Refused("declined", text="I can't."))
        await add_layers(seeker, options).complete(question("Seeker?"))
        await add_layers(provider, options).complete(question("Provider?", schema=Colour))
        await add_layers(provider, options).complete(question("Provider?", schema=Colour, repeat=1))
        await add_layers(seeker, options).complete(question("Both?"))
        await add_layers(provider, options).complete(question("Both?"))
        with pytest.raises(BadRequest):
            await add_layers(failing, options).complete(question("Failed?"))
        with pytest.raises(Refused):
            await add_layers(declining, options).complete(question("Declined?"))
        with pytest.raises(Refused):
            await add_layers(declining, options).complete(question("One declined?"))
        await add_layers(provider, options).complete(question("One declined?"))
        await add_layers(seeker, options).complete(question("Elsewhere?", episode_id="other"))
    return path


class Named(ScriptModel):
    def __init__(self, provider, model, script):
        super().__init__(script)
        self.identity = Identity(provider, model, f"http://{model}", {"effort": "low"})
        self.name = self.identity.name


def question(text, **fields):
    return Request(messages=(Message("user", text),), **{"episode_id": "e", **fields})


@pytest.fixture
def replay(logged):
    return load_model("replay/r", ModelOptions(recordings=logged))


async def test_an_object_that_took_two_requests_is_replayed(logged, replay):
    def reasons(request):
        left = request.max_tokens > 2000
        return Completion(text='{"name": "red"}' if left else "", finish_reason="stop" if left else "length")

    async with LogWriter(logged, durable=False) as log:
        options = ModelOptions(recorder=log.put, max_malformed=0)
        asked = question("Reasoning?", schema=Colour)
        assert (await add_layers(Named("openai", "m", reasons), options).complete(asked)).parsed.name == "red"
    assert (await replay.complete(asked)).parsed == Colour(name="red")


async def test_a_run_is_replayed_for_every_seat(replay):
    seeker = await replay.complete(question("Seeker?", episode_id="a new one", purpose="x"))
    assert seeker.text == "red"
    assert seeker.logprobs == (TokenLogprob("r", -1.0, (("r", -1.0),)),)
    assert seeker.cost == 0.0
    provider = await replay.complete(question("Provider?", schema=Colour))
    assert provider.parsed == Colour(name="blue 0")
    again = await replay.complete(question("Provider?", schema=Colour, repeat=1))
    assert again.parsed == Colour(name="blue 1")


@pytest.mark.parametrize("text", ["Never asked?", "Failed?", "Elsewhere?"])
async def test_what_was_not_recorded_is_told(replay, text):
    with pytest.raises(NotRecorded, match=r"run 'r' has no answer .*'judge'.*differ from the logged"):
        await replay.complete(question(text, purpose="judge"))


async def test_who_declined_declines_again(replay):
    with pytest.raises(Refused, match=r"^declined$") as error:
        await replay.complete(question("Declined?"))
    assert error.value.text == "I can't."


async def test_other_parameters_are_another_request(replay):
    with pytest.raises(NotRecorded):
        await replay.complete(question("Seeker?", temperature=1.0))


@pytest.mark.parametrize("text", ["Both?", "One declined?"])
async def test_two_answers_to_one_request_are_not_chosen_from(replay, text):
    with pytest.raises(NotRecorded, match="different answers from openai/m and anthropic/n"):
        await replay.complete(question(text))


def test_an_unknown_run_is_told_before_anything_is_asked(logged):
    with pytest.raises(InputError, match="check its name"):
        load_model("replay/nothing", ModelOptions(recordings=logged))


async def test_the_first_answer_is_replayed(logged):
    async with LogWriter(logged, durable=False) as log:
        for answer in (BadRequest("no"), "first", "second"):
            model = add_layers(
                Named("openai", "m", lambda request, answer=answer: answer), ModelOptions(recorder=log.put)
            )
            with suppress(BadRequest):
                await model.complete(question("Twice?"))
    replay = load_model("replay/r", ModelOptions(recordings=logged))
    assert (await replay.complete(question("Twice?"))).text == "first"


PLAIN = Capabilities(logprobs=True, schema=False, seed=True, scoring=True, plain=True, samples=True)
CHAT = Capabilities(logprobs=False, schema=True, seed=True, scoring=False, plain=False, samples=True)


@pytest.mark.parametrize(
    ("requests", "capabilities", "ignored"),
    [
        ([("Chat?", {})], CHAT, {"seed"}),
        ([("Chat?", {"top_logprobs": 5})], replace(CHAT, logprobs=True), {"seed"}),
        ([("Text", {"plain": True})], replace(PLAIN, logprobs=False, scoring=False), {"seed"}),
        ([("Text", {"plain": True}), ("Chat?", {})], replace(CHAT, plain=True), {"seed"}),
        ([], PLAIN, {"seed"}),
    ],
)
async def test_a_replay_can_do_what_its_run_was_asked_for(fake, tmp_path, requests, capabilities, ignored):
    """Prompts fit what a model can do: who could do more or less would be asked something else."""
    path = tmp_path / "log.sqlite"
    async with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="clarq", setup="L2L", seed=1))
        log.put(Item(hash="h", benchmark="clarq", name="i", language="en", data={}))
        log.put(Episode(id="e", run_id="r", item_hash="h", language="en", seats={}, seed=1))
        model = Recorded(fake(*["a"] * len(requests), ignored=frozenset(ignored)), log.put)
        for text, fields in requests:
            await model.complete(question(text, **fields))
        if not requests:
            log.put(
                ModelCall(
                    id="s", episode_id="e", turn_number=0, purpose="p", model="completions/m",
                    prompt_version="",
                    request={"text": "X", "offsets": [0], "top": 5, "key": "k", "ignored": ["seed"],
                             "base_url": "", "extra": {}},
                    response={"positions": []},
                )
            )  # fmt: skip
    replay = load_model("replay/r", ModelOptions(recordings=path))
    assert replay.capabilities == capabilities
    assert replay.ignored == ignored
