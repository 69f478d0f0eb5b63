"""Who plays a benchmark's episodes: its own machine, or one made from its declaration."""

from __future__ import annotations

from functools import cache
from typing import Any

from personas.templates import add_folder
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.runner.machines import AnyMachine


def load_machine(name: str) -> AnyMachine:
    """Return the machine of the benchmark called `name`.

    Raises:
        InputError: if there is none.
    """
    return machine_of(catalog.find(name))


@cache
def machine_of(benchmark: Benchmark[Any, Any]) -> AnyMachine:
    """Return what plays a benchmark's episodes: a machine of its own, or one made from its declaration."""
    if benchmark.machine is not None:
        return benchmark.machine()
    from simulator.runner.declared_machine import DeclaredMachine

    if benchmark.folder is not None and (benchmark.folder / "prompts").is_dir():
        add_folder(benchmark.name, benchmark.folder / "prompts")

    return DeclaredMachine(benchmark)
