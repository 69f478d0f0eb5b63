"""Episodes with people, through the log."""

from __future__ import annotations

import pytest

from logs import LogReader, LogWriter
from simulator.errors import ConflictError, InputError
from simulator.handmethat.builtin import builtin_tasks
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.models import ScriptModel
from simulator.seats import Reply

SEATS = {"robot": "person", "human": "offline/giver"}
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
            self.writer, self.reader, lambda name: ScriptModel(str), data=str(self._data), env={}
        )
        self.builtin = HandMeThatSessions(self.writer, self.reader, lambda name: ScriptModel(str), env={})

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


async def play(sessions, episode, commands, seat="robot"):
    view = await sessions.view(episode, seat)
    for command in commands:
        reply = Reply(text=command, key=f"{view.number}/{command}")
        view = await sessions.submit(episode, seat, reply, number=view.number)
    return view


async def test_a_person_asks_fetches_and_sees_what_was_meant(sessions, lamp):
    episode = await sessions.start(task_id=NAME, language="en", seats=SEATS)
    view = await sessions.view(episode, "robot")
    assert (view.my_turn, view.number, view.mode, view.protocol) == (True, 1, "partial", "free")
    with pytest.raises(ConflictError):
        await sessions.replay(episode, "robot")
    view = await play(sessions, episode, [ASK, *lamp])
    assert (view.ended, view.success, view.cost) == (True, True, 14)
    replay = await sessions.replay(episode, "robot")
    assert replay.level == 2
    assert replay.scores["score"] == 86


async def test_a_killed_server_loses_and_doubles_nothing(server, lamp):
    episode = await server.sessions.start(task_id=NAME, language="zh", seats=SEATS)
    await play(server.sessions, episode, [ASK, *lamp[:2]])
    before = await server.sessions.view(episode, "robot")
    server.stop()
    server.start()
    assert await server.sessions.view(episode, "robot") == before
    again = Reply(text=lamp[1], key=f"{before.number - 1}/{lamp[1]}")
    assert await server.sessions.submit(episode, "robot", again) == before
    view = await play(server.sessions, episode, lamp[2:])
    assert view.success
    scores = {score.metric: score.value for score in server.reader.scores(episode_id=episode)}
    assert (scores["success"], scores["questions"]) == (1, 1)


async def test_two_people_play_together(sessions, lamp):
    episode = await sessions.start(
        task_id=NAME, language="en", seats={"robot": "person", "human": "person"}, options={"mode": "full"}
    )
    view = await play(sessions, episode, [ASK])
    assert (view.my_turn, view.waiting_for) == (False, "human")
    human = await sessions.view(episode, "human")
    assert (human.my_turn, human.pending) == (True, ASK)
    human = await play(sessions, episode, ["On the shelf."], seat="human")
    assert not human.my_turn
    view = await play(sessions, episode, lamp)
    assert view.success


async def test_a_person_gives_the_instruction_to_a_robot(sessions):
    episode = await sessions.start(
        task_id=NAME, language="en", seats={"robot": "offline/asker:1", "human": "person"}
    )
    view = await sessions.view(episode, "human")
    assert view.my_turn
    view = await play(sessions, episode, ["It is on the shelf."], seat="human")
    assert (view.ended, view.success) == (True, True)


async def test_whom_a_person_plays_with_by_default_asks_back(server):
    """However clear the instruction; and the person is told what the robot did, and why it ended."""
    partner = server.sessions.opponents("human")[0].name
    for task in builtin_tasks()[::9]:
        for mode in ("partial", "full"):
            episode = await server.builtin.start(
                task_id=task.id,
                language="en",
                seats={"robot": partner, "human": "person"},
                options={"mode": mode},
            )
            view = await server.builtin.view(episode, "human")
            asked = 0
            while view.my_turn:
                asked += 1
                view = await play(server.builtin, episode, ["I do not understand."], seat="human")
            assert asked in (1, 2), (task.id, mode)
            replay = await server.builtin.replay(episode, "human")
            assert [bool(deed.answer) for deed in replay.deeds[:asked]] == [True] * asked
            assert len(replay.deeds) == view.moves
            assert replay.over == ("success" if view.success else replay.over) != ""
            assert (
                bool(replay.carried_out) == (replay.over in ("success", "stopped")) or replay.over == "limit"
            )


async def test_any_task_of_a_level(sessions):
    episode = await sessions.start(task_id=None, language="en", seats=SEATS, level=4)
    await play(sessions, episode, ["stop"])
    assert (await sessions.replay(episode, "robot")).level == 4
    with pytest.raises(InputError, match="level 7"):
        await sessions.start(task_id=None, language="en", seats=SEATS, level=7)


def test_the_catalog_tells_levels_and_instructions(sessions):
    catalog = sessions.catalog("en")
    assert len(catalog) == 8
    assert catalog[0].task_id == "task-bring_me-3-0-1"
    assert {entry.level for entry in catalog} == {1, 2, 3, 4}
    assert "lamp" in catalog[0].title
    assert "shelf" not in catalog[0].title
    assert sessions.catalog("zh")[0].title != catalog[0].title


async def test_names_from_a_browser_reach_nothing_else(sessions):
    for seats in ({**SEATS, "human": "script:x"}, {**SEATS, "human": "openai/gpt-4o"}, {"robot": "drrn:x"}):
        with pytest.raises(InputError, match="pick somebody"):
            await sessions.start(task_id=NAME, language="en", seats=seats)
    for change in ({"task_id": "gone"}, {"options": {"mode": "dark"}}):
        with pytest.raises(InputError):
            await sessions.start(**{"task_id": NAME, "language": "en", "seats": SEATS, **change})
    assert [one.name for one in sessions.opponents("robot") if one.available] == ["offline/giver", "person"]
    assert "offline/asker:2" in {one.name for one in sessions.opponents("human")}
