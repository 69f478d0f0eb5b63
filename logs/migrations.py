"""The SQL of the log, as numbered migrations. A released migration never changes.

The file itself enforces that it is append-only: triggers reject UPDATE and DELETE on every table, and INSERT
OR REPLACE, too (for which SQLite deletes without firing delete triggers). Only the erase command may change
rows, by means of a row in ``erase_permit`` that exists only within its transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION_ID = int.from_bytes(b"ASKB", "big")
"""Marks the file as a log of Askback (``PRAGMA application_id``)."""

_TABLES = (
    """CREATE TABLE runs (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        benchmark TEXT NOT NULL,
        setup TEXT NOT NULL CHECK (setup IN ('H2H', 'H2L', 'L2H', 'L2L')),
        seed TEXT NOT NULL,
        config TEXT NOT NULL,
        created_at TEXT NOT NULL)""",
    """CREATE TABLE items (
        seq INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        benchmark TEXT NOT NULL,
        name TEXT NOT NULL,
        language TEXT NOT NULL,
        data TEXT NOT NULL)""",
    """CREATE TABLE participants (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        language TEXT NOT NULL,
        details TEXT NOT NULL,
        created_at TEXT NOT NULL)""",
    """CREATE TABLE identities (
        seq INTEGER PRIMARY KEY,
        participant_id TEXT NOT NULL REFERENCES participants (id),
        kind TEXT NOT NULL,
        value TEXT NOT NULL,
        created_at TEXT NOT NULL,
        UNIQUE (participant_id, kind, value))""",
    """CREATE TABLE episodes (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        run_id TEXT NOT NULL REFERENCES runs (id),
        item_hash TEXT NOT NULL REFERENCES items (hash),
        language TEXT NOT NULL,
        seats TEXT NOT NULL,
        seed TEXT NOT NULL,
        repeat INTEGER NOT NULL CHECK (repeat >= 0),
        attempt INTEGER NOT NULL CHECK (attempt >= 0),
        participant_id TEXT REFERENCES participants (id),
        options TEXT NOT NULL,
        created_at TEXT NOT NULL,
        UNIQUE (run_id, item_hash, language, repeat, attempt))""",
    """CREATE TABLE turns (
        seq INTEGER PRIMARY KEY,
        episode_id TEXT NOT NULL REFERENCES episodes (id),
        number INTEGER NOT NULL CHECK (number >= 0),
        seat TEXT NOT NULL,
        text TEXT NOT NULL,
        payload TEXT NOT NULL,
        key TEXT,
        seconds REAL,
        created_at TEXT NOT NULL,
        UNIQUE (episode_id, number))""",
    """CREATE TABLE endings (
        seq INTEGER PRIMARY KEY,
        episode_id TEXT NOT NULL UNIQUE REFERENCES episodes (id),
        status TEXT NOT NULL CHECK (status IN ('completed', 'truncated', 'aborted', 'failed')),
        cause TEXT,
        message TEXT NOT NULL,
        created_at TEXT NOT NULL)""",
    """CREATE TABLE model_calls (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        episode_id TEXT REFERENCES episodes (id),
        turn_number INTEGER,
        purpose TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_version TEXT NOT NULL,
        request TEXT NOT NULL,
        response TEXT NOT NULL,
        input_tokens INTEGER,
        output_tokens INTEGER,
        cost REAL,
        seconds REAL,
        attempts INTEGER NOT NULL,
        cached INTEGER NOT NULL CHECK (cached IN (0, 1)),
        error TEXT NOT NULL,
        created_at TEXT NOT NULL,
        request_key TEXT)""",
    """CREATE TABLE judgments (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        episode_id TEXT REFERENCES episodes (id),
        annotator TEXT NOT NULL,
        kind TEXT NOT NULL,
        value TEXT NOT NULL,
        turn_number INTEGER,
        item_hash TEXT REFERENCES items (hash),
        key TEXT,
        created_at TEXT NOT NULL)""",
    """CREATE TABLE scores (
        seq INTEGER PRIMARY KEY,
        episode_id TEXT NOT NULL REFERENCES episodes (id),
        metric TEXT NOT NULL,
        value REAL,
        version TEXT NOT NULL,
        details TEXT NOT NULL,
        created_at TEXT NOT NULL)""",
    """CREATE TABLE assignments (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        participant_id TEXT NOT NULL REFERENCES participants (id),
        run_id TEXT NOT NULL REFERENCES runs (id),
        item_hash TEXT NOT NULL REFERENCES items (hash),
        state TEXT NOT NULL,
        details TEXT NOT NULL,
        created_at TEXT NOT NULL)""",
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        run_id TEXT REFERENCES runs (id),
        episode_id TEXT REFERENCES episodes (id),
        participant_id TEXT REFERENCES participants (id),
        details TEXT NOT NULL,
        created_at TEXT NOT NULL)""",
    "CREATE TABLE erase_permit (reason TEXT NOT NULL)",
)

