"""The web app: a FastAPI app with the players' pages as Gradio Blocks, and mounts for other pages.

The players' pages are one custom HTML component, with the settings of `ui.gradio_setup`. Its value is empty:
the browser requests a page once the component has loaded, so that neither ``/config`` nor the page source
contains anything of a dialogue. Its calls (`CALLS`) bypass Gradio, where calling a function costs as much
as building a page. One Blocks serves every path in `Actions.paths`, since Gradio's own multi-page apps come
with a navigation bar.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from math import ceil
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode

import gradio as gr
import orjson
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from pydantic import ValidationError
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.responses import Response

from logs import LogError
from logs.connect import check_writable
from simulator import catalog
from simulator.catalog import attempt
from simulator.studies.declared import PlaySessions
from ui.actions import Actions
from ui.calls import STUDY, Answer
from ui.declared.actions import DeclaredActions
from ui.gradio_setup import mount_blocks
from ui.i18n import strings
from ui.limits import MAX_BODY, Arrivals, Bodies, Starts
from ui.render import Frame, render
from ui.security import Access, Gate, Hosts, Shell
from ui.tokens import Signer, TokenError

STATIC = Path(__file__).parent / "static"
RESEARCH = "/research"
STYLES = ("askback", "home", "play", "plan", "study", "blocks", "form")
SCRIPTS = ("askback", "plan", "turn", "play", "result", "study", "form", "form-lists", "entry")

Call = Callable[[dict[str, Any]], Awaitable[Answer]]

CALLS: Final = (
    *("page", "start", "enter_study", "next_set", "withdraw", "leave", "wait_again", "acknowledge"),
    *("send", "check_form", "judge", "take_seat"),
)
"""Calls of `Actions` that pages may make, each as a POST of a JSON object to ``/api/call/NAME``."""
BEGINNINGS: Final = frozenset({"start", "enter_study", "next_set"})
"""Calls that may write an episode into the log."""
_ARRIVALS: Final = BEGINNINGS | {"page", "take_seat"}
"""Calls of people who are not playing yet; those who are have priority (`limits.Arrivals`)."""
_UNCACHED: Final = {"Cache-Control": "no-store"}
_FRESH: Final = 5.0  # seconds to cache the health: anyone may ask for it, and each check writes to the disk
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mount:
    """Further Gradio Blocks with their path; `prepare` adds routes and middleware for them to the app."""

    path: str
    blocks: gr.Blocks
    prepare: Callable[[FastAPI], None] | None = None


def create_server(
    declared: Sequence[PlaySessions],
    *,
    home: Path,
    mounts: Sequence[Mount] = (),
    access: Access | None = None,
    starts: Starts | None = None,
    log: Path | None = None,
) -> FastAPI:
    """Return the web app.

    Args:
        declared: sessions of the benchmarks; the entry page of the first is the home page. A benchmark whose
            texts cannot be read, or whose name is that of another page, is left out.
        home: the data home, which contains the secret for signing links.
        mounts: further pages; one at `RESEARCH` is linked from the players' pages.
        access: host names and proxies; default: this machine's own names, and no proxy.
        starts: rate limits for starting episodes.
        log: log file that `/health` checks; None for no check.

    Raises:
        InputError: if two benchmarks have a study with the same id.
    """
    app = FastAPI(title="Askback", docs_url=None, redoc_url=None, openapi_url=None)
    research = next((mount.path for mount in mounts if mount.path == RESEARCH), None)
    front, signer = declared[0], Signer.at(home)
    order = (front.benchmark.name, *catalog.names())
    served = sorted(declared, key=lambda sessions: order.index(sessions.benchmark.name))
    actions = Actions(signer, {each.name: each for each in served_benchmarks(served, signer)}, research)
    _add_calls(app, actions, starts or Starts())
    add_health(app, log)
    _add_routes(app, actions)
    for mount in mounts:
        if mount.prepare is not None:
            mount.prepare(app)
        mount_blocks(app, mount.blocks, mount.path)
    # Last, since the mount at / answers all remaining paths.
    mount_blocks(app, players_blocks(), "/")
    app.add_middleware(Gate)
    app.add_middleware(Bodies)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=MAX_BODY)
    app.add_middleware(Shell, head=page_head, missing=_missing_page, aliases=actions.paths)
    app.add_middleware(Hosts, access=access or Access())
    return app


def served_benchmarks(served: Sequence[PlaySessions], signer: Signer) -> list[DeclaredActions]:
    """Return the calls of each benchmark; the entry page of the first that can be served is the home page."""
    benchmarks: list[DeclaredActions] = []
    for sessions in served:
        make = partial(DeclaredActions, sessions, signer, home=not benchmarks)
        if (benchmark := attempt(f"{sessions.benchmark.name} in the browser", make)) is not None:
            benchmarks.append(benchmark)
    return benchmarks


def players_blocks() -> gr.Blocks:
    """Return the Blocks of all players' pages, which load the page for their path by script."""
    blocks: gr.Blocks
    with gr.Blocks(title="Askback", analytics_enabled=False, fill_width=True) as blocks:
        gr.HTML(
            elem_classes=["ab", "ab-stage"],
            apply_default_css=False,
            js_on_load="askback.mount(element, props)",
        )
    return blocks


