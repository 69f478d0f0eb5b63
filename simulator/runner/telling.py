"""What every benchmark's command prints of runs beside its tables: endings, failures, what models took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from logs import LogReader, ModelUsage
from simulator.runner.logged import ERASED

AGAIN: Final = "What failed is not scored; the same command plays it again."


class Summary(Protocol):
    """A run in numbers, as far as all benchmarks have the same."""

    @property
    def statuses(self) -> Mapping[str, int]:
        """Episodes by how they ended."""
        ...


SummaryT = TypeVar("SummaryT", bound=Summary)


def print_endings(
    console: Console,
    runs: Iterable[str],
    statuses: Mapping[str, int],
    failures: Mapping[str, int],
    nothing: str = "nothing played yet",
) -> None:
    """The head of a report: its runs, how their episodes ended (or `nothing`), and why some failed."""
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    console.print(f"\n[bold]{' '.join(runs)}[/bold]  {told or nothing}")
    for reason, count in failures.items():
        console.print(Text.assemble((f"{count} failed: ", "red"), reason))
    if failures:
        console.print(AGAIN)


def print_not_scored(
    console: Console, run: str, statuses: Mapping[str, int], failures: Mapping[str, int]
) -> None:
    """How many episodes of a run were erased, and why others have no scores, a line for each reason."""
    if erased := statuses.get(ERASED):
        console.print(f"{run}: {erased} {ERASED}", highlight=False)
    for reason, count in failures.items():
        console.print(Text.assemble((f"{run}: {count} not scored: ", "red"), reason))


def print_usage(console: Console, usage: Iterable[ModelUsage]) -> None:
    """What models took, a line for each."""
    for one in usage:
        cost = f"${one.cost:.4f}" if not one.unpriced else "no price known"
        console.print(f"[dim]{one.model}: {one.calls} calls, {one.cached} from the cache, {cost}[/dim]")


def print_played(
    console: Console,
    log: Path,
    runs: Sequence[str],
    summarise: Callable[[LogReader, str], SummaryT],
    show: Callable[[Console, Sequence[SummaryT]], object],
) -> tuple[str, ...]:
    """What came of runs that have just been played; their names.

    Args:
        console: to print on.
        log: the log's file.
        runs: the runs' names.
        summarise: what came of a run.
        show: prints it.

    Raises:
        typer.Exit: with status 1 if episodes failed.
    """
    with LogReader(log) as reader:
        summaries = [summarise(reader, one) for one in runs]
    show(console, summaries)
    if any("failed" in one.statuses for one in summaries):
        console.print(AGAIN)
        raise typer.Exit(1)
    return tuple(runs)
