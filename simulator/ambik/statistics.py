"""Statistics of a set of pairs, each by a stated counting rule (spec 2.1, 4).

Shares are fractions of 1 with a 95 % Wilson interval; means have a percentile bootstrap interval over pairs.
`Interval.n` is the sample size. A value is None if there are no data for it.
"""

from __future__ import annotations

import json
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from simulator.ambik.data import BUILTIN, Which, raise_first, read_pairs
from simulator.ambik.files.load_report import LoadedPairs
from simulator.ambik.files.pairs import KINDS, kind_of_pair, part_of
from simulator.ambik.items import Pair
from simulator.ambik.terms import AMBIGUITIES, MEMBERS, paper, remark
from simulator.figures import Cell, Column, Table
from simulator.reporting import plain_values
from simulator.runner.options import DataOption, JsonOption
from simulator.runner.run_summary import say
from simulator.stats import Interval, bootstrap_mean, wilson

Statistics = Mapping[str, Any]
_PUNCTUATION: Final = str.maketrans(dict.fromkeys(string.punctuation))


def statistics(pairs: Sequence[Pair], cells: Mapping[str, Mapping[str, int]] | None = None) -> Statistics:
    """Return all statistics of a set of pairs, by name.

    ``pairs`` is their number; ``types`` and ``shares`` are by type; ``balance`` counts the members used for
    calibration; ``clear``, ``indirect`` and ``ambiguous`` are the words of the tasks (`texts`), ``…_plans``
    the lengths of plans; ``objects`` is the mean number per scene, ``object_kinds`` the number of different
    ones; ``intents`` is the mean number of concepts of an intent that is not ``malformed``; ``shortlist`` is
    the share of pairs with one; ``…_counts``, ``…_sizes``, ``variants`` and ``steps`` (the index of the
    ambiguity) are numbers of pairs by value.

    `cells`: lengths of cells (`LoadReport.cells`); for pairs without them, words are counted in the texts,
    and line breaks as one less than steps.
    """
    types = Counter(pair.type for pair in pairs)
    intents = [pair.intent for pair in pairs if pair.intent is not None]
    concepts = [len(intent.concepts) for intent in intents if not intent.malformed]
    sizes = [len(pair.objects) for pair in pairs]
    known = cells or {}

    def tasks(name: str) -> Statistics:
        with_task = [pair for pair in pairs if name != "indirect" or pair.indirect]
        counts = [known.get(pair.id, {}).get(name) for pair in with_task]
        return texts([getattr(pair, name) for pair in with_task], counts)

    def plans(name: str) -> Statistics:
        with_plan = [(pair, plan) for pair in pairs if (plan := getattr(pair, name))]
        lengths = [known.get(pair.id, {}).get(name, len(plan) - 1) for pair, plan in with_plan]
        return {
            "mean": _mean(lengths),
            "median": float(median(lengths)) if lengths else None,
            "least": min(lengths, default=None),
            "most": max(lengths, default=None),
            "lines": _mean([len(plan) for _, plan in with_plan]),
        }

    return {
        "pairs": len(pairs),
        "types": {kind: types[kind] for kind in AMBIGUITIES},
        "shares": {kind: wilson(types[kind], len(pairs)) if pairs else None for kind in AMBIGUITIES},
        "balance": _balance(pairs),
        "clear": tasks("clear"),
        "indirect": tasks("indirect"),
        "ambiguous": tasks("ambiguous"),
        "clear_plans": plans("clear_plan"),
        "ambiguous_plans": plans("ambiguous_plan"),
        "objects": _mean(sizes),
        "object_kinds": len({name.casefold() for pair in pairs for name in pair.objects}),
        "fewest": min(sizes, default=None),
        "most": max(sizes, default=None),
        "intents": _mean(concepts),
        "intent_counts": _count_values(concepts),
        "malformed": sum(intent.malformed for intent in intents),
        "without_intent": len(pairs) - len(intents),
        "shortlist": _shortlist_share(pairs),
        "shortlist_preferences": _shortlist_share([pair for pair in pairs if pair.type == "preferences"]),
        "shortlist_sizes": _count_values(len(pair.shortlist) for pair in pairs if pair.shortlist),
        "variants": _count_values(len(pair.variants) for pair in pairs),
        "steps": _count_values(pair.step for pair in pairs if pair.step is not None),
    }


