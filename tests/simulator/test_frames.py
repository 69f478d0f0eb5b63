"""Test the frames of the log: their rows and values."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from logs import LogReader, LogWriter
from logs.erase import erase_participant
from logs.errors import NotInLog
from logs.rows import (
    Ending,
    Episode,
    Item,
    Judgment,
    ModelCall,
    Participant,
    Run,
    Score,
    Status,
    Turn,
    content_hash,
)
from simulator import frames

BENCHMARK = "clarq"  # success: 0 if a seat failed; aqd and aql: no number then


def put(
    log: LogWriter,
    name: str,
    status: Status | None,
    *,
    cause: str | None = None,
    person: str | None = None,
    attempt: int = 0,
    scores: dict[str, float | None] | None = None,
    run: str = "r",
) -> str:
    """Log an episode of two turns, with a judgment of it."""
    data = {"name": name}
    item = Item(hash=content_hash(data), benchmark=BENCHMARK, name=name, language="en", data=data)
    episode = f"{name}#{attempt}"
    log.put(item)
    if person:
        log.put(Participant(id=person))
    log.put(
        Episode(
            id=episode,
            run_id=run,
            item_hash=item.hash,
            language="en",
            seats={"seeker": "person" if person else "script", "provider": "offline/experts"},
            seed=0,
            attempt=attempt,
            participant_id=person,
        )
    )
    log.put(Turn(episode_id=episode, number=0, seat="provider", text="Hello?", seconds=0.5))
    log.put(Turn(episode_id=episode, number=1, seat="seeker", text="Bye", payload={"kind": "end"}))
    log.put(
        Judgment(id=f"j-{episode}", episode_id=episode, annotator="judge", kind="success", value={"yes": 1})
    )
    for metric, value in (scores or {}).items():
        log.put(Score(episode_id=episode, metric=metric, value=value, version="1"))
    if status:
        log.put(Ending(episode_id=episode, status=status, cause=cause))
    return episode


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark=BENCHMARK, setup="H2L", seed=0))
        put(log, "good", "completed", scores={"success": 0.0, "aqd": 3.0})
        log.put(Score(episode_id="good#0", metric="success", value=1.0, version="2"))
        put(log, "long", "truncated", scores={"success": 0.0, "aqd": None})
        put(log, "mute", "aborted", cause="seeker")
        put(log, "left", "aborted", cause="seeker", person="p1")
        put(log, "broken", "failed", cause="infrastructure")
        put(log, "again", "failed", cause="infrastructure")
        put(log, "again", "completed", attempt=1, scores={"success": 1.0, "aqd": 2.0})
        put(log, "open", None)
        put(log, "person", "completed", person="p2", scores={"success": 1.0, "aqd": 9.0})
        log.put(
            ModelCall(
                id="c", episode_id="good#0", turn_number=0, purpose="seeker", model="m/x", input_tokens=7
            )
        )
    return path


def test_frames_can_be_read_while_the_run_is_played(path, monkeypatch):
    read, later = LogReader.items, iter(("late", "later"))

    def read_items(reader, run=None):
        items = read(reader, run)
        episode = put(log, next(later), "completed")
        log.put(Score(episode_id=episode, metric="success", value=1.0, version="1")).result()
        return items

    monkeypatch.setattr(LogReader, "items", read_items)
    with LogWriter(path, durable=False) as log, LogReader(path) as reader:
        assert "late" not in set(frames.turns(reader, ["r"])["item"])
        assert {"again", "late"} < set(frames.episodes(reader, ["r"])["item"])


def test_episodes_that_count_are_rows(path):
    with LogReader(path) as reader:
        frame = frames.episodes(reader, ["r", "r"])
    place = len(frames.EPISODE_COLUMNS)
    assert (*frame.columns[:place],) == frames.EPISODE_COLUMNS
    assert {*frame.columns[place:]} == {"seat.seeker", "seat.provider", "success", "aqd"}
    rows = frame.set_index("item")
    assert sorted(rows.index) == ["again", "good", "long", "mute", "person"]
    assert rows["success"].to_dict() == {"good": 1, "long": 0, "mute": 0, "again": 1, "person": 1}
    assert {item: value for item, value in rows["aqd"].items() if not math.isnan(value)} == {
        "good": 3.0, "again": 2.0, "person": 9.0,
    }  # fmt: skip
    assert rows.loc["good", ["run", "benchmark", "setup", "episode", "language", "repeat"]].tolist() == [
        "r", BENCHMARK, "H2L", "good#0", "en", 0,
    ]  # fmt: skip
    assert rows.loc["good", ["status", "turns", "seconds"]].tolist() == ["completed", 2, 0.5]
    assert rows.loc["mute", ["status", "cause"]].tolist() == ["aborted", "seeker"]
    assert rows.loc["again", "episode"] == "again#1"
    assert rows.loc["person", ["participant", "seat.seeker", "seat.provider"]].tolist() == [
        "p2", "person", "offline/experts",
    ]  # fmt: skip


def test_nobody_fails_in_a_metric_that_the_run_does_not_have(tmp_path):
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log:
        for run in ("aws", "mute"):
            log.put(Run(id=run, benchmark="ambibench", setup="L2L", seed=0))
        put(log, "told", "completed", scores={"named": 1.0}, run="aws")
        put(log, "silent", "aborted", cause="provider", run="aws")
        put(log, "nothing", "aborted", cause="provider", run="mute")
    with LogReader(path) as reader:
        of_names, of_nothing = (frames.episodes(reader, [run]).set_index("item") for run in ("aws", "mute"))
    assert of_names["named"].to_dict() == {"told": 1.0, "silent": 0.0}
    assert "accuracy" not in of_names
    assert of_nothing["accuracy"].to_dict() == {"nothing": 0.0}
    assert "named" not in of_nothing


def test_what_a_seat_aborted_can_be_left_out(path):
    with LogReader(path) as reader:
        frame = frames.episodes(reader, ["r"], exclude_aborted=True)
    assert sorted(frame["item"]) == ["again", "good", "long", "person"]


def test_people_who_were_erased_are_in_no_frame(path):
    with LogWriter(path, durable=False) as log:
        log.put(ModelCall(id="d", episode_id="person#0", turn_number=0, purpose="provider", model="m/x"))
    erase_participant(path, "p2")
    with LogReader(path) as reader:
        data = frames.Frames(log=reader, runs=("r",))
        for frame in (data.episodes, data.turns, data.judgments, frames.calls(reader, ["r"])):
            assert not frame["episode"].str.startswith("person").any()
            assert frame["episode"].str.startswith("good").any()


def test_judgments_of_the_items_of_a_run_are_rows_too(tmp_path: Path) -> None:
    path = tmp_path / "items.sqlite"
    with LogWriter(path, durable=False) as log:
        for run in ("r", "other"):
            log.put(Run(id=run, benchmark="ambient", setup="L2L", seed=0, config={}))
        data = {"name": "bank"}
        item = Item(hash=content_hash(data), benchmark="ambient", name="bank", language="en", data=data)
        log.put(item)
        for run, rater in (("r", "ann"), ("r", "bob"), ("other", "ann")):
            value = {"run": run, "ambiguous": True}
            log.put(
                Judgment(
                    id=f"{run}-{rater}",
                    episode_id=None,
                    item_hash=item.hash,
                    annotator=rater,
                    kind="ambient.claim",
                    value=value,
                )
            )
    with LogReader(path) as reader:
        judged = frames.judgments(reader, ["r"])
        assert judged[["run", "annotator", "kind"]].to_numpy().tolist() == [
            ["r", "ann", "ambient.claim"],
            ["r", "bob", "ambient.claim"],
        ]
        assert judged["episode"].isna().all()


def test_turns_judgments_and_calls_are_rows(path):
    with LogReader(path) as reader:
        turns, judgments, calls = (
            read(reader, ["r"]) for read in (frames.turns, frames.judgments, frames.calls)
        )
    good = turns[turns["item"] == "good"]
    assert good[["number", "seat", "text"]].to_numpy().tolist() == [
        [0, "provider", "Hello?"],
        [1, "seeker", "Bye"],
    ]
    assert good["kind"].tolist()[1] == "end"
    assert set(turns.loc[turns["item"] == "again", "episode"]) == {"again#1"}
    judged = judgments.set_index("episode").loc["good#0"]
    assert judged[["run", "judgment", "annotator", "kind"]].tolist() == ["r", "j-good#0", "judge", "success"]
    assert judgments["value"].tolist()[0] == {"yes": 1}
    assert calls[["run", "episode", "call", "model", "input_tokens"]].to_numpy().tolist() == [
        ["r", "good#0", "c", "m/x", 7]
    ]


def test_frames_of_nothing_have_their_columns(path):
    with LogWriter(path, durable=False) as log:
        log.put(Run(id="empty", benchmark=BENCHMARK, setup="L2L", seed=0))
    with LogReader(path) as reader:
        assert [*frames.episodes(reader, ["empty"]).columns] == [*frames.EPISODE_COLUMNS, "success"]
        assert frames.turns(reader, ["empty"])["seconds"].dtype == float
        assert frames.calls(reader, ["empty"])["cost"].dtype == float
        kinds = frames.episodes(reader, ["empty"]).dtypes
        assert [kinds[name] for name in ("repeat", "turns", "seconds")] == [int, int, float]
        for read in (frames.turns, frames.judgments, frames.calls):
            assert {"run", "episode"} <= set(read(reader, ["empty"]).columns)
            with pytest.raises(NotInLog):
                read(reader, ["gone"])
        with pytest.raises(NotInLog):
            frames.episodes(reader, ["gone"])
