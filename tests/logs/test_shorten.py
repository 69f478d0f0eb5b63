from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logs import LogError, LogReader, LogWriter, NotInLog
from logs.erase import erase_participant
from logs.export import export_log
from logs.rows import Episode, Item, ModelCall, Participant

STORY = " ".join(f"The {number}. thing the seeker was told." for number in range(40))


def call(number: int, text: str | None = None, **fields: object) -> ModelCall:
    exchange = "".join(f"\nJax: line {n}.\nYou: “{n}”?" for n in range(number))
    request = {"messages": [{"role": "user", "content": text or f"{STORY}{exchange}\nYour reply:"}]}
    request |= {"parameters": {"seed": 1}, "key": f"{number:064x}", "base_url": "", "extra": {}}
    row = {"id": f"c{number}", "episode_id": "e0", "turn_number": number, "purpose": "seeker", "model": "m"}
    return ModelCall(**{**row, "request": request, "created_at": "", **fields})  # type: ignore[arg-type]


def stored(path: Path) -> dict[str, str]:
    connection = sqlite3.connect(path)
    requests = dict(connection.execute("SELECT id, request FROM model_calls"))
    connection.close()
    return requests


def test_readers_see_whole_requests(writer: LogWriter, reader: LogReader) -> None:
    calls = [call(number) for number in range(200)]
    for each in calls:
        writer.put(each)
    writer.flush()
    assert reader.model_calls() == calls
    whole = [id for id, text in stored(writer.path).items() if text.startswith("{")]
    assert 1 < len(whole) < 6


def test_what_is_stored_does_not_grow_with_the_dialogue(writer: LogWriter) -> None:
    for number in range(60):
        writer.put(call(number))
    writer.flush()
    sizes = [len(text) for text in stored(writer.path).values()]
    assert sizes[0] > 1000
    assert max(sizes[1:]) < 200


def test_requests_stay_short_when_other_rows_are_duplicates(writer: LogWriter) -> None:
    for number in range(4):
        writer.put(Item(hash="item", benchmark="clarq", name="1.0", language="en", data={"task": "wood"}))
        writer.put(call(number))
        writer.flush()
    assert [text[0] for text in stored(writer.path).values()] == ["{", "[", "[", "["]


def test_a_single_request_is_found_whole(writer: LogWriter, reader: LogReader) -> None:
    for number in range(50):
        writer.put(call(number))
    writer.flush()
    for number in (49, 3, 30):
        with LogReader(writer.path) as fresh:
            assert fresh.model_calls(turn_number=number) == [call(number)]


def test_a_request_rests_on_the_last_of_its_purpose_or_the_likest_of_its_episode(
    writer: LogWriter, reader: LogReader
) -> None:
    calls = [
        call(n, id=f"{n} {episode} {purpose}", episode_id=episode, purpose=purpose)
        for n in range(3)
        for episode in ("e0", "e1", None)
        for purpose in ("seeker", "node")
    ]
    for each in calls:
        writer.put(each)
    writer.flush()
    assert reader.model_calls() == calls
    rests = {id: json.loads(text)[0] for id, text in stored(writer.path).items() if text.startswith("[")}
    assert rests == {
        f"{n} {episode} {purpose}": f"{max(n - 1, 0)} {episode} {purpose if n else 'seeker'}"
        for n in range(3)
        for episode in ("e0", "e1")
        for purpose in ("seeker", "node")
        if n or purpose == "node"
    }


def test_more_episodes_at_a_time_than_are_remembered(tmp_path: Path, ground: Callable[..., None]) -> None:
    calls = [call(n, id=f"{n} {e}", episode_id=f"e{e}") for n in range(2) for e in range(600)]
    with LogWriter(tmp_path / "many.sqlite", durable=False) as writer:
        ground(writer, episodes=600)
        for each in calls:
            writer.put(each)
    with LogReader(tmp_path / "many.sqlite") as reader:
        assert reader.model_calls() == calls


