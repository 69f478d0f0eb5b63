"""Test the players: the learner in both readings, random guesses, all kinds of models."""

from __future__ import annotations

import json
from math import exp, log
from statistics import fmean

import pytest

from personas.templates import render
from simulator.ambibench.generation import draw_multiple, generate_multiple
from simulator.ambibench.players import seat_for
from simulator.ambibench.prompt import PARTICIPANT, beliefs, shown_text
from simulator.errors import InputError
from simulator.models import Completion, ScriptModel, TokenLogprob, Unavailable


async def answers(run, item, who, **more):
    return [payload["answer"] for payload in (await run(item, who, **more)).payloads]


async def test_the_learner_says_what_is_more_likely_and_guesses_by_seed(run):
    guesses = []
    for seed in range(30):
        prompt = draw_multiple(seed, "subject", "arrow")
        labels = await answers(run, prompt, "offline/oracle", seed=seed)
        assert labels == await answers(run, prompt, "offline/oracle", seed=seed)
        for label, belief in zip(labels, beliefs(prompt), strict=True):
            if belief.p_x != 0.5:
                assert label == ("X" if belief.p_x > 0.5 else "Y")
            else:
                guesses.append(label)
    assert 0.25 < fmean(label == "X" for label in guesses) < 0.75
    prompt = draw_multiple(1, "subject", "arrow")
    firsts = {(await answers(run, prompt, "offline/oracle", seed=seed))[0] for seed in range(12)}
    assert firsts == {"X", "Y"}


async def test_the_literal_reading_guesses_until_one_hypothesis_is_left(run):
    sure, unsure = [], []
    for seed in range(60):
        prompt = draw_multiple(seed, "propn", "qa")
        played = await run(prompt, "offline/oracle:literal", seed=seed)
        for payload, belief in zip(played.payloads, beliefs(prompt), strict=True):
            (sure if belief.identified else unsure).append(payload["correct"])
            if not belief.identified and belief.p_gold == 1:
                unsure.append(payload["correct"])
    assert set(sure) == {1.0}
    assert 0.35 < fmean(unsure) < 0.65


async def test_guessing_is_chance(run):
    prompts = generate_multiple(0, per_cell=1)
    right = [
        payload["correct"]
        for seed, prompt in enumerate(prompts)
        for payload in (await run(prompt, "offline/random", seed=seed)).payloads
    ]
    assert 0.4 < fmean(right) < 0.6


@pytest.mark.parametrize("name", ["offline/seeker", "offline/oracle:best", "offline/"])
def test_who_is_not_known(name):
    with pytest.raises(InputError, match="offline/oracle:literal, offline/random, provider/model"):
        seat_for(PARTICIPANT, name, lambda name: None)


async def test_a_chat_model_is_sent_the_text_after_one_system_prompt(run, prompt, toy):
    await run(prompt, toy.model(plain=False))
    system = render("ambibench/continue", "en", {"answer": "label"})
    assert len(toy.asked) == 20
    for k, request in enumerate(toy.asked, start=1):
        assert [(message.role, message.content) for message in request.messages] == [
            ("system", system.text),
            ("user", shown_text(prompt, k)),
        ]
        assert (request.temperature, request.max_tokens, request.top_logprobs) == (0.0, 2, 20)
        assert (request.plain, request.prompt_version) == (False, system.version)
        assert (request.episode_id, request.turn_number) == ("e", k - 1)


async def test_it_can_do_without_the_system_prompt_and_with_more_tokens(run, prompt, toy):
    played = await run(prompt, toy.model(plain=False), system="none", top=5, max_tokens=400)
    request = toy.asked[3]
    assert [message.role for message in request.messages] == ["user"]
    assert (request.top_logprobs, request.max_tokens, request.prompt_version) == (5, 400, "")
    assert played.payloads[3]["decoding"]["system"] == "none"


async def test_where_a_model_can_it_continues_the_plain_text(run, prompt, toy):
    played = await run(prompt, toy.model())
    assert all(request.plain and len(request.messages) == 1 for request in toy.asked)
    assert toy.asked[0].messages[0].content == shown_text(prompt, 1)
    decoding = played.payloads[0]["decoding"]
    assert (decoding["plain"], decoding["service"], decoding["max_tokens"]) == (True, "offline/toy", 2)


