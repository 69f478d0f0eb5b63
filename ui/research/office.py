"""The means of the researchers' pages. What is done there is allowed by role, and logged with who it was."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import gradio as gr
from gradio.context import LocalContext

from logs import LogError, LogReader, LogWriter
from simulator.errors import AskbackError
from simulator.models import ModelOptions
from simulator.runner.processes import RunProcesses
from ui.accounts import Action, User
from ui.i18n import problem_text
from ui.research.blocks import Visit
from ui.research.guard import action_event, require

T = TypeVar("T")
_GROWING: Final = ("turns", "endings", "judgments", "scores")
RELOAD: Final = "() => { location.reload() }"
"""Shows a page anew once something has been done: it is made of the log alone."""


class CachedReports:
    """Results made of runs, made again only when they have changed; may be used from any thread.

    Args:
        reader: of the log.
        size: how much is kept, what was asked for last.
    """

    def __init__(self, reader: LogReader, size: int = 24) -> None:
        self.reader = reader
        self._size = size
        self._lock = threading.Lock()
        self._busy: dict[Hashable, threading.Lock] = {}
        self._made: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()

    def once(self, name: Hashable, runs: str | Iterable[str], make: Callable[[], T]) -> T:
        """Return what `make` makes of runs as they now are; who asks for the same meanwhile waits for it."""
        place, state = self._place(name, runs)
        with self._lock:
            busy = self._busy.setdefault(place, threading.Lock())
        with busy:
            with self._lock:
                if self._made.get(place, (None,))[0] == state:
                    self._made.move_to_end(place)
                    return self._made[place][1]  # type: ignore[no-any-return]
            try:
                made = make()
            except Exception:
                with self._lock:
                    self._busy.pop(place, None)
                raise
            with self._lock:
                self._made[place] = state, made
                self._made.move_to_end(place)
                while len(self._made) > self._size:
                    self._busy.pop(self._made.popitem(last=False)[0], None)
            return made

    def has(self, name: Hashable, runs: str | Iterable[str]) -> bool:
        """Return True if `once` would answer at once."""
        place, state = self._place(name, runs)
        with self._lock:
            return self._made.get(place, (None,))[0] == state

    def _place(self, name: Hashable, runs: str | Iterable[str]) -> tuple[Hashable, Hashable]:
        named = (runs,) if isinstance(runs, str) else tuple(runs)
        return (name, named), (*map(self._state, named), self._state_of_log())

    def _state(self, run: str) -> tuple[int, ...]:
        of_run = "episode_id IN (SELECT id FROM episodes WHERE run_id = :run)"
        counts = ", ".join(f"(SELECT count(*) FROM {table} WHERE {of_run})" for table in _GROWING)
        query = f"SELECT (SELECT count(*) FROM episodes WHERE run_id = :run), {counts}"
        with self.reader.connection() as connection:
            return tuple(connection.execute(query, {"run": run}).fetchone())

    def _state_of_log(self) -> tuple[int, int]:
        """Return what runs rest on besides: judgments of items, and who has been erased (rows stay)."""
        query = "SELECT count(*) FROM judgments WHERE episode_id IS NULL"
        with self.reader.connection() as connection:
            (count,) = connection.execute(query).fetchone()
        return count, hash(self.reader.uncounted_participants())


@dataclass(frozen=True, kw_only=True)
class Office:
    """The log, models and processes of the pages.

    Attributes:
        writer: a durable writer of the log.
        reader: reads the same log.
        models: how models that sit opposite people are reached.
        offered: models that may be chosen for seats.
        processes: plays runs.
        kept: what was made of runs.
        headlines: of the runs in the list, which are many and short.
    """

    writer: LogWriter
    reader: LogReader
    models: ModelOptions
    offered: Sequence[str]
    processes: RunProcesses
    kept: CachedReports = field(init=False)
    headlines: CachedReports = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", CachedReports(self.reader))
        object.__setattr__(self, "headlines", CachedReports(self.reader, 5_000))

    @contextmanager
    def acting(self, visit: Visit, action: Action, **details: object) -> Iterator[User]:
        """Do something in an event of a page if its sender may, and log that they did.

        Yields:
            Who it is.

        Raises:
            gr.Error: what is wrong, in the page's language.
        """
        try:
            user = require(action)
            yield user
            self.writer.put(action_event(user, action, **details)).result()
        except (AskbackError, LogError) as error:
            text = problem_text(visit.t, error)
            raise gr.Error(text, title=visit.t("research.problem.title"), print_exception=False) from error


def site_here() -> str:
    """Return where the page that is being built was asked for: what links for people begin with."""
    request = LocalContext.request.get()
    assert request is not None and request.request is not None
    url = request.request.url
    return f"{url.scheme}://{url.netloc}"
