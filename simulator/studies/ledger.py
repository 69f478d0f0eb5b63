"""The places of a study as the log tells them: assignment rows folded into one `Place` each.

::

    reserved ─→ started ─→ completed          and from any of the live two: returned, screened_out, expired
       ↑___________│  (begun anew)            expired ─→ completed (late)      anything ─→ excluded, withdrawn

A withdrawal or exclusion that is taken back leads to ``completed`` or ``returned``, by a row that says so.
Rows that fit no arrow are passed over. So two programs that write at once cannot take a completion back:
what is over stays over, whichever row comes last.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from logs import LogReader
from logs.codec import decode, select
from logs.erase import RECEIPT
from logs.rows import RESTORED, Assignment, Item
from simulator.studies.files import Study
from simulator.studies.quota import Place, State, cell_name, parse_cell

BENCHMARK: Final = "study"
"""The benchmark of episodes around a task that is elsewhere (`Participation`); their item is the study."""
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
"""Numbers of the newest receipt of an erasure and of the newest assignment, of whatever study."""


def moment(written: str) -> datetime:
    """Return a time as the log writes it."""
    return datetime.fromisoformat(written)


def written(time: datetime) -> str:
    """Return `time` as the log writes it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def newest_erasure(connection: sqlite3.Connection) -> int:
    """Return the number of the newest receipt of an erasure: until there is a newer one, no row changes."""
    (number,) = connection.execute(_ERASURE, [RECEIPT]).fetchone()
    return int(number)


def place_id(run_id: str, number: int) -> str:
    """Return the assignment's name; of two who want the same number the log lets one have it."""
    return f"{run_id}/{number:05d}"


def study_item(study: Study) -> Item:
    """Return a study, whole, as a row of the log: what its assignments point to, and what one cites."""
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
    """Return the row that says how `place` stands now."""
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
            "since": written(place.since),
            "started_at": place.started_at and written(place.started_at),
            "continues": place.continues,
            "reason": reason,
        },
        created_at=written(now),
    )


class Ledger:
    """The places of a study, read from the log; what was read once is kept, and read on from there."""

    def __init__(self, reader: LogReader, run_id: str) -> None:
        self._reader = reader
        self._run_id = run_id
        self._lock = threading.Lock()
        self._places: dict[str, Place] = {}
        self._standing: tuple[Place, ...] = ()
        self._by_participant: dict[str, list[Place]] = {}
        self._seq = 0
        self._erasure = 0

    def read(self) -> tuple[Place, ...]:
        """Return every place in the order given, moved when it last changed its state.

        Of a place whose time had run out and the one that goes on from it only one is there: the new one,
        or the old one if the person came to an end in it at the same moment (in a second tab).
        """
        with self._lock:
            self._read_on()
            return self._standing

    def read_of(self, participant: str) -> tuple[Place, ...]:
        """Return like `read`, of one participant."""
        with self._lock:
            self._read_on()
            return tuple(self._by_participant.get(participant, ()))

    def read_numbered(self) -> tuple[tuple[Place, ...], int]:
        """Return like `read`, and the number that the next place gets if no other is given before."""
        with self._lock:
            self._read_on()
            last = max((place.number for place in self._places.values()), default=0)
            return self._standing, last + 1

    def place(self, id: str) -> Place:
        """Return one place, also one that another goes on from."""
        with self._lock:
            self._read_on()
            return self._places[id]

    def moved(self, place: Place) -> Place:
        """Return a live `place`, moved when its holder's newest turn or event (a reload) was written."""
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
        return replace(place, moved_at=max(place.moved_at, moment(newest))) if newest else place

    def _read_on(self) -> None:
        with self._reader.connection() as connection:
            # Erasing is all that ever changes a row; it leaves an event, so this must be looked at first.
            erasure, newest = connection.execute(_NEWEST, [RECEIPT]).fetchone()
            if (erasure, newest) == (self._erasure, self._seq):
                return
            if erased := erasure != self._erasure:
                self._places, self._seq, self._erasure = {}, 0, erasure
            # The plus keeps SQLite from going through all rows of the run for the few that are new.
            run_id = "+run_id" if self._seq else "run_id"
            rows = connection.execute(
                f"SELECT {select(Assignment)}, seq FROM assignments "
                f"WHERE {run_id} = ? AND seq > ? ORDER BY seq",
                [self._run_id, self._seq],
            ).fetchall()
        for *values, seq in rows:
            row = decode(Assignment, tuple(values))
            before = self._places.get(row.id)
            self._places[row.id] = _new_place(row) if before is None else after(before, row)
            self._seq = seq
        self._seq = max(self._seq, newest)
        if rows or erased:
            self._standing, self._by_participant = _merge_continued(self._places), {}
            for place in self._standing:
                self._by_participant.setdefault(place.participant, []).append(place)


def after(place: Place, row: Assignment) -> Place:
    """Return how `place` stands after a further row of its assignment."""
    if row.details.get("erased"):
        return replace(place, state="withdrawn", cell=None, seed=None, erased=True)
    time = moment(row.created_at)
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
    left = dict(places)
    stands_for: dict[str, str] = {}
    for place in places.values():
        earlier = place.continues or ""
        old = left.get(stands_for.get(earlier, earlier))
        if old is not None:
            gone, stays = (old, place) if old.state == "expired" else (place, old)
            del left[gone.id]
            stands_for[gone.id] = stays.id
    return tuple(left.values())


def _number(id: str) -> int:
    return int(id.rpartition("/")[2])


def _new_place(row: Assignment) -> Place:
    details, created = row.details, moment(row.created_at)
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
        since=moment(details["since"]) if "since" in details else created,
        moved_at=created,
        started_at=moment(started) if started else None,
        continues=details.get("continues"),
        erased=erased,
    )
