"""Atomic writes of the files that Askback writes in addition to its log, and their text as CSV."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from simulator.errors import InputError


def write_atomically(
    path: Path | str, content: bytes | str | Iterable[str], *, private: bool = False
) -> Path:
    """Write a file atomically: an old version stays until the new one is complete. Missing folders are made.

    `content`: bytes, or text or an iterable of texts, written as UTF-8 with line feeds unchanged.
    `private`: True if only its owner may read it.

    Returns:
        The path.

    Raises:
        InputError: if it cannot be written.
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(mode=0o600 if private else 0o666)
        with draft.open("wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                file.writelines(
                    part.encode() for part in ([content] if isinstance(content, str) else content)
                )
        os.replace(draft, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; choose another path") from error
    finally:
        # If the draft could not be made, or has become the file, there is nothing to remove.
        with suppress(OSError):
            draft.unlink()
    return path


def rows_as_csv(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, with line feeds."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def file_name(name: str) -> str:
    """Return a name safe for files: ``provider/model`` becomes ``provider-model``."""
    return "".join(char if char.isalnum() or char in "._-" else "-" for char in name).strip("-.") or "run"
