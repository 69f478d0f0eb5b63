"""The entry point of the `askback` command: the table of its commands and groups.

Each command is given by the location of its function, which is imported only when the command is called.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from logs import LogError
from personas import TemplateError
from simulator import catalog
from simulator.benchmark import Command
from simulator.catalog import was_reported
from simulator.commands.derived import benchmark_commands
from simulator.commands.score import score_app
from simulator.deferred import deferred
from simulator.errors import AskbackError
from trees.faults import TaskError


def _group(help: str) -> typer.Typer:
    return typer.Typer(no_args_is_help=True, help=help)


GROUPS: Final = {
    "run": _group("Play many episodes and score them."),
    "score": score_app,
    "report": _group("Report on runs in tables, side by side."),
    "study": deferred(
        "simulator.studies.command:study_app", "Run studies with people: links, progress, participants, data."
    ),
    "data": deferred("simulator.commands.files:data_app", "Register, list and remove published data."),
    "log": deferred("logs.cli:log_app", "Inspect the log: runs, transcripts of episodes, latest turns."),
    "users": deferred("ui.accounts:users_app", "Manage researchers' accounts and roles."),
    "import": _group("Import published results into the log."),
    "audit": _group("Compare a provider's decisions with logged ones."),
    "train": _group("Train robots and other models."),
    "generate": _group("Generate episodes of a benchmark."),
    "stats": _group("Show statistics of a benchmark's episodes."),
    "pack": _group("Pack a benchmark's episodes into one file."),
}

# Commands of no benchmark: location of the function and first line of its help, to list them without imports.
COMMANDS: Final = {
    "check": Command(
        "simulator.commands.files:check",
        "Report file, line and task of every fault. The exit code is 1 if there is an error.",
    ),
    "export": Command(
        "logs.cli:export_command",
        "Export the log as JSON lines, CSV, Parquet or a log, with a codebook. People stay pseudonymous.",
    ),
    "app": Command(
        "ui.command:app_command",
        "Start the web app: play in the browser, watch runs, review dialogues.",
    ),
    "compare": Command(
        "simulator.commands.compare:compare",
        "Compare runs of one benchmark, paired by item: differences, intervals, tests, detectable effects.",
    ),
    "graph": Command(
        "simulator.commands.derived:graph_command",
        "Print the state machine of a benchmark, or of studies, as Mermaid text.",
    ),
    "study quality": Command(
        "simulator.studies.data_command:show_quality",
        "Show signs of careless participation, with the underlying numbers, for a second look.",
    ),
    "study agreement": Command(
        "simulator.commands.agreement:show_agreement",
        "Show the agreement of participants on the same items, in answers and scores: alpha with intervals.",
    ),
    "study bonus": Command(
        "simulator.studies.data_command:write_payment",
        "Write the platform ids to approve, review or reject, and the bonuses.",
    ),
    "study snapshot": Command(
        "simulator.studies.data_command:write_study_snapshot",
        "Write a citable snapshot of a study: file, log without identities, prompts, versions, hashes.",
    ),
    "study bots": Command(
        "simulator.studies.bots.command:bots_command",
        "Let bots take part in a study over HTTP; the exit code is 1 if anything was lost.",
    ),
    "report asking": Command(
        "simulator.commands.asking:report_asking",
        "Show who asked when it was needed and when it was not, and whether the end was right.",
    ),
}


class _Commands(TyperGroup):
    """Commands that report a wrong option value in the same words as a wrong field of a file."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            from pydantic import ValidationError  # takes a while to import

            from simulator.fields import first_fault

            if isinstance(error.__cause__, ValidationError):
                error.message = first_fault(error.__cause__).problem
            raise


cli = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Simulate, play and score conversations in which somebody has to ask back.",
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"askback {version('askback')}")
        raise typer.Exit


@cli.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None: ...


for _words, _command in {**COMMANDS, **benchmark_commands()}.items():
    _parent, _, _name = _words.rpartition(" ")
    (GROUPS[_parent] if _parent else cli).add_typer(deferred(_command.place, _command.help), name=_name)
for _name, _group_app in GROUPS.items():
    cli.add_typer(_group_app, name=_name)


def replace_deprecated(words: Sequence[str]) -> list[str]:
    """Return the words of a command with deprecated options replaced, and print a warning for each.

    ``app --BENCHMARK DATA`` has become ``app --items BENCHMARK=DATA``.
    """
    replaced, rest = list[str](), iter(words)
    names = {f"--{name}": name for name in catalog.names()} if words[:1] == ["app"] else {}
    for word in rest:
        option, _, data = word.partition("=")
        if option in names:
            word = f"--items={names[option]}={data or next(rest, '')}"
            Console(stderr=True).print(
                f"askback: {option} is deprecated and will be removed in the next version; write {word}"
            )
        replaced.append(word)
    return replaced


def main() -> None:
    """Run the `askback` command; print a known error as one sentence on stderr and exit with status 1."""
    try:
        cli(args=replace_deprecated(sys.argv[1:]))
    except (AskbackError, LogError, TaskError, TemplateError) as error:
        if not was_reported(str(error)):
            Console(stderr=True).print(Text.assemble(("askback: ", "red"), str(error)))
        sys.exit(1)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.argv.append("app")
    main()
