from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import logs.connect
from logs import LogError, LogReader, LogWriter, NewerLog, NotALog
from logs.codec import stored_columns
from logs.migrations import MIGRATIONS, SCHEMA_VERSION, Migration, apply_migrations
from logs.rows import Assignment, Ending, Event, Identity, Judgment, ModelCall, Participant, Row, Score, Turn
from logs.schema import BY_NAME, TABLES, VIEWS, Column, render

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "logs" / "schema.md"


@pytest.fixture
def fresh() -> sqlite3.Connection:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        apply_migrations(connection)
        yield connection


def test_schema_md_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render(), "run `askback log schema > logs/schema.md`"


def test_the_command_writes_what_the_code_renders() -> None:
    command = [sys.executable, "-W", "error", "-c", "from app import main; main()", "log", "schema"]
    done = subprocess.run(command, cwd=ROOT, check=True, timeout=60, capture_output=True)
    assert done.stdout == DOCUMENT.read_bytes()


SQL_TYPES = {"integer": "INTEGER", "boolean": "INTEGER", "real": "REAL"} | dict.fromkeys(
    ("text", "big integer", "json"), "TEXT"
)


def test_every_row_of_the_log_has_a_table() -> None:
    assert set(TABLES) == set(Row.__args__)


@pytest.mark.parametrize("name", BY_NAME)
def test_the_file_has_the_columns_the_code_says(fresh: sqlite3.Connection, name: str) -> None:
    table = BY_NAME[name]
    real = {record[1]: (record[2], bool(record[3])) for record in fresh.execute(f"PRAGMA table_info({name})")}
    assert tuple(real) == ("seq", *stored_columns(table))
    for column in table.columns:
        assert real[column.name] == (SQL_TYPES[column.kind], not column.nullable), column.name


@pytest.mark.parametrize("name", BY_NAME)
def test_the_file_points_where_the_code_says(fresh: sqlite3.Connection, name: str) -> None:
    real = {
        record[3]: f"{record[2]}.{record[4]}" for record in fresh.execute(f"PRAGMA foreign_key_list({name})")
    }
    assert real == {column.name: column.references for column in BY_NAME[name].columns if column.references}


def test_every_column_is_documented_in_words_of_its_own() -> None:
    columns: list[Column] = [column for table in TABLES.values() for column in table.columns]
    assert all(len(column.meaning) > 5 for column in columns)


