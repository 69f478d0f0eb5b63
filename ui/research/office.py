"""The means of the researchers' pages. What is done there is allowed by role, and logged with who it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import gradio as gr
from gradio.context import LocalContext

from logs import LogError, LogReader, LogWriter
from simulator.errors import AskbackError
from simulator.models import ModelOptions
from simulator.runner.processes import RunProcesses
from ui.accounts import Action, User
from ui.problems import problem_text
from ui.research.guard import action_event, require
from ui.research.kept import CachedReports
from ui.research.view import Visit

RELOAD: Final = "() => { location.reload() }"
"""Shows a page anew once something has been done: it is made of the log alone."""


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