def _add_calls(app: FastAPI, actions: Actions, starts: Starts) -> None:
    """Add the calls of the players' pages; `starts` limits the rate of `BEGINNINGS`."""
    calls: dict[str, Call] = {name: getattr(actions, name) for name in CALLS}
    arrivals = Arrivals()

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in calls:
            return JSONResponse({"error": "unknown call"}, 404)
        try:
            data = orjson.loads(await request.body())
        except orjson.JSONDecodeError:
            data = None
        if not isinstance(data, dict):
            return JSONResponse({"error": "a call must be a JSON object"}, 400)
        answering = _answer(name, calls[name], data, starts, request)
        try:
            answered = await (arrivals.admit(answering) if name in _ARRIVALS else answering)
        except asyncio.CancelledError:  # the server stops: pages try again
            return Response(status_code=503)
        return Response(orjson.dumps(answered), media_type="application/json", headers=_UNCACHED)

    app.add_route("/api/call/{name}", answer, methods=["POST"])


async def _answer(name: str, call: Call, data: dict[str, Any], starts: Starts, request: Request) -> Answer:
    try:
        if name in BEGINNINGS and (wait := _wait(starts, data, request)) > 0:
            _log.warning("%s: too many starts from one address", name)
            return {"problem": strings(str(data.get("language", "")))("app.too_many", seconds=ceil(wait))}
        return await call(data)
    except ValidationError as error:  # not from one of our pages
        _log.warning("the call %s is malformed: %d faults", name, error.error_count())
        return {"failed": True}
    except Exception:  # the boundary: the browser keeps the draft and says that the call failed
        _log.exception("the call %s failed", name)
        return {"failed": True}


def _wait(starts: Starts, data: dict[str, Any], request: Request) -> float:
    """Count a start; return the seconds until it is allowed, 0 if it is now."""
    client = request.client.host if request.client else ""
    participant = str(data.get("participant_key", ""))[:64]
    return starts.wait(client, participant)


def page_head(language: str) -> str:
    """Return what our pages add to Gradio's head: styles, scripts, icon, description."""
    texts = strings(language)
    return (
        f'<meta name="description" content="{texts("app.tagline")}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" type="image/svg+xml" href="{versioned_address("mark.svg")}">\n'
        f"{styles(STYLES)}\n"
        f"{scripts(SCRIPTS)}\n"
        f"<noscript>{texts('app.noscript')}</noscript>"
    )


def _missing_page(language: str) -> str:
    texts = strings(language)
    return render("missing", texts, other=Frame(texts).other_language)


def styles(names: Sequence[str]) -> str:
    """Return the tags for style sheets, named without suffix."""
    return "\n".join(f'<link rel="stylesheet" href="{versioned_address(f"{name}.css")}">' for name in names)


def scripts(names: Sequence[str]) -> str:
    """Return the tags for scripts, named without suffix."""
    return "\n".join(f'<script src="{versioned_address(f"{name}.js")}"></script>' for name in names)


@cache
def versioned_address(name: str) -> str:
    """Return the address of a static file, with a hash of its content against stale caches."""
    return f"/askback/{name}?v={sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"


def _add_routes(app: FastAPI, actions: Actions) -> None:
    @app.get("/api/state")
    async def state(request: Request) -> Response:
        try:
            answer = await actions.state(request.headers.get("x-askback-seat", ""))
        except TokenError:
            return JSONResponse({"error": "unknown seat"}, status_code=403)
        return JSONResponse(answer, headers=_UNCACHED)

    for name, benchmark in actions.served.items():
        app.add_api_route(f"/{name}/study/{{study}}", _invitation(benchmark))
        if benchmark.link.path == "/":
            app.add_api_route(f"/{name}", _home)

    app.mount("/askback", StaticFiles(directory=STATIC), name="askback")


def _home(request: Request) -> Response:
    return RedirectResponse(f"/?{request.url.query}" if request.url.query else "/")


def _invitation(benchmark: DeclaredActions) -> Callable[[str, Request], Response]:
    """Return the handler of a study's link. It starts nothing: mail and chat programs open links too."""

    def redirect(study: str, request: Request) -> Response:
        if benchmark.study(study) is None:
            raise HTTPException(404, "there is no study with this name")
        values = [(name, value) for name, value in request.query_params.multi_items() if name != "study"]
        return RedirectResponse(f"{STUDY}?{urlencode([('study', study), *values])}")

    return redirect


def add_health(app: FastAPI, log: Path | None) -> None:
    """Add the health check; `log` is the log file that must be writable, if any."""
    own = {"X-Server": token_hex(8)}  # pages notice a restart
    lock, asked, problem = asyncio.Lock(), float("-inf"), ""

    @app.get("/health")
    async def health() -> Response:
        nonlocal asked, problem
        async with lock:
            if log is not None and monotonic() - asked > _FRESH:
                problem = await asyncio.to_thread(_problem, log)
                asked = monotonic()
        if problem:
            return JSONResponse({"status": "failing", "problem": problem}, status_code=503)
        return JSONResponse({"status": "ok"}, headers=own)


def _problem(path: Path) -> str:
    """Return what is wrong with the log, or an empty text. It names no paths, since anyone can read it."""
    try:
        check_writable(path)
    except LogError as error:
        _log.error("%s", error)
        return "the log cannot be written"
    return ""