def test_a_refused_call_carries_nothing(writer: LogWriter, reader: LogReader) -> None:
    writer.put(call(0))
    writer.put(call(1, episode_id="nowhere"))
    refused = writer.put(call(2, episode_id="nowhere"))
    writer.put(call(3))
    with pytest.raises(NotInLog):
        refused.result()
    with pytest.raises(LogError):
        writer.flush()
    writer.put(
        Episode(id="nowhere", run_id="run", item_hash="item", language="en", seats={}, seed=1, repeat=9)
    )
    writer.put(call(4, episode_id="nowhere"))
    writer.put(call(5, episode_id="nowhere"))
    writer.flush()
    assert [each.id for each in reader.model_calls()] == ["c0", "c3", "c4", "c5"]
    assert reader.model_calls(episode_id="nowhere")[1].request == call(5).request


def test_the_same_call_again_is_a_duplicate_and_another_of_its_name_a_conflict(writer: LogWriter) -> None:
    for number in range(3):
        writer.put(call(number))
    assert writer.put(call(1)).result().duplicate
    with pytest.raises(LogError, match="another request"):
        writer.put(call(1, "other words")).result()


def test_another_writer_begins_anew(path: Path, writer: LogWriter, reader: LogReader) -> None:
    writer.put(call(0))
    writer.flush()
    with LogWriter(path, durable=False) as other:
        other.put(call(1))
    assert stored(path)["c1"].startswith("{")
    assert reader.model_calls() == [call(0), call(1)]


def test_requests_without_a_key(writer: LogWriter, reader: LogReader) -> None:
    calls = [call(n, request={"messages": [STORY, n]}) for n in range(3)]
    for each in calls:
        writer.put(each)
    writer.flush()
    assert reader.model_calls() == calls


def test_exports_are_whole(tmp_path: Path, writer: LogWriter, reader: LogReader) -> None:
    for number in range(5):
        writer.put(call(number))
    writer.flush()
    export_log(reader, tmp_path / "flat")
    export_log(reader, tmp_path / "nested", nest=True)
    lines = (tmp_path / "flat" / "model_calls.jsonl").read_text().splitlines()
    assert [json.loads(line)["request"] for line in lines] == [call(n).request for n in range(5)]
    (episode, *_) = map(json.loads, (tmp_path / "nested" / "episodes.jsonl").read_text().splitlines())
    assert [each["request"] for each in episode["model_calls"]] == [call(n).request for n in range(5)]


def test_what_rests_on_an_erased_request_is_erased(path: Path, writer: LogWriter) -> None:
    writer.put(Participant(id="p"))
    writer.put(
        Episode(
            id="e",
            run_id="run",
            item_hash="item",
            language="en",
            seats={},
            seed=1,
            repeat=9,
            participant_id="p",
        )
    )
    writer.put(call(0, episode_id="e"))
    writer.flush()
    erase_participant(path, "p")
    writer.put(call(1, episode_id="e"))
    writer.flush()
    with LogReader(path) as reader:
        assert [each.request for each in reader.model_calls(episode_id="e")] == [{"erased": True}] * 2
    assert STORY not in "".join(stored(path).values())


def test_a_request_that_cannot_be_put_together_is_an_error(path: Path, writer: LogWriter) -> None:
    for number in range(3):
        writer.put(call(number))
    writer.flush()
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO erase_permit VALUES ('test')")
    connection.execute("UPDATE model_calls SET request = '{}' WHERE id = 'c0'")
    connection.commit()
    connection.close()
    with LogReader(path) as reader, pytest.raises(LogError):
        reader.model_calls()


@given(
    parts=st.lists(
        st.lists(st.sampled_from(["ab", "雨", "\\", '"', "x" * 150, "🌲"]), max_size=6), max_size=12
    ),
    seed=st.integers(0, 9),
)
def test_any_requests_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[str]], seed: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.sqlite"
    chance = random.Random(seed)
    calls = [call(n, "".join(part) or "-") for n, part in enumerate(parts)]
    with LogWriter(path, durable=False, group_seconds=0) as writer:
        ground_for(writer)
        for each in calls:
            writer.put(each)
            if chance.random() < 0.2:
                writer.flush()
    with LogReader(path) as reader:
        assert reader.model_calls() == calls


def ground_for(writer: LogWriter) -> None:
    from logs.rows import Item, Run

    writer.put(Run(id="run", benchmark="clarq", setup="L2L", seed=7))
    writer.put(Item(hash="item", benchmark="clarq", name="1.0", language="en", data={}))
    writer.put(Episode(id="e0", run_id="run", item_hash="item", language="en", seats={}, seed=0))
