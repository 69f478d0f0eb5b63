"""Export of a log as JSON lines, CSV, Parquet or another log, with a codebook.

An export is a consistent snapshot of the log, in a folder in which the files appear atomically. It has
pseudonyms, and outside identities only on request.
"""

from __future__ import annotations

import csv
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from logs.codebook import codebook_csv, codebook_markdown, guard, unguard
from logs.codec import column_list, decode, dump_json, plain_values
from logs.errors import LogError
from logs.reader import LogReader
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
    Row,
    Run,
    Score,
    Turn,
    now,
)
from logs.schema import TABLES, Table
from logs.writer import LogWriter

__all__ = ["Progress", "export_log", "unguard"]


Format = Literal["jsonl", "csv", "parquet", "log"]
LOG_NAME = "log.sqlite"
Progress = Callable[[int, int], None]
"""Called with the number of rows written so far and the total."""

CARD_NAME = "README.md"
# Rows between two calls of `Progress`.
_STEP = 500

_OF_RUNS = "SELECT value FROM json_each(:runs)"
_EPISODES = f"SELECT id FROM episodes WHERE run_id IN ({_OF_RUNS})"
_ITEMS = (
    f"SELECT item_hash FROM episodes WHERE run_id IN ({_OF_RUNS}) "
    f"UNION SELECT item_hash FROM assignments WHERE run_id IN ({_OF_RUNS})"
)
_PEOPLE = (
    f"SELECT participant_id FROM episodes WHERE run_id IN ({_OF_RUNS}) "
    f"UNION SELECT participant_id FROM assignments WHERE run_id IN ({_OF_RUNS}) "
    f"UNION SELECT annotator FROM judgments WHERE episode_id IN ({_EPISODES})"
)
_OF_EPISODES = ("turns", "model_calls", "endings", "scores")
# Conditions of the rows that belong to the chosen runs, by table.
_CHOSEN = {
    "runs": f"id IN ({_OF_RUNS})",
    "items": f"hash IN ({_ITEMS})",
    "participants": f"id IN ({_PEOPLE})",
    "identities": f"participant_id IN ({_PEOPLE})",
    "episodes": f"run_id IN ({_OF_RUNS})",
    **dict.fromkeys(_OF_EPISODES, f"episode_id IN ({_EPISODES})"),
    "judgments": f"episode_id IN ({_EPISODES}) OR (episode_id IS NULL AND item_hash IN ({_ITEMS}))",
    "assignments": f"run_id IN ({_OF_RUNS})",
    "events": f"run_id IN ({_OF_RUNS}) OR episode_id IN ({_EPISODES})",
}


# Conditions that omit people who have withdrawn and are not erased yet, by table.
_OUT = "SELECT value FROM json_each(:out)"
_EPISODES_OUT = (
    f"SELECT id FROM episodes WHERE participant_id IN ({_OUT}) "
    # In an episode of two people, each turn names its participant.
    f"UNION SELECT episode_id FROM turns WHERE json_extract(payload, '$.participant_id') IN ({_OUT})"
)
_EPISODE_IN = f"(episode_id IS NULL OR episode_id NOT IN ({_EPISODES_OUT}))"
_PERSON_IN = f"(participant_id IS NULL OR participant_id NOT IN ({_OUT}))"
_IN = {
    "participants": f"id NOT IN ({_OUT})",
    "identities": _PERSON_IN,
    "episodes": f"id NOT IN ({_EPISODES_OUT})",
    **dict.fromkeys(_OF_EPISODES, _EPISODE_IN),
    "judgments": f"{_EPISODE_IN} AND annotator NOT IN ({_OUT})",
    "assignments": _PERSON_IN,
    "events": f"{_EPISODE_IN} AND {_PERSON_IN}",
}


@dataclass(slots=True)
class _Source:
    """The source of an export: a snapshot of the log, the chosen runs (None for all), and omitted people.

    It counts rows as they are read, and reports `progress`.
    """

    connection: sqlite3.Connection
    runs: tuple[str, ...] | None
    out: tuple[str, ...]
    progress: Progress | None
    total: int = 0
    done: int = 0

    def where(self, table: Table) -> str:
        chosen = [] if self.runs is None else [f"({_CHOSEN[table.name]})"]
        included = [_IN[table.name]] if self.out and table.name in _IN else []
        return f"WHERE {' AND '.join((*chosen, *included))}" if chosen or included else ""

    def query(self, what: str, table: Table, order: str = "") -> sqlite3.Cursor:
        statement = f"SELECT {what} FROM {table.name} {self.where(table)} {order}".rstrip()
        named = {"runs": json.dumps(self.runs), "out": json.dumps(self.out)}
        return self.connection.execute(statement, named)

    def count(self, table: Table) -> int:
        return int(self.query("count(*)", table).fetchone()[0])

    def rows(self, table: Table, order: str = "") -> Iterator[tuple[Any, ...]]:
        with closing(self.query(column_list(table.row), table, order)) as cursor:
            for record in cursor:
                yield record
                self.count_read(1)

    def count_read(self, rows: int) -> None:
        before = self.done // _STEP
        self.done += rows
        if self.progress and self.done // _STEP != before:
            self.progress(min(self.done, self.total), self.total)


