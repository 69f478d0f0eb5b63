"""Reasoning of a model is neither said nor counted, and stays in the log."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from simulator.clarq.data import SeekerKnows, background_text
from simulator.clarq.players.models import ModelSeeker
from simulator.models import ModelOptions, ScriptModel, load_model
from simulator.models.answers import completion_of
from simulator.models.base import Completion, Message, Request, TokenLogprob, split_reasoning
from simulator.models.cache import decode, encode, response_row
from simulator.models.schema import parse
from simulator.seats import Line, View
from trees.sources import load_builtin

CASES = (
    ("Hello.", "Hello.", ""),
    ("<think>Who is it?</think>Hello.", "Hello.", "Who is it?"),
    ("<think>\nWho\n\nis it?\n</think>\n\nHello.", "Hello.", "Who\n\nis it?"),
    ("\n<THINK>Who?</Think> Hello.", "Hello.", "Who?"),
    ("<thinking>Who?</thinking>Hello.", "Hello.", "Who?"),
    ("<think></think>\nHello.", "Hello.", ""),
    ("<think>a</think>Hello, <think>b</think>you.", "Hello, you.", "a\n\nb"),
    # The template wrote the opening mark.
    ("Who is it?\n</think>\nHello.", "Hello.", "Who is it?"),
    # The token limit came first: nothing was said.
    ("<think>Who is", "", "Who is"),
    ("<think>\n", "", "<think>"),
    ("<think>a</think>\n<think>b", "", "a\n\nb"),
    # Words about thinking are words.
    ('{"reason": "They say </think>.", "yes": true}', '{"reason": "They say </think>.", "yes": true}', ""),
    ("I think so.", "I think so.", ""),
    ("Write <think> where you think.", "Write <think> where you think.", ""),
    ("  Hello, think.", "  Hello, think.", ""),
)


def test_what_is_said_and_what_is_thought():
    split = [(text, split_reasoning(text).text, split_reasoning(text).thought) for text, _, _ in CASES]
    assert split == list(CASES)


def test_a_completion_says_what_is_said_and_keeps_the_thought():
    thoughtful = Completion(text="<think>Who?</think>Hello.", samples=("<think>Who?</think>Hello.", "Hi."))
    assert (thoughtful.text, thoughtful.thought) == ("Hello.", "Who?")
    assert thoughtful.samples == ("Hello.", "Hi.")
    assert response_row(thoughtful)["thought"] == "Who?"
    assert completion_of(response_row(thoughtful)).thought == "Who?"
    assert (decode(encode(thoughtful)).text, decode(encode(thoughtful)).thought) == ("Hello.", "Who?")
    assert "thought" not in response_row(Completion(text="Hello."))


def test_tokens_of_thoughts_are_no_answer():
    tokens = [TokenLogprob(token, -0.1, ()) for token in ("<think>", "Y", "?", "</think>", "\n\n", "X", "!")]
    completion = Completion(text="".join(token.token for token in tokens), logprobs=tuple(tokens))
    assert (completion.text, [token.token for token in completion.logprobs]) == ("X!", ["X", "!"])


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("letter", ["Y", " Y"])
@pytest.mark.parametrize("listed", [("X", " or Y?", "\n\n"), ()])
async def test_reasoning_returned_apart_is_kept_without_its_tokens(
    make, server, says, ask, name, letter, listed
):
    tokens = [{"token": token, "logprob": -0.1} for token in (*listed, letter, "<|end|>")]
    server.always = says.good(f"\n\n{letter}", logprobs=tokens, thought={name: "X or Y?"})
    answer = await make("openai").complete(ask(top_logprobs=1))
    assert (answer.text, answer.thought) == ("Y", "X or Y?")
    assert [token.token for token in answer.logprobs] == [letter, "<|end|>"]


async def test_thinking_blocks_are_kept(make, ask):
    assert (await make("anthropic").complete(ask())).thought == "…"


class Answer(BaseModel):
    yes: bool


async def test_objects_in_thoughts_are_not_read():
    text = 'I could say {"yes": false}.\n</think>\n{"yes": true}'
    assert parse(text, Answer) == Answer(yes=True)
    rows = []
    options = ModelOptions(script=lambda request: f"<think>{text}", recorder=rows.append, max_malformed=0)
    model = load_model("offline/script", options)
    request = Request(messages=(Message("user", "Yes?"),), schema=Answer)
    assert (await model.complete(request)).parsed == Answer(yes=True)
    (row,) = rows
    assert row.response["text"] == '{"yes": true}'
    assert row.response["thought"].startswith("I could say")


@pytest.mark.parametrize("mode", ["completion", "chat"])
async def test_a_seeker_does_not_speak_its_thoughts(mode):
    task = load_builtin("en")[0]
    seat = ModelSeeker(
        ScriptModel(lambda request: "<think>\nJax: what? You: goodbye\n</think>\nWhich one?"), mode
    )
    view = View(
        episode_id="e",
        seat="seeker",
        number=1,
        language="en",
        lines=(Line("provider", "Hello."),),
        task=SeekerKnows(task.background, background_text(task), "en"),
        seed=0,
    )
    assert (await seat.reply(view)).text == "Which one?"
