"""The head of a run on a cluster, without a cluster: it is a plain object until Ray makes an actor of it."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from logs import LogConflict, LogError, LogReader, NotInLog
from logs.codec import encode, table_of
from logs.insert import Written
from logs.relay import Posted, Relay
from logs.rows import Ending, Episode, Item, Run, Turn
from simulator.models import Budget, ModelOptions
from simulator.models.base import Completion
from simulator.runner.cluster.head import Head, pack, unpack

RUN = Run(id="run", benchmark="clarq", setup="L2L", seed=1)
ITEM = Item(hash="h", benchmark="clarq", name="item", language="en", data={})
EPISODE = Episode(id="e", run_id="run", item_hash="h", language="en", seats={}, seed=1)


def turn(number, text="hello", **more):
    return Turn(episode_id="e", number=number, seat="seeker", text=text, **more)


async def write(head, lease, *rows):
    return await send(head, lease, [(table_of(row).name, encode(row)) for row in rows])


async def send(head, lease, rows):
    return pickle.loads(await head.write("player", lease, *pack(rows)))


@pytest.fixture
async def head(log_path, tmp_path):
    options = ModelOptions(budget=Budget(3.0), cache_path=tmp_path / "cache.sqlite")
    head = Head(log_path, options, {}, {})
    yield head
    await head.close()


async def test_rows_are_acknowledged_when_they_are_committed(head, log_path):
    lease = await head.join("player")
    written = await write(head, lease, RUN, ITEM, EPISODE, turn(0))
    assert written == [Written(duplicate=False)] * 4
    with LogReader(log_path) as reader:
        assert [each.text for each in reader.turns("e")] == ["hello"]
    again, wrong = await write(head, lease, turn(0), turn(0, "something else"))
    assert again == Written(duplicate=True)
    assert isinstance(wrong, LogConflict)


async def test_nothing_is_taken_of_a_player_whose_episodes_others_play(head, log_path):
    lost = await head.join("player")
    await write(head, lost, RUN, ITEM, EPISODE, turn(0))
    await head.expel("player")
    (refused,) = await write(head, lost, turn(1))
    assert isinstance(refused, LogConflict)
    lease = await head.join("player")
    assert lease != lost
    assert await write(head, lease, turn(1)) == [Written(duplicate=False)]
    assert isinstance((await write(head, lost, turn(2)))[0], LogConflict)


def test_large_values_are_sent_in_small_arguments():
    value = ["x" * 1000] * 10 + list(map(str, range(60_000)))
    packed = list(pack(value))
    assert len(packed) > 3
    assert max(map(len, packed)) < 100 * 1024
    assert unpack(packed) == value


async def test_money_of_a_lost_player_is_held_to_be_spent(head):
    lost, other = await head.join("lost"), await head.join("other")
    assert not await head.reserve("lost", lost, 1.5)
    await head.settle("lost", lost, 1.5, 0.5)
    assert not await head.reserve("lost", lost, 2.0)
    await head.expel("lost")
    await head.settle("lost", lost, 2.0, 0.1)  # comes too late
    assert "only 0.5000 USD are left" in await head.reserve("other", other, 0.6)
    assert not await head.reserve("other", other, 0.5)


async def test_answers_are_kept_for_all(head):
    await head.keep("key", "openai/m", Completion(text="yes"))
    assert (await head.cached("key")).text == "yes"
    assert await head.cached("another") is None


async def test_a_relay_writes_as_the_log_does(head, log_path):
    lease = await head.join("player")
    groups = []

    async def send_group(rows):
        groups.append(len(rows))
        return await send(head, lease, rows)

    relay = Relay(send_group)
    await relay.write(RUN)
    for row in (ITEM, EPISODE, turn(0), turn(1)):
        relay.post(row)
    assert groups == [1]
    await relay.aflush()
    assert groups == [1, 4]
    with LogReader(log_path) as reader:
        assert len(reader.turns("e")) == 2
    assert await relay.write(Ending(episode_id="e", status="completed")) == Written(duplicate=False)


async def test_what_nobody_has_read_of_a_relays_errors_is_told_at_last(head):
    lease = await head.join("player")
    relay = Relay(lambda rows: send(head, lease, rows))
    with pytest.raises(NotInLog):
        await relay.write(turn(5))
    relay.post(turn(7))
    with pytest.raises(NotInLog, match="number 7"):
        await relay.aflush()
    await relay.aflush()
    relay.post(turn(7, payload={"number": float("nan")}))
    with pytest.raises(LogError, match="not JSON"):
        await relay.aflush()
    relay.post(turn(8), posted := Posted())
    relay.post(turn(9))
    with pytest.raises(NotInLog, match="number 8"):
        await relay.aflush()
    with pytest.raises(NotInLog, match="number 8"):
        posted.check()


async def test_a_relay_whose_writer_is_gone_says_so():
    async def send(rows):
        raise ConnectionError("the node is gone")

    relay = Relay(send)
    with pytest.raises(Exception, match=r"writer of the log cannot be reached: the node is gone"):
        await relay.write(RUN)
    await asyncio.sleep(0)
