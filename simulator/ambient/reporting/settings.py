"""How files of AmbiEnt are scored."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.ambient.crowd import Tie
from simulator.ambient.parsing import Parser
from simulator.duplicates import Duplicates


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How files are scored.

    Attributes:
        data: the dataset: a name or a path; None for one beside the files, or registered as ``ambient``.
        tie: what wins where crowdworkers' votes are split evenly.
        votes: ids of examples whose votes are told one by one.
        parser: of the headline of generated disambiguations.
        variants: whether EDIT-F1 by other rules is told.
        exclude_aborted: leave out what a failing seat aborted, instead of counting it as unsuccessful.
        duplicates: what becomes of rows that a file holds twice.
    """

    data: str | None = None
    tie: Tie = "first"
    votes: tuple[str, ...] = ()
    parser: Parser = "reference"
    variants: bool = False
    exclude_aborted: bool = False
    duplicates: Duplicates = "refuse"
