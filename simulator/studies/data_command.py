"""`askback study quality`, `bonus` and `snapshot`: review, payment and archiving of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from logs import LogReader
from logs.cli import LogOption
from logs.export import LOG_NAME
from logs.paths import default_path
from simulator.errors import InputError
from simulator.figures import Column, Table
from simulator.output_files import write_atomically
from simulator.studies.command import StudyArgument, with_desk
from simulator.studies.known import find_study
from simulator.studies.quality import carelessness_signs
from simulator.studies.reconcile import FURTHER, payment_of
from simulator.studies.steering import MANIFEST, write_snapshot

_NUMBERS: Final = ("turn_seconds", "typed_per_second", "pasted", "same_text", "scales")
_SIGNS: Final[tuple[Column | str, ...]] = (
    "participant",
    "sets",
    *(Column(name, 1) for name in _NUMBERS),
    "missed",
    "signs",
)


def show_quality(
    study: StudyArgument,
    csv: Annotated[Path | None, typer.Option(help="CSV file to write the table to as well")] = None,
    log: LogOption = None,
) -> None:
    """Show signs of careless participation, with the underlying numbers, for a second look."""
    chosen = find_study(study, log)
    with LogReader(log or default_path()) as reader:
        people = carelessness_signs(reader, chosen)
    named = people.assign(**{name: people[name].map(" ".join) for name in ("missed", "signs")})
    Console().print(Table.of_frame(named, _SIGNS).to_text())
    if csv is not None:
        write_atomically(csv, Table.of_frame(named).to_csv())


def write_payment(
    study: StudyArgument,
    folder: Annotated[Path, typer.Argument(help="folder to write to, made if needed")],
    metric: Annotated[
        str | None, typer.Option(help="score that is paid for, summed over a person's sets")
    ] = None,
    amount: Annotated[float, typer.Option(min=0, help="bonus per unit of the score")] = 0.0,
    log: LogOption = None,
) -> None:
    """Write the platform ids to approve, review or reject, and the bonuses.

    The files identify participants: delete them once they are submitted.
    """
    if (metric is None) != (amount == 0):
        raise InputError("--metric and --amount must be given together.")
    owed = with_desk(
        find_study(study, log),
        log,
        lambda desk, reader: payment_of(desk, reader, metric=metric, amount=amount),
        did="bonus",
    )
    for file in owed.write(folder):
        print(file)
    total = sum(owed.bonus.values())
    counts = f"{len(owed.approve)} to approve, {len(owed.review)} missed a check, {len(owed.reject)} excluded"
    print(f"{counts}, bonuses {total:.2f}")
    if owed.further_sets or owed.paid_exits:
        print(
            f"Not paid by submissions, but listed in {FURTHER} with the reason: further sets of the same "
            f"people ({owed.further_sets}), and paid exits ({owed.paid_exits})."
        )
    if owed.unknown:
        print(f"Done, but without a platform id (listed in {FURTHER}): {', '.join(owed.unknown)}")


def write_study_snapshot(
    study: StudyArgument,
    folder: Annotated[Path, typer.Argument(help="folder to write to, made if needed")],
    log: LogOption = None,
) -> None:
    """Write a citable snapshot of a study: file, log without identities, prompts, versions, hashes."""
    with LogReader(log or default_path()) as reader:
        manifest = write_snapshot(reader, find_study(study, log), folder)
    print(f"{folder} contains a snapshot of {manifest['study']}; {folder / MANIFEST} lists its contents.")
    print(f"To score it again: askback score study-{manifest['study']} --log {folder / LOG_NAME}")
