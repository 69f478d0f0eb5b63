from __future__ import annotations

import sqlite3
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from logs import LogError, LogReader, LogWriter, NotInLog
from logs.connect import connect_for_writing
from logs.erase import ERASED, _Quotes, erase_participant
from logs.pseudonym import key_path, load_key, pseudonym_of
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

SECRET = "my daughter Zuleika lives at the old mill"
OTHER = "another person says something harmless"


@pytest.fixture
def study(path: Path) -> Path:
    """Person p plays e0 against a model, person q plays e1; in e2 both talk to each other."""
    with LogWriter(path, durable=True) as writer:
        writer.put(Run(id="run", benchmark="clarq", setup="H2L", seed=1))
        writer.put(Item(hash="item", benchmark="clarq", name="1.0", language="en", data={}))
        for person in "pq":
            writer.put(Participant(id=person, details={"told": SECRET if person == "p" else OTHER}))
            writer.put(Identity(participant_id=person, kind="prolific_pid", value=f"outside-{person}-5f3a"))
        play(writer, "e0", "p", SECRET)
        play(writer, "e1", "q", OTHER)
        talk(writer)
        for number in range(200):  # enough for pages to be split
            writer.put(Event(kind="told", participant_id="p", details={"n": number, "said": SECRET}))
    return path


def play(writer: LogWriter, episode: str, person: str, says: str) -> None:
    seats = {"seeker": "person", "provider": "openai/x"}
    writer.put(
        Episode(
            id=episode,
            run_id="run",
            item_hash="item",
            language="en",
            seats=seats,
            seed=1,
            repeat=int(episode[1:]),
            participant_id=person,
        )
    )
    trace = {"give": ["1.2"], "type": "details", "reason": f"The seeker said: {says}", "n": 3}
    turns = [
        Turn(episode_id=episode, number=0, seat="provider", text="What can help you?"),
        Turn(
            episode_id=episode, number=1, seat="seeker", text=says, key=f"k-{person}", payload={"raw": says}
        ),
        Turn(episode_id=episode, number=2, seat="provider", text=f"You said: {says}. Oak.", payload=trace),
    ]
    for turn in turns:
        writer.put(turn)
    call = {"request": {"key": "abc", "messages": [says]}, "response": {"text": f"about {says}"}}
    writer.put(
        ModelCall(
            id=f"c-{person}",
            episode_id=episode,
            turn_number=2,
            purpose="x",
            model="m",
            input_tokens=9,
            **call,
        )
    )
    writer.put(Ending(episode_id=episode, status="aborted", message=f"stopped at {says!r}"))
    writer.put(Score(episode_id=episode, metric="s", value=1.0, version="1", details={"line": says}))
    writer.put(
        Judgment(id=f"j-{person}", episode_id=episode, annotator=person, kind="x", value={"note": says})
    )
    writer.put(
        Judgment(
            id=f"r-{person}", episode_id=episode, annotator="r", kind="x", value={"n": f"he says {says}!"}
        )
    )
    writer.put(
        Assignment(
            id=f"a-{person}",
            participant_id=person,
            run_id="run",
            item_hash="item",
            state="done",
            details={"c": says},
        )
    )
    writer.put(Event(kind="exception", episode_id=episode, details={"traceback": f"in {says}"}))
    writer.flush()


def talk(writer: LogWriter) -> None:
    seats = {"seeker": "person", "provider": "person"}
    writer.put(
        Episode(
            id="e2",
            run_id="run",
            item_hash="item",
            language="en",
            seats=seats,
            seed=1,
            repeat=2,
            participant_id="q",
        )
    )
    for number, (seat, person, text) in enumerate(
        [("seeker", "q", OTHER), ("provider", "p", SECRET), ("seeker", "q", f"So {SECRET.upper()}? Yes")]
    ):
        writer.put(
            Turn(episode_id="e2", number=number, seat=seat, text=text, payload={"participant_id": person})
        )


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name))


