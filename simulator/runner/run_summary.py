"""What commands print beside their tables: how work goes on, how it ended, and what is wrong with files.

Of work: a bar, the time left, how well it does so far. Of runs: endings, failures, what models took. Of files
of results: what is wrong with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

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
from rich.text import Text

from logs import ModelUsage
from simulator.runner.batch import Tally
from simulator.runner.logged import ENDED
from trees.faults import Fault, fault_text

if TYPE_CHECKING:
    from simulator.reporting import RunEndings


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


AGAIN: Final = "What failed is not scored; the same command plays it again."
UNSUCCESSFUL: Final = "They count as unsuccessful; --exclude-aborted gives the scores without them."
UNCOUNTED: Final = "They are in none of these figures: a form that was not filled in is no judgment."
EXCLUDED: Final = "They are left out of the scores (--exclude-aborted)."
_FAULTS: Final = 50


def print_endings(console: Console, runs: Iterable[str], endings: RunEndings) -> None:
    """Print the head of a report: its runs, how their episodes ended, and why some went wrong."""
    counts = ", ".join(f"{count} {status}" for status, count in sorted(endings.statuses.items()))
    console.print(f"\n[bold]{' '.join(runs)}[/bold]  {counts or 'nothing played yet'}")
    for reason, count in endings.failures.items():
        console.print(Text.assemble((f"{count} failed: ", "red"), reason))
    if endings.failures:
        console.print(AGAIN)
    for reason, count in endings.left.items():
        console.print(Text.assemble((f"{count} not scored: ", "red"), reason))
    counted = Counter(endings.aborted) - Counter(endings.uncounted)
    print_aborted(console, counted, excluded=endings.excluded)
    print_aborted(console, endings.uncounted, counted=False)


def print_aborted(
    console: Console,
    aborted: Mapping[str, int],
    *,
    excluded: bool = False,
    counted: bool = True,
) -> None:
    """Print why episodes were aborted, and whether the scores count them.

    `counted`: whether the task has a wrong answer that silence could be.
    """
    for reason, count in aborted.items():
        console.print(Text.assemble((f"{count} aborted: ", "yellow"), reason))
    if aborted:
        console.print(UNCOUNTED if not counted else EXCLUDED if excluded else UNSUCCESSFUL)


def has_gone_wrong(statuses: Mapping[str, int]) -> bool:
    """Return True if a run should end with exit code 1: episodes failed, or all that ended were aborted."""
    ended = any(statuses.get(status) for status in ENDED)
    return bool(statuses.get("failed")) or (bool(statuses.get("aborted")) and not ended)


def print_usage(console: Console, usage: Iterable[ModelUsage]) -> None:
    """Print what models took, a line for each."""
    for model in usage:
        cost = f"${model.cost:.4f}" if not model.unpriced else "no price known"
        console.print(f"[dim]{model.model}: {model.calls} calls, {model.cached} from the cache, {cost}[/dim]")


def runs_and_files(names: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Return what is a file or folder, and what else is named: runs, as far as they are there."""
    files = [Path(name) for name in names if Path(name).exists()]
    return [name for name in names if not Path(name).exists()], files


def say(console: Console, line: str, style: str = "") -> None:
    """Print a line as it is: neither its colours nor its breaks are guessed."""
    console.print(Text(line, style), highlight=False, soft_wrap=True)


def print_problems(
    benchmark: str,
    faults: Iterable[Fault | str],
    unreadable: Iterable[str],
    passed_over: Iterable[Path] = (),
    written: Iterable[object] = (),
) -> None:
    """Print what is not of the results on the other stream, so that those can be read by programs."""
    console = Console(stderr=True)
    for path in written:
        say(console, f"wrote {path}")
    for path in passed_over:
        say(console, f"{path}: none of {benchmark}'s files; passed over", "dim")
    left_out: list[str] = []
    warned: list[str] = []
    for fault in faults:
        warns = isinstance(fault, Fault) and fault.severity == "warning"
        (warned if warns else left_out).append(fault_text(fault))
    gone = "fault; the row is left out" if len(left_out) == 1 else "faults; the rows are left out"
    for title, sentences in ((gone, left_out), (f"warning{'s' * (len(warned) != 1)}", warned)):
        if sentences:
            say(console, f"{len(sentences)} {title}:")
        for sentence in sentences[:_FAULTS]:
            say(console, f"  {sentence}", "yellow")
        if len(sentences) > _FAULTS:
            say(console, f"  … and {len(sentences) - _FAULTS} more (--json has them all)", "yellow")
    for reason in unreadable:
        say(console, reason, "red")
