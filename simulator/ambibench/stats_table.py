"""Statistics of prompts as a report for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simulator.ambibench.features import FEATURES, FORMATS
from simulator.ambibench.statistics import Cell, Statistics
from simulator.figures import Cell as TableCell
from simulator.figures import Table
from simulator.reporting import Report, Section


def statistics_report(samples: dict[str, Statistics]) -> Report:
    """Return all there is of some samples, by their titles; the verdict stands below each."""
    sections = [
        Section(
            name=f"sample-{number}",
            title=title,
            tables=[
                _lists_table(sample),
                _repeats_table(sample),
                cells_table(sample.cells),
                _checks_table(sample),
            ],
            text="\n".join(_verdict(sample)),
        )
        for number, (title, sample) in enumerate(samples.items(), start=1)
    ]
    return Report(title="Statistics of prompts", sections=sections)


def cells_table(cells: Sequence[Cell]) -> Table:
    """Prompts by salient feature, value labelled X, and format."""
    rows: list[list[TableCell]] = []
    for feature in FEATURES:
        mine = [cell for cell in cells if cell.feature == feature and cell.prompts]
        for polarity in dict.fromkeys(cell.polarity for cell in mine):
            row = [cell for cell in mine if cell.polarity == polarity]
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


def _lists_table(sample: Statistics) -> Table:
    rows: list[list[TableCell]] = []
    for words in sample.lists:
        counts = list(words.counts.values())
        seen = sum(count > 0 for count in counts)
        unseen = ", ".join(words.unseen) or "none"
        rows.append([words.name, unseen, len(counts), seen, min(counts), max(counts)])
    heads = ["list", "unseen", "words", "seen", "least often", "most often"]
    return Table(heads, rows, "Words seen, against the lists of App. G.1")


def _repeats_table(sample: Statistics) -> Table:
    rows: list[list[TableCell]] = [
        [pair.pair, pair.seen, pair.different, pair.possible] for pair in sample.repeats
    ]
    return Table(["pair", "sentences", "different", "possible"], rows, "Sentences")


def _checks_table(sample: Statistics) -> Table:
    rows: list[list[TableCell]] = []
    for group in dict.fromkeys(check.group for check in sample.checks):
        rows.append([group, None, None, None, None, None])
        for check in (check for check in sample.checks if check.group == group):
            p = "" if check.test == "rule" else f"{check.p:.3g}"
            rows.append([f"  {check.what}", check.n, check.observed, check.expected, check.test, p])
    title = f"Tests; p < {sample.bound:.2g} fails: {sample.alpha:g} shared among all (Bonferroni)"
    return Table(["what", "n", "observed", "fair", "test", "p"], rows, title)


def _verdict(sample: Statistics) -> Iterator[str]:
    """Yield one line per thing that can be right or wrong."""
    lists, short = len(sample.lists), len(sample.short)
    unseen = sum(bool(words.unseen) for words in sample.lists)
    few = f" ({unseen - short} not whole yet, as may be in so few sentences)" if unseen > short else ""
    outside = f"{len(sample.outside)} sentences outside the templates"
    equal = f"C3.wordlists: {lists - unseen} of {lists} lists equal{few}; {outside}"
    yield _line(not short and not sample.outside, equal)
    if sample.outside:
        yield _line(False, f"outside: {'; '.join(sample.outside[:3])}")
    if sample.miscoded:
        yield _line(False, f"{sample.miscoded} examples are coded otherwise than their sentences say")
    if sample.oracle:
        spelled = ", ".join(f"{value:g} {kind}" for kind, value in sample.oracle.items())
        yield _line(sample.oracle_agrees, f"C2.oracle_4.2: {spelled}")
    different = f" ({sample.tested} prompts with different sentences)" * (sample.tested < sample.prompts)
    passed = len(sample.checks) - len(sample.failed)
    yield _line(not sample.failed, f"{passed} of {len(sample.checks)} tests pass{different}")
    for check in sample.failed:
        yield _line(False, f"{check.group}: {check.what} (p = {check.p:.2g})")


def _line(good: bool, text: str) -> str:
    return f"{'ok    ' if good else 'WRONG '}{text}"
