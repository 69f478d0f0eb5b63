"""Statistics of prompts as tables for people."""

from __future__ import annotations

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from simulator.ambibench.features import FEATURES, FORMATS
from simulator.ambibench.statistics import Cell, Statistics


def print_statistics(title: str, found: Statistics, console: Console) -> None:
    """Print all there is of a sample, the verdict last."""
    console.rule(Text(title), align="left")
    console.print(_lists_table(found), _repeats_table(found), cells_table(found.cells), _checks_table(found))
    for line in _verdict(found):
        console.print(line, highlight=False, soft_wrap=True)


def cells_table(cells: tuple[Cell, ...]) -> Table:
    """Prompts by salient feature, value labelled X, and format."""
    table = _table("Prompts (examples) by salient feature, value labelled X, and format")
    for name in ("feature", "X is", *FORMATS, "both"):
        table.add_column(name)
    for feature in FEATURES:
        mine = [one for one in cells if one.feature == feature]
        for polarity in dict.fromkeys(one.polarity for one in mine):
            row = [one for one in mine if one.polarity == polarity]
            if any(one.prompts for one in row):
                table.add_row(feature, polarity, *map(_counts, ([one] for one in row)), _counts(row))
    by_format = [[one for one in cells if one.format == form] for form in FORMATS]
    table.add_row("all", "", *map(_counts, by_format), _counts(list(cells)), style="bold")
    return _aligned(table, 2)


def _counts(cells: list[Cell]) -> str:
    prompts, examples = sum(one.prompts for one in cells), sum(one.examples for one in cells)
    return f"{prompts} ({examples})"


def _lists_table(found: Statistics) -> Table:
    table = _table("Words seen, against the lists of App. G.1")
    for name in ("list", "unseen", "words", "seen", "least often", "most often"):
        table.add_column(name)
    for one in found.lists:
        counts = list(one.counts.values())
        seen = sum(count > 0 for count in counts)
        unseen = Text(", ".join(one.unseen) or "none", style="red" if one in found.short else "")
        table.add_row(one.name, unseen, str(len(counts)), str(seen), str(min(counts)), str(max(counts)))
    return _aligned(table, 2)


def _repeats_table(found: Statistics) -> Table:
    table = _table("Sentences")
    for name in ("pair", "sentences", "different", "possible"):
        table.add_column(name)
    for one in found.repeats:
        table.add_row(one.pair, str(one.seen), str(one.different), str(one.possible))
    return _aligned(table, 1)


def _checks_table(found: Statistics) -> Table:
    title = f"Tests; p < {found.bound:.2g} fails: {found.alpha:g} shared among all (Bonferroni)"
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ("", "n", "observed", "fair", "test", "p"):
        table.add_column(name, justify="right" if name in ("n", "p") else "left", overflow="fold")
    failed = set(map(id, found.failed))
    for group in dict.fromkeys(one.group for one in found.checks):
        table.add_row(Text(group, style="bold"))
        for one in (each for each in found.checks if each.group == group):
            p = "" if one.test == "rule" else f"{one.p:.3g}"
            style = "red" if id(one) in failed else ""
            what = f"  {one.what}"
            table.add_row(what, str(one.n), one.observed, one.expected, one.test, p, style=style)
    return table


def _verdict(found: Statistics) -> list[Text]:
    """One line per thing that can be right or wrong."""
    lists, short = len(found.lists), len(found.short)
    unseen = sum(bool(one.unseen) for one in found.lists)
    few = f" ({unseen - short} not whole yet, as may be in so few sentences)" if unseen > short else ""
    words = f"C3.wordlists: {lists - unseen} of {lists} lists equal{few}; "
    words += f"{len(found.outside)} sentences outside the templates"
    lines = [_line(not short and not found.outside, words)]
    if found.outside:
        lines.append(_line(False, f"outside: {'; '.join(found.outside[:3])}"))
    if found.miscoded:
        lines.append(_line(False, f"{found.miscoded} examples are coded otherwise than their sentences say"))
    if found.oracle:
        spelled = ", ".join(f"{value:g} {kind}" for kind, value in found.oracle.items())
        lines.append(_line(found.oracle_agrees, f"C2.oracle_4.2: {spelled}"))
    tested = f" ({found.tested} prompts with different sentences)" if found.tested < found.prompts else ""
    tests = f"{len(found.checks) - len(found.failed)} of {len(found.checks)} tests pass{tested}"
    lines.append(_line(not found.failed, tests))
    lines += [_line(False, f"{one.group}: {one.what} (p = {one.p:.2g})") for one in found.failed]
    return lines


def _line(good: bool, text: str) -> Text:
    return Text.assemble(("ok    ", "green") if good else ("WRONG ", "bold red"), text)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)


def _aligned(table: Table, left: int) -> Table:
    """Numbers stand to the right; the first `left` columns hold none."""
    for column in table.columns[left:]:
        column.justify = "right"
    return table
