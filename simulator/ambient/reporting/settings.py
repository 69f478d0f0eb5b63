"""What `askback report ambient` and `askback score ambient` can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from simulator.ambient.crowd import Tie
from simulator.ambient.prompts import Parser
from simulator.duplicates import DuplicatesOption
from simulator.fields import Fields


class ReportSettings(Fields):
    """The settings of scoring runs and files, and what is written and drawn beside."""

    data: str | None = Field(
        default=None,
        description="the dataset that results are of, a name or a path; default: one next to the files, or "
        "the one registered as ambient",
    )
    tie: Tie = Field(
        default="first",
        description="votes: which label wins where they are split evenly (the paper's: first)",
    )
    votes: Annotated[
        tuple[str, ...],
        typer.Option(help="Table 1: show the votes on this example (or all); may be repeated"),
    ] = ()
    parser: Parser = Field(
        default="reference",
        description="generation: how rewrites are read for the headline (the paper's: reference)",
    )
    variants: bool = Field(
        default=False, description="generation: EDIT-F1 by rules that are not the paper's, too"
    )
    duplicates: DuplicatesOption = "refuse"
    instance: str | None = Field(
        default=None,
        description="draw the log-odds of this instance of a run's continuations (ID, or ID.premise)",
    )
    pair: str | None = Field(
        default=None,
        description="draw the label probabilities of this pair of a run (ID; ID:1, its first rewrite)",
    )
    lines: Path | None = Field(
        default=None, description="write every form of the runs, and every item of models' tests, JSON lines"
    )
    export: Path | None = Field(
        default=None, description="write the runs' answers in the published formats into this folder"
    )
    csv: Path | None = Field(default=None, description="write every measure there, with every digit")
    latex: Path | None = Field(default=None, description="write the tables there, in LaTeX")
