"""Test imported runs: importing again adds nothing, and completes an interrupted import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from logs import LogReader, LogWriter
from logs.rows import Episode, Item, Run, Turn, content_hash
from simulator.errors import InputError
from simulator.tables.importing import EpisodeRows, file_digest, write_run


def run(**config: str) -> Run:
    config = {"imported": "a.jsonl", "sha256": "00", **config}
    return Run(id="run", benchmark="words", setup="L2L", seed=0, config=config)


def episodes(count: int, stop: int | None = None) -> Iterator[EpisodeRows]:
    """Episodes of one item."""
    data = {"word": "x"}
    item = Item(hash=content_hash(data), benchmark="words", name="x", language="en", data=data)
    for number in range(count):
        if number == stop:
            raise KeyboardInterrupt
        id = f"run/{number}"
        episode = Episode(
            id=id, run_id="run", item_hash=item.hash, language="en", seats={"robot": "published"}, seed=0
        )
        turns = [Turn(episode_id=id, number=0, seat="robot", text="Yes.")]
        yield EpisodeRows(episode, item, turns, [], "completed")


def test_the_same_again_adds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log:
        assert write_run(log, run(), episodes(2)) == (True, 2, 2)
        assert write_run(log, run(), episodes(2)) == (False, 2, 0)
        with pytest.raises(InputError, match="The log has a different run 'run'"):
            write_run(log, run(model="other"), episodes(2))
    with LogReader(path) as reader:
        assert [episode.repeat for episode in reader.episodes("run")] == [0, 1]
        assert len(reader.events(run_id="run", kind="import")) == 1


def test_what_was_cut_off_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log, pytest.raises(KeyboardInterrupt):
        write_run(log, run(), episodes(3, stop=1))
    with LogWriter(path, durable=False) as log:
        assert write_run(log, run(), episodes(3)) == (False, 3, 2)
    with LogReader(path) as reader:
        assert len(reader.events(run_id="run", kind="import")) == 1


def test_a_file_that_is_not_there_has_no_digest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        file_digest(tmp_path / "none")
