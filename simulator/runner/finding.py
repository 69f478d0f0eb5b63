"""Who plays a benchmark's episodes: its own room, or one made from its declaration."""

from __future__ import annotations

from functools import cache
from typing import Any

from personas.templates import add_folder
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.runner.rooms import AnyRoom


def load_room(name: str) -> AnyRoom:
    """Return the room of the benchmark called `name`.

    Raises:
        InputError: if there is none.
    """
    return room_of(catalog.find(name))


@cache
def room_of(benchmark: Benchmark[Any, Any]) -> AnyRoom:
    """Return what plays a benchmark's episodes: a room of its own, or one made from its declaration."""
    if benchmark.room is not None:
        return benchmark.room()
    from simulator.runner.declared import DeclaredRoom  # it brings LangGraph

    if benchmark.folder is not None and (benchmark.folder / "prompts").is_dir():
        add_folder(benchmark.name, benchmark.folder / "prompts")

    return DeclaredRoom(benchmark)
