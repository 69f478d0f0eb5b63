"""Who plays a benchmark's episodes: its own machine, or one made from its declaration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from personas.errors import TemplateError
from personas.templates import add_folder, describe, languages_of
from simulator import catalog
from simulator.benchmark import Benchmark, State
from simulator.runner.machines import AnyMachine
from trees.bounded import unknown_key
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
            variables = describe(f"{benchmark.name}/{name}", language).variables
        except TemplateError as error:
            faults.append(Fault(str(file), "", 0, "prompt", str(error)))
            continue
        for known in [_known(benchmark, seat.name) for seat in benchmark.seats if seat.prompt == name]:
            for variable in sorted(variables - known) if known else ():
                message = unknown_key(variable, sorted(known), "variable")
                faults.append(Fault(str(file), "", _line(file, variable), "prompt", message, "warning"))
    return tuple(faults)


def _known(benchmark: Benchmark[Any, Any], seat: str) -> set[str]:
    """Return the variables of a seat's prompt when an episode begins; none if that cannot be told."""
    assert benchmark.load is not None and benchmark.rules is not None
    try:
        start = State(item=benchmark.load("builtin")[0], rules=benchmark.rules())
        return {"lines", *benchmark.knows(start, seat)}
    except Exception:  # another's function, which may count on moves that are not there yet
        return set()


def _line(file: Path, word: str) -> int:
    """Return the first line of a file that has a word; 0 if none has."""
    lines = enumerate(file.read_text("utf-8").splitlines(), start=1)
    return next((number for number, line in lines if re.search(rf"\b{word}\b", line)), 0)


@cache
def machine_of(benchmark: Benchmark[Any, Any]) -> AnyMachine:
    """Return what plays a benchmark's episodes: a machine of its own, or one made from its declaration."""
    if benchmark.machine is not None:
        return benchmark.machine()
    from simulator.runner.declared_machine import DeclaredMachine

    if benchmark.folder is not None and (benchmark.folder / "prompts").is_dir():
        add_folder(benchmark.name, benchmark.folder / "prompts")

    return DeclaredMachine(benchmark)
