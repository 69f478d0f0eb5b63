"""`askback stats ambik`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer
from rich.console import Console

from simulator.ambik.data import BUILTIN, Which, read_pairs, refuse
from simulator.ambik.files.merging import Loaded
from simulator.ambik.statistics import Plans, Statistics, Texts, groups, statistics
from simulator.ambik.terms import AMBIGUITIES, MEMBERS
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.runner.options import DataOption, JsonOption
from simulator.stats import Interval

_PARTS: Final[tuple[Which, ...]] = get_args(Which)
PAPER: Final[Mapping[str, Mapping[str, float]]] = {
    "clear": {"words": 42.38, "different": 1168, "ratio": 0.055},
    "ambiguous": {"words": 27.19, "different": 862, "ratio": 0.063},
    "clear_plans": {"mean": 5.468, "median": 5.0},
    "ambiguous_plans": {"mean": 5.076, "median": 5.0},
}
"""What the paper's Tables 2 and 5 print of what these rules count, on the data of June 2024 (spec 4)."""
_PAPER_ROW: Final = "  paper, June 2024"
_TEXTS: Final = ("clear", "indirect", "ambiguous")
_PLANS: Final[Mapping[str, str]] = {"clear_plans": "clear", "ambiguous_plans": "ambiguous"}
_RULES: Final = (
    "words: parts of a task's cell between single blanks, outer ones included, mean",
    "different: words in lower case, without ASCII punctuation, split at white space; ratio: to all of them",
    "breaks: line breaks in a plan's cell; steps: lines of a plan that are not blank, mean",
    "objects: of a scene, mean; concepts: of an intent, mean, without intents that are pieces of text",
)
_REMARK: Final = (
    "The rows of the paper are of the data of June 2024, which these are not: do not expect its values here. "
    "The paper's other numbers of Tables 2 and 5 (least and most lines of a plan, 320 objects, 5 to 12 a "
    "task) follow by no rule from any published version."
)


def stats_command(
    data: DataOption = BUILTIN,
    part: Annotated[str, typer.Option(help="all, calibration, test; released or added (in 2025)")] = "all",
    as_json: JsonOption = False,
) -> None:
    """Statistics of AmbiK pairs: types, words, plans, intents, shortlists, each by its counting rule."""
    loaded = of_data(data, _part(part))
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


def of_data(data: str | Path, part: Which = "all") -> Loaded:
    """Pairs with the report on them.

    Raises:
        InputError: if the data do not exist, are faulty or have nothing of that part.
    """
    loaded = read_pairs(data, part)
    refuse(loaded.faults)
    return loaded


def tables(loaded: Loaded) -> list[Table]:
    """Return all there is to show; what the paper prints stands below what is counted by the same rule."""
    told = loaded.report
    by_group = {
        name: statistics(some, told.breaks, told.words) for name, some in groups(loaded.pairs).items()
    }
    found = by_group["all"]
    return [
        _types_table(found),
        _texts_table(found),
        _plans_table(found),
        _groups_table(by_group),
        _sizes_table(found),
    ]


def remarks(loaded: Loaded) -> tuple[str, ...]:
    """Return the counting rules, and that the paper's numbers are of other data, where they are."""
    return _RULES if is_june_2024(loaded) else (*_RULES, _REMARK)


def is_june_2024(loaded: Loaded) -> bool:
    """Return True if the data are those that the paper's Tables 2 and 5 describe."""
    return all(file.version == "june_2024" for file in loaded.report.files)


def to_json(loaded: Loaded) -> dict[str, Any]:
    """Return all statistics by group as a JSON object; shares are fractions with their interval and n."""
    breaks, words = loaded.report.breaks, loaded.report.words
    return {
        "versions": {file.file: file.version for file in loaded.report.files},
        "oddities": loaded.report.counts,
        "groups": {
            name: _plain(statistics(pairs, breaks, words)) for name, pairs in groups(loaded.pairs).items()
        },
        "paper": {
            "of": "june_2024",
            "these_data": is_june_2024(loaded),
            "values": _plain(PAPER),
        },
    }


def _types_table(statistics: Statistics) -> Table:
    rows = [
        (
            kind,
            statistics.types[kind],
            _percent(statistics.shares[kind]),
            *(statistics.balance[member][kind] if statistics.balance else None for member in MEMBERS),
        )
        for kind in AMBIGUITIES
    ]
    heads = ("type", Column("pairs", 0), Column("%", 1), Column("as ambiguous", 0), Column("as clear", 0))
    return Table(heads, rows, "Types, % with a 95 % interval; which member serves calibration")


def _texts_table(statistics: Statistics) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name in _TEXTS:
        texts: Texts = getattr(statistics, name)
        if texts.total:
            rows.append((name, texts.words, texts.unique, texts.type_token_ratio))
        if name in PAPER:
            rows.append((_PAPER_ROW, *(PAPER[name][key] for key in ("words", "different", "ratio"))))
    heads = ("task", Column("words"), Column("different", 0), Column("ratio", 3))
    return Table(heads, rows, "Words of the tasks (Table 2)")


def _plans_table(statistics: Statistics) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for key, name in _PLANS.items():
        plans: Plans = getattr(statistics, key)
        rows.append((name, plans.mean, plans.median, plans.least, plans.most, plans.lines))
        rows.append((_PAPER_ROW, PAPER[key]["mean"], PAPER[key]["median"], None, None, None))
    small = (Column("median", 1), Column("least", 0), Column("most", 0))
    return Table(("plan", Column("breaks"), *small, Column("steps")), rows, "Length of the plans (Table 5)")


def _groups_table(statistics: Mapping[str, Statistics]) -> Table:
    rows = [
        (
            name,
            one.pairs,
            _bare(one.clear.words),
            _bare(one.ambiguous.words),
            _bare(one.clear_plans.lines),
            _bare(one.objects),
            _bare(one.intents),
            _bare(_percent(one.shortlist)),
        )
        for name, one in statistics.items()
    ]
    means = (Column("clear", 1), Column("amb.", 1), Column("steps", 1), Column("objects", 1))
    heads = ("of", Column("pairs", 0), *means, Column("concepts"), Column("listed %", 1))
    title = "By part and type: words of both tasks, steps of the clear plan; the share with a shortlist"
    return Table(heads, rows, title)


def _sizes_table(statistics: Statistics) -> Table:
    counts = {
        "concepts": statistics.intent_counts,
        "shortlist": statistics.shortlist_sizes,
        "variants": statistics.variants,
        "index": statistics.steps,
    }
    sizes = sorted({size for count in counts.values() for size in count})
    rows = [(size, *(count.get(size) for count in counts.values())) for size in sizes]
    title = "Pairs with so many concepts, objects of a shortlist, lines of variants; with such an index"
    return Table((Column("number", 0), *(Column(head, 0) for head in counts)), rows, title)


def _percent(share: Interval | None) -> Interval | None:
    return share and share.times(100)


def _bare(mean: Interval | None) -> float | None:
    return None if mean is None else mean.value


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return value._asdict()
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return value


def _part(text: str) -> Which:
    for part in _PARTS:
        if text == part:
            return part
    raise InputError(f"--part {text!r}: must be one of {', '.join(_PARTS)}")
