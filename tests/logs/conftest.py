from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Item, ModelCall, Run, Score, Turn

Ground = Callable[..., None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def ground() -> Ground:
    """Writes what turns stand on: a run, an item and episodes e0, e1, …"""

    def lay(writer: LogWriter, episodes: int = 1, run: str = "run") -> None:
        writer.put(Run(id=run, benchmark="clarq", setup="L2L", seed=7, config={"planned": episodes}))
        writer.put(Item(hash="item", benchmark="clarq", name="1.0", language="en", data={"task": "wood"}))
        for number in range(episodes):
            writer.put(
                Episode(
                    id=f"e{number}",
                    run_id=run,
                    item_hash="item",
                    language="en",
                    seats={"seeker": "script", "provider": "offline/experts"},
                    seed=number,
                    repeat=number,
                )
            )
        writer.flush()

    return lay


@pytest.fixture
def writer(path: Path, ground: Ground) -> Iterator[LogWriter]:
    with LogWriter(path, durable=True) as writer:
        ground(writer, episodes=3)
        yield writer


@pytest.fixture
def reader(writer: LogWriter) -> Iterator[LogReader]:
    with LogReader(writer.path) as reader:
        yield reader


@pytest.fixture
def turn() -> Callable[..., Turn]:
    def make(number: int = 0, text: str = "Which wood?", **fields: object) -> Turn:
        return Turn(**{"episode_id": "e0", "number": number, "seat": "seeker", "text": text} | fields)

    return make


@pytest.fixture
def dialogue(writer: LogWriter, turn: Callable[..., Turn]) -> LogWriter:
    writer.put(turn(0, "What can help you?", seat="provider"))
    writer.put(turn(1, "Which wood?\nOak?", seconds=2.5))
    trace = {"give": ["1.2"], "reason": "asks for the *wood*", "guards": [], "seen": None}
    writer.put(turn(2, "Oak.", seat="provider", payload=trace))
    call = {"episode_id": "e0", "model": "openai/x"}
    writer.put(
        ModelCall(
            id="c1",
            turn_number=2,
            purpose="provider.type",
            request={"key": "abc"},
            response={"text": "details", "thought": "Oak or\npine?", "finish_reason": "length"},
            input_tokens=12,
            output_tokens=3,
            cost=0.0012,
            seconds=0.4,
            **call,
        )
    )
    writer.put(ModelCall(id="c2", turn_number=None, purpose="judge", error="RateLimited", attempts=3, **call))
    writer.put(Score(episode_id="e0", metric="success", value=1.0, version="1"))
    writer.put(Score(episode_id="e0", metric="aql", value=None, version="1"))
    writer.put(Ending(episode_id="e0", status="aborted", cause="seeker", message="left [early]"))
    writer.flush()
    return writer
