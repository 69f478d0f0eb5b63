"""`askback score RUN`: scores a run with the scorers of its benchmark."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Final, Protocol

import typer

from logs import LogReader
from logs.cli import LogOption
from logs.paths import default_path
from simulator.errors import InputError

_SCORERS: Final = {
    "clarq": "simulator.clarq.run_command",
    "handmethat": "simulator.handmethat.run_command",
}


class Scorer(Protocol):
    """`score_command` of a benchmark."""

    def __call__(
        self,
        run: str,
        judge: str | None,
        base_url: str | None,
        budget: float | None,
        as_json: bool,
        log: Path | None,
    ) -> None:
        """Score `run`, append the scores to the log, and print the report."""
        ...


def score_command(
    run: Annotated[str, typer.Argument(help="the run's name (askback log list shows them)")],
    judge: Annotated[str | None, typer.Option(help="a model that settles open successes")] = None,
    base_url: Annotated[str | None, typer.Option(help="an OpenAI-compatible server")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="US dollars the judge may cost")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    log: LogOption = None,
) -> None:
    """Score a run again from its logged turns; the new scores are appended to the log."""
    with LogReader(log or default_path()) as reader:
        benchmark = reader.run(run).benchmark
    if benchmark not in _SCORERS:
        raise InputError(f"{run} is a run of {benchmark}; there are scorers for {', '.join(_SCORERS)}.")
    score: Scorer = import_module(_SCORERS[benchmark]).score_command
    score(run, judge, base_url, budget, as_json, log)
