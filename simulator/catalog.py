"""The catalog of installed benchmarks and extensions, found by their packages' entry points.

::

    [project.entry-points."askback.benchmarks"]
    twenty_questions = "twenty_questions:BENCHMARK"

A package is imported when its benchmark is used or listed. A faulty one is left out of lists with a warning
(`attempt`), and does not affect other commands; asking for it by name raises the error.

Three more groups extend all benchmarks: ``askback.models`` (provider name -> a function from a model's name
and `ModelOptions` to a backend), ``askback.seats`` (name -> a class of players, named ``plugin/<name>``) and
``askback.scorers`` (metric -> a function from an episode's item, turns and judgments to its value).
"""

from __future__ import annotations

import logging
import sysconfig
import traceback
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, TypeVar

from simulator.benchmark import Benchmark
from simulator.errors import AskbackError, InputError

BENCHMARKS: Final = "askback.benchmarks"
MODELS: Final = "askback.models"
SEATS: Final = "askback.seats"
SCORERS: Final = "askback.scorers"
_OURS: Final = "askback"

_REGISTERED: Final[dict[str, Benchmark[Any, Any]]] = {}


def register(benchmark: Benchmark[Any, Any]) -> None:
    """Register a benchmark in this process, without an entry point (for notebooks and tests).

    Raises:
        InputError: if another benchmark of its name is installed.
    """
    if benchmark.name in _points(BENCHMARKS):
        if find(benchmark.name) is benchmark:
            return
        raise InputError(f"A benchmark called {benchmark.name!r} is installed; give this one another name.")
    _REGISTERED[benchmark.name] = benchmark


def names() -> tuple[str, ...]:
    """Return the names of all benchmarks, in the order of lists and tables.

    A benchmark that cannot be imported comes last, with a warning; `find` raises the reason.
    """
    positions = {name: _position(name) for name in (*_points(BENCHMARKS), *_REGISTERED)}
    return tuple(sorted(positions, key=lambda name: (positions[name], name)))


def find(name: str) -> Benchmark[Any, Any]:
    """Return the benchmark called `name`.

    Raises:
        InputError: if there is no such benchmark, or its package cannot be imported.
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in _points(BENCHMARKS):
        known = ", ".join(names()) or "none; install Askback again (make app)"
        raise InputError(f"There is no benchmark called {name!r}; known are: {known}.")
    return _load(name)


def installed() -> tuple[Benchmark[Any, Any], ...]:
    """Return all benchmarks that can be imported, in the order of lists and tables."""
    return tuple(benchmark for name in names() if (benchmark := _find_importable(name)) is not None)


def extensions(group: str) -> Mapping[str, Callable[..., Any]]:
    """Return the extensions of a `group` (`MODELS`, `SEATS`, `SCORERS`) that can be imported, by name."""
    parts = {name: attempt(f"{group}: {name}", partial(extension, group, name)) for name in _points(group)}
    return {name: part for name, part in parts.items() if part is not None}


def extension_names(group: str) -> tuple[str, ...]:
    """Return the names of a group's extensions, without importing them."""
    return tuple(_points(group))


def extension(group: str, name: str) -> Callable[..., Any]:
    """Import and return an extension.

    Raises:
        InputError: if it cannot be imported; names its entry point.
    """
    part: Callable[..., Any] = _import_point(_points(group)[name])
    return part


def package_name(group: str, name: str) -> str:
    """Return the package that provides an extension, for messages."""
    return _package_of(_points(group)[name])


def is_ours(name: str) -> bool:
    """Return True if a benchmark comes with Askback."""
    point = _points(BENCHMARKS).get(name)
    return point is not None and _package_of(point) == _OURS


@cache
def _points(group: str) -> Mapping[str, EntryPoint]:
    points: dict[str, EntryPoint] = {}
    # Other packages cannot take over our names.
    ranked = sorted(entry_points(group=group), key=lambda point: (_package_of(point) != _OURS, point.value))
    for point in sorted(ranked, key=lambda point: point.name):
        first = points.setdefault(point.name, point)
        if first.value != point.value:
            warn_once(
                f"{group}: {point.name} = {point.value} of the package {_package_of(point)} is left out: "
                f"{first.value} of {_package_of(first)} has that name; choose another one."
            )
    return points


def _package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else ""


