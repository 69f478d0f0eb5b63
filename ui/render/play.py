"""The page of a dialogue that is going on, for either seat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.clarq.graph import PROVIDER, SEEKER
from simulator.clarq.views import SeatView
from ui.i18n import strings
from ui.render.environment import render
from ui.render.frame import Frame
from ui.render.tree import Branch, branches

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
        fresh: nobody has moved opposite yet.
    """

    link: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class Company:
    """Who sits opposite, as far as the page shows it.

    Attributes:
        person: a second person.
        invitation: the link for them, if this page's person began the dialogue.
    """

    person: bool = False
    invitation: Invitation | None = None


def play_page(
    frame: Frame, view: SeatView, company: Company, *, render_id: str, notice: Notice | None = None
) -> str:
    """Return the page of the seat that `view` belongs to."""
    return render(
        f"play_{view.seat}",
        frame.texts,
        frame=frame,
        view=view,
        render_id=render_id,
        company=company,
        notice=notice,
        other=SEEKER if view.seat == PROVIDER else PROVIDER,
        goodbye=strings(view.language)("play.goodbye_line"),
        tree=_tree(view),
    )


def _tree(view: SeatView) -> Branch | None:
    if view.seat != PROVIDER or view.tree is None:
        return None
    return branches(view.tree.opening, view.tree.opened, view.tree.nodes)
