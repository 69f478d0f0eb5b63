"""Files of a report: there whole, or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from simulator.errors import InputError


def write_whole(path: Path, text: str) -> Path:
    """Write a text; missing folders are made.

    Raises:
        InputError: if it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written ({error.strerror}).") from error
    return path
