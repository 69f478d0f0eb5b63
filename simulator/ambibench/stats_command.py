"""`askback stats ambibench`: statistics of prompts, as a report and a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Annotated, Final

import typer
from rich.console import Console

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.data import Draw, generate_items, load_items
from simulator.ambibench.features import FEATURES, FORMATS, Kind, Setting
from simulator.ambibench.generation import LENGTH
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.statistics import ALPHA, Cell, Statistics, statistics
from simulator.errors import InputError
from simulator.figures import Cell as TableCell
from simulator.figures import Table
from simulator.reporting import Report, Section, print_report
from simulator.runner.options import JsonOption, RootSeedOption

_CELLS: Final = len(FEATURES) * len(FORMATS)
# Work that is done sooner needs no sign of life.
_PATIENCE: Final = 1.0


def stats_command(
    sentences: Annotated[int, typer.Option(min=1, help="how many are drawn, in episodes of 20")] = 60_000,
    seed: RootSeedOption = 0,
    data: Annotated[
        str | None, typer.Option(help="of these instead: the name of added data, or a path")
    ] = None,
    alpha: Annotated[
        float, typer.Option(min=0, max=1, help="how likely a faultless sample is found faulty")
    ] = ALPHA,
    as_json: JsonOption = False,
) -> None:
    """Are AmbiBench prompts what they should be? Words, coins, repetitions; the exit code is 1 if not."""
    with patience(Console(stderr=True), "Drawing and counting"):
        samples = of_data(data, alpha) if data is not None else of_drawn(sentences, seed, alpha)
    if as_json:
        typer.echo(json.dumps({title: sample.to_json() for title, sample in samples.items()}, indent=1))
    else:
        print_report(Console(), statistics_report(samples))
    if not all(sample.passed for sample in samples.values()):
        raise typer.Exit(1)


def of_drawn(sentences: int, seed: int, alpha: float = ALPHA) -> dict[str, Statistics]:
    """Return statistics of so many sentences in episodes, or a few more, and of prompts of 4.2, by title."""
    per_cell = -(-sentences // (_CELLS * LENGTH))
    episodes = _drawn("multiple", None, seed, per_cell)
    kinds: tuple[Kind, ...] = ("uninformative", "informative")
    queries = [prompt for kind in kinds for prompt in _drawn("instruction", kind, seed, -(-per_cell // 2))]
    return {
        f"Setting 4.3, multiple examples, seed {seed}": statistics(episodes, alpha=alpha, whole=True),
        f"Setting 4.2, instruction, seed {seed}": statistics(queries, alpha=alpha, whole=True),
    }


def of_data(data: str | Path, alpha: float = ALPHA) -> dict[str, Statistics]:
    """Return statistics of prompts that are there already, by title.

    Raises:
        InputError: if there are none.
    """
    prompts = [item for item in load_items(data, setting=None) if not isinstance(item, AwsPrompt)]
    if not prompts:
        raise InputError(f"data {str(data)!r} hold no prompt with labels")
    return {str(data): statistics(prompts, alpha=alpha)}


@contextmanager
def patience(console: Console, what: str) -> Iterator[None]:
    """Show that something is going on, if it takes longer than a second."""
    status = console.status(f"{what} …")
    timer = Timer(_PATIENCE, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _drawn(setting: Setting, kind: Kind | None, seed: int, per_cell: int) -> list[Prompt]:
    items = generate_items(setting, kind=kind, draw=Draw(seed=seed, per_cell=per_cell))
    return [item for item in items if isinstance(item, Prompt)]


# ---- the report


def statistics_report(samples: dict[str, Statistics]) -> Report:
    """Return all there is of some samples, by their titles; the verdict stands below each."""
    sections = [
        Section(
            name=f"sample-{number}",
            title=title,
            tables=[*_lists_and_repeats(sample), cells_table(sample.cells), _checks_table(sample)],
            text="\n".join(f"{'ok    ' if good else 'WRONG '}{text}" for good, text in _verdict(sample)),
        )
        for number, (title, sample) in enumerate(samples.items(), start=1)
    ]
    return Report(title="Statistics of prompts", sections=sections)


def cells_table(cells: Sequence[Cell]) -> Table:
    """Return prompts by salient feature, value labelled X, and format."""
    rows: list[list[TableCell]] = []
    for feature, polarity in dict.fromkeys((cell.feature, cell.polarity) for cell in cells if cell.prompts):
        row = [cell for cell in cells if (cell.feature, cell.polarity) == (feature, polarity)]
        rows.append([feature, polarity, *_counts_by_format(row)])
    rows.append(["all", "", *_counts_by_format(cells)])
    title = "Prompts (examples) by salient feature, value labelled X, and format"
    return Table(["feature", "X is", *FORMATS, "both"], rows, title)


def _counts_by_format(cells: Sequence[Cell]) -> list[str]:
    parts = [[cell for cell in cells if cell.format == form] for form in FORMATS]
    return [
        f"{sum(cell.prompts for cell in part)} ({sum(cell.examples for cell in part)})"
        for part in (*parts, cells)
    ]


def _lists_and_repeats(sample: Statistics) -> Iterator[Table]:
    rows: list[list[TableCell]] = []
    for words in sample.lists:
        counts = list(words.counts.values())
        seen = sum(count > 0 for count in counts)
        rows.append(
            [words.name, ", ".join(words.unseen) or "none", len(counts), seen, min(counts), max(counts)]
        )
    heads = ["list", "unseen", "words", "seen", "least often", "most often"]
    yield Table(heads, rows, "Words seen, against the lists of App. G.1")
    pairs: list[list[TableCell]] = [
        [pair.pair, pair.seen, pair.different, pair.possible] for pair in sample.repeats
    ]
    yield Table(["pair", "sentences", "different", "possible"], pairs, "Sentences")


def _checks_table(sample: Statistics) -> Table:
    rows: list[list[TableCell]] = []
    for group in dict.fromkeys(check.group for check in sample.checks):
        rows.append([group, None, None, None, None, None])
        for check in (check for check in sample.checks if check.group == group):
            p = "" if check.test == "rule" else f"{check.p:.3g}"
            rows.append([f"  {check.what}", check.n, check.observed, check.expected, check.test, p])
    title = f"Tests; p < {sample.bound:.2g} fails: {sample.alpha:g} shared among all (Bonferroni)"
    return Table(["what", "n", "observed", "fair", "test", "p"], rows, title)


def _verdict(sample: Statistics) -> Iterator[tuple[bool, str]]:
    """Yield what can be right or wrong, and whether it is right."""
    lists, short = len(sample.lists), len(sample.short)
    unseen = sum(bool(words.unseen) for words in sample.lists)
    few = f" ({unseen - short} not whole yet, as may be in so few sentences)" if unseen > short else ""
    outside = f"{len(sample.outside)} sentences outside the templates"
    equal = f"C3.wordlists: {lists - unseen} of {lists} lists equal{few}; {outside}"
    yield not short and not sample.outside, equal
    if sample.outside:
        yield False, f"outside: {'; '.join(sample.outside[:3])}"
    if sample.miscoded:
        yield False, f"{sample.miscoded} examples are coded otherwise than their sentences say"
    if sample.oracle:
        spelled = ", ".join(f"{value:g} {kind}" for kind, value in sample.oracle.items())
        yield sample.oracle_agrees, f"C2.oracle_4.2: {spelled}"
    different = f" ({sample.tested} prompts with different sentences)" * (sample.tested < sample.prompts)
    passed = len(sample.checks) - len(sample.failed)
    yield not sample.failed, f"{passed} of {len(sample.checks)} tests pass{different}"
    for check in sample.failed:
        yield False, f"{check.group}: {check.what} (p = {check.p:.2g})"
