"""Options that commands of several benchmarks have, in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataOption = Annotated[str, typer.Option(help="builtin, the name of added data, or a path")]
RepeatOption = Annotated[int, typer.Option(min=1, help="how often each item is played")]
SeedOption = Annotated[int, typer.Option(help="seed of the run")]
RootSeedOption = Annotated[int, typer.Option(help="everything descends from it")]
ConcurrencyOption = Annotated[int, typer.Option(min=1, help="episodes at a time; with Ray in each process")]
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, help="processes that share it; default: 1, or more for a long offline run"),
]
ExecutorOption = Annotated[
    str,
    typer.Option(help="where they run: local, ray (this machine) or ray:ADDRESS, such as ray:auto"),
]
ResourcesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SEAT=NAME:AMOUNT",
        help="what a seat asks of a node with Ray, such as robot=num_gpus:1 (several)",
    ),
]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="threads that torch may use")]
BaseUrlOption = Annotated[
    list[str] | None,
    typer.Option(
        help="an OpenAI-compatible server; several of them (give it again), or FILE.yaml, are a fleet that "
        "shares the work"
    ),
]
TimeoutOption = Annotated[
    float | None, typer.Option(help="seconds that a server may take for one answer; default: 120")
]
RunOption = Annotated[str | None, typer.Option(help="the run's name; default: after its setup")]
ItemsOfOption = Annotated[
    str | None,
    typer.Option(help="only the items of this run of the log: a study's, to compare models with people"),
]
RunsAndFilesArgument = Annotated[
    list[str],
    typer.Argument(
        help="names of runs (askback log list shows them), files and folders, in any order",
        metavar="RUN|FILE…",
    ),
]
FolderOption = Annotated[Path, typer.Option(help="folder for everything; made if need be")]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
ExcludeAbortedOption = Annotated[
    bool,
    typer.Option(
        "--exclude-aborted",
        help="leave aborted episodes out of the scores, in which they count as unsuccessful otherwise",
    ),
]
WithExcludedOption = Annotated[
    bool,
    typer.Option("--with-excluded", help="count people who were excluded from their study all the same"),
]
ExactJsonOption = Annotated[bool, typer.Option("--json", help="print JSON, with every digit")]
