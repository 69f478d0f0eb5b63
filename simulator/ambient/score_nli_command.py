"""`askback score ambient-nli`: results of multilabel inference from files, tables 5 and 11 (spec 9, 11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from simulator.ambient.data import BUILTIN, load_examples
from simulator.ambient.nli.families import PairsOption
from simulator.ambient.nli.results import Results, read_results
from simulator.ambient.nli.table import (
    table_5,
    table_5_long,
    table_5_short,
    table_11,
    table_11_plain,
    table_by_label,
    table_intervals,
)
from simulator.errors import InputError
from simulator.figures import Table
from simulator.runner.options import JsonOption
from simulator.runner.run_summary import say


def score_ambient_nli(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="predictions.jsonl, seed42.json, folders of them or of dev_logits.jsonl, test_logits.jsonl"
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="data the results are of: gold labels where files have none (default: builtin), baselines"
        ),
    ] = None,
    pairs: PairsOption = "all",
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print CSV, with every digit")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="print LaTeX, in the paper's shape")] = False,
) -> None:
    """Exact match, macro F1 and group exact match of label sets; the exit code is 1 if nothing is scored."""
    if as_json + as_csv + as_latex > 1:
        raise InputError("take one of --json, --csv and --latex")

    results = read_results(paths, lambda: load_examples(data or BUILTIN), pairs)
    if data is not None and not results.gold:
        results.gold = tuple(example.labels for example in load_examples(data, split="test"))
    results.add_baselines()
    if as_json:
        typer.echo(_json(results))
    elif as_csv:
        typer.echo(table_5_long(results.models).to_csv(), nl=False)
    elif as_latex:
        typer.echo("\n".join(table.to_latex() for table in _tables(results, terminal=False)), nl=False)
    else:
        _print(results)
    for problem in results.problems:
        say(Console(stderr=True), problem, "yellow")
    if not results.models:
        raise typer.Exit(1)


def _tables(results: Results, *, terminal: bool) -> list[Table]:
    models = results.models
    first = [table_5_short(models), table_intervals(models)] if terminal else [table_5(models)]
    return [table for table in (*first, table_by_label(models), table_11(models)) if table.rows]


def _print(results: Results) -> None:
    console = Console()
    for table in _tables(results, terminal=True) if results.models else []:
        console.print(table.to_text())
        console.print()
    for model in results.models:
        if model.folder and model.measures is not None:
            n, empty = model.measures.n, model.measures.empty
            say(console, f"{model.name}: {n} examples, {empty} with an empty set")
    for check in results.checks:
        say(console, check)


def _json(results: Results) -> str:
    plain = {
        "table_5": json.loads(table_5_long(results.models).to_json()),
        "table_11": table_11_plain(results.models),
        "checks": results.checks,
        "problems": results.problems,
    }
    return json.dumps(plain, ensure_ascii=False, indent=1)
