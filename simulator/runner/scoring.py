"""`askback score`: a run of the log, with the scorers of its benchmark; result files, if it has any.

``askback score NAME`` scores the run called so. `app.py` adds commands for files (``askback score ambient
FILES``), which come first: a run with the name of a command is scored by ``askback score run NAME``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Protocol, TypeVar

import typer
from rich.console import Console
from typer.core import TyperGroup

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Score
from simulator.errors import InputError
from simulator.runner.options import BaseUrlOption, ExcludeAbortedOption, JsonOption
from simulator.runner.rooms import load_part

_RUN: Final = "run"
SummaryT = TypeVar("SummaryT")
SummaryT_co = TypeVar("SummaryT_co", covariant=True)


class Summarise(Protocol[SummaryT_co]):
    """Says what came of a run."""

    def __call__(self, reader: LogReader, run_id: str, *, exclude_aborted: bool = False) -> SummaryT_co:
        """Summarise a run; aborted episodes count as unsuccessful unless they are excluded."""
        ...


class _RunByDefault(TyperGroup):
    """A group in which anything that is no command is said to `_RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


score_app = typer.Typer(
    cls=_RunByDefault,
    no_args_is_help=True,
    help="Score a run of the log again (its name will do), or files of results.",
)


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
        *,
        exclude_aborted: bool = False,
    ) -> None:
        """Score `run`, append the scores to the log, and print the report."""
        ...


@score_app.command(_RUN)
def score_command(
    run: Annotated[str, typer.Argument(help="the run's name (askback log list shows them)")],
    judge: Annotated[str | None, typer.Option(help="a model that settles open successes")] = None,
    base_url: BaseUrlOption = None,
    budget: Annotated[float | None, typer.Option(min=0, help="US dollars the judge may cost")] = None,
    as_json: JsonOption = False,
    exclude_aborted: ExcludeAbortedOption = False,
    log: LogOption = None,
) -> None:
    """Score a run again from its logged turns; the new scores are appended to the log."""
    with LogReader(log or default_path()) as reader:
        benchmark = reader.run(run).benchmark
    try:
        score: Scorer = load_part(benchmark, "run_command").score_command
    except InputError as error:
        raise InputError(f"{run} cannot be scored here. {error}") from error
    score(run, judge, base_url, budget, as_json, log, exclude_aborted=exclude_aborted)


def by_rules(
    scores: Callable[[LogReader, str], Iterable[Score]],
    summarise: Summarise[SummaryT],
    plain: Callable[[SummaryT], Any],
    show: Callable[[Console, Sequence[SummaryT]], object],
) -> Scorer:
    """`score_command` of a benchmark whose rules leave nothing open.

    Args:
        scores: the scores of a run.
        summarise: what came of a run.
        plain: the same for JSON.
        show: prints it.

    Returns:
        The command; it raises an `InputError` where a judge is named.
    """

    def score(
        run: str,
        judge: str | None,
        base_url: str | None,
        budget: float | None,
        as_json: bool,
        log: Path | None,
        *,
        exclude_aborted: bool = False,
    ) -> None:
        _refuse_judge(run, judge, base_url, budget)
        path, console = log or default_path(), Console()
        with LogReader(path) as reader:
            with LogWriter(path, durable=False) as writer:
                for one in scores(reader, run):
                    writer.put(one)
            found = summarise(reader, run, exclude_aborted=exclude_aborted)
        if as_json:
            console.print_json(data=plain(found))
        else:
            show(console, [found])

    return score


def _refuse_judge(run: str, judge: str | None, base_url: str | None, budget: float | None) -> None:
    if judge or base_url or budget is not None:
        raise InputError(f"{run} is scored by its benchmark's rules: there is no judge.")
