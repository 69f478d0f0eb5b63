"""What people are told when they come, and the code they leave with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from simulator.studies.files import Study
from simulator.studies.quota import Place

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
