"""Withdrawing from a study, and closing it for those who have no place yet.

Of a person who withdraws nothing counts from then on, and after some days it is erased. The days are there
for people whose link somebody else had, and for those who chose the wrong button: until they are over a
researcher can take the withdrawal back (`askback study restore`). Whoever wants it earlier has it done
(`askback study erase`); closing the study does it too (`askback study close`). What is pending is in the
log's events, so a restart forgets nothing. Closing is an event of the log, too: every server on the log sees
it when the next person comes, and a later event takes it back.
"""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

from logs import Erasure, LogReader, erase_participant
from logs.rows import Event
from simulator.studies.ledger import moment

ERASE_EVERY: Final = 1800.0
"""Seconds between two looks for what is to be erased."""
_log = logging.getLogger(__name__)


def pending(reader: LogReader, run_id: str) -> dict[str, Event]:
    """Return the withdrawals of those who were in a study's run that are not erased yet, by pseudonym."""
    took_part = {row.participant_id for row in reader.assignments(run_id=run_id)}
    return {person: event for person, event in reader.withdrawals().items() if person in took_part}


def erase_due(path: Path, *, now: datetime | None = None, run_id: str | None = None) -> tuple[Erasure, ...]:
    """Erase those who have withdrawn and whose days are over.

    `now`: the present time; None to wait for nobody's days.

    Raises:
        LogError: if the log cannot be written.
    """
    with LogReader(path) as reader:
        waiting = pending(reader, run_id) if run_id else reader.withdrawals()
    return tuple(
        erase_participant(path, person, reason=f"consent withdrawn in {event.run_id}")
        for person, event in waiting.items()
        if now is None or moment(event.details["erase_at"]) <= now
    )


def erase_regularly(path: Path, stop: threading.Event) -> None:
    """Erase those whose days are over now and every half hour, until `stop` is set."""
    while True:
        try:
            for erasure in erase_due(path, now=datetime.now(UTC)):
                _log.info("%s was erased after withdrawing", erasure.participant_id)
        except Exception:  # the next look may succeed; nobody is there to be told
            _log.exception("people who have withdrawn could not be erased")
        if stop.wait(ERASE_EVERY):
            return


ADMISSION: Final = "study.admission"
"""Kind of the event that opens, pauses or closes a study; ``closed`` in it: nobody new is taken in."""
AdmissionState = Literal["open", "paused", "closed"]


class Admitting(NamedTuple):
    """The state of a study's admission.

    Attributes:
        state: ``paused`` and ``closed`` ones take in nobody new; of a closed one whoever withdrew is erased.
        since: of when that is; None if it was never said.
    """

    state: AdmissionState
    since: datetime | None = None
