"""What people are shown of a study before they take part, and what comes of asking for a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from simulator.studies.admission import Code, Completion
from simulator.studies.files import Study
from trees import Language

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
