from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from logs import LogError, LogReader, LogWriter, ModelUsage, NotInLog, Played, Progress
from logs.rows import Ending, Episode, Event, Judgment, ModelCall, Participant, Run, Score, Turn


@pytest.fixture
def played(writer: LogWriter, turn: Callable[..., Turn]) -> LogWriter:
    """e0 completed with two turns, e1 failed and is played again as e1-again, e2 has not begun."""
    writer.put(turn(0))
    writer.put(turn(1, "The oak.", seat="provider"))
    writer.put(Ending(episode_id="e0", status="completed"))
    writer.put(turn(0, episode_id="e1"))
    writer.put(Ending(episode_id="e1", status="failed", cause="infrastructure"))
    here = {"item_hash": "item", "language": "en", "seats": {}, "seed": 1}
    writer.put(Episode(id="e1-again", run_id="run", repeat=1, attempt=1, **here))
    writer.put(Run(id="run-2", benchmark="clarq", setup="H2L", seed=1))
    writer.put(Participant(id="p"))
    writer.put(Episode(id="other", run_id="run-2", participant_id="p", **here))
    writer.flush()
    return writer


def ids(episodes: list[Episode]) -> list[str]:
    return [episode.id for episode in episodes]


def test_episodes_are_chosen_by_run_status_person_and_attempt(played: LogWriter, reader: LogReader) -> None:
    assert ids(reader.episodes()) == ["e0", "e1", "e2", "e1-again", "other"]
    assert ids(reader.episodes("run")) == ["e0", "e1", "e2", "e1-again"]
    assert ids(reader.episodes("run", latest=True)) == ["e0", "e2", "e1-again"]
    assert ids(reader.episodes("run", status="failed")) == ["e1"]
    assert ids(reader.episodes("run", status="failed", latest=True)) == []
    assert ids(reader.episodes("run", status="running")) == ["e2", "e1-again"]
    assert ids(reader.episodes(participant_id="p")) == ["other"]


def test_a_run_streams_its_episodes_with_their_turns(played: LogWriter, reader: LogReader) -> None:
    streamed = list(reader.turns_of_run("run", latest=False))
    assert streamed == [Played(episode, reader.turns(episode.id)) for episode in reader.episodes("run")]
    assert [len(entry.turns) for entry in streamed] == [2, 1, 0, 0]
    assert ids([entry.episode for entry in reader.turns_of_run("run", status="completed")]) == ["e0"]
    assert list(reader.turns_of_run("nowhere")) == []


