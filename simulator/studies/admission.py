"""What people are told when they come, and the code they leave with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from simulator.studies.files import Study
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
