"""Decoding options of a run: what they change of a request, and what the log says of it."""

from __future__ import annotations

import json

import pytest

from simulator.errors import InputError
from simulator.models import (
    Decoding,
    Malformed,
    Message,
    ModelOptions,
    Request,
    Unsupported,
    as_sent,
    load_model,
)
from simulator.models.decoding import THOUGHTS, read_settings

ASKED = Request(messages=(Message("user", "hi"),), seed=0)
CHOSEN = Decoding(temperature=0.7, top_p=0.9, max_tokens=50)


def test_options_replace_those_of_texts_alone():
    sent = CHOSEN.apply(ASKED)
    assert (sent.temperature, sent.top_p, sent.max_tokens) == (0.7, 0.9, 50)
    assert CHOSEN.apply(sent) == sent
    one_token = CHOSEN.apply(Request(messages=ASKED.messages, max_tokens=1))
    assert (one_token.temperature, one_token.max_tokens) == (0.7, 1)
    probabilities = Request(messages=ASKED.messages, top_logprobs=5)
    assert CHOSEN.apply(probabilities) is probabilities
    assert Decoding().apply(ASKED) == ASKED


def test_what_was_greedy_is_drawn_anew_in_each_repeat_and_run():
    seeds = {
        Decoding(temperature=1.0, seed=seed)
        .apply(Request(messages=ASKED.messages, seed=0, repeat=repeat))
        .seed
        for seed in (0, 1)
        for repeat in range(3)
    }
    assert len(seeds) == 6
    drawn = Request(messages=ASKED.messages, temperature=1.0, seed=5)
    assert CHOSEN.apply(drawn).seed == 5


def test_several_samples_need_a_temperature():
    with pytest.raises(Unsupported, match="--temperature"):
        Decoding(temperature=0.0).apply(Request(messages=ASKED.messages, temperature=1.0, samples=5))


@pytest.mark.each(
    ("option", "named"),
    [
        ({"temperature": float("nan")}, "--temperature"),
        ({"temperature": -1.0}, "--temperature"),
        ({"top_p": 0.0}, "--top-p"),
        ({"top_p": float("nan")}, "--top-p"),
        ({"max_tokens": 0}, "--max-tokens"),
    ],
)
def test_values_out_of_range_name_their_option(option, named):
    with pytest.raises(InputError, match=named):
        Decoding(**option)


def test_settings_are_json_or_text():
    pairs = [
        "top_k=20",
        "min_p=0.05",
        'chat_template_kwargs={"enable_thinking": false}',
        "mode=fast",
        "x=NaN",
    ]
    assert read_settings(pairs, "low") == {
        "top_k": 20,
        "min_p": 0.05,
        "chat_template_kwargs": {"enable_thinking": False},
        "mode": "fast",
        "x": "NaN",
        "reasoning_effort": "low",
    }


@pytest.mark.each(
    ("pairs", "effort", "problem"),
    [
        (["top_k"], None, "key=value"),
        (["=3"], None, "key=value"),
        (["temperature=1"], None, "--temperature"),
        (["messages=[]"], None, "each request"),
        (["api_key=abc"], None, "secret"),
        (["top_k=1", "top_k=2"], None, "twice"),
        (["reasoning_effort=low"], "high", "twice"),
    ],
)
def test_settings_that_cannot_be_are_refused(pairs, effort, problem):
    with pytest.raises(InputError, match=problem):
        read_settings(pairs, effort)


async def test_the_server_and_the_log_get_what_was_chosen(server):
    rows = []
    options = ModelOptions(
        base_url=server.base_url("openai"),
        api_key="secret-key",
        decoding=CHOSEN,
        extra=read_settings(["top_k=20"], "low"),
        recorder=rows.append,
    )
    model = load_model("openai/some", options)
    await model.complete(ASKED)
    await model.close()
    body = server.requests[0].body
    assert {name: body[name] for name in ("temperature", "top_p", "max_tokens", "top_k")} == {
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 50,
        "top_k": 20,
    }
    assert body["reasoning_effort"] == "low"
    assert rows[0].request["parameters"]["temperature"] == 0.7
    assert rows[0].request["extra"] == {"top_k": 20, "reasoning_effort": "low"}
    assert as_sent(model, ASKED).seed == body["seed"]
    assert "secret-key" not in json.dumps(rows[0].request)


