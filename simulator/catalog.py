"""Which benchmarks there are: those whose packages name an entry point, ours and others' alike.

::

    [project.entry-points."askback.benchmarks"]
    twenty_questions = "twenty_questions:BENCHMARK"

A package is imported when its benchmark is needed, or listed with its help. Three more groups extend what all
benchmarks have: ``askback.models`` (a provider's name -> a function from a model's name and `ModelOptions`
to a backend), ``askback.seats`` (a name -> a class whose instances sit in a seat under ``plugin/<name>``) and
``askback.scorers`` (a metric -> a function from an episode's item, turns and judgments to its value).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from simulator.benchmark import Benchmark
from simulator.errors import InputError

BENCHMARKS: Final = "askback.benchmarks"
MODELS: Final = "askback.models"
SEATS: Final = "askback.seats"
SCORERS: Final = "askback.scorers"

_REGISTERED: Final[dict[str, Benchmark[Any, Any]]] = {}


def register(benchmark: Benchmark[Any, Any]) -> None:
    """Make a benchmark known to this process, without an entry point (a notebook, a test).

    Raises:
        InputError: if another of its name is installed.
    """
    if benchmark.name in _points(BENCHMARKS):
        if find(benchmark.name) is benchmark:
            return
        raise InputError(f"A benchmark called {benchmark.name!r} is installed; give this one another name.")
    _REGISTERED[benchmark.name] = benchmark


def names() -> tuple[str, ...]:
    """Return the names of all benchmarks, as lists and tables order them.

    A benchmark that cannot be imported stands at the end; `find` says why.
    """
    positions = {name: _position(name) for name in (*_points(BENCHMARKS), *_REGISTERED)}
    return tuple(sorted(positions, key=lambda name: (positions[name], name)))


def find(name: str) -> Benchmark[Any, Any]:
    """Return the benchmark called `name`.

    Raises:
        InputError: if there is none, or its package cannot be imported.
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in _points(BENCHMARKS):
        known = ", ".join(names()) or "none; install Askback again (make app)"
        raise InputError(f"There is no benchmark called {name!r}; there are: {known}.")
    return _load(name)


def installed() -> tuple[Benchmark[Any, Any], ...]:
    """Return all benchmarks that can be imported, as lists and tables order them."""
    return tuple(benchmark for name in names() if (benchmark := _importable(name)) is not None)


def extensions(group: str) -> Mapping[str, Callable[..., Any]]:
    """Return what is installed under `group` (`MODELS`, `SEATS`, `SCORERS`), by name; imported now.

    Raises:
        InputError: if something cannot be imported; names its entry point.
    """
    return {name: _imported(point) for name, point in _points(group).items()}


@cache
def _points(group: str) -> Mapping[str, EntryPoint]:
    points: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        first = points.setdefault(point.name, point)
        if first.value != point.value:
            raise InputError(
                f"Two packages call a part of {group} {point.name!r}: {first.value} and {point.value}; "
                "uninstall one of them."
            )
    return points


@cache
def _load(name: str) -> Benchmark[Any, Any]:
    point = _points(BENCHMARKS)[name]
    benchmark = _imported(point)
    if not isinstance(benchmark, Benchmark) or benchmark.name != name:
        raise InputError(f"The entry point {name} = {point.value} is no Benchmark of that name.")
    return benchmark


def _imported(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # another's package: whatever is wrong with it, ours go on
        raise InputError(
            f"{point.group}: {point.name} = {point.value} cannot be imported "
            f"({type(error).__name__}: {error}); mend or uninstall that package."
        ) from error


def _importable(name: str) -> Benchmark[Any, Any] | None:
    try:
        return find(name)
    except InputError:
        return None


def _position(name: str) -> float:
    benchmark = _importable(name)
    return float("inf") if benchmark is None else benchmark.position
