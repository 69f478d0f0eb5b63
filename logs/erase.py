"""Erasure of a person: their identity and words are removed, the structure of the data stays.

Removed: their outside identities; their details; the texts of their turns; their judgments; the details of
their assignments and events; and every model's prompt and answer in their episodes (both quote them). In the
rest of their episodes, longer verbatim quotes of them are masked, and so is the free text in every turn's
payload. A payload may list, in ``private``, further keys that reveal what the person said (such as whether a
letter was right): they are removed, and so are the scores of that episode. Keys listed in ``personal`` reveal
who the person is (such as an age): they are removed, and the scores stay.
Kept: numbers, times, scores, token counts and the tree nodes that were given, so that counts, quotas and
references remain valid.

The pseudonym, which anyone with the key and the outside id could derive again, becomes a random name:
a person who comes with that id is new. It is kept only if a study has to recognise the person to keep them
out: after an exclusion by a researcher, or in a study with ``keep_out_erased``. The receipt lists these
studies.

Exports, backups, caches of model answers and copies made earlier are not changed.
"""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from logs.codec import encode, stored_columns
from logs.connect import connect_for_writing, log_error
from logs.errors import NotInLog
from logs.pseudonym import PSEUDONYM
from logs.reader import LogReader
from logs.rows import EXCLUDED, INCLUDED, Event
from logs.schema import TABLES

ERASED = "[erased]"
"""Replaces a text."""

ERASED_JSON = '{"erased":true}'
"""Replaces an object."""

PRIVATE = "private"
"""Key of a payload that lists its keys that reveal what was said."""

PERSONAL = "personal"
"""Key of a payload that lists its keys that reveal who the person is; no score depends on them."""

RECEIPT = "participant.erased"
"""Kind of the receipt event."""

NAMELESS = "erased-"
"""Prefix of an erased person's new name."""

