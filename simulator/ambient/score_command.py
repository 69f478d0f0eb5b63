"""`askback score ambient-nli` (Tables 5 and 11; spec 9, 11) and `askback score ambient-claims` (spec 10).

The latter compares flagged claims with those that fact-checks call ambiguous.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from simulator.ambient.claims import (
    THRESHOLD,
    claim_measures,
    explanation,
    predicted_set,
    score,
    score_paraphrases,
    stored_differences,
)
from simulator.ambient.data import BUILTIN, load_examples
from simulator.ambient.files.results import CLAIMS, join, read_annotations
from simulator.ambient.intervals import Values
from simulator.ambient.labels import format_labels
from simulator.ambient.nli.families import PairsOption
from simulator.ambient.nli.predict import load_predictor
from simulator.ambient.nli.results import NliResults
from simulator.ambient.nli.table import (
    table_5,
    table_5_long,
    table_5_short,
    table_11,
    table_11_plain,
    table_by_label,
    table_intervals,
)
from simulator.ambient.records import ClaimRecord
from simulator.ambient.reporting.measures import is_published, paper
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.runner.options import JsonOption
from simulator.runner.run_summary import say


def score_ambient_nli(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="predictions.jsonl, seed42.json, or folders of these or dev_logits.jsonl, test_logits.jsonl"
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="data set of the results, for baselines and missing gold labels (default: builtin)"
        ),
    ] = None,
    pairs: PairsOption = "all",
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print CSV with full precision")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="print LaTeX in the paper's layout")] = False,
) -> None:
    """Score label sets: exact match, macro F1, group exact match. Exits with 1 if nothing is scored."""
    if as_json + as_csv + as_latex > 1:
        raise InputError("give only one of --json, --csv and --latex")

    results = NliResults(lambda: load_examples(data or BUILTIN), pairs)
    results.read(paths)
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


def _tables(results: NliResults, *, terminal: bool) -> list[Table]:
    models = results.models
    first = [table_5_short(models), table_intervals(models)] if terminal else [table_5(models)]
    return [table for table in (*first, table_by_label(models), table_11(models)) if table.rows]


def _print(results: NliResults) -> None:
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


def _json(results: NliResults) -> str:
    plain = {
        "table_5": table_5_long(results.models).plain(),
        "table_11": table_11_plain(results.models),
        "checks": results.checks,
        "problems": results.problems,
    }
    return json.dumps(plain, ensure_ascii=False, indent=1)


def score_ambient_claims(
    results: Annotated[list[Path], typer.Argument(help="results.jsonl: claims with paraphrases and scores")],
    annotations: Annotated[
        Path | None, typer.Option(help="dev-annotations.csv: complaints of the fact-checks")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="rescore the paraphrases with the model in this folder")
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="probability above which a claim is flagged")
    ] = THRESHOLD,
    show: Annotated[int, typer.Option(min=0, help="number of flagged claims to show, highest first")] = 10,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print all claims as CSV")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="print LaTeX")] = False,
) -> None:
    """Flag claims by their most ambiguous paraphrase; print precision and recall over marked claims."""
    if as_json + as_csv + as_latex > 1:
        raise InputError("give only one of --json, --csv and --latex")
    records, notes = _records(results, annotations)
    if model is not None:
        predictor = load_predictor(model)
        texts = [[paraphrase.text for paraphrase in record.paraphrases] for record in records]
        records = [
            replace(
                record,
                paraphrases=score_paraphrases(predictor, record.cleaned, paraphrases),
                stored_score=None,
            )
            for record, paraphrases in zip(records, texts, strict=True)
        ]
    notes += [
        f"claim {record.id}: stored score {record.stored_score:.9g}, recomputed "
        f"{'none' if computed is None else f'{computed:.9g}'}"
        for record, computed in stored_differences(records)
    ]
    measures = claim_measures(records, threshold)
    if as_json:
        typer.echo(_claims_json(measures, records, notes))
    elif as_csv:
        typer.echo(table_6(records, threshold, all_claims=True).to_csv(), nl=False)
    elif as_latex:
        tables = measures_table(measures), table_6(records, threshold, most=show)
        typer.echo("\n".join(table.to_latex() for table in tables), nl=False)
    else:
        _print_claims(measures, table_6(records, threshold, most=show))
    for note in notes:
        say(Console(stderr=True), note, "yellow")
    if not records:
        raise typer.Exit(1)


def measures_table(measures: Values) -> Table:
    """Return precision and recall with intervals, and the paper's if there are as many claims."""
    printed = paper()["claims"] if is_published("claims", measures["n"]) else {}
    rows: list[list[Cell]] = [[name, measures[name], printed.get(name)] for name in ("precision", "recall")]
    columns: list[Column | str] = ["measure", Column("value", 1, 100), Column("paper", 1)]
    return Table(columns, rows, "Claims marked as ambiguous, in %")


