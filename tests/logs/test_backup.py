"""A log is copied while it is written; a copy is put back, and nothing that was there is lost."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from logs import LogError, LogReader, LogWriter, NotALog, load_key, pseudonym_of
from logs.backup import back_up, restore
from logs.cli import log_app
from logs.pseudonym import key_path
from logs.rows import Episode, Event, Item, Participant, Run, Turn

EPISODE = "r/e"


def begin(writer: LogWriter) -> None:
    writer.put(Run(id="r", benchmark="b", setup="H2L", seed=0))
    writer.put(Item(hash="h", benchmark="b", name="n", language="en", data={}))
    writer.put(
        Episode(id=EPISODE, run_id="r", item_hash="h", language="en", seats={"s": "person"}, seed=0)
    ).result()


def say(writer: LogWriter, number: int) -> None:
    writer.put(Turn(episode_id=EPISODE, number=number, seat="s", text=f"turn {number}")).result()


def test_a_copy_under_writing_is_whole_and_has_all_that_was_acknowledged_before(tmp_path: Path) -> None:
    path, acknowledged, stop = tmp_path / "log.sqlite", [-1], threading.Event()

    def write(writer: LogWriter) -> None:
        for number in range(100_000):
            if stop.is_set():
                return
            say(writer, number)
            acknowledged[0] = number

    with LogWriter(path, durable=False, group_seconds=0.0) as writer:
        begin(writer)
        thread = threading.Thread(target=write, args=(writer,))
        thread.start()
        counts = []
        try:
            for number in range(8):
                while acknowledged[0] < 20 * number:
                    assert thread.is_alive()
                before, copy = acknowledged[0], tmp_path / f"{number}.sqlite"
                back_up(path, copy)
                with LogReader(copy) as reader:
                    turns = reader.turns(EPISODE)
                assert [turn.number for turn in turns] == list(range(len(turns)))
                assert len(turns) > before
                counts.append(len(turns))
        finally:
            stop.set()
            thread.join()
    assert counts == sorted(counts) and counts[-1] > counts[0], "it was written meanwhile"
    with closing(sqlite3.connect(tmp_path / "0.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_copy_has_the_key_so_that_people_are_known_again(tmp_path: Path) -> None:
    path, copy, back = (tmp_path / f"{name}.sqlite" for name in ("log", "copy", "back"))
    with LogWriter(path, durable=False) as writer:
        person = pseudonym_of(load_key(path), "prolific_pid", "anna")
        writer.put(Participant(id=person, language="en")).result()
        back_up(path, copy)
    assert restore(copy, back) is None
    assert pseudonym_of(load_key(back), "prolific_pid", "anna") == person
    for file in (copy, key_path(copy), back, key_path(back)):
        assert file.stat().st_mode & 0o077 == 0
    assert not list(tmp_path.glob(".*")), "no drafts are left"


def backed_up(folder: Path) -> tuple[Path, Path]:
    """Return a log of one begun episode, with its key, and its backup."""
    path, copy = folder / "log.sqlite", folder / "copy.sqlite"
    with LogWriter(path, durable=False) as writer:
        begin(writer)
        load_key(path)
        back_up(path, copy)
    return path, copy


def test_nothing_is_overwritten_without_being_told_and_nothing_lost_then(tmp_path: Path) -> None:
    path, copy = backed_up(tmp_path)
    with LogWriter(path, durable=False) as writer:
        say(writer, 0)
        with pytest.raises(LogError, match="already exists"):
            back_up(path, copy)
    with pytest.raises(LogError, match="use --replace"):
        restore(copy, path)
    with LogReader(path) as reader:
        assert len(reader.turns(EPISODE)) == 1
    aside = restore(copy, path, replace=True)
    assert aside is not None
    for file, turns in ((path, 0), (aside, 1)):
        with LogReader(file) as reader:
            assert len(reader.turns(EPISODE)) == turns
    assert load_key(path) == load_key(aside) == load_key(copy)
    # And it can be written again.
    with LogWriter(path, durable=True) as writer:
        say(writer, 0)


def test_a_log_that_is_in_use_is_not_replaced(tmp_path: Path) -> None:
    path, copy = tmp_path / "log.sqlite", tmp_path / "copy.sqlite"
    with LogWriter(path, durable=False) as writer, LogReader(path):
        begin(writer)
        back_up(path, copy)
        with pytest.raises(LogError, match="Another program is using the file"):
            restore(copy, path, replace=True)
        say(writer, 0)


@pytest.mark.parametrize(
    ("fault", "raised", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), LogError, r"cannot write .*\.key: No space left"),
        (KeyboardInterrupt(), KeyboardInterrupt, "^$"),
    ],
)
def test_a_log_stays_if_its_backup_cannot_be_restored(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: BaseException,
    raised: type[BaseException],
    message: str,
) -> None:
    path, copy = backed_up(tmp_path)
    with LogWriter(path, durable=False) as writer:
        say(writer, 0)
    before = {file.name for file in tmp_path.iterdir()}

    def full(*names: object) -> None:
        raise fault

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(raised, match=message):
        restore(copy, path, replace=True)
    assert {file.name for file in tmp_path.iterdir()} == before
    with LogReader(path) as reader:
        assert len(reader.turns(EPISODE)) == 1


@pytest.mark.parametrize("content", [b"", b"rubbish" * 1000])
def test_a_damaged_log_is_replaced_by_its_backup(tmp_path: Path, content: bytes) -> None:
    path, copy = backed_up(tmp_path)
    path.write_bytes(content)
    aside = restore(copy, path, replace=True)
    assert aside is not None and aside.read_bytes() == content
    with LogReader(path) as reader:
        assert reader.episode(EPISODE)


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    LogWriter(path, durable=False).close()
    with pytest.raises(LogError, match="cannot write"):
        back_up(path, path / "sub" / "copy.sqlite")


def test_what_is_no_log_is_not_restored(tmp_path: Path) -> None:
    path, other = tmp_path / "log.sqlite", tmp_path / "other"
    other.write_text("a text")
    for wrong in (other, tmp_path / "absent"):
        with pytest.raises(NotALog):
            restore(wrong, path)
    with pytest.raises(NotALog):
        back_up(other, tmp_path / "copy.sqlite")
    assert not path.exists() and not (tmp_path / "copy.sqlite").exists()


def test_the_commands(tmp_path: Path) -> None:
    path, copy = tmp_path / "log.sqlite", tmp_path / "sub" / "copy.sqlite"
    with LogWriter(path, durable=False) as writer:
        begin(writer)

    def run(*words: object) -> Any:
        return CliRunner().invoke(log_app, [*map(str, words), "--log", str(path)])

    assert "Wrote" in run("backup", copy).output
    with LogWriter(path, durable=False) as writer:
        writer.put(Event(kind="later")).result()
    assert isinstance(run("restore", copy).exception, LogError)
    assert "The previous log is now" in run("restore", copy, "--replace").output
    with LogReader(path) as reader:
        assert not reader.events(kind="later")
