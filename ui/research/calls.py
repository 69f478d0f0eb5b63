"""Calls of the researchers' pages on the server: show a page, save what is judged.

Every call comes from a browser: its form is checked here. That it may come at all, the guard has seen to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from logs import LogError, LogWriter
from simulator.errors import AskbackError
from ui.i18n import strings
from ui.problems import problem_text
from ui.research.address import DATA, DESK, RESEARCH, Address
from ui.research.browse_page import browse_page
from ui.research.data_page import data_page
from ui.research.declared import part_page, parts_of, with_parts
from ui.research.desk import Desk
from ui.research.desk_page import desk_page
from ui.research.desk_page import judged as desk_judged
from ui.research.kept import CachedReports
from ui.research.view import Page, Visit

Answer = dict[str, Any]


class _Call(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    language: str = Field(default="en", max_length=16)
    path: str = Field(default=RESEARCH, max_length=200)
    query: str = Field(default="", max_length=20_000)


@dataclass(frozen=True)
class Calls:
    """The calls, on a log.

    Attributes:
        desk: reads it.
        writer: writes it; a judgment is on disk before it is shown as saved.
        kept: what was made of runs.
        headlines: of the runs in the list, which are many and short.
    """

    desk: Desk
    writer: LogWriter
    kept: CachedReports = field(init=False)
    headlines: CachedReports = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", CachedReports(self.desk.reader))
        object.__setattr__(self, "headlines", CachedReports(self.desk.reader, 5_000))

    def page(self, call: Mapping[str, Any]) -> Answer:
        """Return the page at the browser's address."""
        visit = self._visit(_Call.model_validate(call))
        try:
            return _answer(self._page(visit))
        except (AskbackError, LogError) as error:
            return _answer(visit.page("problem", message=problem_text(visit.t, error)))

    def judge_desk(self, call: Mapping[str, Any]) -> Answer:
        """Save what somebody says at a desk; answers with what comes next, or what is wrong where."""
        visit = self._visit(_Call.model_validate(call))
        answer, page = desk_judged(visit, self.desk.reader, self.writer, call)
        return {**answer, **(_answer(page) if page else {})}

    def progress(self) -> Answer:
        """Return where the runs stand, for a page that waits."""
        return {
            card.run.id: {
                "done": card.progress.done,
                "planned": card.progress.planned,
                "running": card.progress.running,
                "failed": card.progress.failed,
            }
            for card in self.desk.cards()
        }

    def _visit(self, asked: _Call) -> Visit:
        return Visit(strings(asked.language), Address.read(asked.path, asked.query))

    def _page(self, visit: Visit) -> Page:
        at = visit.at
        if at.path == DATA:
            return data_page(visit)
        if at.path == DESK:
            return desk_page(visit, self.desk.reader)
        return self._run(visit)

    def _run(self, visit: Visit) -> Page:
        """Return the part of a run that the address names: its benchmark's own, or the common one."""
        reader, tab = self.desk.reader, visit.at.tab
        card = with_parts(self.desk.card(reader.run(visit.at.run)), reader)
        for part in parts_of(card.run, reader):
            if part.name == tab:
                return part_page(visit, card, self.kept, part)
        return browse_page(visit, card, self.kept)


def _answer(page: Page) -> Answer:
    return {
        "html": page.html,
        "figures": {figure.id: figure.plotly for figure in page.figures},
        "live": page.live,
        "more": page.more,
    }
