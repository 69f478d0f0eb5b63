"""The means of every researchers' page: its address, its texts, and the shared frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from simulator import catalog
from simulator.studies.declared import sessions_type
from ui.declared.pages import link_to
from ui.i18n import Strings
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.research import format
from ui.research.address import NAVIGATION, RESEARCH, Address


def rooms() -> tuple[RoomLink, ...]:
    """Return the benchmarks that people can play, but for the first, whose entry is the home page."""
    made = [each for each in catalog.installed() if sessions_type(each) is not None]
    return tuple(map(link_to, made[1:]))


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page.

    Attributes:
        t: the interface's texts.
        at: the address asked for.
        again: has the page built anew when it changes.
    """

    t: Strings
    at: Address
    again: gr.Textbox | None = None

    @property
    def frame(self) -> Frame:
        """The frame that all pages of the app share."""
        return Frame(self.t, self.at.path, self.at.query, RESEARCH, "research", rooms())

    def render(self, template: str, **context: Any) -> str:
        """Return the markup made from ``templates/research/{template}.html.jinja``."""
        return render(
            f"research/{template}",
            self.t,
            frame=self.frame,
            at=self.at,
            navigation=NAVIGATION,
            fmt=format,
            **context,
        )