# Shorter quotes could be anyone's ("yes", "thank you").
_QUOTE = 8
_EDGES = " .,;:!?…。，；：！？\"'“”‘’«»()（）"
# Texts that stay in a payload: labels and tree indices, such as follow_up or 1.2.
_LABEL = re.compile(r"[A-Za-z0-9_.:/+-]{1,40}")
_INDEX = re.compile(r"[0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The result of an erasure.

    Attributes:
        name: their name in the log from now on.
        kept_out_of: runs of the studies that still recognise their id, so that `name` is the pseudonym.
        counts: number of changed rows, by table.
        files_clean: False if other programs had the file open, or the disk had no space to rewrite it, so
            that the file may contain remains of the old texts; erasing again later cleans it.
    """

    participant_id: str
    name: str
    kept_out_of: tuple[str, ...]
    episodes: tuple[str, ...]
    counts: dict[str, int]
    files_clean: bool = True

    @property
    def recognition_note(self) -> str:
        """Return a sentence about who still recognises the person's id."""
        if self.kept_out_of:
            return f"The exclusion list of {', '.join(self.kept_out_of)} still keeps their id out."
        return "A person who comes with their id counts as new."


def erase_participant(path: Path, participant_id: str, *, reason: str = "") -> Erasure:
    """Erase a person from the log at `path`, in one transaction, and leave a receipt event.

    Raises:
        NotInLog: if there is no such participant, or no longer; the message lists similar ones.
        LogError: if the log cannot be written.
    """
    with LogReader(path) as reader:
        reader.participant(participant_id)
    try:
        with closing(connect_for_writing(path, durable=True)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                erasure = _Eraser(connection, participant_id).erase(reason)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
    except sqlite3.Error as error:
        raise log_error(path, error, "erase from") from error
    return replace(erasure, files_clean=_clean_files(path))


def _clean_files(path: Path) -> bool:
    """Remove remains of the old texts from the files; return True if that was possible."""
    with closing(connect_for_writing(path, durable=True, busy_seconds=2.0)) as connection:
        try:
            # Unused parts of pages may still contain copies: rewrite the file.
            connection.execute("VACUUM")
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:
            return False
    return not busy


class _Eraser:
    """One erasure within an open transaction."""

    def __init__(self, connection: sqlite3.Connection, participant_id: str) -> None:
        self._connection = connection
        self._person = participant_id
        self._counts: dict[str, int] = {}

    def erase(self, reason: str) -> Erasure:
        person = self._connection.execute("SELECT 1 FROM participants WHERE id = ?", [self._person])
        if person.fetchone() is None:  # another process was first
            raise NotInLog(f"{self._person} is already erased", self._person)
        self._connection.execute("INSERT INTO erase_permit VALUES (?)", [RECEIPT])
        own = self._own_turns()
        episodes = tuple(self._episodes(own))
        texts = [text for _, text in own.values()]
        quotes = _Quotes([*texts, *self._identities()])
        self._erase_own(own)
        self._scrub_episodes(episodes, quotes)
        pseudonym, kept_out_of = self._person, self._kept_out_of()
        if not kept_out_of and PSEUDONYM.fullmatch(pseudonym):
            self._person = f"{NAMELESS}{secrets.token_hex(8)}"
            self._rename(pseudonym)
        self._leave_receipt(episodes, reason, kept_out_of)
        self._connection.execute("DELETE FROM erase_permit")
        return Erasure(
            participant_id=pseudonym,
            name=self._person,
            kept_out_of=kept_out_of,
            episodes=episodes,
            counts=self._counts,
        )

    def _kept_out_of(self) -> tuple[str, ...]:
        """Return the runs of the studies whose exclusion lists have the person."""
        strict = self._connection.execute(
            "SELECT DISTINCT a.run_id FROM assignments a JOIN runs r ON r.id = a.run_id "
            "WHERE a.participant_id = ? AND json_extract(r.config, '$.study.keep_out_erased')",
            [self._person],
        ).fetchall()
        newest = dict(
            self._connection.execute(
                "SELECT run_id, kind FROM events WHERE participant_id = ? AND kind IN (?, ?) ORDER BY seq",
                [self._person, EXCLUDED, INCLUDED],
            ).fetchall()
        )
        excluded = [run for run, kind in newest.items() if kind == EXCLUDED]
        return tuple(sorted({*(run for (run,) in strict), *excluded}))

    def _rename(self, before: str) -> None:
        """Replace the name `before` with the person's new name in all columns."""
        self._connection.execute("PRAGMA defer_foreign_keys = ON")
        for table in TABLES.values():
            for column in table.columns:
                if column.kind in ("text", "json"):
                    self._connection.execute(
                        f"UPDATE {table.name} SET {column.name} = replace({column.name}, ?1, ?2) "
                        f"WHERE instr({column.name}, ?1)",
                        [before, self._person],
                    )

    def _own_turns(self) -> dict[int, tuple[str, str]]:
        """Return episode and text of the person's turns, by ``seq``.

        A turn is theirs if its payload names them, or if its payload names no participant and it is a
        person's turn in one of their episodes.
        """
        rows = self._connection.execute(
            "SELECT t.seq, t.episode_id, t.text, t.seat, t.payload, e.seats, e.participant_id "
            "FROM turns t JOIN episodes e ON e.id = t.episode_id "
            "WHERE e.participant_id = ? OR instr(t.payload, ?) > 0",
            [self._person, json.dumps(self._person, ensure_ascii=False)],
        )
        own = {}
        for seq, episode, text, seat, payload, seats, player in rows:
            whose = json.loads(payload).get("participant_id")
            sits = str(json.loads(seats).get(seat, ""))
            if whose == self._person or (whose is None and player == self._person and _is_person(sits)):
                own[seq] = (episode, text)
        return own

    def _episodes(self, own: dict[int, tuple[str, str]]) -> Iterable[str]:
        theirs = self._connection.execute(
            "SELECT id FROM episodes WHERE participant_id = ? ORDER BY seq", [self._person]
        )
        return dict.fromkeys([*(name for (name,) in theirs), *(episode for episode, _ in own.values())])

    def _identities(self) -> list[str]:
        rows = self._connection.execute(
            "SELECT value FROM identities WHERE participant_id = ?", [self._person]
        )
        return [value for (value,) in rows]

    def _erase_own(self, own: dict[int, tuple[str, str]]) -> None:
        person = [self._person]
        unscored: set[str] = set()
        for seq, (episode, text) in own.items():
            (payload,) = self._connection.execute("SELECT payload FROM turns WHERE seq = ?", [seq]).fetchone()
            content = json.loads(payload)
            owner = {key: content[key] for key in content if key == "participant_id"}
            if content.get(PRIVATE):
                unscored.add(episode)
            removed = {*content.get(PRIVATE, ()), *content.get(PERSONAL, ())}
            content = {key: value for key, value in content.items() if key not in removed}
            scrubbed = _dump(_walk(content, partial(_scrub_text, text=text)) | owner)
            self._change("turns", "text = ?, payload = ?, key = NULL WHERE seq = ?", [ERASED, scrubbed, seq])
        for episode in sorted(unscored):
            self._change("scores", "value = NULL, details = ? WHERE episode_id = ?", [ERASED_JSON, episode])
        self._change("participants", "details = ? WHERE id = ?", [ERASED_JSON, *person])
        self._change("judgments", "value = ?, key = NULL WHERE annotator = ?", [ERASED_JSON, *person])
        self._change("assignments", "details = ? WHERE participant_id = ?", [ERASED_JSON, *person])
        self._change(
            "events", "details = ? WHERE participant_id = ? AND kind <> ?", [ERASED_JSON, *person, RECEIPT]
        )
        deleted = self._connection.execute("DELETE FROM identities WHERE participant_id = ?", person).rowcount
        self._count("identities", deleted)

    def _scrub_episodes(self, episodes: tuple[str, ...], quotes: _Quotes) -> None:
        for episode in episodes:
            self._change(
                "model_calls",
                "request = ?, response = ?, request_key = NULL WHERE episode_id = ?",
                [ERASED_JSON, ERASED_JSON, episode],
            )
            self._rewrite("turns", "payload", episode, lambda text: _json(text, _scrub_text))
            self._rewrite("turns", "text", episode, quotes.blot)
            self._rewrite("endings", "message", episode, quotes.blot)
            for table, column in (("judgments", "value"), ("scores", "details"), ("events", "details")):
                self._rewrite(table, column, episode, lambda text: _json(text, quotes.blot))
            self._rewrite("episodes", "options", episode, lambda text: _json(text, quotes.blot), key="id")

    def _rewrite(
        self, table: str, column: str, episode: str, change: Callable[[str], str], key: str = "episode_id"
    ) -> None:
        """Apply `change` to the texts of a column in the rows of an episode."""
        rows = self._connection.execute(f"SELECT seq, {column} FROM {table} WHERE {key} = ?", [episode])
        for seq, text in rows.fetchall():
            if (changed := change(text)) != text:
                self._change(table, f"{column} = ? WHERE seq = ?", [changed, seq])

    def _change(self, table: str, assignment: str, values: list[Any]) -> None:
        self._count(table, self._connection.execute(f"UPDATE {table} SET {assignment}", values).rowcount)

    def _count(self, table: str, rows: int) -> None:
        if rows:
            self._counts[table] = self._counts.get(table, 0) + rows

    def _leave_receipt(self, episodes: tuple[str, ...], reason: str, kept_out_of: tuple[str, ...]) -> None:
        details = {
            "reason": reason,
            "episodes": list(episodes),
            "rows": self._counts,
            "kept_out_of": list(kept_out_of),
        }
        receipt = Event(kind=RECEIPT, participant_id=self._person, details=details)
        names = stored_columns(TABLES[Event])
        self._connection.execute(
            f"INSERT INTO events ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", encode(receipt)
        )


class _Quotes:
    """A person's texts, to be masked where others quote them."""

    def __init__(self, texts: Iterable[str]) -> None:
        # A quote seldom includes the punctuation after it.
        stripped = (text.strip().strip(_EDGES) for text in texts if text != ERASED)
        long_enough = {text for text in stripped if len(text) >= _QUOTE}
        # Longest first, so that a quote that contains another is masked completely.
        ordered = sorted(long_enough, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE) if ordered else None

    def blot(self, text: str) -> str:
        """Return `text` with quotes of the person masked."""
        return self._pattern.sub(ERASED, text) if self._pattern else text


def _is_person(sits: str) -> bool:
    return sits == "person" or sits.startswith(("person:", "person/"))


def _scrub_text(content: str, text: str = "") -> str:
    """Mask a payload's text unless it is an index, or a label that is not in the person's `text`."""
    if _INDEX.fullmatch(content) or (_LABEL.fullmatch(content) and content not in text) or not content:
        return content
    return ERASED


def _json(text: str, change: Callable[[str], str]) -> str:
    value = json.loads(text)
    changed = _walk(value, change)
    return text if changed == value else _dump(changed)


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    """Return `value` with `change` applied to every text in it, except keys of objects."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_walk(each, change) for each in value]
    if isinstance(value, dict):
        return {key: _walk(each, change) for key, each in value.items()}
    return value


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
