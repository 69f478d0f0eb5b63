"""What a run shows while it plays: a bar, the time left, and the scores so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import fmean

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from simulator.runner.batch import Tally


@contextmanager
def progress_bar(console: Console, title: str, shown: Mapping[str, str]) -> Iterator[Callable[[Tally], None]]:
    """Yield what shows a tally as a progress bar with live scores.

    `shown`: metric -> its short name; these are averaged and shown behind the bar.
    """
    bar = Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[scores]}"),
        console=console,
    )
    with bar:
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
def updates_bar(
    console: Console | None, total: int, *, title: str = "updates"
) -> Iterator[Callable[[int, float], None]]:
    """Yield a progress bar of a training, with the mean of the newest losses behind it.

    Yields:
        Is told the number of updates made and the newest loss.
    """
    if console is None:
        yield lambda done, loss: None
        return
    bar = Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[loss]}"),
        console=console,
    )
    recent: list[float] = []
    with bar:
        task = bar.add_task(title, total=total, loss="")

        def tell(done: int, loss: float) -> None:
            recent.append(loss)
            del recent[:-50]
            bar.update(task, completed=done, loss=f"loss {fmean(recent):.3f}")

        yield tell
