"""The cost of a logged turn: `python tests/benchmarks log`.

Four ways to write the same turns, each into a new file beside the others: our writer with futures that nobody
waits for (as batch runs use it), the same with 200 tasks that await every turn, both again durable (as
people's turns are written), and, for comparison, sqlite-utils with a commit for every row. CPU is that of
the whole process, making the rows included; the ratio is to the comparison's CPU in the same run.
"""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rows import Row, main
from sqlite_utils import Database

from logs import LogReader, LogWriter
from logs.rows import Episode, Item, Run, Turn

EPISODES = 200
TEXT = "I found two kinds of wood near the old mill. Which of them does the carpenter need for the bridge?"
PAYLOAD = {
    "give": ["1.2"],
    "reason": "the seeker asks which wood is meant, and this node names it",
    "frontier_before": ["1.2", "2", "3"],
    "frontier_after": ["1.2.1", "2", "3"],
}


class Cost(NamedTuple):
    """Microseconds of CPU per turn, and turns per second of wall time."""

    cpu: float
    rate: float


def turn(episode: int, number: int) -> Turn:
    return Turn(
        episode_id=f"e{episode}",
        number=number,
        seat="seeker",
        text=TEXT,
        payload=PAYLOAD,
        key=f"key-{number}",
    )


def turns(count: int) -> Iterator[Turn]:
    return (turn(place % EPISODES, place // EPISODES) for place in range(count))


def ground(writer: LogWriter) -> None:
    writer.put(Run(id="run", benchmark="clarq", setup="L2L", seed=1))
    writer.put(Item(hash="item", benchmark="clarq", name="1.0", language="en", data={}))
    for number in range(EPISODES):
        writer.put(
            Episode(
                id=f"e{number}",
                run_id="run",
                item_hash="item",
                language="en",
                seats={},
                seed=1,
                repeat=number,
            )
        )
    writer.flush()


def measured(count: int, work: Callable[[], None]) -> Cost:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Cost((time.process_time() - cpu) / count * 1e6, count / (time.perf_counter() - wall))


def put_all(path: Path, count: int, durable: bool) -> Cost:
    with LogWriter(path, durable=durable) as writer:
        ground(writer)

        def work() -> None:
            for row in turns(count):
                writer.put(row)
            writer.flush()

        return measured(count, work)


def await_each(path: Path, count: int, durable: bool) -> Cost:
    with LogWriter(path, durable=durable) as writer:
        ground(writer)

        async def play(episode: int) -> None:
            for number in range(count // EPISODES):
                await writer.write(turn(episode, number))

        async def play_all() -> None:
            await asyncio.gather(*(play(episode) for episode in range(EPISODES)))

        return measured(count, lambda: asyncio.run(play_all()))


def naive(path: Path, count: int, durable: bool) -> Cost:
    with LogWriter(path, durable=durable) as writer:
        ground(writer)
    db = Database(path)
    db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")

    def work() -> None:
        for row in turns(count):
            db.table("turns").insert(dataclasses.asdict(row))

    cost = measured(count, work)
    db.close()
    return cost


def check(path: Path, count: int) -> None:
    with LogReader(path) as reader:
        there = sum(len(played.turns) for played in reader.turns_of_run("run"))
    assert there == count, f"{there} turns in {path}, not {count}"


def rows() -> Iterator[Row]:
    """Yield what a logged turn costs beside a commit for every row."""
    count = 10_000
    with tempfile.TemporaryDirectory() as folder:
        for durable in (False, True):
            mode = "durable" if durable else "batch"
            ways = (put_all, await_each, naive)
            counts = {put_all: count, await_each: count, naive: count // 10}
            paths = {way: Path(folder) / f"{mode}-{way.__name__}.sqlite" for way in ways}
            ours, awaited, theirs = (way(paths[way], counts[way], durable) for way in ways)
            for way in ways:
                check(paths[way], counts[way])
            for how, cost in (("put, then flush", ours), (f"{EPISODES} tasks await each", awaited)):
                yield Row(
                    work=f"Log: a turn, {mode}, {how}",
                    ours=cost.cpu,
                    unit="µs",
                    peer="sqlite-utils, a commit per row",
                    theirs=theirs.cpu,
                    remark=f"CPU; {cost.rate:,.0f} turns a second",
                )


if __name__ == "__main__":
    main(rows)
