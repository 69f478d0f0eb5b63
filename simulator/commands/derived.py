"""The commands of all benchmarks: those that they declare, and those derived from their declarations.

Only the declarations are imported to list the commands; a command itself is imported, or built, on first use.
`askback graph` draws the state machine of any benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final, NoReturn

import typer

from simulator import catalog
from simulator.benchmark import Benchmark, Command
from simulator.deferred import attribute
from simulator.errors import InputError

_RUN: Final = "Play {title} episodes and score them. The same command again continues where it stopped."
_REPORT: Final = (
    "Every metric of runs of {title} side by side, with intervals: terminal, JSON, CSV, LaTeX, HTML."
)
_FILES: Final = "Score files by the rules of {title}: the report on them."
_STATS: Final = "Count the items of {title}, by every field that repeats."


def benchmark_commands() -> Mapping[str, Command]:
    """Return the commands of all installed benchmarks, by their words: ``run NAME``.

    The commands of a benchmark that cannot be imported raise the reason.
    """
    commands: dict[str, Command] = {}
    for name in catalog.names():
        try:
            commands |= commands_of(catalog.find(name))
        except InputError as error:
            commands |= {
                f"{verb} {name}": Command(partial(_raise, error), f"Cannot be used: {error}")
                for verb in ("run", "report", "stats")
            }
    return commands


def commands_of(benchmark: Benchmark[Any, Any]) -> Mapping[str, Command]:
    """Return a benchmark's commands: its own, and derived ones that it does not replace."""
    name, derived = benchmark.name, dict[str, Command]()
    if benchmark.machine is None or benchmark.runs is not None:
        derived[f"run {name}"] = _derive_command("run", benchmark, benchmark.summary or _RUN)
    if benchmark.load is not None:
        derived[f"stats {name}"] = _derive_command("report:stats_command", benchmark, _STATS)
    derived[f"report {name}"] = _derive_command("report", benchmark, _help(benchmark))
    if benchmark.report is not None and benchmark.report.files:
        derived[f"score {name}"] = _derive_command("report:files_command", benchmark, _FILES)
    return {**derived, **benchmark.commands}


def _derive_command(verb: str, benchmark: Benchmark[Any, Any], help: str) -> Command:
    place = verb if ":" in verb else f"{verb}:{verb}_command"
    make: Callable[[], Callable[..., Any]] = attribute(f"simulator.commands.{place}")
    return Command(partial(_make_command, make, benchmark), help.format(title=benchmark.title))


def _help(benchmark: Benchmark[Any, Any]) -> str:
    help = benchmark.report.help if benchmark.report is not None else ""
    return help.split("\n", maxsplit=1)[0] or _REPORT


def _make_command(make: Callable[[], Callable[..., Any]], benchmark: Benchmark[Any, Any]) -> Any:
    return make()(benchmark)


def _raise(error: InputError) -> NoReturn:
    raise error


STUDY: Final = "study"


def draw(name: str) -> str:
    """Return the Mermaid text of a benchmark's graph, or of the graph of studies (``study``).

    Raises:
        InputError: if there is no such benchmark.
    """
    # Imported late: listing commands must not import LangGraph.
    from simulator.runner.build import load_machine
    from simulator.studies.graph import build_graph

    graph = build_graph() if name == STUDY else load_machine(name).build_graph()
    return str(graph.compile().get_graph().draw_mermaid())


def graph_command(name: Annotated[str, typer.Argument(help="a benchmark, or study", metavar="NAME")]) -> None:
    """Print the state machine of a benchmark, or of studies, as Mermaid text."""
    typer.echo(draw(name), nl=False)
