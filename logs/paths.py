"""Where Askback keeps what belongs to the user: the log, registered data, settings."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

LOG_VARIABLE = "ASKBACK_LOG"
HOME_VARIABLE = "ASKBACK_HOME"


def home() -> Path:
    """Return the user's Askback folder: ``$ASKBACK_HOME``, else the usual place. It may not be there yet."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("askback", appauthor=False)


def default_path() -> Path:
    """Return ``$ASKBACK_LOG``, else ``log.sqlite`` in the user's Askback folder."""
    chosen = os.environ.get(LOG_VARIABLE)
    return Path(chosen).expanduser() if chosen else home() / "log.sqlite"
