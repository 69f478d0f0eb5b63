"""The part beside a conversation that is going on: a sentence, a link for the second person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NoticeKind = Literal["info", "problem"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence above the composer."""

    text: str
    kind: NoticeKind = "info"


@dataclass(frozen=True, slots=True)
class Invitation:
    """The link for the second person, shown to whoever began the dialogue.

    Attributes:
        link: path and query, without the host (the browser knows under which name it reached us).
        taken: somebody has taken the seat.
    """

    link: str
    taken: bool
