"""Who plays a benchmark's episodes: its own machine, or one made from its declaration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from personas.errors import TemplateError
from personas.templates import add_folder, describe, languages_of
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.runner.machines import AnyMachine
from trees.faults import Fault


def load_machine(name: str) -> AnyMachine:
    """Return the machine of the benchmark called `name`.

    Raises:
        InputError: if there is none.
    """
    return machine_of(catalog.find(name))


def prompt_faults(benchmark: Benchmark[Any, Any], files: Sequence[Path] = ()) -> tuple[Fault, ...]:
    """Return what is wrong with a declared benchmark's prompts: seats without theirs, files that are none."""
    machine_of(benchmark)  # its folder is looked in from now on
    faults = []
    for seat in benchmark.seats:
        if seat.prompt and not languages_of(f"{benchmark.name}/{seat.prompt}"):
            lacking = f"{benchmark.folder}/prompts/{seat.prompt}.en.jinja"
            faults.append(Fault(lacking, seat.name, 0, "prompt", "the prompt of this seat is not there"))
    for file in files:
        name, _, language = file.name.removesuffix(".jinja").rpartition(".")
        try:
            describe(f"{benchmark.name}/{name}", language)
        except TemplateError as error:
            faults.append(Fault(str(file), "", 0, "prompt", str(error)))
    return tuple(faults)


@cache
def machine_of(benchmark: Benchmark[Any, Any]) -> AnyMachine:
    """Return what plays a benchmark's episodes: a machine of its own, or one made from its declaration."""
    if benchmark.machine is not None:
        return benchmark.machine()
    from simulator.runner.declared import DeclaredMachine  # it brings LangGraph

    if benchmark.folder is not None and (benchmark.folder / "prompts").is_dir():
        add_folder(benchmark.name, benchmark.folder / "prompts")

    return DeclaredMachine(benchmark)
