"""Coming and leaving: what people are shown and told when they come, the code they leave with, withdrawal.

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
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

from logs import Erasure, LogReader, erase_participant
from logs.rows import Event
from simulator.studies.files import Study
from simulator.studies.ledger import moment
from simulator.studies.quota import Place
from trees import Language

Code = Literal[
    "admitted",  # a new place
    "resumed",  # the place they had; going on where they were
    "restarted",  # the place they had, with a new set
    "already",  # taken part, or left, before
    "excluded",  # taken part in a study that this one excludes
    "full",  # no place free
    "closed",  # a researcher has closed the study for those who have no place yet
    "expired",  # their time ran out and the place is somebody else's now
    "too_late",  # began too long ago to go on (`Resume.max_age_minutes`)
    "blocked",  # began once, and the study lets nobody come back
    "unsigned",  # the link lacks the study's key
    "other_browser",  # their place was begun in another browser
    "no_identity",  # nothing says who it is, and the study wants to know
]
Outcome = Literal["complete", "failed_check", "screened_out", "returned", "paid_exit"]

DONE: Final[tuple[Outcome, ...]] = ("complete", "failed_check")
PLACED: Final[tuple[Code, ...]] = ("admitted", "resumed", "restarted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The answer to somebody who comes.

    Attributes:
        code: for the page, which says it in the study's language.
        participant: the pseudonym; None if nobody could be told apart.
        place: theirs, if `placed`; also one that is over, if there is one.
    """

    code: Code
    participant: str | None = None
    place: Place | None = None

    @property
    def placed(self) -> bool:
        """Return True if they may take part now."""
        return self.code in PLACED


@dataclass(frozen=True, slots=True)
class Completion:
    """The way in which somebody leaves.

    Attributes:
        code: None if the study has none for this outcome.
        url: where they go with it; None if the study names no such page for this outcome.
    """

    outcome: Outcome
    code: str | None
    url: str | None

    @property
    def is_done(self) -> bool:
        """Return True if they have done what the study asked."""
        return self.outcome in DONE


def completion_of(study: Study, outcome: Outcome) -> Completion:
    """Return the code and the page for somebody who leaves with `outcome`."""
    code: str | None = getattr(study.completion_codes, outcome)
    url = study.completion_url
    if url is not None and "{code}" in url:
        url = url.replace("{code}", code) if code else None
    elif outcome not in DONE:
        # An address that has its code built in has that of a completion.
        url = None
    return Completion(outcome, code, url)


Refusal = Literal["full", "taken", "done", "excluded", "closed", "identity", "unsigned", "browser", "later"]
REFUSALS: Final[Mapping[Code, Refusal]] = {
    # The first three once more if the place they lead to turns out to be over.
    "admitted": "taken",
    "resumed": "taken",
    "restarted": "taken",
    "already": "taken",
    "blocked": "taken",
    "too_late": "taken",
    "expired": "full",
    "full": "full",
    "closed": "closed",
    "excluded": "excluded",
    "no_identity": "identity",
    "unsigned": "unsigned",
    "other_browser": "browser",
}
"""Why somebody has nothing to play, by what the desk said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCard:
    """The part of a study that people may see before they take part.

    Attributes:
        task: what participants do, as a key that the benchmark's pages turn into words.
        languages: of its pages.
        closed: whether its researchers let nobody begin; where it is neither open nor closed, it is full.
        builtin: whether it comes with Askback: its pay is then a paper's, and nobody's promise here.
    """

    study: Study
    task: str
    languages: tuple[Language, ...]
    places_left: int
    closed: bool
    builtin: bool
    preview: bool

    @property
    def id(self) -> str:
        """The study's name."""
        return self.study.id

    @property
    def open(self) -> bool:
        """True if somebody can begin now."""
        return self.places_left > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The outcome of asking for a place in a study.

    Attributes:
        episode_id: what is to be played, or gone on with; None if there is no place.
        refusal: why there is none; ``done``: they have done all the sets that they may do.
        completion: how somebody leaves who has taken part before.
    """

    episode_id: str | None = None
    seat: str = ""
    refusal: Refusal | None = None
    completion: Completion | None = None


class Message(NamedTuple):
    """A researcher's message that its participant has not acknowledged yet."""

    id: str
    text: str


class Sets(NamedTuple):
    """A participant's place among the sets that they may do.

    Attributes:
        done: sets done.
        most: the most that they may do.
        completion: code and address, once a set is done.
        messages: what researchers wrote to them, to be acknowledged.
    """

    done: int = 0
    most: int = 1
    completion: Completion | None = None
    messages: tuple[Message, ...] = ()

    @property
    def more(self) -> bool:
        """True if they may do another one where there is a place."""
        return self.done < self.most


# Withdrawal, and whether a study takes people in

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
