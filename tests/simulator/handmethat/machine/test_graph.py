"""The episode as a state machine: who moves when, what is logged, resuming."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from simulator.errors import InputError, SeatError
from simulator.handmethat import graph
from simulator.handmethat.machine import MACHINE
from simulator.handmethat.playing import Options, Play, as_command
from simulator.seats import Reply, ScriptSeat

ASK = "question: where is the object you want"


def bare(turn):
    return {key: value for key, value in asdict(turn).items() if key not in {"created_at", "seconds"}}


async def test_an_episode_from_the_instruction_to_thanks(run, kitchen, lamp):
    played = await run(kitchen, lamp)
    assert [turn.payload["kind"] for turn in played.turns] == ["utterance", *["command"] * 4, "thanks"]
    assert "lamp" in played.turns[0].text
    assert [turn.payload["over"] for turn in played.turns[1:5]] == ["", "", "", "success"]
    assert [turn.payload["reward"] for turn in played.turns[1:5]] == [-1, -1, -1, 99]
    assert [turn.payload["cost"] for turn in played.turns[1:5]] == [1, 1, 1, 1]
    assert played.ending.status == "completed"
    assert MACHINE.due(played.live, played.state) is None


async def test_nodes_run_in_the_expected_order(run, kitchen, lamp):
    played = await run(kitchen, [ASK, *lamp])
    table, visited = MACHINE.context(played.live), []
    machine = graph.build_graph().compile()
    async for update in machine.astream(graph.rebuild([]), context=table, stream_mode="updates"):
        visited += update
    assert visited == ["utter", "listen", "answer", *["listen", "act"] * 4, "utter"]


async def test_a_robot_that_stops_gets_a_complaint(run, kitchen, wrong):
    played = await run(kitchen, [*wrong, "stop"])
    assert played.turns[-1].payload == {"kind": "complaint"}
    assert played.turns[-2].payload["over"] == "stopped"
    assert played.ending.status == "completed"


async def test_the_limit_truncates(run, kitchen):
    played = await run(kitchen, ["look"] * 9, limit=3)
    assert [turn.payload["kind"] for turn in played.turns] == ["utterance", *["command"] * 3, "complaint"]
    assert played.ending.status == "truncated"


async def test_a_question_goes_to_the_human_and_its_answer_back(run, kitchen, lamp):
    played = await run(kitchen, [ASK, *lamp])
    asked, answered = played.turns[1:3]
    assert asked.payload["kind"] == "question"
    assert asked.payload["asks"]
    assert (asked.payload["heard"], asked.payload["cost"], asked.payload["outcome"]) == ("place", 10, "")
    assert answered.seat == "human"
    assert answered.payload["kind"] == "answer"
    assert answered.text == answered.payload["expert"]
    assert "shelf" in answered.text
    assert not any(turn.payload["asks"] for turn in played.turns if turn.payload["kind"] == "command")


@pytest.mark.each(
    ("text", "command"),
    [
        ("  pick up   the lamp#0 ", "pick up the lamp#0"),
        ("Question:  which size?", "question: which size?"),
        ("问题：你要什么颜色", "question: 你要什么颜色"),
        ("Is it the red one?", "question: Is it the red one?"),
        ("在哪里？", "question: 在哪里？"),
    ],
)
def test_what_counts_as_a_question(text, command):
    assert as_command(text) == command


async def test_free_words_are_understood_and_nonsense_is_charged(run, kitchen):
    played = await run(kitchen, ["Is it on the shelf?", "Who won?", "dance", "pick up lamp#2", "stop"])
    payloads = [turn.payload for turn in played.turns]
    assert payloads[2]["expert"] == played.turns[2].text
    assert payloads[1]["heard"] == "place"
    assert payloads[3]["heard"] == "other"
    assert (payloads[5]["error"], payloads[5]["cost"]) == ("parse", 1)
    assert (payloads[6]["error"], bool(payloads[6]["reason"])) == ("precondition", True)


async def test_the_number_of_questions_is_limited(run, kitchen):
    played = await run(kitchen, [ASK, "which size?", "stop"], max_questions=1)
    kinds = [turn.payload["kind"] for turn in played.turns]
    assert kinds == ["utterance", "question", "answer", "command", "command", "complaint"]
    refused = played.turns[3].payload
    assert (refused["error"], refused["asks"], refused["cost"]) == ("no_more_questions", True, 1)
    assert refused["outcome"]


async def test_the_paper_s_protocol_ends_with_the_execution(run, kitchen, wrong, lamp):
    played = await run(kitchen, [ASK, *wrong, *lamp], protocol="paper")
    assert [turn.payload.get("error") for turn in played.turns[1:3]] == ["no_questions", None]
    assert played.turns[-2].text == wrong[-1]
    assert played.turns[-2].payload["over"] == "stopped"
    played = await run(kitchen, lamp, protocol="paper")
    assert played.turns[-2].payload["over"] == "success"


async def test_in_the_paper_s_protocol_one_thing_may_be_taken(run, kitchen, wrong, lamp):
    put_back = [*wrong[:2], "put lamp#0 onto table", *lamp[:2], "move to table", *wrong[1:]]
    played = await run(kitchen, put_back, protocol="paper")
    errors = [turn.payload["error"] for turn in played.turns[1:-1]]
    assert errors == [None] * 4 + ["one_thing"] + [None] * 4
    assert played.turns[-2].payload["over"] == "stopped"
    freely = await run(kitchen, [*put_back[:5], "move to human", lamp[-1]])
    assert freely.turns[-2].payload["over"] == "success"


async def test_moving_ends_the_paper_s_protocol_with_the_first_put(run, moving):
    fetch = ["move to refrigerator", "open refrigerator", "pick up apple#0"]
    played = await run(moving, [*fetch, "move to sofa", "put apple onto sofa"], protocol="paper")
    assert played.turns[-2].payload["over"] == "stopped"
    played = await run(moving, [*fetch, "move to table", "put apple onto table"], protocol="paper")
    assert played.turns[-2].payload["over"] == "success"


async def test_the_view_can_be_appended_to_each_outcome(run, kitchen):
    plain, viewed = [
        (await run(kitchen, ["move to table", "stop"], append_view=view)).turns[1].payload["outcome"]
        for view in (False, True)
    ]
    assert viewed.startswith(plain)
    assert "lamp#1" in viewed
    assert "lamp#1" not in plain


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_rebuilt_after_every_turn_it_is_the_same_episode(run, kitchen, language):
    whole = (await run(kitchen, "offline/asker:2", language=language, seed=4)).turns
    assert any(turn.payload["kind"] == "answer" for turn in whole)
    for cut in range(len(whole) + 1):
        resumed = (await run(kitchen, "offline/asker:2", turns=whole[:cut], language=language, seed=4)).turns
        assert [*map(bare, resumed)] == [*map(bare, whole)]


@pytest.mark.parametrize("robot", ["offline/random", "offline/heuristic", "offline/expert", "offline/asker"])
async def test_the_same_seed_makes_the_same_episode(run, kitchen, robot):
    first, second = [(await run(kitchen, robot, seed=9)).turns for _ in range(2)]
    assert [*map(bare, first)] == [*map(bare, second)]
    assert json.loads(json.dumps([turn.payload for turn in first])) == [turn.payload for turn in first]


# People


async def test_play_stops_when_a_person_is_to_move(run, kitchen, lamp):
    played = await run(kitchen, "person")
    assert len(played.turns) == 1
    assert MACHINE.due(played.live, played.state) == "robot"
    for text in (ASK, *lamp):
        turn = MACHINE.accept(played.live, played.state, "robot", Reply(text=text, key=text, seconds=2.5))
        assert (turn.key, turn.seconds) == (text, 2.5)
        played = await run(kitchen, "person", turns=[*played.turns, turn])
    assert played.ending.status == "completed"
    assert [turn.payload["kind"] for turn in played.turns[-2:]] == ["command", "thanks"]


async def test_a_person_answers_in_their_own_words(run, kitchen):
    played = await run(kitchen, [ASK, "stop"], "person")
    assert MACHINE.due(played.live, played.state) == "human"
    with pytest.raises(SeatError, match="turn"):
        MACHINE.accept(played.live, played.state, "robot", Reply(text="look"))
    turn = MACHINE.accept(played.live, played.state, "human", Reply(text="On the shelf, not in a green box."))
    assert turn.payload["reveals"] == ["color=green", "place=box#1"] or turn.payload["reveals"] == [
        "place=box#1"
    ]
    played = await run(kitchen, [ASK, "stop"], "person", [*played.turns, turn])
    assert played.ending is not None


@pytest.mark.parametrize("seat", ["robot", "human"])
async def test_empty_replies_break_the_rules(run, kitchen, seat):
    seats = {"robot": [ASK], "human": "offline/giver", seat: ["  "]}
    with pytest.raises(SeatError) as caught:
        await run(kitchen, seats["robot"], seats["human"])
    assert caught.value.cause == seat


async def test_an_answer_needs_a_question(run, kitchen):
    played = await run(kitchen, "person")
    with pytest.raises(SeatError):
        graph.answer_turn(MACHINE.context(played.live), played.state, Reply(text="The shelf."))


# What the seats are told


async def test_a_scripted_robot_gets_texts(run, kitchen):
    seen = []

    def look(view):
        seen.append(view)
        return ("move to table", ASK, "stop")[view.moves]

    await run(kitchen, ScriptSeat(look), seed=3)
    first, _, last = (view.task for view in seen)
    assert first.history == ()
    assert last.history[0] == ("move to table", "You go to the table.")
    assert last.history[1][0] == ASK
    assert "shelf" in last.history[1][1]
    assert "pick up lamp#0" in last.valid
    assert {"which type do you mean", ASK.removeprefix("question: ")} <= {
        question.text for question in last.questions
    }
    assert (last.moves, last.cost, last.limit) == (2, 11, 40)
    assert len({view.seed for view in seen}) == 3


def test_options_are_checked():
    assert Options.read({"mode": "full", "task": "x"}) == Options(mode="full")
    for wrong in ({"mode": "dark"}, {"protocol": "x"}, {"commands": 1}, {"limit": 0}, {"max_questions": -1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Options.read(wrong)


def test_replay_starts_anew_where_commands_differ(kitchen, lamp, wrong):
    play = Play(kitchen, "en", Options())
    assert play.after(lamp).success
    assert not play.after(wrong).success
    assert play.after([*wrong[:2], *wrong[2:]]) == Play(kitchen, "en", Options()).after(wrong)
    assert play.after([]) == play.game.start()
    assert len(play.steps([*lamp, "look"])) == len(lamp)
