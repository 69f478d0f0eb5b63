"""`askback score ambient`: published files, scored by the paper's rules (spec 1 to 11)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from simulator.ambient.crowd import Tie
from simulator.ambient.parsing import Parser
from simulator.ambient.reporting.measures import exact_table
from simulator.ambient.reporting.scoring import Scored, score_files
from simulator.ambient.reporting.settings import Settings
from simulator.ambient.reporting.terminal import (
    json_text,
    latex_text,
    print_section,
    sections_json,
    write_out,
    write_text,
)
from simulator.duplicates import DuplicatesOption
from simulator.errors import InputError
from simulator.runner.options import ExactJsonOption
from simulator.runner.run_summary import print_problems
from trees.faults import fault_text


def score_ambient(
    paths: Annotated[
        list[Path],
        typer.Argument(help="files of examples, annotations or results, and folders of them"),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="the dataset that results are of, a name or a path; "
            "default: one beside the files, or the one registered as ambient"
        ),
    ] = None,
    tie: Annotated[
        Tie, typer.Option(help="crowd: which label wins where votes are split evenly (the paper's: first)")
    ] = "first",
    votes: Annotated[
        list[str] | None,
        typer.Option(help="crowd: show the votes on this example, as in Table 1 (or all); may be repeated"),
    ] = None,
    parser: Annotated[
        Parser,
        typer.Option(help="generation: how rewrites are read for the headline (the paper's: reference)"),
    ] = "reference",
    variants: Annotated[
        bool, typer.Option("--variants", help="generation: EDIT-F1 by rules that are not the paper's, too")
    ] = False,
    duplicates: DuplicatesOption = "refuse",
    as_json: ExactJsonOption = False,
    csv: Annotated[Path | None, typer.Option(help="write every measure there, with every digit")] = None,
    latex: Annotated[Path | None, typer.Option(help="write the tables there, in LaTeX")] = None,
    out: Annotated[Path | None, typer.Option(help="write everything into this folder")] = None,
) -> None:
    """Score files by AmbiEnt's rules, with the paper's figures beside those of published files.

    What a file is, its content tells: examples, kinds of ambiguity, linguists' and crowdworkers' annotations,
    generated disambiguations, statements judged true or false, continuations, predicted label sets, claims,
    cases of EDIT-F1. Faulty rows are left out and told at the end; the exit code is 1 if no row of a file
    could be read.
    """
    settings = Settings(
        data=data,
        tie=tie,
        votes=tuple(votes or ()),
        parser=parser,
        variants=variants,
        duplicates=duplicates,
    )
    files = score_files(paths, settings)
    written = _write(files, csv, latex, out)
    if as_json:
        typer.echo(json_text(_plain(files)))
    else:
        console = Console()
        for section in files.sections:
            print_section(console, section)
    print_problems("AmbiEnt", files.faults, files.unreadable, files.passed_over, written)
    if files.unreadable or not files.sections:
        raise typer.Exit(1)


def _write(scored: Scored, csv: Path | None, latex: Path | None, out: Path | None) -> list[Path]:
    written = []
    if csv is not None:
        written.append(write_text(csv, exact_table(scored.sections).to_csv()))
    if latex is not None:
        written.append(write_text(latex, latex_text(scored.sections)))
    if out is not None:
        if out.exists() and not out.is_dir():
            raise InputError(f"--out {out}: is a file; name a folder")
        written += write_out(out, scored.sections)
    return written


def _plain(scored: Scored) -> dict[str, object]:
    return {
        **sections_json(scored.sections),
        "faults": [fault_text(fault) for fault in scored.faults],
        "unreadable": scored.unreadable,
    }
