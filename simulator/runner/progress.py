"""What work shows on a terminal while it goes on: a bar, the time left, and how well it does so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import fmean
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from simulator.runner.batch import Tally

_NEWEST: Final = 50
"""Losses that a mean is of."""


def _bar(console: Console, *columns: ProgressColumn) -> Progress:
    title, bar = TextColumn("[bold]{task.description}"), BarColumn(bar_width=None)
    return Progress(title, bar, MofNCompleteColumn(), *columns, console=console)


@contextmanager
def progress_bar(console: Console, title: str, shown: Mapping[str, str]) -> Iterator[Callable[[Tally], None]]:
    """Yield what shows the tally of a run as a bar with live scores.

    `shown`: metric -> its short name; these are averaged and shown behind the bar.
    """
    scores = TextColumn("{task.fields[scores]}")
    with _bar(console, TimeElapsedColumn(), TimeRemainingColumn(), scores) as bar:
        task = bar.add_task(title, total=None, scores="")

        def show(tally: Tally) -> None:
            bar.update(task, total=tally.planned, completed=tally.done, scores=live_scores(tally, shown))

        yield show


def live_scores(tally: Tally, shown: Mapping[str, str]) -> str:
    """Return means so far, and how many episodes were aborted or failed."""
    means = [
        f"{short} {fmean(values):.3f}"
        for metric, short in shown.items()
        if (values := tally.scores.get(metric))
    ]
    bad = [
        f"[red]{count} {status}[/red]"
        for status in ("aborted", "failed")
        if (count := tally.statuses.get(status))
    ]
    return "  ".join(means + bad)


@contextmanager
def counted(console: Console, title: str, total: int, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Show a bar of so many, some of them done before; yields what is told of every so many more."""
    with _bar(console, TimeRemainingColumn()) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda more: bar.advance(task, more)


@contextmanager
def updates_bar(
    console: Console | None, total: int, *, title: str = "updates"
) -> Iterator[Callable[[int, float], None]]:
    """Yield what is told the updates of a training that were made and the newest loss; a bar shows both."""
    if console is None:
        yield lambda done, loss: None
        return
    recent: list[float] = []
    with _bar(console, TimeRemainingColumn(), TextColumn("{task.fields[loss]}")) as bar:
        task = bar.add_task(title, total=total, loss="")

        def tell(done: int, loss: float) -> None:
            recent.append(loss)
            del recent[:-_NEWEST]
            bar.update(task, completed=done, loss=f"loss {fmean(recent):.3f}")

        yield tell
