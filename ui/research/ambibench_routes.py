"""What of AmbiBench's runs can be taken home: figures as files, tables, every trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from logs import LogError
from simulator.ambibench.records import record_json
from simulator.errors import AskbackError, InputError
from ui.research.address import FIGURES, RESEARCH, Address
from ui.research.ambibench_desk import ReportRequest, Reports

_TYPES: Final = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "csv": "text/csv; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "jsonl": "application/x-ndjson; charset=utf-8",
}


def add_ambibench_routes(app: FastAPI, reports: Reports) -> None:
    """Add them. Each reads runs, scoring rules and names of actors out of its address, as the pages do.

    They are no coroutines, so each runs in a thread of its own: drawing for print takes a second.
    """

    @app.get(f"{RESEARCH}/download/ambibench/figure-{{number}}.{{suffix}}")
    def figure(number: str, suffix: Literal["png", "svg", "csv"], request: Request) -> Response:
        def content(wish: ReportRequest) -> tuple[str, bytes]:
            made = reports.drawn(wish, number)
            if made.figure is None:
                raise InputError(f"Figure {number} cannot be drawn: {'; '.join(made.missing)}")
            return f"{made.figure.name}.{suffix}", reports.printed(made.figure, suffix)

        return _file(request, suffix, content)

    @app.get(f"{RESEARCH}/download/ambibench/table-{{name}}.{{suffix}}")
    def table(name: str, suffix: Literal["csv", "tex"], request: Request) -> Response:
        def content(wish: ReportRequest) -> tuple[str, bytes]:
            text = reports.table(wish, name, "latex" if suffix == "tex" else "csv")
            return f"{name}.{suffix}", text.encode()

        return _file(request, suffix, content)

    @app.get(f"{RESEARCH}/download/ambibench/trials.jsonl")
    def trials(request: Request) -> Response:
        def content(wish: ReportRequest) -> tuple[str, bytes]:
            lines = (record_json(trial) + "\n" for trial in reports.report(wish).trials)
            return "trials.jsonl", "".join(lines).encode()

        return _file(request, "jsonl", content)


def attachment(name: str) -> dict[str, str]:
    """Return the header that makes a browser save an answer as a file."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}


def _file(request: Request, suffix: str, content: Callable[[ReportRequest], tuple[str, bytes]]) -> Response:
    try:
        wish = ReportRequest.read(Address.read(FIGURES, str(request.url.query)))
        if not wish.runs:
            raise InputError("Name runs: ?runs=NAME&runs=NAME")
        name, body = content(wish)
    except (AskbackError, LogError) as error:
        return JSONResponse({"error": str(error)}, status_code=404)
    headers = {**attachment(name), "Cache-Control": "no-store"}
    return Response(body, media_type=_TYPES[suffix], headers=headers)
