"""The researchers' pages as one thing to mount: Blocks, the routes beside them, and the guard before both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI
from fastapi.responses import FileResponse, JSONResponse, Response
from markupsafe import Markup
from starlette.types import ASGIApp, Receive, Scope, Send

from logs import LogReader, LogWriter
from ui.i18n import strings
from ui.render.environment import render
from ui.research.address import PLACES, RESEARCH
from ui.research.ambient_routes import add_ambient_routes
from ui.research.ambik_routes import add_ambik_routes
from ui.research.calls import Answer, Calls
from ui.research.desk import Desk
from ui.research.downloads import add_downloads
from ui.research.guard import LOGIN, SESSIONS_FILE, Guard, Passes, password_from_environment
from ui.security import page_language
from ui.server import Mount, page_head

STATIC = Path(__file__).parent.parent / "static"
_MOUNT = "askbackResearch.mount(element, props, server)"
_YEAR = "public, max-age=31536000, immutable"


def research_mount(
    writer: LogWriter,
    reader: LogReader,
    *,
    home: Path,
    password: str | None = None,
    announce: Callable[[str], None] = lambda token: None,
) -> Mount:
    """Return the researchers' pages on one log.

    Args:
        writer: a durable writer of the log.
        reader: reads the same log.
        home: the data home; log-ins are kept there.
        password: asked for (by default ``ASKBACK_RESEARCH_PASSWORD``).
        announce: where there is no password, tells whoever started the server the token that lets one
            browser in (``?token=`` behind any of these pages' addresses).
    """
    home.mkdir(parents=True, exist_ok=True)
    passes = Passes(home / SESSIONS_FILE, password or password_from_environment(), announce)
    calls = Calls(Desk(reader), writer)

    def prepare(app: FastAPI) -> None:
        _add_routes(app, calls)
        app.add_middleware(Alias, aliases=(RESEARCH, *PLACES.values()), target=f"{RESEARCH}/")
        page = partial(access_page, by_token=passes.password is None)
        app.add_middleware(Guard, path=RESEARCH, passes=passes, page=page)

    return Mount(RESEARCH, create_research(calls), prepare)


def create_research(calls: Calls) -> gr.Blocks:
    """Return Runs and Review, one HTML component: the browser asks for its markup, ``/config`` holds none."""
    blocks: gr.Blocks
    with gr.Blocks(title="Askback", analytics_enabled=False, fill_width=True) as blocks:
        gr.HTML(
            value='<div class="rs-boot"></div>',
            elem_classes=["ab", "ab-stage"],
            apply_default_css=False,
            head=_head(),
            js_on_load=_MOUNT,
            server_functions=[
                _named(name, call)
                for name, call in (
                    ("page", calls.page),
                    ("mark", calls.mark),
                    ("code", calls.code),
                    ("judge", calls.judge),
                )
            ],
        )
    return blocks


def access_page(scope: Scope, name: str, *, by_token: bool) -> str:
    """Return the page that asks for the password, or for the token where there is none."""
    language = page_language(scope)
    return render(
        "research/access",
        strings(language),
        name=name,
        by_token=by_token,
        action=f"{scope.get('root_path', '')}{RESEARCH}/{LOGIN}",
        head=Markup(page_head(language) + _head()),
    )


class Alias:
    """Answers each of `aliases` with the page at `target`; the browser's script reads the address itself."""

    def __init__(self, app: ASGIApp, aliases: Sequence[str], target: str) -> None:
        self.app = app
        self.aliases = frozenset(aliases)
        self.target = target

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        if scope["type"] == "http" and scope["path"].rstrip("/") in self.aliases:
            scope = {**scope, "path": self.target, "raw_path": self.target.encode()}
        await self.app(scope, receive, send)


def _named(name: str, call: Callable[[Any], Answer]) -> Callable[[dict[str, Any]], Answer]:
    # Gradio finds a server function by its __name__; being no coroutine, it runs in a thread.
    def answer(data: dict[str, Any]) -> Answer:
        return call(data)

    answer.__name__ = f"call_{name}"
    return answer


def _head() -> str:
    plotly = f"{RESEARCH}/assets/plotly.js?v={version('plotly')}"
    return (
        f'<link rel="stylesheet" href="{_versioned("research.css")}">'
        f'<link rel="stylesheet" href="{_versioned("research-ambibench.css")}">'
        f'<link rel="stylesheet" href="{_versioned("research-ambient.css")}">'
        f'<link rel="stylesheet" href="{_versioned("research-ambik.css")}">'
        f'<script src="{_versioned("research-plots.js")}" data-plotly="{plotly}"></script>'
        f'<script src="{_versioned("research-marks.js")}"></script>'
        f'<script src="{_versioned("research-ambibench.js")}"></script>'
        f'<script src="{_versioned("research-ambient.js")}"></script>'
        f'<script src="{_versioned("research-ambik.js")}"></script>'
        f'<script src="{_versioned("research.js")}"></script>'
    )


def _versioned(name: str) -> str:
    return f"/askback/{name}?v={sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"


def _plotly() -> Path:
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise RuntimeError("plotly is not installed; run `pip install plotly`")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


def _add_routes(app: FastAPI, calls: Calls) -> None:
    desk, script = calls.desk, _plotly()

    @app.get(f"{RESEARCH}/assets/plotly.js")
    async def plotly() -> Response:
        return FileResponse(script, media_type="text/javascript", headers={"Cache-Control": _YEAR})

    add_ambient_routes(app, desk.reader)
    add_ambik_routes(app, desk.reader)

    @app.get(f"{RESEARCH}/api/progress")
    def progress() -> Response:
        return JSONResponse(calls.progress(), headers={"Cache-Control": "no-store"})

    add_downloads(app, calls.desk, calls.kept)
