"""Output of commands besides their tables: progress bars, the outcome of runs, and problems in files.

For work: a bar, the time left and the scores so far. For runs: endings, failures and the models' usage. For
results files: their faults.
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
from simulator.stats import half_up
from trees.faults import Fault, fault_text

if TYPE_CHECKING:
    from simulator.reporting import RunEndings


_NEWEST: Final = 50
"""Number of recent losses in the mean that is shown."""


def _bar(console: Console, *columns: ProgressColumn) -> Progress:
    title, bar = TextColumn("[bold]{task.description}"), BarColumn(bar_width=None)
    return Progress(title, bar, MofNCompleteColumn(), *columns, console=console)


@contextmanager
def progress_bar(console: Console, title: str, shown: Mapping[str, str]) -> Iterator[Callable[[Tally], None]]:
    """Yield a function that shows the tally of a run as a bar with live scores.

    `shown`: metric -> its short name, for the means after the bar.
    """
    scores = TextColumn("{task.fields[scores]}")
    with _bar(console, TimeElapsedColumn(), TimeRemainingColumn(), scores) as bar:
        task = bar.add_task(title, total=None, scores="")

        def show(tally: Tally) -> None:
            bar.update(task, total=tally.planned, completed=tally.done, scores=live_scores(tally, shown))

        yield show


def live_scores(tally: Tally, shown: Mapping[str, str]) -> str:
    """Return the means so far, and the numbers of aborted and failed episodes."""
    means = [
        f"{short} {half_up(fmean(values), 3)}"
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
def counting_bar(console: Console, title: str, total: int, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Show a bar of `total` units, `done` of them done before; yield a function that advances it."""
    with _bar(console, TimeRemainingColumn()) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda more: bar.advance(task, more)


@contextmanager
def updates_bar(
    console: Console | None, total: int, *, title: str = "updates"
) -> Iterator[Callable[[int, float], None]]:
    """Yield a function that shows a training's number of updates and recent mean loss as a bar."""
    if console is None:
        yield lambda done, loss: None
        return
    recent: list[float] = []
    with _bar(console, TimeRemainingColumn(), TextColumn("{task.fields[loss]}")) as bar:
        task = bar.add_task(title, total=total, loss="")

        def show(done: int, loss: float) -> None:
            recent.append(loss)
            del recent[:-_NEWEST]
            bar.update(task, completed=done, loss=f"loss {fmean(recent):.3f}")

        yield show


AGAIN: Final = "Failed episodes are not scored; the same command plays them again."
UNSUCCESSFUL: Final = "They count as unsuccessful; --exclude-aborted excludes them from the scores."
UNCOUNTED: Final = "They are not counted: a form that was not filled in is not a judgment."
EXCLUDED: Final = "They are excluded from the scores (--exclude-aborted)."
_REASONS: Final = 8
_FAULTS: Final = 50


def print_endings(console: Console, runs: Iterable[str], endings: RunEndings) -> None:
    """Print the head of a report: its runs, their endings, and the reasons of failures."""
    counts = ", ".join(f"{count} {status}" for status, count in sorted(endings.statuses.items()))
    console.print(f"\n[bold]{' '.join(runs)}[/bold]  {counts or 'nothing played yet'}")
    _print_reasons(console, endings.failures, "failed", "red")
    if endings.failures:
        console.print(AGAIN)
    _print_reasons(console, endings.left, "not scored", "red")
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

    `counted`: False for tasks in which a missing answer is not a wrong one.
    """
    _print_reasons(console, aborted, "aborted", "yellow")
    if aborted:
        console.print(UNCOUNTED if not counted else EXCLUDED if excluded else UNSUCCESSFUL)


def _print_reasons(console: Console, reasons: Mapping[str, int], ending: str, style: str) -> None:
    for reason, count in list(reasons.items())[:_REASONS]:
        console.print(Text.assemble((f"{count} {ending}: ", style), reason))
    if rest := list(reasons.values())[_REASONS:]:
        say(console, f"{sum(rest)} {ending} for other reasons (askback report … --json has all)", style)


def has_gone_wrong(statuses: Mapping[str, int]) -> bool:
    """Return True if the exit code should be 1: episodes failed, or all that ended were aborted."""
    ended = any(statuses.get(status) for status in ENDED)
    return bool(statuses.get("failed")) or (bool(statuses.get("aborted")) and not ended)


def print_usage(console: Console, usage: Iterable[ModelUsage]) -> None:
    """Print the usage of models, one line each."""
    for model in usage:
        unknown = f"{model.unpriced} at unknown cost" if model.unpriced else ""
        known = f"${model.cost:.4f}" if model.cost or not unknown else ""
        cost = ", ".join(filter(None, (known, unknown)))
        console.print(f"[dim]{model.model}: {model.calls} calls, {model.cached} from the cache, {cost}[/dim]")


def runs_and_files(names: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Separate names into runs and existing files or folders."""
    files = [Path(name) for name in names if Path(name).exists()]
    return [name for name in names if not Path(name).exists()], files


def say(console: Console, line: str, style: str = "") -> None:
    """Print a line verbatim, without highlighting or wrapping."""
    console.print(Text(line, style), highlight=False, soft_wrap=True)


def print_problems(
    benchmark: str,
    faults: Iterable[Fault | str],
    unreadable: Iterable[str],
    passed_over: Iterable[Path] = (),
    written: Iterable[object] = (),
) -> None:
    """Print problems and other notes to stderr, so that programs can read the results on stdout."""
    console = Console(stderr=True)
    for path in written:
        say(console, f"wrote {path}")
    for path in passed_over:
        say(console, f"{path}: skipped; not a file of {benchmark}", "dim")
    left_out: list[str] = []
    warned: list[str] = []
    for fault in faults:
        warns = isinstance(fault, Fault) and fault.severity == "warning"
        (warned if warns else left_out).append(fault_text(fault))
    omitted = "fault; the row is left out" if len(left_out) == 1 else "faults; the rows are left out"
    for title, sentences in ((omitted, left_out), (f"warning{'s' * (len(warned) != 1)}", warned)):
        if sentences:
            say(console, f"{len(sentences)} {title}:")
        for sentence in sentences[:_FAULTS]:
            say(console, f"  {sentence}", "yellow")
        if len(sentences) > _FAULTS:
            say(console, f"  … and {len(sentences) - _FAULTS} more (--json has them all)", "yellow")
    for reason in unreadable:
        say(console, reason, "red")
