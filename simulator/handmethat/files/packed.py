"""Many episodes in one file, each found at once: a SQLite table of rows as the log keeps them.

An environment that draws from thousands of episodes reads one in a fraction of the time that its JSON file
takes. What an expert reads before each of its commands is left out.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from simulator.errors import InputError
from simulator.handmethat.items import Task, task_from_row, task_to_row

SUFFIX: Final = ".packed"
_MARK: Final = 0x484D5450  # SQLite's application_id
_TABLE: Final = "CREATE TABLE episodes (number INTEGER PRIMARY KEY, id TEXT UNIQUE, part TEXT, row TEXT)"


def write_packed(tasks: Iterable[Task], parts: Mapping[str, str], path: Path) -> int:
    """Write episodes into a new file, whole or not at all; how many.

    `parts`: id -> train, validate or test; empty where there is no split.

    Raises:
        InputError: if it cannot be written, or two episodes have the same id.
    """
    staged = path.with_name(f".{path.name}.new")
    staged.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(staged)) as file, file:
            file.execute(_TABLE)
            file.execute(f"PRAGMA application_id = {_MARK}")
            rows = (
                (number, task.id, parts.get(task.id), json.dumps(task_to_row(task), ensure_ascii=False))
                for number, task in enumerate(tasks)
            )
            count = file.executemany("INSERT INTO episodes VALUES (?, ?, ?, ?)", rows).rowcount
        os.replace(staged, path)
    except sqlite3.IntegrityError as error:
        raise InputError(f"{path}: two episodes have the same id; each needs its own") from error
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{path}: cannot be written ({error})") from error
    finally:
        staged.unlink(missing_ok=True)
    return count


class Packed:
    """The episodes of such a file.

    Raises:
        InputError: if it is no such file, or has no episode of the split.
    """

    def __init__(self, path: Path, split: str | None = None) -> None:
        self._path = path
        self._open: tuple[int, sqlite3.Connection] | None = None
        where, values = ("", ()) if split is None else ("WHERE part = ?", (split,))
        rows = self._ask(f"SELECT number, id FROM episodes {where} ORDER BY number", values)
        if not rows:
            raise InputError(f"{path}: holds no episode" + (f" of split {split!r}" if split else ""))
        self._numbers = [number for number, _ in rows]
        self.ids = [str(name) for _, name in rows]

    def task(self, number: int) -> Task:
        """Return the episode with this number, as `ids` has them."""
        ((row,),) = self._ask("SELECT row FROM episodes WHERE number = ?", (self._numbers[number],))
        return task_from_row(json.loads(row))

    def _ask(self, question: str, values: tuple[str | int, ...]) -> list[tuple[Any, ...]]:
        # A connection must not be taken along into a forked process.
        if self._open is None or self._open[0] != os.getpid():
            self._open = os.getpid(), _connect(self._path)
        try:
            return self._open[1].execute(question, values).fetchall()
        except sqlite3.Error as error:
            raise InputError(f"{self._path}: cannot be read ({error})") from error

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_open": None}

    def __del__(self) -> None:
        if self._open is not None and self._open[0] == os.getpid():
            self._open[1].close()


def is_packed(path: Path) -> bool:
    """Return True if a file is one of packed episodes, by its name."""
    return path.suffix == SUFFIX and path.is_file()


def _connect(path: Path) -> sqlite3.Connection:
    try:
        file = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        ((mark,),) = file.execute("PRAGMA application_id").fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if mark != _MARK:
        file.close()
        raise InputError(f"{path}: is no file of packed episodes; make one with `askback pack handmethat`")
    return file
