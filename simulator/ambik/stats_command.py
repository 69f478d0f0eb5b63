"""`askback stats ambik`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args

import typer
from rich.console import Console

from simulator.ambik.data import BUILTIN, Which, read_pairs, refuse
from simulator.ambik.files.load_report import Loaded
from simulator.ambik.statistics import Statistics, groups, statistics
from simulator.ambik.terms import AMBIGUITIES, MEMBERS, paper, remark
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.reporting import plain
from simulator.runner.options import DataOption, JsonOption
from simulator.stats import Interval

_PAPER_ROW: Final = "  paper, June 2024"


def stats_command(
    data: DataOption = BUILTIN,
    part: Annotated[str, typer.Option(help="all, calibration, test; released or added (in 2025)")] = "all",
    as_json: JsonOption = False,
) -> None:
    """Statistics of AmbiK pairs: types, words, plans, intents, shortlists, each by its counting rule."""
    loaded = read_pairs(data, _part(part))
    refuse(loaded.faults)
    if as_json:
        typer.echo(json.dumps(to_json(loaded), ensure_ascii=False, indent=1))
        return
    console = Console()
    for line in loaded.report.lines():
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    console.print()
    for table in tables(loaded):
        console.print(table.to_text())
        console.print()
    for line in remarks(loaded):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _part(text: str) -> Which:
    for part in get_args(Which):
        if text == part:
            return part  # type: ignore[no-any-return]
    raise InputError(f"--part {text!r}: must be one of {', '.join(get_args(Which))}")


def remarks(loaded: Loaded) -> tuple[str, ...]:
    """Return the counting rules, and that the paper's numbers are of other data, where they are."""
    rules = remark("statistics", "rules")
    return (*rules,) if is_june_2024(loaded) else (*rules, remark("statistics", "other_data"))


def is_june_2024(loaded: Loaded) -> bool:
    """Return True if the data are those that the paper's Tables 2 and 5 describe."""
    return all(file.version == "june_2024" for file in loaded.report.files)


def _by_group(loaded: Loaded) -> dict[str, Statistics]:
    report = loaded.report
    return {
        name: statistics(pairs, report.breaks, report.words) for name, pairs in groups(loaded.pairs).items()
    }


def to_json(loaded: Loaded) -> dict[str, Any]:
    """Return all statistics by group as a JSON object; shares are fractions with their interval and n."""
    return {
        "versions": {file.file: file.version for file in loaded.report.files},
        "oddities": loaded.report.counts,
        "groups": plain(_by_group(loaded)),
        "paper": {
            "of": "june_2024",
            "these_data": is_june_2024(loaded),
            "values": paper()["statistics"],
        },
    }


def tables(loaded: Loaded) -> list[Table]:
    """Return all there is to show; what the paper prints stands below what is counted by the same rule."""
    by_group = _by_group(loaded)
    counted = by_group["all"]
    return [
        _types_table(counted),
        _texts_table(counted),
        _plans_table(counted),
        _groups_table(by_group),
        _sizes_table(counted),
    ]


def _types_table(counted: Statistics) -> Table:
    balance = counted["balance"]
    rows = [
        (
            kind,
            counted["types"][kind],
            _percent(counted["shares"][kind]),
            *(balance[member][kind] if balance else None for member in MEMBERS),
        )
        for kind in AMBIGUITIES
    ]
    heads = ("type", Column("pairs", 0), Column("%", 1), Column("as ambiguous", 0), Column("as clear", 0))
    return Table(heads, rows, "Types, % with a 95 % interval; which member serves calibration")


def _texts_table(counted: Statistics) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name in ("clear", "indirect", "ambiguous"):
        texts, printed = counted[name], paper()["statistics"].get(name)
        if texts["total"]:
            rows.append((name, texts["words"], texts["unique"], texts["unique"] / texts["total"]))
        if printed:
            rows.append((_PAPER_ROW, printed["words"], printed["different"], printed["ratio"]))
    heads = ("task", Column("words"), Column("different", 0), Column("ratio", 3))
    return Table(heads, rows, "Words of the tasks (Table 2)")


def _plans_table(counted: Statistics) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name in ("clear", "ambiguous"):
        printed = paper()["statistics"][f"{name}_plans"]
        rows.append((name, *counted[f"{name}_plans"].values()))
        rows.append((_PAPER_ROW, printed["mean"], printed["median"], None, None, None))
    small = (Column("median", 1), Column("least", 0), Column("most", 0))
    return Table(("plan", Column("breaks"), *small, Column("steps")), rows, "Length of the plans (Table 5)")


def _groups_table(by_group: Mapping[str, Statistics]) -> Table:
    rows = []
    for name, counted in by_group.items():
        means = (
            *(counted[task]["words"] for task in ("clear", "ambiguous")),
            *(counted["clear_plans"]["lines"], counted["objects"], counted["intents"]),
            _percent(counted["shortlist"]),
        )
        values = (None if mean is None else mean.value for mean in means)
        rows.append((name, counted["pairs"], *values))
    columns = (Column("clear", 1), Column("amb.", 1), Column("steps", 1), Column("objects", 1))
    heads = ("of", Column("pairs", 0), *columns, Column("concepts"), Column("listed %", 1))
    title = "By part and type: words of both tasks, steps of the clear plan; the share with a shortlist"
    return Table(heads, rows, title)


def _sizes_table(counted: Statistics) -> Table:
    counts = {
        "concepts": counted["intent_counts"],
        "shortlist": counted["shortlist_sizes"],
        "variants": counted["variants"],
        "index": counted["steps"],
    }
    sizes = sorted({size for count in counts.values() for size in count})
    rows = [(size, *(count.get(size) for count in counts.values())) for size in sizes]
    title = "Pairs with so many concepts, objects of a shortlist, lines of variants; with such an index"
    return Table((Column("number", 0), *(Column(head, 0) for head in counts)), rows, title)


def _percent(share: Interval | None) -> Interval | None:
    return share and share.times(100)
