"""The researchers' pages as one thing to mount: Blocks, the routes beside them, and the guard before both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.types import ASGIApp, Receive, Scope, Send

from logs import LogReader, LogWriter
from simulator.models import ModelOptions
from simulator.runner.processes import RunProcesses
from ui.accounts import NotAllowedError
from ui.i18n import strings
from ui.problems import problem_text
from ui.render.environment import render
from ui.research.address import MOVED_PARTS, PLACES, RESEARCH, RUN, Address
from ui.research.asking_page import asking_page
from ui.research.blocks import ResearchPage, research_blocks
from ui.research.calls import Answer, Calls
from ui.research.desk import Desk
from ui.research.downloads import add_downloads
from ui.research.guard import LOGIN, Guard, action_event, require
from ui.research.list_page import RunList
from ui.research.log_in import LogIns
from ui.research.office import Office, site_here
from ui.research.report_pages import Sources, compare_page, report_page, run_page
from ui.research.start_page import StartPage
from ui.research.studies_page import StudiesPage
from ui.research.study_downloads import add_study_downloads
from ui.research.view import Visit
from ui.security import page_language
from ui.server import Mount, page_head, scripts, styles, versioned

_STYLES = ("research.css", "desk.css", "research-office.css")
_MOUNT = "askbackResearch.mount(element, props, server)"
_YEAR = "public, max-age=31536000, immutable"


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
    """Return the researchers' pages on one log.

    Args:
        writer: a durable writer of the log.
        reader: reads the same log.
        home: the data home; accounts are there.
        password: see `LogIns`.
        announce: see `LogIns`; the token stands as ``?token=`` behind any of these pages' addresses.
        sso_header: see `LogIns`.
        models: how models that sit opposite people are reached.
        offered: models that may be chosen for the seats of a run.
        processes: plays runs that are started here; whoever gives it ends them.
    """
    log_ins = LogIns(home, password, announce, sso_header)
    calls = Calls(Desk(reader), writer)
    office = Office(
        writer=writer,
        reader=reader,
        models=models or ModelOptions(),
        offered=offered,
        processes=processes or RunProcesses(writer.path),
    )

    def prepare(app: FastAPI) -> None:
        _add_routes(app, calls)
        add_study_downloads(app, office)
        app.add_middleware(Entrance)
        app.add_middleware(Guard, path=RESEARCH, log_ins=log_ins, page=partial(access_page, log_ins=log_ins))

    return Mount(RESEARCH, create_research(calls, office), prepare)


def create_research(calls: Calls, office: Office) -> gr.Blocks:
    """Return the pages: those made of Gradio's components, and desks whose markup the browser asks for."""
    pages = research_pages(calls, office)
    native = {page.path for page in pages}
    put = partial(_put_desk, calls)
    desks = {path.rpartition("/")[2]: put for path in PLACES.values()}
    return research_blocks(pages, {path: put for path, put in desks.items() if path not in native}, _head())


def research_pages(calls: Calls, office: Office) -> tuple[ResearchPage, ...]:
    """Return the pages made of Gradio's components."""

    def runs(visit: Visit) -> None:
        RunList(visit, calls.desk, calls.headlines).build()

    def studies(visit: Visit) -> None:
        StudiesPage(visit, office, site_here()).build()

    def start(visit: Visit) -> None:
        StartPage(visit, office).build()

    sources = Sources(calls.desk, calls.kept)
    pages = {
        "run": ("research.list.run", run_page),
        "report": ("research.report.several", report_page),
        "compare": ("research.run.compare", compare_page),
        "asking": ("research.asking.heading", asking_page),
    }
    return (
        ResearchPage(path="", title="research.runs", build=runs),
        ResearchPage(path="studies", title="research.studies.heading", build=studies),
        ResearchPage(path="start", title="research.start.heading", build=start),
        *(
            ResearchPage(path=path, title=title, build=partial(build, sources=sources))
            for path, (title, build) in pages.items()
        ),
    )


def _put_desk(calls: Calls) -> None:
    """Put a desk on a page: one HTML component, of which ``/config`` holds no markup."""
    judge = partial(_judging, calls.writer, "judge_desk", calls.judge_desk)
    gr.HTML(
        value='<div class="rs-boot"></div>',
        elem_classes=["ab", "ab-stage"],
        apply_default_css=False,
        head=_head(),
        js_on_load=_MOUNT,
        server_functions=[_named("page", calls.page), _named("judge_desk", judge)],
    )


def access_page(scope: Scope, name: str, *, log_ins: LogIns) -> str:
    """Return the page that asks who it is: for name and password, the shared password, or the token."""
    language = page_language(scope)
    return render(
        "research/access",
        strings(language),
        name=name,
        by_token=log_ins.by_token,
        by_name=bool(log_ins.accounts.all()),
        action=f"{scope.get('root_path', '')}{RESEARCH}/{LOGIN}",
        head=Markup(page_head(language) + _head()),
    )


class Entrance:
    """Leads addresses without their last slash, and those of a run that had none of its own, to its page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or send the browser on."""
        path = str(scope.get("path", "")).rstrip("/")
        if scope["type"] == "http" and path in (RESEARCH, RUN, *MOVED_PARTS):
            asked = bytes(scope.get("query_string", b"")).decode("latin-1")
            asked += f"&tab={MOVED_PARTS[path]}" if path in MOVED_PARTS else ""
            at = Address.read(path, asked)
            if at.path != path:
                target = f"{scope.get('root_path', '')}{at.path}?{asked}"
                await RedirectResponse(target, status_code=303)(scope, receive, send)
                return
            path = f"{RESEARCH}/" if path == RESEARCH else path
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self.app(scope, receive, send)


def _judging(writer: LogWriter, name: str, call: Callable[[Any], Answer], data: dict[str, Any]) -> Answer:
    """Save a judgment of somebody who may judge, and who that was."""
    try:
        user = require("judge")
    except NotAllowedError as error:
        return {"saved": False, "problem": problem_text(strings(str(data.get("language", ""))), error)}
    answer = call(data)
    if answer.get("saved"):
        writer.put(action_event(user, "judge", call=name, key=str(data.get("key", ""))[:64])).result()
    return answer


def _named(name: str, call: Callable[[Any], Answer]) -> Callable[[dict[str, Any]], Answer]:
    # Gradio finds a server function by its __name__; being no coroutine, it runs in a thread.
    def answer(data: dict[str, Any]) -> Answer:
        return call(data if isinstance(data, dict) else {})

    answer.__name__ = f"call_{name}"
    return answer


def _head() -> str:
    plotly = f"{RESEARCH}/assets/plotly.js?v={version('plotly')}"
    plots = f'<script src="{versioned("research-plots.js")}" data-plotly="{plotly}"></script>'
    return styles(_STYLES) + plots + scripts(("desk.js", "research.js"))


def _plotly() -> Path:
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise RuntimeError("plotly is not installed; run `pip install plotly`")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


def _add_routes(app: FastAPI, calls: Calls) -> None:
    script = _plotly()

    @app.get(f"{RESEARCH}/assets/plotly.js")
    async def plotly() -> Response:
        return FileResponse(script, media_type="text/javascript", headers={"Cache-Control": _YEAR})

    @app.get(f"{RESEARCH}/api/progress")
    def progress() -> Response:
        return JSONResponse(calls.progress(), headers={"Cache-Control": "no-store"})

    add_downloads(app, calls.desk, calls.kept)
