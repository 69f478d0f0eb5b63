"""`askback graph`: the state machine of a benchmark, or of studies, as a drawing."""

from __future__ import annotations

from typing import Annotated, Final

import typer

STUDY: Final = "study"


def draw(name: str) -> str:
    """Return the Mermaid text of a benchmark's graph, or of the one that studies put around it (``study``).

    Raises:
        InputError: if there is no such benchmark.
    """
    # Imported here: the command line lists its commands without LangGraph.
    from simulator.runner.build import load_machine
    from simulator.studies.graph import build_graph

    graph = build_graph() if name == STUDY else load_machine(name).build_graph()
    return str(graph.compile().get_graph().draw_mermaid())


def graph_command(name: Annotated[str, typer.Argument(help="a benchmark, or study", metavar="NAME")]) -> None:
    """Print the state machine of a benchmark, or of studies, as Mermaid text."""
    typer.echo(draw(name), nl=False)
