"""Generating with a model: what it gives is kept as it comes, and the same command goes on from there."""

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
"""Annotators for each item of a study of what was generated."""


def key_of(*parts: Any) -> str:
    """Return a name for what follows from `parts`, which JSON can hold, and from nothing else."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:_KEY_DIGITS]


class Journal:
    """Rows by their keys, in a file to which each is appended as soon as it is known.

    A line that was being written when the program was killed is cut off.

    Args:
        path: the file; made with its folder if need be.

    Raises:
        InputError: if it cannot be read or written, or a line of it is not one of a journal's.
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
        """Append a row; it is with the system when this returns."""
        self._file.write(json.dumps({KEY: key, **row}, ensure_ascii=False) + "\n")
        self._file.flush()
        self.rows[key] = row

    def require_only(self, keys: Collection[str], differs: str) -> None:
        """Make sure that all rows are of this command.

        `differs`: what may be another in another command.

        Raises:
            InputError: if one is not.
        """
        if any(key not in keys for key in self.rows):
            raise InputError(
                f"{self.path} holds rows of another command (of another {differs}); "
                "say the same again, or name another place"
            )


def _cut_unfinished_line(path: Path) -> None:
    with path.open("r+b") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(file.fileno(), whole)


def _read_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for line, row in raw_lines(path):
        if isinstance(row, str) or not isinstance(row.get(KEY), str):
            raise InputError(f"{path}: line {line}: is no row of this file; take the line out")
        yield row[KEY], {name: value for name, value in row.items() if name != KEY}


@contextmanager
def resumable(path: Path, console: Console, *, done: str, place: Path) -> Iterator[Journal]:
    """Open a journal; where the work stops before its end, say that the same command continues.

    Raises:
        InputError: see `Journal`.
        ModelError: what was raised inside.
        typer.Exit: with status 130 after Ctrl-C.
    """
    try:
        with Journal(path) as journal:
            try:
                yield journal
            except ModelError:
                if journal.rows:
                    say(console, f"What has been {done} is in {place}; the same command continues.")
                raise
    except KeyboardInterrupt:
        say(console, f"\nStopped; what has been {done} is in {place}. The same command continues.")
        raise typer.Exit(130) from None


@asynccontextmanager
async def open_model(
    name: str, options: ModelOptions, log: Path, needs: Needs | None = None
) -> AsyncIterator[ChatModel]:
    """Load a model whose calls are logged, see that its server gives what is needed, and close it at last.

    Raises:
        ModelError: if it cannot be loaded or lacks something.
    """
    with LogWriter(log, durable=False) as writer:
        model = load_model(name, replace(options, recorder=writer.post))
        try:
            await run_preflight(model, needs)
            yield model
        finally:
            await model.close()


async def each(values: Iterator[T], do: Callable[[T], Awaitable[None]], concurrency: int) -> None:
    """Do something with all values, so many at a time; the first error stops it all.

    Raises:
        BaseException: whatever `do` raised.
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

    Args:
        path: of the file.
        head: comment lines at its beginning, with ``{judgments}`` and ``{data}``.
        title: for participants.
        benchmark: whose items they are; its annotators' seat and task are called ``annotator``, ``annotate``.
        data: the file of the items.
        content: of the items: others make another study, which the same people may take part in.
        sets: items for a participant.
        seed: of the study.

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