def test_streaming_does_not_sort_the_texts(played: LogWriter, reader: LogReader) -> None:
    seen: list[str] = []
    with reader.connection() as connection:
        connection.set_trace_callback(seen.append)
    next(reader.turns_of_run("run"))
    with reader.connection() as connection:
        connection.set_trace_callback(None)
        (query,) = [statement for statement in seen if "LEFT JOIN turns" in statement]
        plan = [record[3] for record in connection.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert not any("TEMP B-TREE" in step for step in plan), plan


def test_a_stream_left_in_the_middle_gives_its_connection_back(played: LogWriter, reader: LogReader) -> None:
    for _ in range(20):
        stream = reader.turns_of_run("run")
        next(stream)
        stream.close()
    assert len(reader._idle) == 1


def test_a_stream_sees_one_moment(played: LogWriter, reader: LogReader, turn: Callable[..., Turn]) -> None:
    stream = reader.turns_of_run("run")
    next(stream)
    played.put(turn(0, episode_id="e2")).result()
    assert [len(entry.turns) for entry in stream] == [0, 0]
    assert [len(entry.turns) for entry in reader.turns_of_run("run")] == [2, 1, 0]


def test_endings(played: LogWriter, reader: LogReader) -> None:
    assert {name: ending.status for name, ending in reader.endings("run").items()} == {
        "e0": "completed",
        "e1": "failed",
    }
    assert reader.ending("e2") is None


def test_progress_counts_latest_attempts(played: LogWriter, reader: LogReader) -> None:
    progress = reader.progress("run")
    assert progress == Progress(planned=3, running=2, completed=1)
    assert progress.done == 1
    assert reader.progress("run-2") == Progress(planned=None, running=1)


def test_usage_leaves_cached_answers_out_of_the_sums(played: LogWriter, reader: LogReader) -> None:
    def call(name: str, model: str = "openai/x", **fields: object) -> None:
        base = {"episode_id": "e0", "turn_number": 0, "purpose": "seeker"}
        played.put(ModelCall(id=name, model=model, **base | fields))

    call("1", input_tokens=10, output_tokens=5, cost=0.5, seconds=1.0)
    call("2", input_tokens=10, output_tokens=5, cost=0.5, seconds=1.0, cached=True)
    call("3", error="RateLimited", seconds=2.0)
    call("4", "local/y", input_tokens=7, output_tokens=1)
    call("5", "local/y", episode_id="other", cost=9.0)
    played.flush()
    assert reader.usage("run") == [
        ModelUsage("openai/x", 3, 1, 1, 10, 5, 0.5, 1, 3.0),
        ModelUsage("local/y", 1, 0, 0, 7, 1, 0.0, 1, 0.0),
    ]


def test_rows_about_episodes_are_chosen_by_what_is_given(played: LogWriter, reader: LogReader) -> None:
    played.put(Judgment(id="a", episode_id="e0", annotator="p", kind="success", value={"yes": True}))
    played.put(Judgment(id="b", episode_id="other", annotator="q", kind="success", value={"yes": False}))
    played.put(Judgment(id="c", episode_id=None, item_hash="item", annotator="p", kind="reading", value={}))
    played.put(Score(episode_id="e0", metric="success", value=1.0, version="1"))
    played.put(Score(episode_id="other", metric="aqd", value=2.0, version="1"))
    played.put(Event(kind="reload", run_id="run-2", participant_id="p"))
    played.flush()
    assert [row.id for row in reader.judgments(run_id="run")] == ["a"]
    assert [row.id for row in reader.judgments(annotator="p")] == ["a", "c"]
    assert [row.id for row in reader.judgments(item_hash="item", kind="reading")] == ["c"]
    assert [row.metric for row in reader.scores(run_id="run-2")] == ["aqd"]
    assert [row.metric for row in reader.scores(metric="success")] == ["success"]
    assert [row.kind for row in reader.events(run_id="run-2", participant_id="p")] == ["reload"]
    assert [item.hash for item in reader.items("run")] == ["item"]
    assert reader.items("nowhere") == []


@pytest.mark.parametrize(
    ("look", "error"),
    [
        (lambda reader: reader.run("run-3"), r"no run 'run-3' .*log\.sqlite.*Did you mean run-2, run\?"),
        (lambda reader: reader.episode("e1-agian"), r"Did you mean e1-again"),
        (lambda reader: reader.item("zzzz"), r"The newest are item\."),
        (lambda reader: reader.participant("who"), r"no participant 'who'.*The newest are p\."),
        (lambda reader: reader.progress("run-3"), r"no run 'run-3'"),
        (lambda reader: reader.find_episode("e1"), None),
        (lambda reader: reader.find_episode("e"), r"several episodes match 'e': e0, e1, e2, e1-again"),
        (lambda reader: reader.find_episode("x"), r"no episode 'x'"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_what_is(
    played: LogWriter, reader: LogReader, look: Callable[[LogReader], object], error: str | None
) -> None:
    if error is None:
        assert isinstance(look(reader), Episode)
        return
    with pytest.raises(NotInLog, match=error):
        look(reader)


def test_an_episode_is_found_by_a_part_of_its_id(played: LogWriter, reader: LogReader) -> None:
    assert reader.find_episode("oth").id == "other"
    assert reader.find_episode("e1-").id == "e1-again"
    assert reader.find_episode("-aga").id == "e1-again"
    assert reader.find_episode("e1").id == "e1"


def test_one_reader_serves_many_threads(played: LogWriter, reader: LogReader) -> None:
    with ThreadPoolExecutor(16) as pool:
        counts = list(pool.map(lambda _: len(reader.turns("e0")), range(200)))
    assert counts == [2] * 200


def test_a_closed_reader_says_so(path: Path) -> None:
    LogWriter(path, durable=True).close()
    reader = LogReader(path)
    reader.close()
    with pytest.raises(LogError, match="is closed"):
        reader.runs()


def test_a_reader_cannot_write(reader: LogReader) -> None:
    with reader.connection() as connection, pytest.raises(Exception, match="readonly"):
        connection.execute("CREATE TABLE x (y)")


READ = """
import os, sys
from pathlib import Path
from logs import LogError, LogReader, LogWriter
if os.geteuid() == 0:
    os.setuid(65534)
path = Path(sys.argv[1])
with LogReader(path) as reader:
    print([episode.id for episode in reader.episodes()])
try:
    LogWriter(path, durable=True)
except LogError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs Unix permissions")
def test_a_log_that_may_not_be_written_can_be_read(ground: Callable[..., None]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "snapshot"
        with LogWriter(folder / "log.sqlite", durable=True) as writer:
            ground(writer)
        (folder / "log.sqlite").chmod(0o444)
        folder.chmod(0o555)
        Path(place).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", READ, str(folder / "log.sqlite")],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            timeout=60,
        )
        folder.chmod(0o755)
        assert [file.name for file in folder.iterdir()] == ["log.sqlite"]
    lines = done.stdout.splitlines()
    assert lines[:1] == ["['e0']"], done.stderr
    assert "cannot write to the log" in lines[1] and "--log" in lines[1]


def test_who_left_a_study_early_is_no_progress(played: LogWriter, reader: LogReader) -> None:
    config = {"study": {}, "planned": 2}
    played.put(Run(id="study-a", benchmark="clarq", setup="H2L", seed=1, config=config))
    here = {"item_hash": "item", "language": "en", "seats": {}, "seed": 1}
    played.put(Episode(id="out", run_id="study-a", participant_id="p", **here))
    played.put(Ending(episode_id="out", status="aborted", cause="seeker"))
    played.flush()
    assert reader.progress("study-a") == Progress(planned=2, aborted=1, replaced=1)
    assert reader.progress("study-a").done == 0
