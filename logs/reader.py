"""Reading of a log, from any thread, while others write it."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Self, TypeVar

from logs.codec import column_list, decode
from logs.connect import BUSY_SECONDS, connect_for_reading, log_error
from logs.errors import LogError, NotInLog
from logs.query import IN_STATE, OF_RUN, ModelUsage, Played, Progress, State, missing_message, where_clause
from logs.rows import (
    EXCLUDED,
    INCLUDED,
    RESTORED,
    WITHDREW,
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
)
from logs.schema import TABLES

R = TypeVar("R", bound=Row)
# Enough names to search for a mistyped id; more would only slow the error down.
_NEAR_AMONG = 5000


class LogReader:
    """Reads a log. Methods may be called from any thread, and see all that is committed by then."""

    def __init__(
        self, path: Path, *, busy_seconds: float = BUSY_SECONDS, with_excluded: bool = False
    ) -> None:
        """Open the log at `path`; `with_excluded`: count people although they were excluded from their study.

        Raises:
            NotALog: if the file does not exist or is not a log.
            NewerLog: if its schema is newer than this program.
        """
        self.path = Path(path)
        self._busy_seconds = busy_seconds
        self._with_excluded = with_excluded
        self._lock = threading.Lock()
        self._closed = False
        self._idle: list[sqlite3.Connection] = [connect_for_reading(self.path, busy_seconds=busy_seconds)]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for custom queries (see ``schema.md``).

        Raises:
            LogError: if the reader is closed, or the file cannot be read.
        """
        with self._lock:
            if self._closed:
                raise LogError(f"the log {self.path} is closed")
            connection = self._idle.pop() if self._idle else None
        connection = connection or connect_for_reading(self.path, busy_seconds=self._busy_seconds)
        try:
            yield connection
        except sqlite3.Error as error:
            raise log_error(self.path, error, "read") from error
        finally:
            self._release(connection)

    def _release(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    # Runs, items, episodes

    def runs(self) -> list[Run]:
        """Return all runs, oldest first."""
        return self._where(Run)

    def run(self, id: str) -> Run:
        """Return one run.

        Raises:
            NotInLog: if there is no run of that name; the message lists similar ones.
        """
        return self._require_row(Run, "id", id)

    def items(self, run_id: str | None = None) -> list[Item]:
        """Return the items played in a run, or all items."""
        if run_id is None:
            return self._where(Item)
        played = "hash IN (SELECT item_hash FROM episodes WHERE run_id = ?)"
        return self._query(Item, f"FROM items WHERE {played} ORDER BY seq", [run_id])

    def item(self, hash: str) -> Item:
        """Return one item.

        Raises:
            NotInLog: if there is no such item; the message lists similar ones.
        """
        return self._require_row(Item, "hash", hash)

    def episodes(
        self,
        run_id: str | None = None,
        *,
        status: State | None = None,
        participant_id: str | None = None,
        latest: bool = False,
    ) -> list[Episode]:
        """Return episodes, oldest first.

        Args:
            run_id: only those of this run.
            status: only those with this status; ``running`` for those that have not ended.
            participant_id: only those of this person.
            latest: only the latest attempt of each item, language and repeat.
        """
        conditions = {"run_id = ?": run_id, "participant_id = ?": participant_id, IN_STATE: status}
        clause, values = where_clause(conditions)
        source = "latest_attempts" if latest else "episodes"
        return self._query(Episode, f"FROM {source} e {clause} ORDER BY seq", values)

    def episode(self, id: str) -> Episode:
        """Return one episode.

        Raises:
            NotInLog: if there is no episode of that name; the message lists similar ones.
        """
        return self._require_row(Episode, "id", id)

    def find_episode(self, part: str) -> Episode:
        """Return the only episode whose id is `part`, starts with it, or else contains it.

        Raises:
            NotInLog: if there is none, or more than one.
        """
        for condition in ("id = ?1", "substr(id, 1, length(?1)) = ?1", "instr(id, ?1) > 0"):
            episodes = self._query(Episode, f"FROM episodes WHERE {condition} ORDER BY seq LIMIT 6", [part])
            if len(episodes) > 1:
                names = ", ".join(episode.id for episode in episodes[:5])
                more = ", …" if len(episodes) > 5 else ""
                raise NotInLog(f"several episodes match {part!r}: {names}{more}. Give more of the id.", part)
            if episodes:
                return episodes[0]
        return self.episode(part)

    # Turns, endings, model calls

    def turns(self, episode_id: str) -> list[Turn]:
        """Return the turns of an episode, in order; empty if there is no such episode."""
        return self._query(Turn, "FROM turns WHERE episode_id = ? ORDER BY number", [episode_id])

    def turns_of_run(
        self, run_id: str, *, status: State | None = None, latest: bool = True
    ) -> Iterator[Played]:
        """Yield every episode of a run with its turns, from a single query.

        Args:
            run_id: the run.
            status: as for `episodes`.
            latest: only the latest attempt of each item, language and repeat.
        """
        # The plus makes SQLite walk the episodes in order instead of sorting all texts.
        clause, values = where_clause({"+e.run_id = ?": run_id, IN_STATE: status})
        source = "latest_attempts" if latest else "episodes"
        width = len(TABLES[Episode].columns)
        with self.connection() as connection:
            records = connection.execute(
                f"SELECT {column_list(Episode, 'e')}, {column_list(Turn, 't')} FROM {source} e "
                f"LEFT JOIN turns t ON t.episode_id = e.id {clause} ORDER BY e.seq, t.number",
                values,
            )
            with closing(records):
                for _, group in itertools.groupby(records, key=lambda record: record[0]):
                    rows = list(group)
                    turns = [decode(Turn, record[width:]) for record in rows if record[width] is not None]
                    yield Played(decode(Episode, rows[0]), turns)

    def ending(self, episode_id: str) -> Ending | None:
        """Return an episode's ending; None if it has not ended."""
        endings = self._query(Ending, "FROM endings WHERE episode_id = ?", [episode_id])
        return endings[0] if endings else None

    def endings(self, run_id: str) -> dict[str, Ending]:
        """Return the endings of a run by episode id, without episodes that have not ended."""
        return {ending.episode_id: ending for ending in self._where(Ending, run=run_id)}

    def statuses(self, run_id: str) -> dict[str, State]:
        """Return the status of each episode of a run by id, oldest first."""
        with self.connection() as connection:
            return dict(
                connection.execute(
                    "SELECT e.id, coalesce(n.status, 'running') FROM episodes e "
                    "LEFT JOIN endings n ON n.episode_id = e.id WHERE e.run_id = ? ORDER BY e.seq",
                    [run_id],
                ).fetchall()
            )

    def model_calls(
        self,
        *,
        run_id: str | None = None,
        episode_id: str | None = None,
        turn_number: int | None = None,
    ) -> list[ModelCall]:
        """Return requests to language models, oldest first."""
        return self._where(ModelCall, run=run_id, episode_id=episode_id, turn_number=turn_number)

    # Judgments, scores, events

    def judgments(
        self,
        *,
        run_id: str | None = None,
        episode_id: str | None = None,
        item_hash: str | None = None,
        annotator: str | None = None,
        kind: str | None = None,
    ) -> list[Judgment]:
        """Return judgments of annotators, reviewers and judges, oldest first."""
        equal: dict[str, Any] = {"item_hash": item_hash, "annotator": annotator, "kind": kind}
        return self._where(Judgment, run=run_id, episode_id=episode_id, **equal)

    def scores(
        self,
        *,
        run_id: str | None = None,
        episode_id: str | None = None,
        metric: str | None = None,
        latest: bool = True,
    ) -> list[Score]:
        """Return scores, oldest first; with `latest` only the latest of each episode and metric."""
        source = "latest_scores" if latest else "scores"
        return self._where(Score, source, run=run_id, episode_id=episode_id, metric=metric)

    def events(
        self,
        *,
        run_id: str | None = None,
        episode_id: str | None = None,
        participant_id: str | None = None,
        kind: str | None = None,
    ) -> list[Event]:
        """Return events, oldest first."""
        equal: dict[str, Any] = {"run_id": run_id, "participant_id": participant_id, "kind": kind}
        return self._where(Event, episode_id=episode_id, **equal)

    # People

    def erased_participants(self) -> frozenset[str]:
        """Return the people who are erased, or have withdrawn and will be.

        They count nowhere, since what is left of their turns is not an answer.
        """
        erased = (participant.id for participant in self.participants() if participant.details.get("erased"))
        return frozenset((*erased, *self.withdrawals()))

    def uncounted_participants(self, run_id: str | None = None) -> frozenset[str]:
        """Return the people who count nowhere, or are excluded from one run (by default, from any)."""
        excluded = () if self._with_excluded else self.exclusions(run_id)
        return self.erased_participants().union(excluded)

    def withdrawals(self) -> dict[str, Event]:
        """Return the event of each person who has withdrawn and is not erased yet, by pseudonym."""
        newest = {event.participant_id or "": event for event in self._events((WITHDREW, RESTORED))}
        # Erasing empties the details.
        return {
            who: event
            for who, event in newest.items()
            if event.kind == WITHDREW and "erase_at" in event.details
        }

    def exclusions(self, run_id: str | None = None) -> dict[str, Event]:
        """Return the event of each person excluded from a study's run (by default, any), by pseudonym."""
        newest = {
            (event.run_id, event.participant_id or ""): event for event in self._events((EXCLUDED, INCLUDED))
        }
        return {
            who: event
            for (run, who), event in newest.items()
            if event.kind == EXCLUDED and run_id in (None, run)
        }

    def _events(self, kinds: Sequence[str]) -> list[Event]:
        names = ", ".join("?" * len(kinds))
        return self._query(Event, f"FROM events WHERE kind IN ({names}) ORDER BY seq", kinds)

    def participants(self) -> list[Participant]:
        """Return all participants, oldest first."""
        return self._where(Participant)

    def participant(self, id: str) -> Participant:
        """Return one participant.

        Raises:
            NotInLog: if there is no such pseudonym; the message lists similar ones.
        """
        return self._require_row(Participant, "id", id)

    def identities(self, *, participant_id: str | None = None, kind: str | None = None) -> list[Identity]:
        """Return outside identities, oldest first."""
        return self._where(Identity, participant_id=participant_id, kind=kind)

    def assignments(
        self,
        *,
        run_id: str | None = None,
        participant_id: str | None = None,
        latest: bool = True,
    ) -> list[Assignment]:
        """Return assignments of participants, oldest first; with `latest` only their current states."""
        source = "latest_assignments" if latest else "assignments"
        return self._where(Assignment, source, run_id=run_id, participant_id=participant_id)

    # Totals

    def progress(self, run_id: str) -> Progress:
        """Return the progress of a run.

        Raises:
            NotInLog: if there is no such run.
        """
        config, erased = self.run(run_id).config, self.erased_participants()
        planned, counts = config.get("planned"), Counter[str]()
        with self.connection() as connection:
            for status, person, episodes in connection.execute(
                "SELECT l.status, e.participant_id, count(*) FROM latest_endings l "
                "JOIN episodes e ON e.id = l.episode_id WHERE l.run_id = ? GROUP BY 1, 2",
                [run_id],
            ):
                counts["erased" if person in erased else status] += episodes
        replaced = counts["aborted"] if "study" in config else 0
        return Progress(planned=planned if isinstance(planned, int) else None, replaced=replaced, **counts)

    def usage(self, run_id: str) -> list[ModelUsage]:
        """Return the usage of a run's models, the most expensive first."""
        names = [field.name for field in fields(ModelUsage)]
        with self.connection() as connection:
            records = connection.execute(
                f"SELECT {', '.join(names)} FROM model_usage WHERE run_id = ? ORDER BY cost DESC, model",
                [run_id],
            ).fetchall()
        return [ModelUsage(*record) for record in records]

    # Helpers

    def _query(self, row: type[R], source: str, values: Sequence[Any] = ()) -> list[R]:
        with self.connection() as connection:
            records = connection.execute(f"SELECT {column_list(row)} {source}", values).fetchall()
        return [decode(row, record) for record in records]

    def _where(self, row: type[R], source: str = "", *, run: str | None = None, **equal: Any) -> list[R]:
        """Return the rows with these values (None: any), oldest first; `run`: the run of their episodes."""
        clause, values = where_clause({**{f"{column} = ?": equal[column] for column in equal}, OF_RUN: run})
        return self._query(row, f"FROM {source or TABLES[row].name} {clause} ORDER BY seq", values)

    def _require_row(self, row: type[R], key: str, text: str) -> R:
        name = TABLES[row].name
        rows = self._query(row, f"FROM {name} WHERE {key} = ?", [text])
        if rows:
            return rows[0]
        with self.connection() as connection:
            newest = connection.execute(f"SELECT {key} FROM {name} ORDER BY seq DESC LIMIT {_NEAR_AMONG}")
            names = [str(value) for (value,) in newest]
        raise NotInLog(missing_message(row.__name__.lower(), text, names, self.path), text)
