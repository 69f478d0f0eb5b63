"""The mount of the researchers' pages: their Blocks, further routes, and the guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from starlette.types import ASGIApp, Receive, Scope, Send

from logs import LogReader, LogWriter
from simulator.models import ModelOptions
from simulator.runner.processes import RunProcesses
from ui.i18n import strings
from ui.render import render
from ui.research.address import MOVED, MOVED_PARTS, RESEARCH, RUN, Address
from ui.research.asking_page import asking_page
from ui.research.blocks import ResearchPage, research_blocks
from ui.research.browse_page import browse_page, data_page
from ui.research.desk_page import desk_page, judge
from ui.research.downloads import add_downloads
from ui.research.guard import LOGIN, Guard, LogIns, page_asked_for
from ui.research.list_page import RunList
from ui.research.office import Office
from ui.research.report_pages import compare_page, report_page, run_page
from ui.research.start_page import StartPage
from ui.research.studies_page import StudiesPage
from ui.security import page_language
from ui.server import Mount, page_head, scripts, styles

_MOVED_DESKS = tuple(f"{RESEARCH}/{name}" for name in MOVED)


def research_mount(
    writer: LogWriter,
    reader: LogReader,
    *,
    home: Path,
    password: str | None = None,
    announce: Callable[[str], None] = lambda token: None,
    sso_header: str = "",
    models: ModelOptions | None = None,
    offered: Sequence[str] = (),
    processes: RunProcesses | None = None,
) -> Mount:
    """Return the researchers' pages for one log.

    `password`, `announce` and `sso_header`: see `LogIns`; the token is added as ``?token=`` to the address of
    any page. The caller closes `processes`.
    """
    log_ins = LogIns(home, password, announce, sso_header)
    office = Office(
        writer=writer,
        reader=reader,
        models=models or ModelOptions(),
        offered=offered,
        processes=processes or RunProcesses(writer.path),
    )

    def prepare(app: FastAPI) -> None:
        add_downloads(app, office)
        app.add_middleware(Entrance)
        app.add_middleware(Guard, path=RESEARCH, log_ins=log_ins, page=partial(access_page, log_ins=log_ins))

    return Mount(RESEARCH, research_blocks(PAGES, office, _head()), prepare)


def _desk_calls(office: Office) -> list[Callable[..., object]]:
    # Gradio looks up a server function by its __name__.
    def call_judge_desk(data: Any) -> dict[str, Any]:
        return judge(office, data)

    return [call_judge_desk]


PAGES: Final = (
    ResearchPage("", lambda visit: RunList(visit).build(), "research.runs"),
    ResearchPage("studies", lambda visit: StudiesPage(visit).build(), "research.studies.heading"),
    ResearchPage("start", lambda visit: StartPage(visit).build(), "research.start.heading"),
    ResearchPage("data", data_page),
    ResearchPage("desk", desk_page, calls=_desk_calls),
    ResearchPage("run", run_page, "research.list.run"),
    ResearchPage("report", report_page, "research.report.several"),
    ResearchPage("compare", compare_page, "research.run.compare"),
    ResearchPage("asking", asking_page, "research.asking.heading"),
    ResearchPage("part", browse_page, "research.run.episodes"),
)
"""All pages; the first is the start page."""


def access_page(scope: Scope, name: str, *, log_ins: LogIns) -> str:
    """Return the log-in page, for name and password, the shared password, or the token."""
    language = page_language(scope)
    return render(
        "research/access",
        strings(language),
        name=name,
        by_token=log_ins.by_token,
        by_name=bool(log_ins.accounts.all()),
        action=f"{RESEARCH}/{LOGIN}?{urlencode({'next': page_asked_for(scope)})}",
        head=Markup(page_head(language) + _head()),
    )


class Entrance:
    """Middleware for addresses without trailing slash, and redirects from former addresses."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or redirect the browser."""
        path = str(scope.get("path", "")).rstrip("/")
        if scope["type"] == "http" and path in (RESEARCH, RUN, *MOVED_PARTS, *_MOVED_DESKS):
            asked = bytes(scope.get("query_string", b"")).decode("latin-1")
            asked += f"&tab={MOVED_PARTS[path]}" if path in MOVED_PARTS else ""
            at = Address.read(path, asked)
            if at.path != path:
                asked = at.query if path in _MOVED_DESKS else asked
                await RedirectResponse(f"{at.path}?{asked}", status_code=303)(scope, receive, send)
                return
            path = f"{RESEARCH}/" if path == RESEARCH else path
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self.app(scope, receive, send)


def _head() -> str:
    return styles(("research", "desk")) + scripts(("desk", "research"))