@cache
def _load(name: str) -> Benchmark[Any, Any]:
    point = _points(BENCHMARKS)[name]
    benchmark = _import_point(point)
    if not isinstance(benchmark, Benchmark):
        kind = type(benchmark).__name__
        raise InputError(f"{BENCHMARKS}: {name} = {point.value} is not a Benchmark; its type is {kind}.")
    if benchmark.name != name:
        raise InputError(
            f"{BENCHMARKS}: {name} = {point.value} is a Benchmark called {benchmark.name!r}; "
            "give the entry point that name."
        )
    return benchmark


def _import_point(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # third-party code: any fault of it must not stop the others
        raise InputError(
            f"{point.group}: {point.name} = {point.value} cannot be imported "
            f"({describe_error(error)}); fix or uninstall the package {_package_of(point)}."
        ) from error


def _find_importable(name: str) -> Benchmark[Any, Any] | None:
    return attempt(f"the benchmark {name}", partial(find, name))


def _position(name: str) -> float:
    benchmark = _find_importable(name)
    return float("inf") if benchmark is None else benchmark.position


# ---- faults of other people's packages


T = TypeVar("T")
_ROOT: Final = Path(__file__).parents[1]
_PARTS: Final = ("askback", "logs", "personas", "simulator", "trees", "ui")
_OUR_FOLDERS: Final = tuple(f"{_ROOT / part}/" for part in _PARTS)
_STANDARD: Final = f"{sysconfig.get_path('stdlib')}/"
_warned: Final = set[str]()
_log = logging.getLogger(__name__)


def attempt(about: str, make: Callable[[], T]) -> T | None:
    """Return the result of `make`; None, with a warning, if it raises.

    `about`: names what is left out in that case.
    """
    try:
        return make()
    except Exception as error:  # third-party code: any fault of it must not stop the others
        warn_once(f"{about} is left out: {describe_error(error)}")
        return None


def warn_once(message: str) -> None:
    """Log a warning once per message."""
    if message not in _warned:
        _warned.add(message)
        _log.warning("askback: %s", message)


def was_reported(message: str) -> bool:
    """Return True if a warning has given `message` as the reason for leaving something out."""
    return any(warning.endswith(f" is left out: {message}") for warning in _warned)


def package_error(what: str, error: Exception) -> AskbackError:
    """Return an exception of a package's code as an `AskbackError`; `what` names that code."""
    return error if isinstance(error, AskbackError) else InputError(f"{what}: {describe_error(error)}")


def load_items(benchmark: Benchmark[Any, Any], data: str) -> tuple[Any, ...]:
    """Return the items that a benchmark loads.

    Raises:
        InputError: if there are none, or its `load` raises; names it, or what it says.
    """
    assert benchmark.load is not None
    what = f"{benchmark.name}: load of the data {data!r}"
    try:
        items = tuple(benchmark.load(data))
    except Exception as error:
        raise package_error(what, error) from error
    if not items:
        raise InputError(f"{what} returned no items.")
    return items


def describe_error(error: Exception) -> str:
    """Describe an exception; an unexpected one with its type and location."""
    return str(error) if isinstance(error, AskbackError) else trace_error(error)


def trace_error(error: Exception) -> str:
    """Describe an exception with its type; an unexpected one also with its location."""
    if isinstance(error, AskbackError):
        return f"{type(error).__name__}: {error}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame.filename)]
    # A library such as pandas may raise; the useful location is the line that called it.
    frames = [frame for frame in frames if _extends(frame.filename)] or frames
    place = f", {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _extends(file: str) -> bool:
    """Return True if a file belongs to a package that extends Askback, or to no installed package."""
    return "site-packages" not in file or any(name in file for name in _extensions())


@cache
def _extensions() -> tuple[str, ...]:
    """Return path parts that identify files of packages that extend Askback: folders and modules."""
    groups = [group for group in entry_points().groups if group.startswith("askback.")]
    points = (point for group in groups for point in entry_points(group=group))
    names = dict.fromkeys(point.module.partition(".")[0] for point in points)
    return tuple(part for name in names if name not in _PARTS for part in (f"/{name}/", f"/{name}.py"))


def _is_theirs(file: str) -> bool:
    """Return True if a file belongs neither to Askback nor to Python."""
    standard = file.startswith(_STANDARD) and "site-packages" not in file
    return not (file.startswith(("<", *_OUR_FOLDERS)) or standard)