_INDEXES = (
    "CREATE INDEX items_by_name ON items (benchmark, name, language)",
    "CREATE INDEX identities_by_value ON identities (kind, value)",
    "CREATE INDEX episodes_by_participant ON episodes (participant_id) WHERE participant_id IS NOT NULL",
    "CREATE UNIQUE INDEX turns_by_key ON turns (episode_id, key) WHERE key IS NOT NULL",
    "CREATE INDEX model_calls_by_turn ON model_calls (episode_id, turn_number)",
    "CREATE INDEX model_calls_by_request ON model_calls (request_key) WHERE request_key IS NOT NULL",
    "CREATE INDEX judgments_by_episode ON judgments (episode_id, turn_number)",
    "CREATE INDEX judgments_by_item ON judgments (item_hash) WHERE item_hash IS NOT NULL",
    "CREATE UNIQUE INDEX judgments_by_key ON judgments (annotator, key) WHERE key IS NOT NULL",
    "CREATE INDEX judgments_by_annotator ON judgments (annotator, kind)",
    "CREATE INDEX scores_by_metric ON scores (episode_id, metric, version)",
    "CREATE INDEX assignments_by_id ON assignments (id)",
    "CREATE INDEX assignments_by_participant ON assignments (participant_id)",
    "CREATE INDEX assignments_by_item ON assignments (run_id, item_hash)",
    "CREATE INDEX events_by_run ON events (run_id) WHERE run_id IS NOT NULL",
    "CREATE INDEX events_by_episode ON events (episode_id) WHERE episode_id IS NOT NULL",
    "CREATE INDEX events_by_participant ON events (participant_id) WHERE participant_id IS NOT NULL",
    "CREATE INDEX events_by_kind ON events (kind)",
)

# Every set of columns by which INSERT OR REPLACE could find, and so delete, a row.
_APPEND_ONLY: dict[str, tuple[str, ...]] = {
    "runs": ("id",),
    "items": ("hash",),
    "participants": ("id",),
    "identities": ("participant_id, kind, value",),
    "episodes": ("id", "run_id, item_hash, language, repeat, attempt"),
    "turns": ("episode_id, number", "episode_id, key"),
    "endings": ("episode_id",),
    "model_calls": ("id",),
    "judgments": ("id", "annotator, key"),
    "scores": (),
    "assignments": (),
    "events": (),
}

_RULES = (
    # Turns are numbered without gaps, and none follows the ending.
    """CREATE TRIGGER turns_in_order BEFORE INSERT ON turns
        WHEN NEW.number IS NOT
            (SELECT coalesce(max(number) + 1, 0) FROM turns WHERE episode_id = NEW.episode_id)
        BEGIN SELECT RAISE(ABORT, 'turns are numbered 0, 1, 2, … without a gap'); END""",
    """CREATE TRIGGER turns_before_ending BEFORE INSERT ON turns
        WHEN EXISTS (SELECT 1 FROM endings WHERE episode_id = NEW.episode_id)
        BEGIN SELECT RAISE(ABORT, 'the episode has ended'); END""",
    # Unchanged scores and assignments are not written again, so that a retry changes nothing.
    """CREATE TRIGGER scores_changed BEFORE INSERT ON scores
        WHEN EXISTS (SELECT 1 FROM (SELECT value, details FROM scores
                     WHERE episode_id = NEW.episode_id AND metric = NEW.metric AND version = NEW.version
                     ORDER BY seq DESC LIMIT 1)
                     WHERE value IS NEW.value AND details IS NEW.details)
        BEGIN SELECT RAISE(ABORT, 'the score is the same as before'); END""",
    """CREATE TRIGGER assignments_changed BEFORE INSERT ON assignments
        WHEN EXISTS (SELECT 1 FROM (SELECT * FROM assignments WHERE id = NEW.id ORDER BY seq DESC LIMIT 1)
                     WHERE participant_id IS NOT NEW.participant_id OR run_id IS NOT NEW.run_id
                     OR item_hash IS NOT NEW.item_hash
                     OR (state IS NEW.state AND details IS NEW.details))
        BEGIN SELECT RAISE(ABORT, 'the assignment is the same as before, or another'); END""",
)