def export_log(
    reader: LogReader,
    folder: Path,
    *,
    format: Format = "jsonl",
    runs: Sequence[str] | None = None,
    nest: bool = False,
    identities: bool = False,
    excel: bool = False,
    progress: Progress | None = None,
) -> tuple[Path, ...]:
    """Export the log, or some of its runs, into `folder`.

    Args:
        reader: the log.
        folder: created if necessary; files of the same names in it are replaced.
        format: ``jsonl`` (a JSON object per line), ``csv``, ``parquet`` (a folder that the library `datasets`
            loads; needs pyarrow) or ``log`` (one file, which any Askback can read and score again).
        runs: ids of the runs to export; None for everything.
        nest: write ``runs.jsonl`` and one file ``episodes.jsonl``, with a complete episode per line.
        identities: include outside identities, which reveal who took part.
        excel: begin CSV files with a byte order mark, so that Excel reads UTF-8.
        progress: called as the export proceeds.

    Returns:
        The written files.

    Raises:
        NotInLog: if one of the runs does not exist.
        LogError: if the folder cannot be written, options contradict each other, or pyarrow is missing.
    """
    if nest and format != "jsonl":
        raise LogError(f"{format} cannot be nested: export as jsonl, or without nesting")
    if format == "parquet" and find_spec("pyarrow") is None:
        raise LogError("Parquet needs pyarrow: pip install 'askback[parquet]'")
    for run in runs or ():
        reader.run(run)
    omitted = ({Identity} if not identities else set()) | ({Assignment} if nest else set())
    tables = [table for table in TABLES.values() if table.row not in omitted]
    out = tuple(sorted(reader.withdrawals()))
    with _snapshot(reader) as connection:
        source = _Source(connection, None if runs is None else tuple(runs), out, progress)
        source.total = sum(map(source.count, tables))
        with _staging_folder(folder) as drafts:
            if nest:
                _write_table(source, TABLES[Run], drafts, format, excel)
                _write_nested(source, drafts, identities)
            elif format == "log":
                _write_log(source, tables, drafts / LOG_NAME)
            else:
                for table in tables:
                    _write_table(source, table, drafts, format, excel)
            about = _provenance_lines(source, reader.path, nest, identities)
            markdown = codebook_markdown(tables, about=about, guarded=format == "csv")
            if format == "parquet":
                (drafts / CARD_NAME).write_text(_dataset_card(tables, about), encoding="utf-8")
            (drafts / "codebook.md").write_text(markdown, encoding="utf-8")
            (drafts / "codebook.csv").write_text(codebook_csv(tables), encoding="utf-8", newline="")
            names = sorted(draft.name for draft in drafts.iterdir())
    if progress:
        progress(source.total, source.total)
    return tuple(folder / name for name in names)


@contextmanager
def _snapshot(reader: LogReader) -> Iterator[sqlite3.Connection]:
    """Yield a connection that sees the log as it is now, without later writes."""
    with reader.connection() as connection:
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")


@contextmanager
def _staging_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder whose files are moved into `folder` once all of them are written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".export-", dir=folder, ignore_cleanup_errors=True) as drafts:
            yield Path(drafts)
            for draft in sorted(Path(drafts).iterdir()):
                os.replace(draft, folder / draft.name)
    except OSError as error:
        raise LogError(f"cannot export to {folder} ({error.strerror}). Name another folder.") from error


def _write_log(source: _Source, tables: Iterable[Table], path: Path) -> None:
    with LogWriter(path, durable=False) as log:
        for table in tables:
            for record in source.rows(table, "ORDER BY seq"):
                log.put(decode(table.row, record))


def _write_parquet(source: _Source, table: Table, path: Path) -> None:
    import pyarrow as pa  # optional
    from pyarrow import parquet

    kinds = {"integer": pa.int64(), "real": pa.float64(), "boolean": pa.bool_()}
    schema = pa.schema([(column.name, kinds.get(column.kind, pa.string())) for column in table.columns])
    booleans = [column.name for column in table.columns if column.kind == "boolean"]
    records = [dict(zip(table.names, record, strict=True)) for record in source.rows(table)]
    for record in records:
        record |= {name: bool(record[name]) for name in booleans if record[name] is not None}
    parquet.write_table(pa.Table.from_pylist(records, schema), path)


