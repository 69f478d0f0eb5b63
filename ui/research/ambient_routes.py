"""Downloads of AmbiEnt: consolidated rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response

from logs import LogReader
from simulator.ambient.annotation.consolidation import export_dataset
from ui.research.address import RESEARCH
from ui.research.downloads import answer

Write = Callable[[LogReader, str, Path], object]


def add_ambient_routes(app: FastAPI, reader: LogReader) -> None:
    """Add them: the file is in the published format. They are no coroutines, so each runs in a thread."""

    @app.get(f"{RESEARCH}/download/ambient/{{name}}.jsonl")
    def of_run(name: str, run: str = "") -> Response:
        write = _FILES.get(name)
        if write is None:
            return JSONResponse({"error": f"no such file; there are {', '.join(_FILES)}"}, status_code=404)

        def content() -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{name}.jsonl"
                write(reader, run, path)
                return path.read_bytes()

        return answer(content, "application/x-ndjson; charset=utf-8", f"{name}.jsonl")


_FILES: Final[dict[str, Write]] = {"consolidated": export_dataset}
