from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logs import LogConflict, LogReader, LogWriter
from logs.insert import Written
from logs.rows import Turn

ROOT = Path(__file__).parents[2]
Ground = Callable[..., None]


@pytest.mark.parametrize("durable", [True, False])
def test_many_threads_each_play_their_own(path: Path, ground: Ground, durable: bool) -> None:
    threads, turns = 32, 25
    with LogWriter(path, durable=durable, group_seconds=0.005) as writer, LogReader(path) as reader:
        ground(writer, episodes=threads)

        def play(episode: int) -> None:
            for number in range(turns):
                turn = Turn(episode_id=f"e{episode}", number=number, seat="s", text=f"{episode} {number}")
                assert writer.put(turn).result() == Written(False)
                assert reader.turns(f"e{episode}")[-1].text == turn.text

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(play, range(threads)))
        numbers = {
            played.episode.id: [turn.number for turn in played.turns] for played in reader.turns_of_run("run")
        }
    assert numbers == {f"e{episode}": list(range(turns)) for episode in range(threads)}


def test_of_many_who_want_the_same_place_one_gets_it(writer: LogWriter) -> None:
    start = threading.Barrier(16)

    def submit(who: int) -> str:
        start.wait()
        try:
            return str(
                writer.put(Turn(episode_id="e0", number=0, seat="s", text=str(who % 4))).result().duplicate
            )
        except LogConflict:
            return "conflict"

    with ThreadPoolExecutor(16) as pool:
        outcomes = Counter(pool.map(submit, range(16)))
    assert outcomes == {"False": 1, "True": 3, "conflict": 12}


def test_a_double_click_from_two_tabs_makes_one_turn(writer: LogWriter, reader: LogReader) -> None:
    async def click(tab: int) -> bool:
        turn = Turn(episode_id="e0", number=0, seat="s", text=f"tab {tab}", key="the same key")
        return (await writer.write(turn)).duplicate

    async def both() -> list[bool]:
        return await asyncio.gather(*(click(tab) for tab in range(8)))

    assert sorted(asyncio.run(both())) == [False] + [True] * 7
    assert len(reader.turns("e0")) == 1


PROCESS = """
import sys
from pathlib import Path
from logs import LogWriter
from logs.rows import Turn
with LogWriter(Path(sys.argv[1]), durable=False, group_seconds=0.001) as writer:
    for number in range(150):
        writer.put(Turn(episode_id=f"e{sys.argv[2]}", number=number, seat="s", text=str(number))).result()
"""


def test_several_processes_write_the_same_file(path: Path, ground: Ground) -> None:
    with LogWriter(path, durable=True) as writer:
        ground(writer, episodes=3)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(path), str(episode)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        for episode in range(3)
    ]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    with LogReader(path) as reader:
        assert [len(played.turns) for played in reader.turns_of_run("run")] == [150] * 3


def test_several_threads_make_the_same_new_file(path: Path) -> None:
    start = threading.Barrier(8)

    def make(_: int) -> None:
        start.wait()
        LogWriter(path, durable=True).close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(8)))
    with LogReader(path) as reader:
        assert reader.runs() == []


Submission = tuple[int, str, str | None]
submissions = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["a", "b"]), st.sampled_from([None, "k", "l", "m"])),
    max_size=25,
)
waits = st.lists(st.booleans(), min_size=25, max_size=25)


def outcomes_of_a_model(sent: list[Submission]) -> tuple[list[str], list[Submission]]:
    """Return the expected outcomes of submissions, from a log that is a list."""
    log: list[Submission] = []
    outcomes = []
    for submission in sent:
        number, _, key = submission
        if key is not None and key in [there[2] for there in log]:
            outcomes.append("duplicate")
        elif number < len(log):
            outcomes.append("duplicate" if log[number] == submission else "conflict")
        elif number > len(log):
            outcomes.append("conflict")
        else:
            log.append(submission)
            outcomes.append("written")
    return outcomes, log


@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sent=submissions, waits=waits)
def test_any_sequence_of_submissions_ends_as_it_should(
    writer: LogWriter, reader: LogReader, sent: list[Submission], waits: list[bool]
) -> None:
    episode = _fresh_episode(writer, reader)
    receipts = []
    for (number, text, key), wait in zip(sent, waits, strict=False):
        turn = Turn(episode_id=episode, number=number, seat="s", text=text, key=key)
        receipts.append(writer.put(turn))
        if wait:
            writer.put(turn).exception()
    outcomes = []
    for receipt in receipts:
        error = receipt.exception()
        assert error is None or isinstance(error, LogConflict)
        outcomes.append("conflict" if error else "duplicate" if receipt.result().duplicate else "written")
    expected, log = outcomes_of_a_model(sent)
    assert outcomes == expected
    assert [(turn.number, turn.text, turn.key) for turn in reader.turns(episode)] == log


def _fresh_episode(writer: LogWriter, reader: LogReader) -> str:
    """Another episode in the same file, so that a file need not be made for each example."""
    first = reader.episode("e0")
    repeat = len(reader.episodes())
    name = f"x{repeat}"
    fields = {field: getattr(first, field) for field in ("run_id", "item_hash", "language", "seats", "seed")}
    writer.put(type(first)(id=name, repeat=repeat, **fields)).result()
    return name