def test_nothing_a_person_said_or_is_remains_in_any_byte(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(path: Path, **options: object) -> sqlite3.Connection:
        connection = connect_for_writing(path, **options)
        connection.execute("PRAGMA secure_delete = OFF")  # some builds of SQLite have it on
        return connection

    monkeypatch.setattr("logs.erase.connect_for_writing", connect)
    assert SECRET.encode() in bytes_of(study)
    erasure = erase_participant(study, "p")
    assert erasure.files_clean
    left = bytes_of(study).lower()
    assert SECRET.lower().encode() not in left
    assert b"zuleika" not in left
    assert b"outside-p-5f3a" not in left


def test_everybody_else_stays_as_they_were(study: Path) -> None:
    def others(reader: LogReader) -> list[object]:
        return [
            reader.turns("e1"),
            reader.turns("e2")[0],
            reader.ending("e1"),
            reader.model_calls(episode_id="e1"),
            reader.judgments(episode_id="e1"),
            reader.scores(episode_id="e1"),
            reader.identities(participant_id="q"),
            reader.participant("q"),
            reader.assignments(participant_id="q"),
            reader.events(episode_id="e1"),
        ]

    with LogReader(study) as reader:
        before = others(reader)
    erase_participant(study, "p")
    with LogReader(study) as reader:
        assert others(reader) == before


def test_the_shape_of_the_data_stays(study: Path) -> None:
    erasure = erase_participant(study, "p", reason="asked by mail")
    assert erasure.episodes == ("e0", "e2")
    with LogReader(study) as reader:
        opening, question, answer = reader.turns("e0")
        assert opening.text == "What can help you?"
        assert (question.text, question.payload, question.key) == (ERASED, {"raw": ERASED}, None)
        assert answer.text == f"You said: {ERASED}. Oak."
        assert answer.payload == {"give": ["1.2"], "type": "details", "reason": ERASED, "n": 3}
        (call,) = reader.model_calls(episode_id="e0")
        assert (call.request, call.response, call.input_tokens) == ({"erased": True}, {"erased": True}, 9)
        assert [score.value for score in reader.scores(episode_id="e0")] == [1.0]
        assert {row.annotator: row.value for row in reader.judgments(episode_id="e0")} == {
            "p": {"erased": True},
            "r": {"n": f"he says {ERASED}!"},
        }
        assert reader.participant("p").details == {"erased": True}
        assert reader.assignments(participant_id="p")[0].state == "done"
        assert [turn.text for turn in reader.turns("e2")] == [OTHER, ERASED, f"So {ERASED}? Yes"]
        (receipt,) = reader.events(kind="participant.erased")
        assert receipt.participant_id == "p"
        assert receipt.details["reason"] == "asked by mail"
        assert receipt.details["episodes"] == ["e0", "e2"]
        assert receipt.details["rows"]["identities"] == 1


@pytest.mark.each("quoted", ["The blue mug on the left.", "  “The blue mug on the left!”"])
@pytest.mark.each("taken", ["Take it (the blue mug on the left).", "The blue mug on the left? Yes."])
def test_words_that_others_took_up_without_the_stop_go_too(quoted: str, taken: str) -> None:
    assert "blue mug" not in _Quotes([quoted]).blot(taken)
    assert _Quotes(["No!", ERASED]).blot(f"No, no. {ERASED}") == f"No, no. {ERASED}"


@pytest.mark.parametrize(
    ("named", "score"), [({"private": ["correct"]}, None), ({"private": [], "personal": ["correct"]}, 1.0)]
)
def test_what_a_payload_calls_private_goes_with_the_scores_of_that_episode_and_personal_without(
    study: Path, named: dict[str, list[str]], score: float | None
) -> None:
    payload = {"kind": "answer", "k": 4, "correct": 1.0, **named}
    with LogWriter(study, durable=True) as writer:
        writer.put(
            Episode(
                id="e3",
                run_id="run",
                item_hash="item",
                language="en",
                seats={"participant": "person"},
                seed=3,
                repeat=3,
                participant_id="p",
            )
        )
        writer.put(Turn(episode_id="e3", number=0, seat="participant", text="X", payload=payload))
        writer.put(Score(episode_id="e3", metric="accuracy", value=1.0, version="1"))
    erase_participant(study, "p")
    with LogReader(study) as reader:
        (turn,) = reader.turns("e3")
        assert turn.payload == {"kind": "answer", "k": 4, **named}
        assert [row.value for row in reader.scores(episode_id="e3")] == [score]
        assert [row.value for row in reader.scores(episode_id="e1")] == [1.0]
        assert reader.erased_participants() == {"p"}


def test_the_log_is_append_only_again_afterwards(study: Path) -> None:
    erase_participant(study, "p")
    with sqlite3.connect(study) as other, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        other.execute("UPDATE turns SET text = 'x'")
    other.close()


def test_erasing_twice_changes_nothing_more(study: Path) -> None:
    erase_participant(study, "p")

    def rows() -> list[object]:
        with LogReader(study) as reader:
            return [list(reader.turns_of_run("run")), reader.participants(), reader.judgments()]

    before = rows()
    erase_participant(study, "p")
    assert rows() == before


def test_erasing_beside_open_readers_and_writers(study: Path) -> None:
    with LogWriter(study, durable=True) as writer, LogReader(study) as reader:
        stream = reader.turns_of_run("run")
        next(stream)
        erasure = erase_participant(study, "p")
        assert not erasure.files_clean
        stream.close()
        assert reader.turns("e0")[1].text == ERASED
        writer.put(Event(kind="later", participant_id="p")).result()
    assert erase_participant(study, "p").files_clean
    assert SECRET.encode() not in bytes_of(study)


def test_an_erasure_that_fails_changes_nothing(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("logs.erase._Eraser._leave_receipt", fail)
    with pytest.raises(LogError, match=r"cannot erase from the log .*log\.sqlite: disk I/O error"):
        erase_participant(study, "p")
    with LogReader(study) as reader:
        assert reader.turns("e0")[1].text == SECRET
        assert reader.identities(participant_id="p")


def test_an_unknown_person_is_an_error_that_lists_near_ones(study: Path) -> None:
    with pytest.raises(NotInLog, match="no participant 'x'"):
        erase_participant(study, "x")


def test_a_pseudonym_is_stable_and_tells_nothing_without_the_key(path: Path) -> None:
    key = load_key(path)
    assert load_key(path) == key
    name = pseudonym_of(key, "prolific_pid", "5f3a")
    assert name == pseudonym_of(key, "prolific_pid", "5f3a")
    assert (
        len({name, pseudonym_of(key, "email", "5f3a"), pseudonym_of(b"x" * 32, "prolific_pid", "5f3a")}) == 3
    )
    assert name.isalnum() and name.startswith("p") and len(name) == 21


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix permissions")
def test_the_key_is_for_its_owner_only(path: Path) -> None:
    load_key(path)
    assert stat.S_IMODE(key_path(path).stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["log.sqlite.key"]
    key_path(path).chmod(0o644)
    with pytest.raises(LogError, match="chmod 600"):
        load_key(path)


def test_a_lost_key_is_not_quietly_made_anew(study: Path) -> None:
    with pytest.raises(LogError, match="is missing, but the log has participants"):
        load_key(study)


def test_a_damaged_key_is_refused(path: Path) -> None:
    load_key(path)
    key_path(path).write_bytes(b"short")
    with pytest.raises(LogError, match="damaged"):
        load_key(path)


def test_of_several_who_make_the_key_at_once_one_does(path: Path) -> None:
    start = threading.Barrier(8)

    def load(_: int) -> bytes:
        start.wait()
        return load_key(path)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(load, range(8)))) == 1
    assert [file.name for file in path.parent.iterdir()] == ["log.sqlite.key"]


def test_a_key_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogError, match=r"cannot create the key .*file.log\.sqlite\.key"):
        load_key(tmp_path / "file" / "log.sqlite")
