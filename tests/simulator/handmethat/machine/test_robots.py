"""Robots: the model, the asker and the hand-coded ones as seats."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.errors import InputError, SeatError
from simulator.handmethat.benchmark import BENCHMARK
from simulator.handmethat.machine import _ROBOTS, MACHINE
from simulator.handmethat.meanings.model import Meaning, describe
from simulator.handmethat.players.asking import believe, best_question, candidates, entropy
from simulator.handmethat.players.knows import Question, questions_for
from simulator.handmethat.players.models import ROBOT_PURPOSE, read_reply
from simulator.handmethat.playing import Options, Play
from simulator.handmethat.score import score_episode
from simulator.handmethat.world import entities
from simulator.models import ScriptModel


def modelled(answers):
    """A model that gives `answers` one after the other, and what it was asked."""
    requests = []

    def script(request):
        requests.append(request)
        return answers[min(len(requests), len(answers)) - 1]

    return (lambda name: ScriptModel(script)), requests


# A model


async def test_a_model_gets_everything_as_text(run, kitchen, lamp):
    models, requests = modelled(["question: where is the object you want", *lamp])
    played = await run(kitchen, "openai/x", models=models)
    assert played.turns[-1].payload["kind"] == "thanks"
    assert [request.purpose for request in requests] == [ROBOT_PURPOSE] * 5
    first, second = (request.messages[1].content for request in requests[:2])
    assert "- move to shelf\n" in first
    assert "- question: which type do you mean? (10)" in first
    assert "(30)" in first
    assert played.turns[0].text in first
    assert "It is on the shelf." in second
    assert "lamp#2" not in second
    rules = requests[0].messages[0].content
    assert "40 turns" in rules


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_without_questions_none_are_offered(run, kitchen, language):
    models, requests = modelled(["stop"])
    await run(kitchen, "openai/x", models=models, protocol="paper", language=language)
    assert not any("question:" in message.content for message in requests[0].messages)
    models, requests = modelled(["stop"])
    await run(kitchen, "openai/x", models=models, max_questions=3, language=language)
    assert "3" in requests[0].messages[0].content
    assert "question:" in requests[0].messages[1].content


async def test_an_invalid_reply_is_asked_for_once_more(run, kitchen):
    models, requests = modelled(["Let me think.", "Command: `stop`"])
    played = await run(kitchen, "openai/x", models=models)
    assert len(requests) == 2
    assert requests[1].messages[2].content == "Let me think."
    assert played.turns[1].text == "stop"
    assert played.turns[1].payload["trace"] == {"parse_errors": 1}


async def test_a_second_invalid_reply_is_counted_and_charged(run, kitchen):
    models, requests = modelled(["Hm.", "", "stop"])
    played = await run(kitchen, "openai/x", models=models)
    assert len(requests) == 3
    assert played.turns[1].payload["trace"] == {"parse_errors": 2}
    assert played.turns[1].payload["error"] == "parse"
    assert score_episode(kitchen, played.turns).invalid == 1


@pytest.mark.each(
    ("text", "command"),
    [
        ("move to table", "move to table"),
        ("I look around first.\n> Move to table.", "Move to table."),
        ("**Action:** pick up lamp#0", None),
        ("Action: pick up lamp#0", "pick up lamp#0"),
        ("Which lamp do you mean?", "question: Which lamp do you mean?"),
        ("question: 哪一个", "question: 哪一个"),
        ("moving on", None),
        ("", None),
    ],
)
def test_a_command_is_found_in_a_reply(text, command):
    chosen = read_reply(text)
    assert chosen == command or (command is None and chosen == "pick up lamp#0")


# The asker


def test_belief_follows_from_answers(kitchen, moving):
    world, state = kitchen.world, kitchen.current

    def fitting(task, *answers):
        return [world.names[entity] for entity in entities(candidates(world, state, believe(task, answers)))]

    assert fitting(kitchen) == ["lamp#0", "lamp#1", "lamp#2"]
    asked = "question: where is the object you want"
    assert fitting(kitchen, (asked, "It is on the shelf.")) == ["lamp#2"]
    assert fitting(kitchen, ("Is it on the table?", "Of course not.")) == ["lamp#0", "lamp#1", "lamp#2"]
    boxes = replace(kitchen, utterance=Meaning("bring_me", describe({"class": "RECEPTACLE"})))
    assert fitting(boxes, ("question: which color do you like", "The red one.")) == ["box#0"]
    assert fitting(boxes, ("question: do you want a dusty one", "No.")) == ["box#1", "package#0"]
    assert fitting(boxes, ("question: which type do you mean", "I mean a package.")) == ["package#0"]
    placed = believe(moving, [("question: where do you want to place it", "Onto the table, please.")])
    assert placed.destination == 1 << world.entity("table")
    assert believe(moving, []).destination == 0


def test_a_question_is_worth_the_entropy_of_its_answer():
    assert entropy(["a", "a", "b", "b"]) == pytest.approx(1)
    assert entropy(["a"] * 4) == 0
    assert entropy(list("abcd")) == pytest.approx(2)


def test_the_best_question_has_most_bits_per_point(kitchen, moving):
    households = [(kitchen.world, kitchen.current)]
    questions = questions_for(Play(kitchen, "en", Options()))
    best = best_question(households, believe(kitchen, []), questions)
    assert best == Question("where is the object you want", 10)
    known = believe(kitchen, [("question: where is the object you want", "It is on the shelf.")])
    assert best_question(households, known, questions) is None
    anywhere = questions_for(Play(moving, "en", Options()))
    question = best_question(households, believe(moving, []), anywhere)
    assert question is not None
    assert question.text == "where do you want to place it"


@pytest.mark.parametrize("mode", ["full", "partial"])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_asker_asks_then_fetches(run, kitchen, moving, mode, language):
    for task in (kitchen, moving):
        played = await run(task, "offline/asker:2", mode=mode, language=language)
        scores = score_episode(task, played.turns)
        assert scores.success, [turn.text for turn in played.turns]
        assert 1 <= scores.questions <= 2
        assert scores.invalid == 0


async def test_the_asker_keeps_to_the_questions_it_is_allowed(run, kitchen):
    for name, options, asked in (
        ("offline/asker:0", {}, 0),
        ("offline/asker", {}, 1),
        ("offline/asker", {"max_questions": 0}, 0),
        ("offline/asker:2", {"protocol": "paper"}, 0),
    ):
        played = await run(kitchen, name, seed=1, **options)
        assert score_episode(kitchen, played.turns).questions == asked


async def test_a_blind_asker_looks_through_the_places(run, kitchen):
    wants = Meaning("bring_me", describe({"type": "apple"}))
    apple = ((kitchen.world.entity("apple#0"), None),)
    hidden = replace(kitchen, meaning=wants, utterance=wants, in_meaning=apple, in_utterance=apple)
    for seed in range(3):
        played = await run(hidden, "offline/asker:0", seed=seed)
        scores = score_episode(hidden, played.turns)
        assert scores.success
        assert scores.invalid == 0
        # It goes to the apple only once it has seen it.
        texts = played.lines("robot")
        assert texts.index("open refrigerator") < texts.index("pick up apple")


async def test_the_asker_changes_states(run, kitchen):
    wants = Meaning("change_state", describe({"type": "apple"}), "slice")
    apple = ((kitchen.world.entity("apple#0"), "slice"),)
    slicing = replace(kitchen, meaning=wants, utterance=wants, in_meaning=apple, in_utterance=apple)
    for mode in ("full", "partial"):
        played = await run(slicing, "offline/asker:0", mode=mode)
        assert score_episode(slicing, played.turns).success, played.lines("robot")


# The others


async def test_hand_coded_robots_play(run, kitchen):
    expert = await run(kitchen, "offline/expert")
    assert score_episode(kitchen, expert.turns).score == 96
    demonstrated = await run(replace(kitchen, demo=("look", "stop")), "offline/expert")
    assert demonstrated.lines("robot") == ["look", "stop"]
    heuristic = await run(kitchen, "offline/heuristic", mode="full")
    assert len(heuristic.lines("robot")) in (4, 5)
    random = await run(kitchen, "offline/random", limit=6)
    assert len(random.lines("robot")) == 6
    with pytest.raises(SeatError, match="expert"):
        await run(replace(kitchen, in_meaning=()), "offline/expert")


def test_every_built_in_robot_is_among_those_that_are_named():
    named = BENCHMARK.seat("robot").known.split(", ")
    for name in _ROBOTS:
        assert name in named or any(
            entry.startswith((f"{name}[", f"{name.split(':')[0]}[:")) for entry in named
        )


@pytest.mark.each(
    ("seat", "name", "named"),
    [
        ("robot", "offline/giver", r"offline/asker\[:K\]"),
        (
            "robot",
            "offline/asker:many",
            r"offline/asker\[:K\], offline/partner, .*provider/model, .*script:FILE",
        ),
        ("human", "offline/asker", "offline/giver"),
        ("robot", "seq2seq:gone.pt", "gone.pt"),
    ],
)
def test_an_unknown_name_is_refused(seat, name, named):
    with pytest.raises(InputError, match=named):
        MACHINE.seat_for(seat, name, lambda name: ScriptModel(str), {})
