"""The places of a study, read from the log: assignment rows folded into one `Place` each.

::

    reserved ─→ started ─→ completed          from both live states: returned, screened_out, expired
       ↑___________│  (restarted)             expired ─→ completed (late)      any ─→ excluded, withdrawn

Undoing a withdrawal or exclusion leads to ``completed`` or ``returned``, by a row with the reason `RESTORED`.
Rows that fit no arrow are ignored. So two concurrent writers cannot undo a completion: a place that has ended
stays so, whichever row comes last.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from logs import LogReader
from logs.codec import column_list, decode
from logs.erase import RECEIPT
from logs.rows import RESTORED, Assignment, Item
from simulator.studies.files import Study
from simulator.studies.quota import Place, State, cell_name, parse_cell

BENCHMARK: Final = "study"
"""The benchmark of episodes whose task is another episode (`Participation`); their item is the study."""
FAILED_CHECK: Final = "failed check"
"""The reason in the row of a completed place whose holder missed an attention check."""
_OVER: Final[tuple[State, ...]] = (
    "completed",
    "returned",
    "screened_out",
    "expired",
    "excluded",
    "withdrawn",
)
_NEXT: Final[Mapping[State, tuple[State, ...]]] = {
    "reserved": ("started", *_OVER),
    "started": ("reserved", *_OVER),
    "expired": ("completed", "returned", "screened_out", "excluded", "withdrawn"),
    "completed": ("excluded", "withdrawn"),
    "returned": ("excluded", "withdrawn"),
    "screened_out": ("excluded", "withdrawn"),
    "excluded": ("withdrawn",),
    "withdrawn": (),
}


_ERASURE: Final = "SELECT coalesce(max(seq), 0) FROM events WHERE kind = ?"
_NEWEST: Final = f"SELECT ({_ERASURE}), (SELECT coalesce(max(seq), 0) FROM assignments)"
"""Sequence numbers of the latest erasure receipt and the latest assignment of all studies."""


def parse_time(text: str) -> datetime:
    """Parse a time of the log."""
    return datetime.fromisoformat(text)


def format_time(time: datetime) -> str:
    """Format a time for the log."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def newest_erasure(connection: sqlite3.Connection) -> int:
    """Return the number of the latest erasure receipt; rows do not change until there is a later one."""
    (number,) = connection.execute(_ERASURE, [RECEIPT]).fetchone()
    return int(number)


def place_id(run_id: str, number: int) -> str:
    """Return the assignment's id; if two desks claim the same number, the log accepts one."""
    return f"{run_id}/{number:05d}"


def study_item(study: Study) -> Item:
    """Return a study as a row of the log, complete and citable; assignments refer to it."""
    return Item(
        hash=study.content_hash,
        benchmark=BENCHMARK,
        name=study.id,
        language=study.language,
        data=study.to_json(),
    )


def assignment_row(
    place: Place, *, run_id: str, item_hash: str, now: datetime, reason: str = ""
) -> Assignment:
    """Return the row for the current state of `place`."""
    return Assignment(
        id=place.id,
        participant_id=place.participant,
        run_id=run_id,
        item_hash=item_hash,
        state=place.state,
        details={
            "cell": cell_name(place.cell or ()),
            "seed": place.seed,
            "attempt": place.attempt,
            "since": format_time(place.since),
            "started_at": place.started_at and format_time(place.started_at),
            "continues": place.continues,
            "reason": reason,
        },
        created_at=format_time(now),
    )


