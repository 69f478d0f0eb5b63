"""Rows come back from the writer unchanged; a second time they are duplicates or conflicts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from logs import LogConflict, LogError, LogReader, LogWriter, NotInLog
from logs.insert import Written
from logs.rows import (
    Assignment,
    Ending,
    Episode,
    Event,
    Identity,
    Item,
    Judgment,
    ModelCall,
    Participant,
    Run,
    Score,
    Turn,
)
from logs.writer import Posted

MakeTurn = Callable[..., Turn]


def every_row() -> list[object]:
    return [
        Run(
            id="r", benchmark="clarq", setup="H2L", seed=2**80, config={"seats": {"a": [1, 2.5, None, True]}}
        ),
        Item(hash="h", benchmark="clarq", name="1.0", language="zh", data={"任务": "木头"}),
        Participant(id="p", language="zh", details={"age": 30}),
        Identity(participant_id="p", kind="prolific_pid", value="5f"),
        Episode(
            id="e",
            run_id="r",
            item_hash="h",
            language="zh",
            seats={"seeker": "person"},
            seed=2**63,
            repeat=1,
            attempt=2,
            participant_id="p",
            options={"turn_limit": 14},
        ),
        Turn(
            episode_id="e",
            number=0,
            seat="seeker",
            text="哪种？\n\0=1+1",
            payload={"x": []},
            key="k",
            seconds=1.5,
        ),
        ModelCall(
            id="c",
            episode_id="e",
            turn_number=0,
            purpose="seeker",
            model="openai/gpt-4o",
            request={"key": "abc", "messages": []},
            response={"text": "…"},
            input_tokens=3,
            output_tokens=4,
            cost=0.001,
            seconds=0.5,
            attempts=2,
            cached=True,
        ),
        Ending(episode_id="e", status="aborted", cause="seeker", message="left"),
        Judgment(id="j", episode_id="e", annotator="p", kind="success", value={"yes": True}, key="k"),
        Score(episode_id="e", metric="success", value=1.0, version="1", details={"missing": []}),
        Assignment(id="a", participant_id="p", run_id="r", item_hash="h", state="reserved"),
        Event(kind="run.started", run_id="r", details={"by": "someone"}),
    ]


def test_every_row_comes_back_as_it_was(path: Path) -> None:
    rows = every_row()
    with LogWriter(path, durable=False) as writer:
        receipts = [writer.put(row) for row in rows]
    assert [receipt.result() for receipt in receipts] == [Written(False)] * len(rows)
    with LogReader(path) as reader:
        back = [
            *reader.runs(),
            *reader.items(),
            *reader.participants(),
            *reader.identities(),
            *reader.episodes(),
            *reader.turns("e"),
            *reader.model_calls(),
            reader.ending("e"),
            *reader.judgments(),
            *reader.scores(),
            *reader.assignments(),
            *reader.events(),
        ]
    assert back == rows


def test_every_row_but_an_event_is_a_duplicate_the_second_time(path: Path) -> None:
    with LogWriter(path, durable=True) as writer:
        for row in every_row():
            writer.put(row)
        for row in every_row():
            assert writer.put(row).result() == Written(duplicate=not isinstance(row, Event)), row


def test_a_row_is_on_disk_when_its_future_resolves(writer: LogWriter, turn: MakeTurn) -> None:
    writer.put(turn()).result()
    with sqlite3.connect(writer.path) as other:
        assert other.execute("SELECT text FROM turns").fetchall() == [("Which wood?",)]
    other.close()


def test_a_turn_with_a_known_key_is_a_duplicate_whatever_its_number_and_text(
    writer: LogWriter, reader: LogReader, turn: MakeTurn
) -> None:
    writer.put(turn(0, key="a")).result()
    assert writer.put(turn(1, "Which saw?", key="a")).result().duplicate
    assert writer.put(turn(1, "Which saw?", key="b")).result() == Written(False)
    assert [line.key for line in reader.turns("e0")] == ["a", "b"]


@pytest.mark.parametrize(
    "other",
    [{"text": "Which saw?"}, {"seat": "provider"}, {"payload": {"x": 1}}, {"key": "a"}],
    ids=["text", "seat", "payload", "key"],
)
def test_another_turn_of_the_same_number_is_a_conflict(
    writer: LogWriter, reader: LogReader, turn: MakeTurn, other: dict[str, object]
) -> None:
    writer.put(turn()).result()
    with pytest.raises(LogConflict, match=f"another .*{next(iter(other))}"):
        writer.put(turn(**other)).result()
    assert len(reader.turns("e0")) == 1


def test_times_are_no_part_of_what_a_turn_says(writer: LogWriter, turn: MakeTurn) -> None:
    writer.put(turn(seconds=1.0, payload={"a": 1, "b": 2})).result()
    again = turn(seconds=2.0, payload={"b": 2, "a": 1}, created_at="2020-01-01T00:00:00.000+00:00")
    assert writer.put(again).result().duplicate


def test_a_conflict_leaves_the_rest_of_its_group_alone(
    path: Path, ground: Callable[..., None], turn: MakeTurn
) -> None:
    with LogWriter(path, durable=False, group_seconds=0.5) as writer:
        ground(writer, episodes=100)
        writer.put(turn(text="first"))
        bad = writer.put(turn(text="second"))
        good = [writer.put(turn(episode_id=f"e{number}")) for number in range(1, 100)]
        with pytest.raises(LogConflict):
            bad.result()
        assert {receipt.result() for receipt in good} == {Written(False)}
    with LogReader(path) as reader:
        assert [line.text for line in reader.turns("e0")] == ["first"]
        assert sum(len(played.turns) for played in reader.turns_of_run("run")) == 100


def test_turns_have_no_gap_and_none_follows_the_end(writer: LogWriter, turn: MakeTurn) -> None:
    with pytest.raises(LogConflict, match="the next is turn 0"):
        writer.put(turn(1)).result()
    writer.put(turn(0)).result()
    writer.put(Ending(episode_id="e0", status="completed")).result()
    with pytest.raises(LogConflict, match="the episode is completed"):
        writer.put(turn(1)).result()
    assert writer.put(turn(0)).result().duplicate


def test_an_episode_ends_once(writer: LogWriter) -> None:
    writer.put(Ending(episode_id="e0", status="completed")).result()
    with pytest.raises(LogConflict, match="another status"):
        writer.put(Ending(episode_id="e0", status="aborted")).result()


def test_a_place_in_a_run_is_taken_once(writer: LogWriter, reader: LogReader) -> None:
    taken = reader.episode("e0")
    fields = {name: getattr(taken, name) for name in ("run_id", "item_hash", "language", "seats", "seed")}
    with pytest.raises(LogConflict, match="another id"):
        writer.put(Episode(id="other", **fields)).result()
    assert writer.put(Episode(id="other", attempt=1, **fields)).result() == Written(False)


def test_what_a_row_points_to_must_be_there(writer: LogWriter, turn: MakeTurn) -> None:
    with pytest.raises(NotInLog, match="episode_id 'nowhere'"):
        writer.put(turn(episode_id="nowhere")).result()
    with pytest.raises(NotInLog, match="participant_id 'nobody'"):
        writer.put(Event(kind="x", participant_id="nobody")).result()


def test_items_are_stored_once(writer: LogWriter) -> None:
    again = Item(hash="item", benchmark="clarq", name="renamed", language="en", data={})
    assert writer.put(again).result().duplicate


def test_a_score_is_appended_only_if_it_has_changed(writer: LogWriter, reader: LogReader) -> None:
    values = [1.0, 1.0, 0.0, 1.0, None, None]
    duplicates = [
        writer.put(Score(episode_id="e0", metric="s", value=value, version="1")).result().duplicate
        for value in values
    ]
    assert duplicates == [False, True, False, False, False, True]
    assert [score.value for score in reader.scores(latest=False)] == [1.0, 0.0, 1.0, None]
    assert [score.value for score in reader.scores()] == [None]


def test_an_assignment_moves_through_states_but_stays_its_own(writer: LogWriter, reader: LogReader) -> None:
    writer.put(Participant(id="p"))
    writer.put(Participant(id="q"))

    def assign(state: str, person: str = "p") -> Future[Written]:
        return writer.put(
            Assignment(id="a", participant_id=person, run_id="run", item_hash="item", state=state)
        )

    duplicates = [
        assign(state).result().duplicate for state in ("reserved", "reserved", "returned", "reserved")
    ]
    assert duplicates == [False, True, False, False]
    with pytest.raises(LogConflict, match="another participant_id"):
        assign("reserved", "q").result()
    assert [row.state for row in reader.assignments()] == ["reserved"]
    assert [row.state for row in reader.assignments(latest=False)] == ["reserved", "returned", "reserved"]


def test_what_cannot_be_stored_names_the_field_and_hurts_nobody_else(
    writer: LogWriter, turn: MakeTurn
) -> None:
    bad = [
        writer.put(turn(payload={"x": float("nan")})),
        writer.put(turn(payload={"x": object()})),
        writer.put(turn(seconds=float("inf"))),
        writer.put(turn(text=3 + 4j)),
        writer.put(turn(number=2**70)),
        writer.put("not a row"),  # type: ignore[arg-type]
    ]
    good = writer.put(turn())
    for receipt, message in zip(
        bad, ["Turn.payload", "Turn.payload", "Turn.seconds", "Turn row", "Turn row", "str"], strict=True
    ):
        with pytest.raises(LogError, match=message):
            receipt.result()
    assert good.result() == Written(False)


def test_half_an_emoji_does_not_lose_a_turn(writer: LogWriter, reader: LogReader, turn: MakeTurn) -> None:
    cut = turn(text="cut \ud83d short", payload={"raw": "\ude00"})
    assert writer.put(cut).result() == Written(False)
    assert writer.put(cut).result().duplicate
    (line,) = reader.turns("e0")
    assert (line.text, line.payload) == ("cut \ufffd short", {"raw": "\ufffd"})


def test_rows_are_copied_when_put(path: Path, ground: Callable[..., None], turn: MakeTurn) -> None:
    with LogWriter(path, durable=False, group_seconds=0.2) as writer:
        ground(writer)
        payload = {"given": ["1"]}
        writer.put(turn(payload=payload))
        payload["given"].append("2")
    with LogReader(path) as reader:
        assert reader.turns("e0")[0].payload == {"given": ["1"]}


def test_rows_that_nobody_waits_for_are_told_of_when_asked_about(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "log.sqlite", durable=False)
    sound, faulty = Posted(), Posted()
    writer.post(Run(id="r", benchmark="clarq", setup="L2L", seed=1), sound)
    writer.post(Ending(episode_id="nobody's", status="completed"), faulty)
    with pytest.raises(NotInLog):
        writer.flush()
    sound.check()
    with pytest.raises(NotInLog):
        faulty.check()
    writer.post(Ending(episode_id="nobody's", status="completed"))
    with pytest.raises(NotInLog):
        writer.close()


# 999 is the most before SQLite 3.32.
@pytest.mark.parametrize(("variables", "expected"), [(32766, 8), (999, 9)])
def test_a_group_of_rows_is_written_in_order_with_few_statements(
    path: Path, ground: Callable[..., None], turn: MakeTurn, variables: int, expected: int
) -> None:
    statements: list[str] = []
    with LogWriter(path, durable=False, group_seconds=60.0) as writer:
        ground(writer)
        writer.flush()
        connection = writer._worker._connection
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, variables)
        connection.set_trace_callback(statements.append)
        for number in range(255):
            writer.put(turn(number=number, text=str(number)))
    assert len({each for each in statements if each.startswith("INSERT INTO turns")}) == expected
    with LogReader(path) as reader:
        assert [each.text for each in reader.turns("e0")] == list(map(str, range(255)))
