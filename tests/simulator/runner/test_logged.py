"""Readers of a run's logged episodes, for any benchmark."""

from __future__ import annotations

import pytest

from logs import LogReader, LogWriter
from logs.erase import erase_participant
from logs.rows import Ending, Episode, Item, Participant, Run, Turn
from simulator.errors import InputError
from simulator.runner.logged import (
    endings_of_runs,
    erased_episodes,
    not_counting,
    played_items,
    required_run,
    seat_failed,
)


@pytest.fixture
def reader(tmp_path):
    """A run of six episodes: two failed for one reason, one open, one of each other ending."""
    path = tmp_path / "log.sqlite"
    item = Item(hash="i", benchmark="toy", name="one", language="en", data={})
    endings = (
        ("a", Ending(episode_id="r/a", status="completed")),
        ("b", Ending(episode_id="r/b", status="failed", message="no server")),
        ("c", Ending(episode_id="r/c", status="aborted", message="no move")),
        ("d", Ending(episode_id="r/d", status="failed", message="no server")),
        ("e", Ending(episode_id="r/e", status="truncated")),
        ("f", None),
    )
    with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="toy", setup="H2L", seed=0, config={}))
        log.put(item)
        log.put(Participant(id="p"))
        for repeat, (name, ending) in enumerate(endings):
            log.put(
                Episode(
                    id=f"r/{name}",
                    run_id="r",
                    item_hash="i",
                    language="en",
                    seats={"robot": "person"},
                    seed=repeat,
                    repeat=repeat,
                    participant_id="p" if name == "a" else None,
                )
            )
            whose = {"participant_id": "q"} if name == "e" else {}
            log.put(Turn(episode_id=f"r/{name}", number=0, seat="robot", text="take it", payload=whose))
            if ending is not None:
                log.put(ending)
    with LogReader(path) as log_reader:
        yield log_reader


def test_a_report_tells_of_every_episode(reader):
    statuses, failures, _, left = endings_of_runs(reader, ["r"])
    assert statuses == {"completed": 1, "failed": 2, "aborted": 1, "truncated": 1, "open": 1}
    assert failures == {"no server": 2}
    assert sum(left.values()) == 1
    assert endings_of_runs(reader, ["r", "r"]).failures == {"no server": 4}


def test_what_was_played_to_its_end_leaves_out_who_is_gone(reader):
    assert [item.episode.id for item in played_items(reader, "r", gone=frozenset())] == ["r/a", "r/e"]
    assert [item.ending.status for item in played_items(reader, "r", gone=frozenset({"p"}))] == ["truncated"]


def test_whoever_took_part_in_an_episode_can_take_it_back(tmp_path, reader):
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log:
        log.put(Participant(id="q"))
    assert erased_episodes(reader, "r") == frozenset()
    assert not_counting(reader, "r") == (1, 3, 0)
    erase_participant(path, "q")
    assert erased_episodes(reader, "r") == {"r/e"}
    gone = reader.erased_participants()
    assert [item.episode.id for item in played_items(reader, "r", gone=gone)] == ["r/a"]
    statuses, failures, _, left = endings_of_runs(reader, ["r"])
    assert statuses == {"completed": 1, "failed": 2, "aborted": 1, "erased": 1, "open": 1}
    assert failures == {"no server": 2}
    assert sum(left.values()) == 1
    assert not_counting(reader, "r") == (1, 3, 1)


def test_a_run_of_another_benchmark_is_none_of_ours(reader):
    assert required_run(reader, "r", "toy").seed == 0
    with pytest.raises(InputError, match="r is a run of toy, not of kitchens"):
        required_run(reader, "r", "kitchens")


def test_only_a_seat_that_nobody_sits_in_fails():
    def failed(status, cause, **seats):
        episode = Episode(id="e", run_id="r", item_hash="i", language="en", seats=seats, seed=0)
        return seat_failed(episode, Ending(episode_id="e", status=status, cause=cause))

    model = {"seeker": "openai/m", "provider": "person"}
    assert failed("aborted", "seeker", **model)
    assert failed("aborted", "parser", **model)
    # A person who withdraws or does not consent has not failed.
    assert not failed("aborted", "provider", **model)
    assert not failed("aborted", None, **model)
    assert not failed("aborted", "infrastructure", **model)
    assert not failed("failed", "seeker", **model)
    assert not failed("truncated", "seeker", **model)


def test_what_a_failing_seat_aborted_can_be_played_to_its_end(tmp_path):
    path = tmp_path / "other.sqlite"
    with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="toy", setup="L2L", seed=0, config={}))
        log.put(Item(hash="i", benchmark="toy", name="one", language="en", data={}))
        for repeat, status in enumerate(("completed", "aborted", "aborted", "failed")):
            name = f"r/{repeat}"
            seats = {"robot": "a/b"}
            log.put(
                Episode(id=name, run_id="r", item_hash="i", language="en", seats=seats, seed=0, repeat=repeat)
            )
            log.put(Ending(episode_id=name, status=status, cause="robot", message="no move"))
    with LogReader(path) as reader:
        assert [item.episode.id for item in played_items(reader, "r", gone=frozenset())] == ["r/0"]
        assert [item.episode.id for item in played_items(reader, "r", aborted=True)] == ["r/0", "r/1", "r/2"]
        assert endings_of_runs(reader, ["r"]).aborted == {"robot: no move": 2}
        assert not_counting(reader, "r") == (0, 1, 0)
