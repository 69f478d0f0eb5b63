"""What every researchers' page is made with: its address, its texts, and the shared frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from logs import LogReader
from ui.ambibench.entry import LINK as AMBIBENCH
from ui.ambient.actions import AmbientActions
from ui.ambik.actions import AmbikActions
from ui.handmethat.entry import LINK as HANDMETHAT
from ui.i18n import Strings
from ui.render.environment import render
from ui.render.frame import Frame
from ui.research import format
from ui.research.address import RESEARCH, Address
from ui.research.figures import Figure

ROOMS: Final = (HANDMETHAT, AMBIBENCH, AmbientActions.link, AmbikActions.link)
"""The benchmarks with pages of their own, as the bar on top names them."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as the browser gets it.

    Attributes:
        html: its markup.
        figures: the plots whose places are in it.
        live: it shows something that is still being played, so ask again now and then.
        more: something on it is still to be reckoned, so ask again at once.
    """

    html: str
    figures: tuple[Figure, ...] = ()
    live: bool = False
    more: bool = False


class Episode(NamedTuple):
    """An episode as a benchmark shows it.

    Attributes:
        template: draws it in the block ``episode`` of the page of episodes.
        context: the template's.
        figures: its plots.
    """

    template: str
    context: Mapping[str, Any]
    figures: Sequence[Figure] = ()


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page.

    Attributes:
        t: the interface's texts.
        at: the address asked for.
    """

    t: Strings
    at: Address

    @property
    def frame(self) -> Frame:
        """The frame that all pages of the app share."""
        return Frame(self.t, self.at.path, self.at.query, RESEARCH, "research", ROOMS)

    def page(
        self,
        template: str,
        figures: Sequence[Figure] = (),
        *,
        live: bool = False,
        more: bool = False,
        **context: Any,
    ) -> Page:
        """Return the page made from ``templates/research/{template}.html.jinja``."""
        html = render(
            f"research/{template}",
            self.t,
            frame=self.frame,
            at=self.at,
            fmt=format,
            figures={figure.id: figure for figure in figures},
            **context,
        )
        return Page(html, tuple(figures), live, more)


ShowEpisode = Callable[[Visit, LogReader, str], Episode | None]
"""Shows an episode, by its id, in its benchmark's own way; None where there is nothing to draw yet."""
