"""What has been done so far, a line of JSON each, so that the same command goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from simulator.errors import InputError
from simulator.jsonlines import raw_lines

KEY: Final = "key"
_DIGITS: Final = 16


def key_of(*parts: Any) -> str:
    """A name for what follows from `parts`, which JSON can hold, and from nothing else."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:_DIGITS]


class Journal:
    """Rows by their keys, in a file to which each is appended as soon as it is known.

    A line that was being written when the program was killed is cut off.

    Args:
        path: the file; made with its folder if need be.

    Raises:
        InputError: if it cannot be read or written, or a line of it is none of a journal's.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            _cut(path)
            self.rows: dict[str, Mapping[str, Any]] = dict(_read(path))
            self._file = path.open("a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    def add(self, key: str, row: Mapping[str, Any]) -> None:
        """Append a row; it is with the system when this returns."""
        self._file.write(json.dumps({KEY: key, **row}, ensure_ascii=False) + "\n")
        self._file.flush()
        self.rows[key] = row

    def require_only(self, keys: Collection[str], differs: str) -> None:
        """Make sure that all rows are of this command.

        Args:
            keys: those that it may have.
            differs: what may be another in another command.

        Raises:
            InputError: if one is not.
        """
        if any(key not in keys for key in self.rows):
            raise InputError(
                f"{self.path} holds rows of another command (of another {differs}); "
                "say the same again, or name another place"
            )


def _cut(path: Path) -> None:
    with path.open("r+b") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(file.fileno(), whole)


def _read(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    found: list[tuple[str, Mapping[str, Any]]] = []
    for line, row in raw_lines(path):
        if isinstance(row, str) or not isinstance(row.get(KEY), str):
            raise InputError(f"{path}: line {line}: is no row of this file; take the line out")
        found.append((row[KEY], {name: value for name, value in row.items() if name != KEY}))
    return found