def texts(tasks: Sequence[str], parts: Sequence[int | None] = ()) -> Statistics:
    """Return word counts of texts by the paper's rules (Table 2).

    `parts`: number of parts of each text, where known.

    Returns:
        ``words``: the mean number of parts between single blanks; ``total``: the number of words in lower
        case, without ASCII punctuation, split at white space; ``unique``: the number of different ones.
    """
    words = [word for text in tasks for word in text.lower().translate(_PUNCTUATION).split()]
    known = zip(tasks, parts or [None] * len(tasks), strict=True)
    lengths = [len(text.split(" ")) if count is None else count for text, count in known]
    return {"words": _mean(lengths), "total": len(words), "unique": len(set(words))}


def groups(pairs: Sequence[Pair]) -> dict[str, tuple[Pair, ...]]:
    """Return all pairs, those of each part and of each kind if both occur, and those of each type."""
    divided: dict[str, tuple[Pair, ...]] = {"all": tuple(pairs)}
    for names, name_of in ((("calibration", "test"), part_of), (KINDS, kind_of_pair)):
        parts = {name: tuple(pair for pair in pairs if name_of(pair) == name) for name in names}
        divided |= parts if all(parts.values()) else {}
    types = {kind: tuple(pair for pair in pairs if pair.type == kind) for kind in AMBIGUITIES}
    return divided | {kind: of_type for kind, of_type in types.items() if of_type}


def _balance(pairs: Iterable[Pair]) -> dict[str, dict[str, int]]:
    counts = Counter((pair.calibration_member, pair.type) for pair in pairs if part_of(pair) == "calibration")
    if not counts:
        return {}
    return {member: {kind: counts[member, kind] for kind in AMBIGUITIES} for member in MEMBERS}


def _shortlist_share(pairs: Sequence[Pair]) -> Interval | None:
    return wilson(sum(bool(pair.shortlist) for pair in pairs), len(pairs)) if pairs else None


def _mean(values: Sequence[float]) -> Interval | None:
    return bootstrap_mean(values, bounds=None) if values else None


def _count_values(values: Iterable[int]) -> dict[int, int]:
    return dict(sorted(Counter(values).items()))


# ---- `askback stats ambik`

_PAPER_ROW: Final = "  paper, June 2024"


def stats_command(
    data: DataOption = BUILTIN,
    part: Annotated[Which, typer.Option(help="part of the pairs; released or added (in 2025)")] = "all",
    as_json: JsonOption = False,
) -> None:
    """Show types, words, plans, intents and shortlists of AmbiK pairs, and the counting rules."""
    loaded = read_pairs(data, part)
    raise_first(loaded.faults)
    if as_json:
        typer.echo(json.dumps(to_json(loaded), ensure_ascii=False, indent=1))
        return
    console = Console()
    for line in loaded.report.lines():
        say(console, line)
    console.print()
    for table in tables(loaded):
        console.print(table.to_text())
        console.print()
    for line in remarks(loaded):
        say(console, line)


def remarks(loaded: LoadedPairs) -> tuple[str, ...]:
    """Return the counting rules, and a note if the paper's numbers are for other data."""
    rules = remark("statistics", "rules")
    return (*rules,) if is_june_2024(loaded) else (*rules, remark("statistics", "other_data"))


def is_june_2024(loaded: LoadedPairs) -> bool:
    """Return True if the data are those that the paper's Tables 2 and 5 describe."""
    return all(file.version == "june_2024" for file in loaded.report.files)


def _by_group(loaded: LoadedPairs) -> dict[str, Statistics]:
    return {name: statistics(pairs, loaded.report.cells) for name, pairs in groups(loaded.pairs).items()}


def to_json(loaded: LoadedPairs) -> dict[str, Any]:
    """Return all statistics by group as a JSON object; shares are fractions with their interval and n."""
    return {
        "versions": {file.file: file.version for file in loaded.report.files},
        "oddities": loaded.report.counts,
        "groups": plain_values(_by_group(loaded)),
        "paper": {
            "of": "june_2024",
            "these_data": is_june_2024(loaded),
            "values": paper()["statistics"],
        },
    }


def tables(loaded: LoadedPairs) -> list[Table]:
    """Return all tables, with the paper's figures below ours by the same rule."""
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
    return Table(heads, rows, "Types, % with a 95 % interval; members used for calibration")


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
    title = "By part and type: words of both tasks, steps of the clear plan, share with a shortlist"
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
    title = "Number of pairs by concepts, shortlist objects, lines of variants, and index of the ambiguity"
    return Table((Column("number", 0), *(Column(head, 0) for head in counts)), rows, title)


def _percent(share: Interval | None) -> Interval | None:
    return share and share.times(100)
