"""`askback pack handmethat`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from simulator.errors import InputError
from simulator.handmethat.data import load_tasks, parts_of
from simulator.handmethat.files.packed import SUFFIX, write_packed
from simulator.runner.run_summary import say


def pack_handmethat(
    data: Annotated[str, typer.Argument(help="builtin, the name of added data, or a path")],
    out: Annotated[Path, typer.Option(help=f"the file to write; its name ends in {SUFFIX}")],
) -> None:
    """Put episodes into one file from which each is read at once: for training in environments."""
    if out.suffix != SUFFIX:
        raise InputError(f"--out {out}: its name must end in {SUFFIX}")
    count = write_packed(load_tasks(data), parts_of(data), out)
    say(Console(), f"{count} episodes are in {out} ({out.stat().st_size / 1e6:.1f} MB).")