def _dataset_card(tables: Iterable[Table], about: Sequence[str]) -> str:
    """Return the dataset card, from which the library `datasets` knows the file of each table."""
    configs = (f"- config_name: {table.name}\n  data_files: {table.name}.parquet" for table in tables)
    lines = (f"- {line}" for line in about)
    return "\n".join(["---", "configs:", *configs, "---", "", "# Dialogues", "", *lines, ""])


def _write_table(source: _Source, table: Table, drafts: Path, format: Format, excel: bool) -> None:
    if format == "parquet":
        _write_parquet(source, table, drafts / f"{table.name}.parquet")
        return
    encoding = "utf-8-sig" if excel and format == "csv" else "utf-8"
    with (drafts / f"{table.name}.{format}").open("w", encoding=encoding, newline="") as file:
        if format == "csv":
            writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
            writer.writerow(table.names)
            writer.writerows(_cells(table, record) for record in source.rows(table))
        else:
            file.writelines(dump_json(plain_values(table, record)) + "\n" for record in source.rows(table))


def _cells(table: Table, record: tuple[Any, ...]) -> list[Any]:
    """Return the cells of a row; numbers stay numbers, texts are guarded against formulas."""
    cells: list[Any] = []
    for column, value in zip(table.columns, record, strict=True):
        if column.kind == "boolean":
            cells.append("true" if value else "false")
        elif column.kind in ("text", "json") and value is not None:
            cells.append(guard(value))
        else:
            cells.append(value)
    return cells


def _write_nested(source: _Source, drafts: Path, identities: bool) -> None:
    with (drafts / "episodes.jsonl").open("w", encoding="utf-8", newline="") as file:
        for row in source.rows(TABLES[Episode]):
            record, rows = _nest_episode(source.connection, plain_values(TABLES[Episode], row), identities)
            file.write(dump_json(record) + "\n")
            source.count_read(rows - 1)  # the episode is counted already


def _provenance_lines(source: _Source, log: Path, nest: bool, identities: bool) -> list[str]:
    what = "everything" if source.runs is None else f"the runs {', '.join(source.runs)}"
    about = [f"Exported from `{log.name}` at {now()}: {what}."]
    if source.out:
        about.append(f"Omitted, because they have withdrawn: {len(source.out)} participants.")
    if nest:
        about.append(
            "Each line of `episodes.jsonl` is an episode with its `item`, `participant`, `ending`, `turns` "
            "(each with its `model_calls`), other `model_calls`, `judgments`, `scores` and `events`."
        )
    about.append(
        "Outside identities of participants are included: do not share it."
        if identities
        else "People are pseudonymous; their outside identities are not included."
    )
    return about


_Nested = dict[str, Any]


def _nest_episode(connection: sqlite3.Connection, episode: _Nested, identities: bool) -> tuple[_Nested, int]:
    """Return an episode as one object, and the number of rows in it.

    `identities`: whether to include a participant's outside identities.
    """
    of_episode = "episode_id = ?"
    id = episode["id"]
    (item,) = _read(connection, Item, "hash = ?", episode["item_hash"])
    people = _read(connection, Participant, "id = ?", episode["participant_id"])
    for person in people if identities else ():
        person["identities"] = _read(connection, Identity, "participant_id = ?", person["id"])
    endings = _read(connection, Ending, of_episode, id)
    turns = _without_episode_ids(_read(connection, Turn, of_episode, id))
    calls = _without_episode_ids(_read(connection, ModelCall, of_episode, id))
    rest = {
        "judgments": _without_episode_ids(_read(connection, Judgment, of_episode, id)),
        "scores": _without_episode_ids(_read(connection, Score, of_episode, id)),
        "events": _without_episode_ids(_read(connection, Event, of_episode, id)),
    }
    rows = 1 + len(endings) + len(turns) + len(calls) + sum(map(len, rest.values()))
    by_turn: dict[Any, list[_Nested]] = {turn["number"]: [] for turn in turns}
    outside: list[_Nested] = []
    for turn in turns:
        turn["model_calls"] = by_turn[turn["number"]]
    for call in calls:
        by_turn.get(call["turn_number"], outside).append(call)
    record = episode | {
        "item": item,
        "participant": people[0] if people else None,
        "ending": _without_episode_ids(endings)[0] if endings else None,
        "turns": turns,
        "model_calls": outside,
        **rest,
    }
    return record, rows


def _read(connection: sqlite3.Connection, row: type[Row], where: str, value: Any) -> list[_Nested]:
    table = TABLES[row]
    order = "number" if row is Turn else "seq"
    query = f"SELECT {column_list(row)} FROM {table.name} WHERE {where} ORDER BY {order}"
    return [plain_values(table, record) for record in connection.execute(query, [value])]


def _without_episode_ids(rows: list[_Nested]) -> list[_Nested]:
    """Return rows without the id of the episode that contains them."""
    return [{key: value for key, value in row.items() if key != "episode_id"} for row in rows]