def test_every_view_is_documented(fresh: sqlite3.Connection) -> None:
    assert {name for (name,) in fresh.execute("SELECT name FROM sqlite_master WHERE type = 'view'")} == set(
        VIEWS
    )


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("how", ["update", "delete", "replace"])
def test_the_file_itself_is_append_only(
    writer: LogWriter, turn: Callable[..., Turn], name: str, how: str
) -> None:
    _fill(writer)
    table = BY_NAME[name]
    columns = ", ".join(("seq", *stored_columns(table)))
    statement = {
        "update": f"UPDATE {name} SET {table.names[-1]} = {table.names[-1]}",
        "delete": f"DELETE FROM {name}",
        "replace": f"INSERT OR REPLACE INTO {name} ({columns}) SELECT {columns} FROM {name}",
    }[how]
    with closing(sqlite3.connect(writer.path)) as other:
        assert other.execute(f"SELECT count(*) FROM {name}").fetchone()[0] > 0
        with pytest.raises(sqlite3.IntegrityError, match=r"append-only|without a gap|same as before"):
            other.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OR REPLACE INTO turns (episode_id, number, seat, text, payload, key, created_at) "
        "VALUES ('e1', 1, 's', 'another', '{}', 'k', '')",
        "INSERT OR REPLACE INTO judgments (id, annotator, kind, value, key, created_at) "
        "VALUES ('other', 'p', 'x', '{}', 'k', '')",
        "INSERT OR REPLACE INTO episodes (id, run_id, item_hash, language, seats, seed, repeat, attempt, "
        "options, created_at) VALUES ('other', 'run', 'item', 'en', '{}', '1', 0, 0, '{}', '')",
    ],
    ids=["turns", "judgments", "episodes"],
)
def test_nothing_is_replaced_by_its_other_key(writer: LogWriter, statement: str) -> None:
    writer.put(Turn(episode_id="e1", number=0, seat="s", text="x", key="k"))
    writer.put(Judgment(id="j", episode_id="e0", annotator="p", kind="x", value={}, key="k"))
    writer.flush()
    with (
        closing(sqlite3.connect(writer.path)) as other,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        other.execute(statement)


def _fill(writer: LogWriter) -> None:
    writer.put(Participant(id="p"))
    writer.put(Identity(participant_id="p", kind="email", value="a@b.c"))
    writer.put(Turn(episode_id="e0", number=0, seat="s", text="x"))
    writer.put(ModelCall(id="c", episode_id="e0", turn_number=0, purpose="x", model="m"))
    writer.put(Ending(episode_id="e0", status="completed"))
    writer.put(Judgment(id="j", episode_id="e0", annotator="p", kind="x", value={}))
    writer.put(Score(episode_id="e0", metric="s", value=1.0, version="1"))
    writer.put(Assignment(id="a", participant_id="p", run_id="run", item_hash="item", state="x"))
    writer.put(Event(kind="x"))
    writer.flush()


def test_a_text_file_is_no_log(path: Path) -> None:
    path.write_text("these are notes, and long enough to be looked at as a header of a database file" * 3)
    before = path.read_bytes()
    for opened in (lambda: LogWriter(path, durable=True), lambda: LogReader(path)):
        with pytest.raises(NotALog, match=r"log\.sqlite is not a log of Askback.*--log"):
            opened()
    assert path.read_bytes() == before


def test_another_sqlite_file_is_no_log_and_stays_as_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    for opened in (lambda: LogWriter(path, durable=True), lambda: LogReader(path)):
        with pytest.raises(NotALog, match="an SQLite file, but not a log"):
            opened()
    assert path.read_bytes() == before


def test_no_file_is_no_log_to_read(path: Path) -> None:
    with pytest.raises(NotALog, match=r"no log at .*log\.sqlite"):
        LogReader(path)
    assert not path.exists()


def test_a_newer_log_is_refused(path: Path) -> None:
    LogWriter(path, durable=True).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    for opened in (lambda: LogWriter(path, durable=True), lambda: LogReader(path)):
        with pytest.raises(NewerLog, match=r"newer Askback.*Update"):
            opened()


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogError, match=r"cannot create the folder of the log .*file"):
        LogWriter(tmp_path / "file" / "log.sqlite", durable=True)


@pytest.mark.parametrize("open_log", [lambda path: LogWriter(path, durable=True), LogReader])
def test_an_older_log_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch, open_log: Callable[[Path], LogWriter | LogReader]
) -> None:
    LogWriter(path, durable=True).close()
    monkeypatch.setattr(logs.connect, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setattr(logs.connect, "apply_migrations", lambda it: apply_migrations(it, _longer()))
    open_log(path).close()
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION + 1,)
        assert other.execute("SELECT count(*) FROM added").fetchone() == (0,)


def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LogWriter(path, durable=True).close()
    monkeypatch.setattr(logs.connect, "SCHEMA_VERSION", SCHEMA_VERSION + 2)
    monkeypatch.setattr(
        logs.connect, "apply_migrations", lambda it: apply_migrations(it, _longer(fails=True))
    )
    with pytest.raises(LogError, match="syntax error"):
        LogWriter(path, durable=True)
    monkeypatch.undo()
    LogReader(path).close()
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT count(*) FROM sqlite_master WHERE name = 'added'").fetchone() == (0,)


def _longer(fails: bool = False) -> tuple[Migration, ...]:
    """The migrations of a later Askback."""
    added = Migration("998_added", lambda db: db.execute("CREATE TABLE added (x TEXT)"))
    wrong = Migration("999_wrong", lambda db: db.execute("CREATE TABEL wrong (x TEXT)"))
    return (*MIGRATIONS, added, wrong) if fails else (*MIGRATIONS, added)


def test_opening_an_up_to_date_log_does_not_wait_for_heavy_imports(path: Path) -> None:
    LogWriter(path, durable=True).close()
    program = (
        "import sys; from pathlib import Path; from logs import LogReader, LogWriter\n"
        "path = Path(sys.argv[1]); LogWriter(path, durable=True).close(); LogReader(path).close()\n"
        "print(sorted({'sqlite_utils', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
