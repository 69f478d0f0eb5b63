"""Files that are there whole or not at all, for everything that Askback writes beside its log."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from simulator.errors import InputError


def write_whole(path: Path | str, content: bytes | str | Iterable[str]) -> Path:
    """Write a file; missing folders are made, and what was there before stays until the end.

    `content`: bytes, or text, or text in parts, which are written as they come; as UTF-8, line feeds as they
    are.

    Returns:
        The path.

    Raises:
        InputError: if it cannot be written.
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                file.writelines(
                    part.encode() for part in ([content] if isinstance(content, str) else content)
                )
        os.replace(draft, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; choose another place") from error
    finally:
        # Where the draft could not be made, or has become the file, there is nothing to remove.
        with suppress(OSError):
            draft.unlink()
    return path


def file_name(name: str) -> str:
    """Return a name fit for a file: of ``provider/model`` the signs between become dashes."""
    return "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in name).strip("-.") or "run"
