"""Studies through the log: the paper's protocol, robots that ask, humans who are asked."""

from __future__ import annotations

import pytest
from served import Server

from simulator import asking, frames
from simulator.blocks import message
from simulator.errors import ConflictError, InputError
from simulator.handmethat import show
from simulator.handmethat.assignment import HouseholdStudy
from simulator.handmethat.benchmark import BENCHMARK
from simulator.handmethat.machine import MACHINE
from simulator.handmethat.reports import scored_episodes
from simulator.handmethat.reveal import replay, result
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.models import ScriptModel
from simulator.plan_blocks import Menu, Places
from simulator.reports import run_summary
from simulator.seats import Reply
from simulator.studies import Study
from simulator.studies.known import builtin_studies

ASK = "question: where is the object you want"
NAME = "task-bring_me-3-0-2"


def study(data, seat="robot", **more):
    settings = {"data": str(data), "languages": ["en", "zh"], **more.pop("settings", {})}
    given = {
        "id": "s",
        "title": "T",
        "benchmark": "handmethat",
        "seat": seat,
        "setup": "H2L" if seat == "robot" else "L2H",
        "settings": settings,
        "judgments_per_item": 2,
        "sets_per_participant": 8,
        "completion_codes": {"complete": "C", "returned": "R"},
    }
    return Study(**{**given, **more})


@pytest.fixture
def server(log_path):
    def make(writer, reader, studies):
        return HandMeThatSessions(
            BENCHMARK, writer, reader, lambda name: ScriptModel(str), studies=studies, env={}
        )

    server = Server(log_path, make, MACHINE.read_item)
    yield server
    server.stop()


async def answer(server, episode, seat, *lines):
    for line in lines:
        view = await server.sessions.view(episode, seat)
        reply = Reply(text=line, key=f"{view.number}/{line}")
        view = await server.sessions.submit(episode, seat, reply, number=view.number)
    return view


def block(view, kind):
    """The block of a kind; None if there is none."""
    return next((block for block in view.blocks if isinstance(block, kind)), None)


async def enter(server, who="ann", language="en"):
    entry = await server.sessions.enter("s", identity={}, participant_key=who, language=language)
    return entry.episode_id


async def test_a_robot_asks_from_consent_to_code(server, data, lamp):
    server.again(study(data, conditions=[NAME], settings={"protocol": "free"}))
    episode = await enter(server)
    view = await server.sessions.view(episode, "robot")
    assert (view.stage, view.blocks, view.moves, view.study) == ("consent", (), (), True)
    view = await answer(server, episode, "robot", "yes", "ready")
    assert (view.stage, view.my_turn, view.first, view.number) == ("task", True, 2, 3)
    assert block(view, Places).notes == [message("rule.mode.partial")]
    before = await answer(server, episode, "robot", ASK)
    server.again()
    assert await server.sessions.view(episode, "robot") == before
    view = await answer(server, episode, "robot", *lamp)
    assert view.stage == "done"
    assert server.sessions.completion(episode).code == "C"
    with pytest.raises(ConflictError):
        await server.sessions.replay(episode, "robot")


async def test_a_study_s_episode_is_read_like_any_other(server, data, lamp):
    hard = {"id": "hard", "text": "Was it hard?", "kind": "number", "when": "before"}
    held = study(
        data, conditions=[NAME], questions=[hard], settings={"protocol": "free", "show_result": True}
    )
    server.again(held)
    episode = await enter(server)
    await answer(server, episode, "robot", "yes", "ready")
    await server.sessions.submit(episode, "robot", Reply(move={"answers": {"hard": "3"}}))
    await answer(server, episode, "robot", ASK, *lamp)
    turns, posed = server.reader.turns(episode), server.item(episode)
    assert [turn.payload["kind"] for turn in turns][:4] == [
        "consent",
        "ready",
        "questions_before",
        "utterance",
    ]
    shown = await server.sessions.replay(episode, "robot")
    assert shown == result(replay(posed.task, "en", turns[3:]), "robot", in_study=True)
    assert shown.blocks[1].folded, "more of its episodes may follow"
    (row,) = scored_episodes(server.reader, ["study-s"]).to_dict("records")
    logged = {score.metric: score.value for score in server.reader.scores(run_id="study-s")}
    assert (row["score"], row["questions"], row["robot"]) == (logged["score"], 1, "person")
    (frame,) = frames.episodes(server.reader, ["study-s"]).to_dict("records")
    assert (frame["answer.hard"], frame["score"]) == (3.0, logged["score"])
    (record,) = asking.read_asking(server.reader, ["study-s"]).askings
    assert (record.record.need, record.record.questions, record.record.right) == ("inferred", 1, True)
    assert run_summary(server.reader, BENCHMARK, ["study-s"]).sections
    last = show.watch(posed, turns[3:], len(turns) - 4)
    assert last[0].note.fields["cost"] == logged["questions"] * 10 + 4


async def test_the_paper_s_protocol_has_every_episode_once_and_reveals_no_level(server, data, lamp):
    server.again(study(data, settings={"mode": "full"}))
    episode, played = await enter(server), []
    while episode is not None:
        view = await server.sessions.view(episode, "robot")
        if view.stage != "task":
            view = await answer(server, episode, "robot", "yes", "ready")
        assert block(view, Places).notes == [message("rule.mode.full"), message("paper")]
        assert block(view, Menu) is None
        assert "task-" not in repr(view), "published names tell the level"
        await answer(server, episode, "robot", *lamp)
        played.append(server.reader.episode(episode).item_hash)
        episode = (await server.sessions.next_set(episode)).episode_id
    assert len(set(played)) == len(played) == 8


async def test_a_person_is_the_human_whom_a_robot_asks(server, data):
    server.again(study(data, "human", conditions=[NAME], settings={"protocol": "free"}))
    episode = await enter(server, language="zh")
    view = await answer(server, episode, "human", "yes", "ready")
    assert (view.my_turn, view.language) == (True, "zh")
    while view.stage != "done":
        view = await answer(server, episode, "human", "在架子上。")
    assert server.reader.episode(episode).seats == {"robot": "offline/partner", "human": "person"}
    assert server.reader.run("study-s").setup == "L2H"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"setup": "L2H"}, "setup must be H2L"),
        ({"seat": "human", "setup": "L2H"}, "people cannot take part as the human"),
        ({"settings": {"opposite": "offline/asker"}}, "opposite: 'offline/asker' cannot sit"),
        ({"settings": {"opposite": "person"}}, "opposite is a person"),
        ({"settings": {"mode": "dark"}}, "mode"),
        ({"settings": {"data": "nowhere"}}, "nowhere"),
    ],
)
def test_impossible_settings_are_refused(data, change, message):
    with pytest.raises(InputError, match=message):
        HouseholdStudy(study(**{"data": data, **change})).check()


def test_built_in_studies_are_the_paper_s_and_asking():
    held = {study.id: HouseholdStudy(study) for study in builtin_studies("handmethat")}
    rules = {name: (material.rules["protocol"], material.rules["mode"]) for name, material in held.items()}
    assert rules == {
        "handmethat-asking": ("free", "partial"),
        "handmethat-levels": ("paper", "partial"),
        "handmethat-levels-full": ("paper", "full"),
    }
    for material in held.values():
        material.check()
    assert len(held["handmethat-levels"].cells) == 100
