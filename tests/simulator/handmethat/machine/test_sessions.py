"""Episodes with people, through the log."""

from __future__ import annotations

import pytest

from logs import LogReader, LogWriter
from simulator import catalog
from simulator.blocks import Meter, Talk
from simulator.errors import ConflictError, InputError
from simulator.handmethat.data import load_tasks
from simulator.handmethat.machine import MACHINE
from simulator.handmethat.playing import Posed
from simulator.handmethat.reveal import result
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.models import ScriptModel
from simulator.seats import Reply

HANDMETHAT = catalog.find("handmethat")
OTHERS = {"human": "offline/giver"}
ASK = "question: where is the object you want"
NAME = "task-bring_me-3-0-2"


class Server:
    """A web app that can be killed and started again on the same log."""

    def __init__(self, path, data):
        self._path, self._data = path, data
        self.start()

    def start(self):
        self.writer = LogWriter(self._path, durable=True)
        self.reader = LogReader(self._path)
        self.sessions = HandMeThatSessions(
            HANDMETHAT, self.writer, self.reader, lambda name: ScriptModel(str), data=str(self._data), env={}
        )
        self.builtin = HandMeThatSessions(
            HANDMETHAT, self.writer, self.reader, lambda name: ScriptModel(str), env={}
        )

    def stop(self):
        self.reader.close()
        self.writer.close()


@pytest.fixture
def server(log_path, data):
    server = Server(log_path, data)
    yield server
    server.stop()


@pytest.fixture
def sessions(server):
    return server.sessions


async def begin(sessions, seat="robot", others=OTHERS, language="en", name=NAME, **rules):
    """Begin an episode of the task called `name`; None for any."""
    place = None if name is None else [task.id for task in sessions.tasks].index(name) + 1
    return await sessions.start(seat=seat, others=others, rules=rules, item=place, language=language)


def spent(view):
    """The moves so far and the points that they cost."""
    (meter,) = (block for block in view.blocks if isinstance(block, Meter))
    return meter.value, meter.note.fields["cost"]


def figures(result):
    """The numbers of a result, by what they are called."""
    return {figure.name.name: figure.value for figure in result.blocks[0].figures}


async def play(sessions, episode, commands, seat="robot"):
    view = await sessions.view(episode, seat)
    for command in commands:
        reply = Reply(text=command, key=f"{view.number}/{command}")
        view = await sessions.submit(episode, seat, reply, number=view.number)
    return view


async def test_a_person_asks_fetches_and_sees_what_was_meant(sessions, lamp):
    episode = await begin(sessions)
    view = await sessions.view(episode, "robot")
    assert (view.stage, view.my_turn, view.number) == ("task", True, 1)
    with pytest.raises(ConflictError):
        await sessions.replay(episode, "robot")
    view = await play(sessions, episode, [ASK, *lamp[:-1]])
    assert spent(view) == (4, 13)
    view = await play(sessions, episode, lamp[-1:])
    assert view.stage == "done"
    result = await sessions.replay(episode, "robot")
    assert result.blocks[0].good
    assert (figures(result)["result.score"], figures(result)["result.questions"]) == ("86", "1")


async def test_a_killed_server_loses_and_doubles_nothing(server, lamp):
    episode = await begin(server.sessions, language="zh")
    await play(server.sessions, episode, [ASK, *lamp[:2]])
    before = await server.sessions.view(episode, "robot")
    server.stop()
    server.start()
    assert await server.sessions.view(episode, "robot") == before
    again = Reply(text=lamp[1], key=f"{before.number - 1}/{lamp[1]}")
    assert await server.sessions.submit(episode, "robot", again) == before
    await play(server.sessions, episode, lamp[2:])
    scores = {score.metric: score.value for score in server.reader.scores(episode_id=episode)}
    assert (scores["success"], scores["questions"]) == (1, 1)


