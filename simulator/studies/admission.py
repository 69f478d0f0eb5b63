"""Admission to a study, completion codes, and withdrawal.

Data of a person who withdraws no longer count, and are erased after some days. The delay protects people
whose link somebody else used, or who chose the wrong button: until then a researcher can undo the withdrawal
(`askback study restore`), or erase earlier (`askback study erase`; `askback study close` does so too).
Pending withdrawals are events of the log, so a restart forgets nothing. Closing is a logged event as well:
every server on the log sees it when the next person comes, and a later event reopens the study.
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
from simulator.studies.ledger import parse_time
from simulator.studies.quota import Place
from trees import Language

Code = Literal[
    "admitted",  # a new place
    "resumed",  # their old place, where they left off
    "restarted",  # their old place, with a new set
    "already",  # took part, or left, before
    "excluded",  # took part in a study that this one excludes
    "full",  # no place is free
    "closed",  # a researcher has closed the study for newcomers
    "expired",  # their time ran out and somebody else has the place
    "too_late",  # began too long ago to continue (`Resume.max_age_minutes`)
    "blocked",  # began before, and the study does not let people come back
    "unsigned",  # the link lacks the study's key
    "other_browser",  # their place was begun in another browser
    "no_identity",  # the link does not identify the person, and the study requires it
]
Outcome = Literal["complete", "failed_check", "screened_out", "returned", "paid_exit"]

DONE: Final[tuple[Outcome, ...]] = ("complete", "failed_check")
PLACED: Final[tuple[Code, ...]] = ("admitted", "resumed", "restarted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The result of admitting a person.

    Attributes:
        code: the result, which pages translate into the study's language.
        participant: the pseudonym; None if the person could not be identified.
        place: the person's place if `placed`; otherwise an earlier place that has ended, if any.
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
    """The way in which a participant leaves.

    Attributes:
        code: the completion code; None if the study has none for this outcome.
        url: the page to go to with the code; None if the study has none for this outcome.
    """

    outcome: Outcome
    code: str | None
    url: str | None

    @property
    def is_done(self) -> bool:
        """Return True if the participant finished the task."""
        return self.outcome in DONE


def completion_of(study: Study, outcome: Outcome) -> Completion:
    """Return the code and the page for a participant who leaves with `outcome`."""
    code: str | None = getattr(study.completion_codes, outcome)
    url = study.completion_url
    if url is not None and "{code}" in url:
        url = url.replace("{code}", code) if code else None
    elif outcome not in DONE:
        # A URL without {code} has the code of a completion built in.
        url = None
    return Completion(outcome, code, url)


Refusal = Literal["full", "taken", "done", "excluded", "closed", "identity", "unsigned", "browser", "later"]
REFUSALS: Final[Mapping[Code, Refusal]] = {
    # The first three apply if the place turns out to have ended.
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
"""The reason why a person has nothing to play, by the desk's code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCard:
    """The part of a study that people may see before they take part.

    Attributes:
        task: what participants do, as a key to the texts of the benchmark's pages.
        closed: True if its researchers admit nobody; a study that is neither open nor closed is full.
        builtin: True if it comes with Askback: its pay is then the paper's, not a promise.
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
        """True if a person can begin now."""
        return self.places_left > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The outcome of asking for a place in a study.

    Attributes:
        episode_id: the episode to play or continue; None if there is no place.
        refusal: the reason for no place; ``done``: the person has done all sets that they may do.
        completion: how a person leaves who has taken part before.
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
        completion: code and URL, once a set is done.
        messages: messages from researchers that are not acknowledged yet.
        withdrawn: True if they have withdrawn and are not erased yet.
    """

    done: int = 0
    most: int = 1
    completion: Completion | None = None
    messages: tuple[Message, ...] = ()
    withdrawn: bool = False

    @property
    def more(self) -> bool:
        """True if they may do another set, provided that a place is free."""
        return self.done < self.most


# Withdrawal, and the state of a study's admission

ERASE_EVERY: Final = 1800.0
"""Seconds between two checks for people to erase."""
_log = logging.getLogger(__name__)


def pending_erasures(reader: LogReader, run_id: str) -> dict[str, Event]:
    """Return the withdrawals from a study's run that are not erased yet, by pseudonym."""
    took_part = {row.participant_id for row in reader.assignments(run_id=run_id)}
    return {person: event for person, event in reader.withdrawals().items() if person in took_part}


def erase_due(path: Path, *, now: datetime | None = None, run_id: str | None = None) -> tuple[Erasure, ...]:
    """Erase people who have withdrawn and whose waiting time is over.

    `now`: the current time; None to erase everyone who has withdrawn.

    Raises:
        LogError: if the log cannot be written.
    """
    with LogReader(path) as reader:
        waiting = pending_erasures(reader, run_id) if run_id else reader.withdrawals()
    return tuple(
        erase_participant(path, person, reason=f"consent withdrawn in {event.run_id}")
        for person, event in waiting.items()
        if now is None or parse_time(event.details["erase_at"]) <= now
    )


def erase_regularly(path: Path, stop: threading.Event) -> None:
    """Run `erase_due` now and every half hour, until `stop` is set."""
    while True:
        try:
            for erasure in erase_due(path, now=datetime.now(UTC)):
                _log.info("%s was erased after withdrawing", erasure.participant_id)
        except Exception:  # the next attempt may succeed
            _log.exception("people who have withdrawn could not be erased")
        if stop.wait(ERASE_EVERY):
            return


ADMISSION: Final = "study.admission"
"""The kind of event that opens, pauses or closes a study; its ``closed`` is True if nobody is admitted."""
AdmissionState = Literal["open", "paused", "closed"]


class AdmissionStatus(NamedTuple):
    """The state of a study's admission.

    Attributes:
        state: ``paused`` and ``closed`` studies admit nobody; closing also erases everyone who withdrew.
        since: the time of the last change; None if there was none.
    """

    state: AdmissionState
    since: datetime | None = None
