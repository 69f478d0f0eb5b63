"""`askback stats ambient`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer
from rich.console import Console

from simulator.ambient import published
from simulator.ambient.data import BUILTIN, Split, load_categories, load_examples
from simulator.ambient.labels import LABEL_SETS, letters
from simulator.ambient.statistics import (
    CategoryStatistics,
    Share,
    Statistics,
    category_statistics,
    statistics,
)
from simulator.errors import InputError
from simulator.figures import Column, Table
from simulator.runner.options import DataOption, JsonOption
from simulator.stats import Interval

_SPLITS: Final[tuple[Split, ...]] = get_args(Split)
# Only where ids tell anything, as they do in the published data.
_TOLD: Final = ("curated", "generated")
_EXAMPLES: Final[Mapping[str, str]] = {
    "examples": "examples",
    "dev": "of them in the split dev",
    "test": "of them in the split test",
    "curated": "curated: the id ends in _c",
    "generated": "generated: it does not",
    "numbered": "with a number for an id",
    "unlabelled": "not annotated",
}
_SHARES: Final[Mapping[str, tuple[str, str]]] = {
    "ambiguous": ("a side is flagged", "examples"),
    "several_labels": ("more than one label", "examples"),
    "premise": ("the premise is flagged", "ambiguous examples"),
    "hypothesis": ("the hypothesis is flagged", "ambiguous examples"),
    "both": ("both are flagged", "ambiguous examples"),
    "one_side": ("exactly one is flagged", "ambiguous examples"),
    "two_rewrites": ("exactly two distinct rewrites", "flagged sentences"),
    "two_disambiguations": ("exactly two disambiguations", "ambiguous examples"),
}
_WORDS: Final[Mapping[str, str]] = {
    "extra_words": "rewrites, repeated ones too",
    "extra_words_distinct": "distinct rewrites of a sentence",
}


def stats_command(
    data: DataOption = BUILTIN,
    split: Annotated[str, typer.Option(help="all, dev or test")] = "all",
    as_json: JsonOption = False,
) -> None:
    """Statistics of AmbiEnt examples: ambiguity, label sets, rewrites, kinds of ambiguity."""
    found, categories = of_data(data, _split(split))
    if as_json:
        typer.echo(json.dumps(to_json(found, categories), ensure_ascii=False, indent=1))
        return
    console = Console()
    for table in tables(found, categories):
        console.print(table.to_text())
        console.print()
    for line in remarks(found):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def of_data(data: str | Path, split: Split = "all") -> tuple[Statistics, CategoryStatistics | None]:
    """Return the statistics of examples, and of rows with kinds of ambiguity if there are any.

    Raises:
        InputError: if the data do not exist, are faulty or have no such split.
    """
    examples = load_examples(data, split)
    records = load_categories(data)
    everything = examples if split == "all" or not records else load_examples(data)
    return statistics(examples), category_statistics(records, everything) if records else None


def tables(statistics: Statistics, categories: CategoryStatistics | None) -> list[Table]:
    """Return all there is to show; the paper's values stand beside if the data are the published ones."""
    paper = not published.differences(statistics)
    shown = [
        _examples_table(statistics, paper),
        _shares_table(statistics, paper),
        _words_table(statistics, paper),
    ]
    shown.append(_sets_table(statistics, paper))
    if categories is not None:
        shown.append(_categories_table(categories))
    return [table for table in shown if table.rows]


def remarks(statistics: Statistics) -> list[str]:
    """Return what deserves a look."""
    several = f"several disambiguations of one label: {_ids(statistics.several)}"
    differ = f"labels that are not those of the disambiguations: {_ids(statistics.labels_differ)}"
    faulty = f"contradicting themselves (`askback check` says how): {_ids(statistics.faulty)}"
    told = ((statistics.several, several), (statistics.labels_differ, differ), (statistics.faulty, faulty))
    return [line for ids, line in told if ids]


def to_json(statistics: Statistics, categories: CategoryStatistics | None) -> dict[str, Any]:
    """Return all statistics as a JSON object; shares are fractions with their interval and n."""
    plain = {field.name: _plain(getattr(statistics, field.name)) for field in fields(statistics)}
    plain["label_sets"] = published.named_sets(statistics.label_sets)
    plain["published"] = not published.differences(statistics)
    if categories is not None:
        kinds = {field.name: _plain(getattr(categories, field.name)) for field in fields(categories)}
        plain["categories"] = kinds | {"mentions": categories.mentions}
    return plain


def _examples_table(statistics: Statistics, paper: bool) -> Table:
    rows = [
        (name, getattr(statistics, key), published.EXAMPLES[key])
        for key, name in _EXAMPLES.items()
        if getattr(statistics, key) and (key not in _TOLD or statistics.curated)
    ]
    rows += [
        (f"ambiguous in {split}", count, published.AMBIGUOUS_IN[split])
        for split, count in sorted(statistics.ambiguous_in.items())
    ]
    return _table(("examples", Column("number", 0)), Column("paper", 0), rows, "Examples", paper)


def _shares_table(statistics: Statistics, paper: bool) -> Table:
    rows = []
    for key, (name, of) in _SHARES.items():
        share: Share = getattr(statistics, key)
        if share is not None:
            rows.append((name, of, share.times(100), share.n, published.SHARES.get(key)))
    heads = ("share", "of", Column("%", 1), Column("n", 0))
    return _table(heads, Column("paper", 1), rows, "Ambiguity, % with a 95 % interval", paper)


def _words_table(statistics: Statistics, paper: bool) -> Table:
    rows = []
    for key, name in _WORDS.items():
        mean: Share = getattr(statistics, key)
        if mean is not None:
            rows.append((name, mean, mean.n, published.EXTRA_WORDS if key == "extra_words" else None))
    heads = ("words more than the sentence", Column("mean"), Column("n", 0))
    return _table(heads, Column("paper"), rows, "Length of rewrites", paper)


def _sets_table(statistics: Statistics, paper: bool) -> Table:
    total = sum(statistics.label_sets.values())
    rows = [
        (letters(labels), count, 100 * count / total, published.LABEL_SETS[letters(labels)])
        for labels in LABEL_SETS
        if (count := statistics.label_sets[labels]) or total
    ]
    heads = ("labels", Column("examples", 0), Column("%", 1))
    return _table(heads, Column("paper", 0), rows, "Label sets (Fig. 3)", paper)


def _categories_table(statistics: CategoryStatistics) -> Table:
    paper = statistics.rows == published.CATEGORY_ROWS and statistics.mentions == published.MENTIONS
    rows = [
        (
            kind,
            statistics.counts[kind],
            None if share is None else share.times(100),
            published.CATEGORIES[kind],
        )
        for kind, share in statistics.shares.items()
    ]
    title = (
        f"Kinds of ambiguity, % of {statistics.mentions} mentions in {statistics.rows} examples; "
        f"{statistics.in_dataset} of them in the dataset"
    )
    return _table(("kind", Column("mentions", 0), Column("%", 1)), Column("paper", 1), rows, title, paper)


def _table(heads: tuple[str | Column, ...], last: Column, rows: list[Any], title: str, paper: bool) -> Table:
    """Return a table whose last column is shown only where the paper has something to say of these data."""
    if paper:
        return Table((*heads, last), rows, title)
    return Table(heads, [row[:-1] for row in rows], title)


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return value._asdict()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items() if not isinstance(key, frozenset)}
    return list(value) if isinstance(value, tuple) else value


def _split(text: str) -> Split:
    for split in _SPLITS:
        if text == split:
            return split
    raise InputError(f"--split {text!r}: must be one of {', '.join(_SPLITS)}")


def _ids(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
