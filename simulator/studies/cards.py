"""What people are shown of a study before they take part, and what comes of asking for a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, get_args

from simulator.errors import ConflictError
from simulator.studies.admission import Code, Completion
from simulator.studies.desk import StudyDesk
from simulator.studies.interventions import Message
from simulator.studies.parts import Pairing
from simulator.studies.questions import Question
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
    """The public facts of a study.

    Attributes:
        task: what participants do, as a key that the room's pages turn into words.
        minutes: how long a set takes, as its file says.
        pay: for a set, in words; empty if nothing is paid.
        titles: what it is called, by every language of the pages.
        texts: the study's own words in place of the pages' (``consent``, ``instructions``), by language.
        questions: the study's own, before and after the task.
        open: whether somebody can begin now.
        closed: whether its researchers let nobody begin; where it is neither, it is full.
        builtin: whether it comes with Askback: its pay is then a paper's, and nobody's promise here.
        contact: whom participants can write to, by language; empty if nobody is named.
        seats: the participants', two where they are paired.
        pairing: how they are; None if they are not.
    """

    id: str
    benchmark: str
    titles: Mapping[Language, str]
    task: str
    open: bool
    closed: bool
    places_left: int
    minutes: float
    pay: str
    languages: tuple[Language, ...]
    texts: Mapping[Language, Mapping[str, str]]
    questions: tuple[Question, ...] = ()
    sets: int = 1
    builtin: bool = False
    preview: bool = False
    contact: Mapping[Language, str] = field(default_factory=dict)
    seats: tuple[str, ...] = ()
    pairing: Pairing | None = None


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


def card_of(
    desk: StudyDesk,
    *,
    task: str,
    languages: tuple[Language, ...],
    builtin: bool = False,
    preview: bool = False,
) -> StudyCard:
    """Return the card of a desk's study; see `StudyCard` for what the benchmark says."""
    study, left = desk.study, desk.places_left()
    return StudyCard(
        id=study.id,
        benchmark=study.benchmark,
        titles={language: study.title_in(language) for language in get_args(Language)},
        task=task,
        open=left > 0,
        closed=not left and desk.closed_since is not None,
        places_left=left,
        minutes=study.pay.minutes if study.pay else 0.0,
        pay=f"{study.pay.amount:.2f} {study.pay.currency}" if study.pay and study.pay.amount else "",
        languages=languages,
        texts={language: study.texts_in(language) for language in get_args(Language)},
        questions=study.questions,
        sets=study.sets_per_participant,
        builtin=builtin,
        preview=preview,
        contact={language: study.contact_in(language) for language in get_args(Language)},
        seats=study.people,
        pairing=study.pairing if study.seats else None,
    )


def left_with(desk: StudyDesk, participant: str | None) -> Completion | None:
    """Return how somebody leaves, who has come to an end; None if they have not."""
    if participant is None:
        return None
    try:
        return desk.completion(participant)
    except ConflictError:
        return None
