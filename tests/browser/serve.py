"""Serves the app for the browser tests: ``python serve.py PORT``, data home from ASKBACK_HOME."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import uvicorn

from logs import LogReader, LogWriter
from simulator.clarq.sessions import ClarqSessions
from simulator.runner.build import Models
from ui.server import create_server


def main(port: int, home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    log = home / "log.sqlite"
    with LogWriter(log, durable=True) as writer, LogReader(log) as reader:
        sessions = ClarqSessions(writer, reader, Models())
        uvicorn.run(create_server(sessions, home=home), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(os.environ["ASKBACK_HOME"]))
