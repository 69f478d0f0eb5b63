"""Where the log is, unless somebody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

LOG_VARIABLE = "ASKBACK_LOG"
HOME_VARIABLE = "ASKBACK_HOME"


def default_path() -> Path:
    """Return ``$ASKBACK_LOG``, else ``log.sqlite`` in ``$ASKBACK_HOME`` or the user's data folder."""
    chosen = os.environ.get(LOG_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    home = os.environ.get(HOME_VARIABLE)
    folder = Path(home).expanduser() if home else platformdirs.user_data_path("askback", appauthor=False)
    return folder / "log.sqlite"