async def test_the_table_counts_and_not_the_text(run, prompt, toy):
    played = await run(prompt, toy.model())
    for k, payload in enumerate(played.payloads, start=1):
        expected = {token.strip(): exp(lp) for token, lp in toy.expects(shown_text(prompt, k))}
        assert payload["answer"] == max(expected, key=expected.get)
        assert payload["p_x"] == pytest.approx(expected["X"])
        assert payload["p_valid"] == pytest.approx(expected["X"] + expected["Y"])
        assert payload["score_mode"] == "strip"
    assert any(payload["raw_answer"].strip() != payload["answer"] for payload in played.payloads)


def answering(completion, **capabilities):
    return ScriptModel(lambda request: completion, name="fixed", scorer=None, **capabilities)


@pytest.mark.parametrize(
    ("tokens", "table"),
    [
        # The first token that is not white space.
        ([("\n", [("\n", 0.9)]), ("X", [("X", 0.7), ("Y", 0.3)])], [["X", 0.7], ["Y", 0.3]]),
        # Only white space: it competes with the labels.
        ([(" ", [(" ", 0.8), ("X", 0.2)]), ("\n", [("\n", 1.0)])], [[" ", 0.8], ["X", 0.2]]),
        # A server that leaves out the token that was written.
        ([("X", [("Y", 0.2)])], [["X", 0.5], ["Y", 0.2]]),
        ([], []),
    ],
)
async def test_where_the_table_is_taken(run, single, tokens, table):
    logprobs = tuple(
        TokenLogprob(token, log(0.5), tuple((other, log(p)) for other, p in top)) for token, top in tokens
    )
    completion = Completion(text="".join(token for token, _ in tokens), logprobs=logprobs)
    payload = (await run(single, answering(completion))).payloads[0]
    assert [[token, pytest.approx(exp(logprob))] for token, logprob in payload["table"]] == table
    assert payload["valid"] == (bool(table) and table[0][0] == "X")


@pytest.mark.parametrize(
    ("text", "answer"),
    [(" X\n", "X"), ("Y.", "Y"), ('"X"', "X"), ("x", None), ("X because", None), ("", None)],
)
async def test_without_probabilities_the_text_counts(run, single, toy, text, answer):
    can = toy.model(logprobs=False, plain=False).capabilities
    payload = (await run(single, answering(Completion(text=text), capabilities=can))).payloads[0]
    assert (payload["answer"], payload["score_mode"], payload["table"]) == (answer, "text", None)
    assert payload["decoding"]["top"] is None


@pytest.mark.parametrize("scoring", [True, False])
async def test_buckets_are_one_greedy_line(run, aws, toy, scoring):
    await run(aws, toy.model(scoring=scoring))
    (request,) = toy.asked
    assert (request.messages[0].content, request.plain) == (aws.text, True)
    assert (request.temperature, request.max_tokens, request.stop) == (0.0, 60, ("\n",))
    assert request.top_logprobs is None


async def test_several_answers_to_one_question_differ(run, question, toy):
    for repeat in range(3):
        await run(question, toy.model(scoring=True), seed=repeat, repeat=repeat)
    assert len({(request.seed, request.repeat) for request in toy.asked}) == 3
    assert {(request.temperature, request.max_tokens, request.stop) for request in toy.asked} == {
        (1.0, 60, ())
    }
    assert toy.asked[0].messages[0].content.endswith("\n" + question.question)


async def test_a_chat_that_names_a_task_is_not_asked_for_a_letter(run, question, toy):
    await run(question, toy.model(plain=False))
    system = toy.asked[0].messages[0].content
    assert system == render("ambibench/continue", "en", {"answer": "text"}).text
    assert "letter" not in system


async def test_a_model_that_fails_fails_the_episode(run, prompt):
    broken = ScriptModel(lambda request: Unavailable("no server"), scorer=lambda request: Unavailable("no"))
    with pytest.raises(Unavailable):
        await run(prompt, broken)


async def test_a_model_never_sees_what_is_to_come(run, prompt, toy):
    await run(prompt, toy.model(plain=False))
    for k, request in enumerate(toy.asked, start=1):
        sent = json.dumps([message.content for message in request.messages])
        seen = {example.sentence for example in prompt.examples[:k]}
        assert not any(
            example.sentence in sent for example in prompt.examples[k:] if example.sentence not in seen
        )
        assert not sent.rstrip('"]').endswith((">X", ">Y", "A: X", "A: Y"))
