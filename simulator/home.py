"""Where Askback keeps what belongs to the user: registered data, the log, settings."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

HOME_VARIABLE = "ASKBACK_HOME"


def home() -> Path:
    """The user's Askback folder: ``$ASKBACK_HOME``, else the usual place. It may not be there yet."""
    chosen = os.environ.get(HOME_VARIABLE)
    return (
        Path(chosen).expanduser() if chosen else Path(platformdirs.user_data_dir("askback", appauthor=False))
    )
