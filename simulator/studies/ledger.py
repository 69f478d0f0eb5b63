"""The places of a study as the log tells them: assignment rows folded into one `Place` each.

::

    reserved ─→ started ─→ completed          and from any of the live two: returned, screened_out, expired
       ↑___________│  (begun anew)            expired ─→ completed (late)      anything ─→ withdrawn

Rows that fit no arrow are passed over. So two programs that write at once cannot take a completion back:
what is over stays over, whichever row comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from logs import LogReader
from logs.rows import Assignment
from simulator.studies.quota import Place, State, cell_name, parse_cell

_OVER: Final[tuple[State, ...]] = ("completed", "returned", "screened_out", "expired", "withdrawn")
_NEXT: Final[Mapping[State, tuple[State, ...]]] = {
    "reserved": ("started", *_OVER),
    "started": ("reserved", *_OVER),
    "expired": ("completed", "returned", "screened_out", "withdrawn"),
    "completed": ("withdrawn",),
    "returned": ("withdrawn",),
    "screened_out": ("withdrawn",),
    "withdrawn": (),
}


class Ledger(NamedTuple):
    """The places of a study.

    Attributes:
        places: in the order given.
        last_number: the highest number given so far, also of places that are no longer there; 0 at first.
    """

    places: tuple[Place, ...]
    last_number: int


def moment(written: str) -> datetime:
    """A time as the log writes it."""
    return datetime.fromisoformat(written)


def written(time: datetime) -> str:
    """`time` as the log writes it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def place_id(run_id: str, number: int) -> str:
    """The assignment's name; of two who want the same number the log lets one have it."""
    return f"{run_id}/{number:05d}"


def assignment_row(
    place: Place, *, run_id: str, item_hash: str, now: datetime, reason: str = ""
) -> Assignment:
    """The row that says how `place` stands now."""
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


def fold(rows: Sequence[Assignment]) -> Place:
    """How a place stands after `rows`, which are of one assignment, oldest first."""
    place = _first(rows[0])
    for row in rows[1:]:
        place = _after(place, row)
    if any(row.details.get("erased") for row in rows):
        return replace(place, state="withdrawn", cell=None, seed=None, erased=True)
    return place


def fold_all(rows: Iterable[Assignment]) -> Ledger:
    """What `rows`, oldest first, tell of.

    Of a place whose time had run out and the one that goes on from it, only one is there: the new one, or
    the old one if the person came to an end in it at the same moment (in a second tab).
    """
    by_id: dict[str, list[Assignment]] = {}
    for row in rows:
        by_id.setdefault(row.id, []).append(row)
    places = {id: fold(some) for id, some in by_id.items()}
    for place in list(places.values()):
        old = places.get(place.continues or "")
        if old is not None:
            del places[old.id if old.state == "expired" else place.id]
    return Ledger(tuple(places.values()), max(map(_number, by_id), default=0))


def read_ledger(reader: LogReader, run_id: str, participant: str | None = None) -> Ledger:
    """The places of a study, or of one person in it.

    A live one has moved when its holder's newest turn or event (a reload) was written.
    """
    ledger = fold_all(reader.assignments(run_id=run_id, participant_id=participant, latest=False))
    moved = (_moved(reader, run_id, place) if place.live else place for place in ledger.places)
    return ledger._replace(places=tuple(moved))


def read_place(reader: LogReader, place: Place, run_id: str) -> Place:
    """How `place` stands now."""
    rows = reader.assignments(run_id=run_id, participant_id=place.participant, latest=False)
    return fold([row for row in rows if row.id == place.id])


def _number(id: str) -> int:
    return int(id.rpartition("/")[2])


def _first(row: Assignment) -> Place:
    details, created = row.details, moment(row.created_at)
    cell = details.get("cell")
    started = details.get("started_at")
    return Place(
        id=row.id,
        number=_number(row.id),
        participant=row.participant_id,
        state="started" if row.state == "started" else "reserved",
        cell=parse_cell(cell) if cell else None,
        seed=details.get("seed"),
        attempt=details.get("attempt", 0),
        since=moment(details["since"]) if details.get("since") else created,
        moved_at=created,
        started_at=moment(started) if started else None,
        continues=details.get("continues"),
    )


def _after(place: Place, row: Assignment) -> Place:
    state = next((state for state in _NEXT[place.state] if state == row.state), None)
    if state is None:
        return place
    time = moment(row.created_at)
    if state == "reserved":
        details = row.details
        place = replace(place, attempt=details.get("attempt", 0), seed=details.get("seed"), started_at=None)
    elif state == "started":
        place = replace(place, started_at=place.started_at or time)
    elif state == "completed":
        place = replace(place, completed_at=time, late=place.state == "expired")
    return replace(place, state=state, moved_at=time)


def _moved(reader: LogReader, run_id: str, place: Place) -> Place:
    with reader.connection() as connection:
        (newest,) = connection.execute(
            "SELECT max(created_at) FROM ("
            "SELECT t.created_at FROM episodes e JOIN turns t ON t.episode_id = e.id "
            "WHERE e.participant_id = ?1 AND e.run_id = ?2 "
            "UNION ALL SELECT created_at FROM events WHERE participant_id = ?1 AND run_id = ?2)",
            [place.participant, run_id],
        ).fetchone()
    return replace(place, moved_at=max(place.moved_at, moment(newest))) if newest else place