class Ledger:
    """The places of a study, read incrementally from the log."""

    def __init__(self, reader: LogReader, run_id: str) -> None:
        self._reader = reader
        self._run_id = run_id
        self._lock = threading.Lock()
        self._places: dict[str, Place] = {}
        self._current: tuple[Place, ...] = ()
        self._by_participant: dict[str, list[Place]] = {}
        self._seq = 0
        self._erasure = 0

    def read(self) -> tuple[Place, ...]:
        """Return every place in the order assigned, with `moved_at` as of its last change of state.

        Of an expired place and the one that continues it only one is included: the new one, or the old one
        if the person finished it concurrently (in a second tab).
        """
        with self._lock:
            self._read_on()
            return self._current

    def read_participant(self, participant: str) -> tuple[Place, ...]:
        """Return the places of one participant, as `read` does."""
        with self._lock:
            self._read_on()
            return tuple(self._by_participant.get(participant, ()))

    def read_numbered(self) -> tuple[tuple[Place, ...], int]:
        """Return all places, as `read` does, and the number of the next place to assign."""
        with self._lock:
            self._read_on()
            last = max((place.number for place in self._places.values()), default=0)
            return self._current, last + 1

    def place(self, id: str) -> Place:
        """Return one place, even if another place continues it."""
        with self._lock:
            self._read_on()
            return self._places[id]

    def with_last_move(self, place: Place) -> Place:
        """Return `place`, with `moved_at` updated by its holder's latest turn or event if it is live."""
        if not place.live:
            return place
        with self._reader.connection() as connection:
            (newest,) = connection.execute(
                "SELECT max(created_at) FROM ("
                "SELECT t.created_at FROM episodes e JOIN turns t ON t.episode_id = e.id "
                "WHERE e.participant_id = ?1 AND e.run_id = ?2 "
                "UNION ALL SELECT created_at FROM events WHERE participant_id = ?1 AND run_id = ?2)",
                [place.participant, self._run_id],
            ).fetchone()
        return replace(place, moved_at=max(place.moved_at, parse_time(newest))) if newest else place

    def _read_on(self) -> None:
        with self._reader.connection() as connection:
            # Only erasing ever changes a row, and it leaves an event, so events must be checked first.
            erasure, newest = connection.execute(_NEWEST, [RECEIPT]).fetchone()
            if (erasure, newest) == (self._erasure, self._seq):
                return
            if erased := erasure != self._erasure:
                self._places, self._seq, self._erasure = {}, 0, erasure
            # The plus keeps SQLite from scanning all rows of the run for the few new ones.
            run_id = "+run_id" if self._seq else "run_id"
            rows = connection.execute(
                f"SELECT {column_list(Assignment)}, seq FROM assignments "
                f"WHERE {run_id} = ? AND seq > ? ORDER BY seq",
                [self._run_id, self._seq],
            ).fetchall()
        for *values, seq in rows:
            row = decode(Assignment, tuple(values))
            before = self._places.get(row.id)
            self._places[row.id] = _new_place(row) if before is None else apply_row(before, row)
            self._seq = seq
        self._seq = max(self._seq, newest)
        if rows or erased:
            self._current, self._by_participant = _merge_continued(self._places), {}
            for place in self._current:
                self._by_participant.setdefault(place.participant, []).append(place)


def apply_row(place: Place, row: Assignment) -> Place:
    """Return `place` after a further row of its assignment."""
    time = parse_time(row.created_at)
    if row.details.get("erased"):
        done = time if row.state == "completed" else place.completed_at
        return replace(place, state="withdrawn", cell=None, seed=None, completed_at=done, erased=True)
    if place.state in ("excluded", "withdrawn") and row.details.get("reason") == RESTORED:
        known: tuple[State, ...] = ("completed", "excluded")
        restored: State = next((state for state in known if state == row.state), "returned")
        return replace(place, state=restored, moved_at=time)
    state = next((state for state in _NEXT[place.state] if state == row.state), None)
    if state is None:
        return place
    if state == "reserved":
        details = row.details
        place = replace(place, attempt=details["attempt"], seed=details["seed"], started_at=None)
    elif state == "started":
        place = replace(place, started_at=place.started_at or time)
    elif state == "completed":
        failed = row.details.get("reason") == FAILED_CHECK
        place = replace(place, completed_at=time, late=place.state == "expired", failed_check=failed)
    return replace(place, state=state, moved_at=time, reason=row.details.get("reason", ""))


def _merge_continued(places: Mapping[str, Place]) -> tuple[Place, ...]:
    merged = dict(places)
    replaced_by: dict[str, str] = {}
    for place in places.values():
        earlier = place.continues or ""
        old = merged.get(replaced_by.get(earlier, earlier))
        if old is not None:
            dropped, kept = (old, place) if old.state == "expired" else (place, old)
            del merged[dropped.id]
            replaced_by[dropped.id] = kept.id
    return tuple(merged.values())


def _number(id: str) -> int:
    return int(id.rpartition("/")[2])


def _new_place(row: Assignment) -> Place:
    details, created = row.details, parse_time(row.created_at)
    erased = bool(details.get("erased"))
    started = details.get("started_at")
    return Place(
        id=row.id,
        number=_number(row.id),
        participant=row.participant_id,
        state="withdrawn" if erased else "started" if row.state == "started" else "reserved",
        cell=None if erased else parse_cell(details["cell"]),
        seed=details.get("seed"),
        attempt=details.get("attempt", 0),
        since=parse_time(details["since"]) if "since" in details else created,
        moved_at=created,
        started_at=parse_time(started) if started else None,
        continues=details.get("continues"),
        erased=erased,
    )
