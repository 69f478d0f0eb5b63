"""Resumable generation with a model: results are saved as they come, and the same command continues."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import typer
import yaml
from rich.console import Console

from logs import LogWriter
from simulator.errors import InputError
from simulator.jsonlines import raw_lines, write_lines
from simulator.models import ChatModel, ModelError, ModelOptions, Needs, load_model, run_preflight
from simulator.runner.run_summary import say

T = TypeVar("T")
KEY: Final = "key"
_KEY_DIGITS: Final = 16
_STUDY_DIGITS: Final = 8
JUDGMENTS: Final = 2
"""The number of annotators per item in a study of generated items."""


def key_of(*parts: Any) -> str:
    """Return a key that depends on `parts` alone, which must be JSON values."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:_KEY_DIGITS]


class Journal:
    """Rows by key, in a file to which each row is appended immediately.

    A line that is incomplete because the program was killed is cut off.

    Raises:
        InputError: if it cannot be read or written, or contains a line that is not a journal's.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            _cut_unfinished_line(path)
            self.rows: dict[str, Mapping[str, Any]] = dict(_read_rows(path))
            self._file = path.open("a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error

    def __enter__(self) -> Self:
        """Return the journal itself."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Close the file."""
        self._file.close()

    def add(self, key: str, row: Mapping[str, Any]) -> None:
        """Append a row, flushed to the operating system."""
        self._file.write(json.dumps({KEY: key, **row}, ensure_ascii=False) + "\n")
        self._file.flush()
        self.rows[key] = row

    def require_only(self, keys: Collection[str], differs: str) -> None:
        """Require that all rows belong to this command.

        `differs`: what may differ in another command, for the message.

        Raises:
            InputError: if a row belongs to another command.
        """
        if any(key not in keys for key in self.rows):
            raise InputError(
                f"{self.path} contains rows of another command (with another {differs}); "
                "repeat that command, or choose another path"
            )


def _cut_unfinished_line(path: Path) -> None:
    with path.open("r+b") as file:
        content = file.read()
        complete = content.rfind(b"\n") + 1
        if complete < len(content):
            os.ftruncate(file.fileno(), complete)


def _read_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for line, row in raw_lines(path):
        if isinstance(row, str) or not isinstance(row.get(KEY), str):
            raise InputError(f"{path}: line {line}: not a row of this file; remove the line")
        yield row[KEY], {name: value for name, value in row.items() if name != KEY}


@contextmanager
def resumable_journal(path: Path, console: Console, *, done: str, place: Path) -> Iterator[Journal]:
    """Open a journal; if the work is interrupted, print that the same command continues.

    Raises:
        ModelError: if it was raised inside.
        typer.Exit: with status 130 after Ctrl-C.
    """
    try:
        with Journal(path) as journal:
            try:
                yield journal
            except ModelError:
                if journal.rows:
                    say(console, f"Everything {done} so far is in {place}; the same command continues.")
                raise
    except KeyboardInterrupt:
        say(console, f"\nStopped; everything {done} so far is in {place}. The same command continues.")
        raise typer.Exit(130) from None


@asynccontextmanager
async def open_model(
    name: str, options: ModelOptions, log: Path, needs: Needs | None = None
) -> AsyncIterator[ChatModel]:
    """Load a model with logged calls, check that it has the needed abilities, and close it in the end.

    Raises:
        ModelError: if it cannot be loaded, or lacks an ability.
    """
    with LogWriter(log, durable=False) as writer:
        model = load_model(name, replace(options, recorder=writer.post))
        try:
            await run_preflight(model, needs)
            yield model
        finally:
            await model.close()


async def map_concurrently(values: Iterator[T], do: Callable[[T], Awaitable[None]], concurrency: int) -> None:
    """Apply `do` to all values, `concurrency` at a time; the first error stops the others.

    Raises:
        BaseException: the first error of `do`.
    """

    async def work() -> None:
        for value in values:
            await do(value)

    tasks = [asyncio.create_task(work()) for _ in range(concurrency)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def write_study(
    path: Path, *, head: str, title: str, benchmark: str, data: Path, content: str, sets: int, seed: int
) -> None:
    """Write a study file in which two annotators judge each generated item.

    The benchmark has a seat ``annotator`` and a task ``annotate``. `head`: comment lines, with
    ``{judgments}`` and ``{data}``. `content`: the items as text; other items make another study, in which the
    same people may take part.

    Raises:
        InputError: if it cannot be written.
    """
    study = {
        "id": f"{benchmark}-new-{sha256(content.encode()).hexdigest()[:_STUDY_DIGITS]}",
        "title": title,
        "benchmark": benchmark,
        "language": "en",
        "seat": "annotator",
        "settings": {"task": "annotate", "data": str(data.resolve()), "languages": ["en", "zh"]},
        "judgments_per_item": JUDGMENTS,
        "sets_per_participant": sets,
        "exclude": [],
        "seed": seed,
    }
    text = yaml.safe_dump(study, sort_keys=False, allow_unicode=True, width=1000)
    write_lines(path, (head.format(judgments=JUDGMENTS, data=data.name) + text).splitlines())