_VIEWS = (
    """CREATE VIEW latest_attempts AS
        SELECT e.* FROM episodes e WHERE NOT EXISTS (
            SELECT 1 FROM episodes n
            WHERE n.run_id = e.run_id AND n.item_hash = e.item_hash AND n.language = e.language
            AND n.repeat = e.repeat AND n.attempt > e.attempt)""",
    """CREATE VIEW latest_endings AS
        SELECT e.id AS episode_id, e.run_id, e.item_hash, e.language, e.repeat, e.attempt,
            coalesce(n.status, 'running') AS status, n.cause, n.message, n.created_at AS ended_at
        FROM latest_attempts e LEFT JOIN endings n ON n.episode_id = e.id""",
    """CREATE VIEW latest_scores AS
        SELECT s.* FROM scores s WHERE s.seq = (
            SELECT max(n.seq) FROM scores n WHERE n.episode_id = s.episode_id AND n.metric = s.metric)""",
    """CREATE VIEW latest_assignments AS
        SELECT a.* FROM assignments a
        WHERE a.seq = (SELECT max(n.seq) FROM assignments n WHERE n.id = a.id)""",
    """CREATE VIEW run_progress AS
        SELECT run_id, status, count(*) AS episodes FROM latest_endings GROUP BY run_id, status""",
    """CREATE VIEW model_usage AS
        SELECT e.run_id, c.model, count(*) AS calls, sum(c.cached) AS cached, sum(c.error <> '') AS errors,
            sum(CASE WHEN c.cached THEN 0 ELSE coalesce(c.input_tokens, 0) END) AS input_tokens,
            sum(CASE WHEN c.cached THEN 0 ELSE coalesce(c.output_tokens, 0) END) AS output_tokens,
            sum(CASE WHEN c.cached THEN 0.0 ELSE coalesce(c.cost, 0.0) END) AS cost,
            sum(c.cost IS NULL AND NOT c.cached) AS unpriced,
            sum(CASE WHEN c.cached THEN 0.0 ELSE coalesce(c.seconds, 0.0) END) AS seconds
        FROM model_calls c JOIN episodes e ON e.id = c.episode_id GROUP BY e.run_id, c.model""",
)


def _guards(table: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the triggers that make a table append-only."""
    refuse = "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
    closed = "WHEN NOT EXISTS (SELECT 1 FROM erase_permit)"
    there = " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE {_same_columns(columns)})" for columns in ("seq", *keys)
    )
    return (
        f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {closed} {refuse}",
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {closed} {refuse}",
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {there} {refuse}",
    )


def _same_columns(columns: str) -> str:
    return " AND ".join(f"{column} = NEW.{column}" for column in columns.split(", "))


class Migration(NamedTuple):
    """A step of the schema, with a name that never changes."""

    name: str
    apply: Callable[[Database], None]


def _create_tables(db: Database) -> None:
    for statement in (*_TABLES, *_INDEXES, *_RULES, *_VIEWS):
        db.execute(statement)
    for table, keys in _APPEND_ONLY.items():
        for statement in _guards(table, keys):
            db.execute(statement)


MIGRATIONS = (Migration("001_first", _create_tables),)

SCHEMA_VERSION = len(MIGRATIONS)
"""Stored in the file as ``PRAGMA user_version``."""


def apply_migrations(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Migrate the open database, in one transaction that other processes wait for."""
    # Takes half a second if pandas is installed, which it imports; most logs need no migration.
    from sqlite_utils import Database, Migrations

    steps = Migrations("askback-log")
    for migration in migrations:
        steps(name=migration.name)(migration.apply)
    db = Database(connection, execute_plugins=False)
    connection.execute("BEGIN IMMEDIATE")
    try:
        steps.apply(db)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(steps.applied(db))}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
