"""Where Askback keeps what belongs to the user: registered data, the log, settings."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

import platformdirs

from simulator.errors import InputError

HOME_VARIABLE = "ASKBACK_HOME"


def require_writable() -> Path:
    """Return the user's Askback folder, made if need be; files can be made in it.

    Raises:
        InputError: if they cannot.
    """
    folder = home()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        raise InputError(
            f"The Askback folder {folder} cannot be written ({error.strerror}); make it writable, or name "
            f"another one in {HOME_VARIABLE}."
        ) from error
    return folder


def home() -> Path:
    """Return the user's Askback folder: ``$ASKBACK_HOME``, else the usual place. It may not be there yet."""
    chosen = os.environ.get(HOME_VARIABLE)
    return (
        Path(chosen).expanduser() if chosen else Path(platformdirs.user_data_dir("askback", appauthor=False))
    )