@pytest.mark.each(("chosen", "room"), [({}, THOUGHTS), ({"max_tokens": 2000}, 2000)])
@pytest.mark.each("unfinished", ["", "<think>Red is", "<think>Red?</think>r"])
async def test_a_limit_used_up_by_reasoning_is_raised_once(server, says, chosen, room, unfinished):
    server.queue = [says.good(unfinished, end="length")]
    options = {"base_url": server.base_url("openai"), "api_key": "x", "decoding": Decoding(**chosen)}
    model = load_model("openai/some", ModelOptions(**options))
    answer = await model.complete(Request(messages=ASKED.messages, max_tokens=1))
    await model.close()
    assert (answer.text, [asked.body["max_tokens"] for asked in server.requests[-2:]]) == ("hello", [1, room])


@pytest.mark.each("first", [{"reasoning_content": "Red or"}, {}])
async def test_stop_sequences_are_for_answers_alone(server, says, first):
    server.queue = [says.good("" if first else "<think>", thought=first)]
    server.always = says.good("\n\nred\nor blue", thought={"reasoning_content": "Red or\nblue?"})
    model = load_model("openai/some", ModelOptions(base_url=server.base_url("openai"), api_key="x"))
    assert (await model.complete(Request(messages=ASKED.messages, stop=("\n",)))).text == "red"
    await model.close()
    assert [asked.body.get("stop") for asked in server.requests[-2:]] == [["\n"], None]


async def test_a_server_without_room_for_reasoning_keeps_its_answer(server, says):
    server.queue = [says.good("", end="length"), says.status(400)]
    model = load_model("openai/some", ModelOptions(base_url=server.base_url("openai"), api_key="x"))
    assert (await model.complete(Request(messages=ASKED.messages, max_tokens=1))).text == ""
    await model.close()


async def test_an_object_gets_room_for_reasoning_as_well(server, says):
    server.queue = [says.good("", end="length")]
    server.always = says.good('{"ready": true}')
    options = ModelOptions(base_url=server.base_url("openai"), api_key="x", max_malformed=0)
    model = load_model("openai/some", options)
    schema = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    assert (await model.complete(Request(messages=ASKED.messages, schema=schema))).parsed == {"ready": True}
    server.always = says.good("not an object", end="length")
    with pytest.raises(Malformed, match="cut off at max_tokens=1024"):
        await model.complete(Request(messages=ASKED.messages, schema=schema, repeat=1))
    await model.close()
    assert [asked.body["max_tokens"] for asked in server.requests] == [1024, THOUGHTS, 1024]


async def test_an_answer_that_was_merely_cut_off_stays(server, says):
    server.always = says.good("True", end="length")
    model = load_model("openai/some", ModelOptions(base_url=server.base_url("openai"), api_key="x"))
    assert (await model.complete(Request(messages=ASKED.messages, max_tokens=1))).text == "True"
    server.always = says.good("", end="length")
    assert (await model.complete(Request(messages=ASKED.messages, max_tokens=THOUGHTS))).text == ""
    await model.close()
    assert len(server.requests) == 2


def test_models_that_take_no_such_option_say_so_before_anything_is_asked():
    with pytest.raises(Unsupported, match="omit --temperature"):
        load_model("openai/o3", ModelOptions(api_key="x", decoding=Decoding(temperature=0.5)))
    with pytest.raises(InputError, match="top_k is only for models on a server"):
        load_model("transformers/x", ModelOptions(extra={"top_k": 1}))
