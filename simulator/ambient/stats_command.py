"""`askback stats ambient`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, get_args

import typer
from rich.console import Console

from simulator.ambient.data import BUILTIN, Split, load_categories, load_examples
from simulator.ambient.reporting.datasets import categories_results, dataset_results
from simulator.errors import InputError
from simulator.reporting import Report, json_text, print_report
from simulator.runner.options import DataOption, JsonOption

_SPLITS: Final[tuple[Split, ...]] = get_args(Split)


def stats_command(
    data: DataOption = BUILTIN,
    split: Annotated[str, typer.Option(help="all, dev or test")] = "all",
    as_json: JsonOption = False,
) -> None:
    """Statistics of AmbiEnt examples: ambiguity, label sets, rewrites, kinds of ambiguity."""
    report = stats_report(data, _split(split))
    if as_json:
        typer.echo(json_text(report))
    else:
        print_report(Console(), report)


def stats_report(data: str | Path, split: Split = "all") -> Report:
    """Return the statistics of examples, and of rows with kinds of ambiguity if there are any.

    Raises:
        InputError: if the data do not exist, are faulty or have no such split.
    """
    name, examples, records = Path(data).stem, load_examples(data, split), load_categories(data)
    results = [dataset_results(examples, name)]
    if records:
        everything = examples if split == "all" else load_examples(data)
        results.append(categories_results(records, everything, name=name))
    return Report(title=f"AmbiEnt, {data}", sections=[result.section() for result in results])


def _split(text: str) -> Split:
    for split in _SPLITS:
        if text == split:
            return split
    raise InputError(f"--split {text!r}: must be one of {', '.join(_SPLITS)}")
