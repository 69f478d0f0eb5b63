"""Closing a study: nobody new gets a place, those who have one may finish. It is an event of the log.

So every server on the log sees it when the next person comes, and a later event takes it back.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from logs import LogReader
from logs.rows import Event
from simulator.studies.files import Study
from simulator.studies.ledger import moment, written

ADMISSION: Final = "study.admission"
"""Kind of the event that closes a study or opens it again; ``closed`` in its details says which."""


def admission_event(study: Study, *, closed: bool, now: datetime) -> Event:
    """Return the event that closes a study for new participants, or opens it again."""
    return Event(kind=ADMISSION, run_id=study.run_id, details={"closed": closed}, created_at=written(now))


def closed_since(reader: LogReader, study: Study) -> datetime | None:
    """Return when a study was closed; None if it is open. The newest word holds."""
    events = reader.events(run_id=study.run_id, kind=ADMISSION)
    return moment(events[-1].created_at) if events and events[-1].details["closed"] else None