def table_6(
    records: Sequence[ClaimRecord], threshold: float, *, most: int | None = None, all_claims: bool = False
) -> Table:
    """Return flagged claims by decreasing score, each with its most ambiguous paraphrase and label set.

    `most`: maximum number of rows; `all_claims`: include claims that are not flagged.
    """
    rows: list[list[Cell]] = []
    for record in sorted(records, key=lambda record: -(score(record.paraphrases) or 0.0)):
        reason = explanation(record, threshold)
        if reason is None and not all_claims:
            continue
        labels = predicted_set(reason, threshold) if reason else None
        rows.append(
            [
                record.id,
                record.claim,
                reason.text if reason else None,
                None if labels is None else format_labels(labels),
                score(record.paraphrases),
                None if record.marks is None else ", ".join(sorted(record.marks)),
            ]
        )
    columns: list[Column | str] = ["id", "claim", "paraphrase", "labels", Column("score", 3), "marks"]
    return Table(columns, rows[:most], "Table 6: flagged claims")


def _records(results: Sequence[Path], annotations: Path | None) -> tuple[list[ClaimRecord], list[str]]:
    records: list[ClaimRecord] = []
    notes: list[str] = []
    for path in results:
        try:
            read = CLAIMS.read(path)
        except InputError as error:
            notes.append(str(error))
            continue
        notes += map(str, read.faults)
        records += read.rows
    if annotations is None:
        return records, notes
    table = read_annotations(annotations)
    notes += map(str, table.faults)
    joined = join(records, table.rows)
    if joined.unannotated:
        notes.append(f"{joined.unannotated} of {len(records)} claims are not in {annotations}")
    if joined.unknown:
        notes.append(f"{joined.unknown} rows of {annotations} are for claims that are not in the results")
    return list(joined.records), notes


def _print_claims(measures: Values, flagged: Table) -> None:
    console, counts = Console(), _counts(measures)
    if measures["n"]:
        console.print(measures_table(measures).to_text())
    say(
        console,
        "{n} claims marked, {ambiguous} of them as ambiguous; {flagged} flagged (score above "
        "{threshold:.4f}); {unscored} without a paraphrase; {unmarked} not marked".format(**counts),
    )
    if flagged.rows:
        console.print()
        console.print(flagged.to_text())


def _counts(measures: Values) -> dict[str, Any]:
    counts = {name: measures[name].value or 0 for name in ("unmarked", "unscored", "flagged", "ambiguous")}
    return {"n": measures["n"], **counts, "threshold": measures["threshold"]}


def _claims_json(measures: Values, records: Sequence[ClaimRecord], notes: Sequence[str]) -> str:
    plain = {
        **_counts(measures),
        "measures": measures_table(measures).plain()["rows"],
        "claims": table_6(records, measures["threshold"], all_claims=True).plain()["rows"],
        "problems": list(notes),
    }
    return json.dumps(plain, ensure_ascii=False, indent=1)
