"""A check that the server can do what it is for: write to the log."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from time import monotonic
from typing import Final

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse

from logs import LogError
from logs.connect import check_writable

_FRESH: Final = 5.0  # seconds for which an answer holds: everybody may ask, and each write costs the disk

_log = logging.getLogger(__name__)


def add_health(app: FastAPI, log: Path | None) -> None:
    """Add the page that says whether the server works; `log` is the file to try, if any."""
    health_of = Health(log)

    @app.get("/health")
    async def health() -> Response:
        problem = await health_of.problem()
        if problem:
            return JSONResponse({"status": "failing", "problem": problem}, status_code=503)
        return JSONResponse({"status": "ok"})


class Health:
    """Tries a write now and then.

    Args:
        log: the file; None if there is none to be tried.
    """

    def __init__(self, log: Path | None) -> None:
        self._log = log
        self._problem = ""
        self._asked = float("-inf")
        self._lock = asyncio.Lock()

    async def problem(self) -> str:
        """Return what is wrong, without the places of files, which everybody could read; empty if nothing."""
        async with self._lock:
            if self._log is not None and monotonic() - self._asked > _FRESH:
                self._problem = await asyncio.to_thread(_problem, self._log)
                self._asked = monotonic()
            return self._problem


def _problem(log: Path) -> str:
    try:
        check_writable(log)
    except LogError as error:
        _log.error("%s", error)
        return "the log cannot be written"
    return ""