async def test_two_people_play_together(sessions, lamp):
    episode = await begin(sessions, others={"human": "person"}, mode="full")
    view = await play(sessions, episode, [ASK])
    assert (view.my_turn, view.waits_for, view.people) == (False, "human", ("human",))
    human = await sessions.view(episode, "human")
    (talk,) = (block for block in human.blocks if isinstance(block, Talk))
    assert (human.my_turn, talk.moves[-1].text) == (True, ASK.removeprefix("question: "))
    human = await play(sessions, episode, ["On the shelf."], seat="human")
    assert not human.my_turn
    await play(sessions, episode, lamp)
    assert (await sessions.replay(episode, "human")).blocks[0].good


async def test_a_person_gives_the_instruction_to_a_robot(sessions):
    episode = await begin(sessions, "human", {"robot": "offline/asker:1"})
    view = await sessions.view(episode, "human")
    assert view.my_turn
    view = await play(sessions, episode, ["It is on the shelf."], seat="human")
    assert view.stage == "done"
    assert (await sessions.replay(episode, "human")).blocks[0].good


async def test_the_default_partner_asks_back(server):
    """However clear the instruction; and the person is told what the robot did, and why it ended."""
    partner = server.sessions.opponents("robot")[0].name
    for task in load_tasks()[::9]:
        for mode in ("partial", "full"):
            episode = await begin(server.builtin, "human", {"robot": partner}, name=task.id, mode=mode)
            view = await server.builtin.view(episode, "human")
            asked = 0
            while view.my_turn:
                asked += 1
                view = await play(server.builtin, episode, ["I do not understand."], seat="human")
            assert asked in (1, 2), (task.id, mode)
            turns = server.reader.turns(episode)
            shown = result(MACHINE.replay(Posed(task, "en"), turns, ()), "human", in_study=False)
            _, why, did, *_ = shown.blocks
            rows = did.blocks[0].rows
            assert [bool(answer) for _, answer in rows[:asked]] == [True] * asked
            assert len(rows) == sum(turn.seat == "robot" for turn in turns)
            text = why.blocks[0].text
            over = text.name.removeprefix("result.over_")
            assert over in ("success", "stopped", "gave_up", "limit")
            assert over == "limit" or bool(text.fields["deed"]) == (over != "gave_up")


async def test_any_task_of_a_level(server):
    episode = await begin(server.sessions, name=None, level=4)
    await play(server.sessions, episode, ["stop"])
    item = MACHINE.read_item(server.reader.item(server.reader.episode(episode).item_hash))
    assert item.task.level == 4
    with pytest.raises(InputError, match="level"):
        await begin(server.sessions, name=None, level=7)


async def test_names_from_a_browser_cannot_reach_other_files(sessions):
    for others in ({"human": "script:x"}, {"human": "openai/gpt-4o"}, {"human": "drrn:x"}, {}):
        with pytest.raises(InputError, match="choose a player"):
            await begin(sessions, others=others)
    for change in ({"mode": "dark"}, {"language": "fr"}, {"seat": "house"}):
        with pytest.raises(InputError):
            await begin(sessions, **change)
    for item in (0, 9):
        with pytest.raises(InputError, match="from 1 to 8"):
            await sessions.start(seat="robot", others=OTHERS, rules={}, item=item)
    assert [opponent.name for opponent in sessions.opponents("human") if opponent.available] == [
        "offline/giver",
        "person",
    ]
    assert "offline/asker:2" in {opponent.name for opponent in sessions.opponents("robot")}
    assert not sessions.items and not sessions.item_menu("en"), "names tell what is meant"


async def test_missing_data_are_reported(server):
    nowhere = HandMeThatSessions(
        HANDMETHAT, server.writer, server.reader, lambda name: ScriptModel(str), data="nowhere", env={}
    )
    with pytest.raises(InputError, match="nowhere"):
        await nowhere.start(seat="robot", others=OTHERS, rules={})
