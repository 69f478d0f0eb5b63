"""Which benchmarks there are: those whose packages name an entry point, ours and others' alike.

::

    [project.entry-points."askback.benchmarks"]
    twenty_questions = "twenty_questions:BENCHMARK"

A package is imported when its benchmark is needed, or listed with its help. One that is faulty is left out of
lists, with a warning (`attempt`), and nobody else's commands are stopped by it; whoever asks for it gets the
error.

Three more groups extend what all benchmarks have: ``askback.models`` (a provider's name -> a function from a
model's name and `ModelOptions` to a backend), ``askback.seats`` (a name -> a class whose instances sit in a
seat under ``plugin/<name>``) and ``askback.scorers`` (a metric -> a function from an episode's item, turns
and judgments to its value).
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

    A benchmark that cannot be imported stands at the end, and is told of; `find` says why.
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
    return tuple(benchmark for name in names() if (benchmark := _find_importable(name)) is not None)


def extensions(group: str) -> Mapping[str, Callable[..., Any]]:
    """Return all that can be imported of a `group` (`MODELS`, `SEATS`, `SCORERS`), by name."""
    parts = {name: attempt(f"{group}: {name}", partial(extension, group, name)) for name in _points(group)}
    return {name: part for name, part in parts.items() if part is not None}


def extension_names(group: str) -> tuple[str, ...]:
    """Return the names of what is installed under a group; nothing is imported."""
    return tuple(_points(group))


def extension(group: str, name: str) -> Callable[..., Any]:
    """Return one of `extension_names`, imported now.

    Raises:
        InputError: if it cannot be; names its entry point.
    """
    part: Callable[..., Any] = _import_point(_points(group)[name])
    return part


def package_name(group: str, name: str) -> str:
    """Return the package that something installed under a name is part of, for messages."""
    return _package_of(_points(group)[name])


def is_ours(name: str) -> bool:
    """Return True if a benchmark comes with Askback."""
    point = _points(BENCHMARKS).get(name)
    return point is not None and _package_of(point) == _OURS


@cache
def _points(group: str) -> Mapping[str, EntryPoint]:
    points: dict[str, EntryPoint] = {}
    # A name of ours stays ours, whatever else is installed.
    ranked = sorted(entry_points(group=group), key=lambda point: (_package_of(point) != _OURS, point.value))
    for point in sorted(ranked, key=lambda point: point.name):
        first = points.setdefault(point.name, point)
        if first.value != point.value:
            warn_once(
                f"{group}: {point.name} = {point.value} of the package {_package_of(point)} is left out: "
                f"{first.value} of {_package_of(first)} has that name; give it another one."
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
        raise InputError(f"{BENCHMARKS}: {name} = {point.value} is no Benchmark; its type is {kind}.")
    if benchmark.name != name:
        raise InputError(
            f"{BENCHMARKS}: {name} = {point.value} is a Benchmark called {benchmark.name!r}; "
            "give the entry point that name."
        )
    return benchmark


def _import_point(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # another's package: whatever is wrong with it, ours go on
        raise InputError(
            f"{point.group}: {point.name} = {point.value} cannot be imported "
            f"({described(error)}); fix or uninstall the package {_package_of(point)}."
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
    """Return what `make` makes of something installed; None, and a warning, if it is faulty.

    `about`: names it.
    """
    try:
        return make()
    except Exception as error:  # another's package: whatever is wrong with it, the others go on
        warn_once(f"{about} is left out: {described(error)}")
        return None


def warn_once(message: str) -> None:
    """Say on stderr what is wrong with something installed; the same is not said twice."""
    if message not in _warned:
        _warned.add(message)
        _log.warning("askback: %s", message)


def was_told(message: str) -> bool:
    """Return True if a warning of something that was left out gave `message` as the reason."""
    return any(warning.endswith(f" is left out: {message}") for warning in _warned)


def fault_in(what: str, error: Exception) -> AskbackError:
    """Return an exception that code of a package raised as an error of ours; `what` names that code."""
    return error if isinstance(error, AskbackError) else InputError(f"{what}: {described(error)}")


def described(error: Exception) -> str:
    """Return an exception in a sentence; one that nobody raised on purpose with its kind and place."""
    return str(error) if isinstance(error, AskbackError) else traced(error)


def traced(error: Exception) -> str:
    """Return an exception with its kind; one that nobody raised on purpose with its place, too."""
    if isinstance(error, AskbackError):
        return f"{type(error).__name__}: {error}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame.filename)]
    # What they call (pandas, say) raises; what they can fix is the line that called it.
    frames = [frame for frame in frames if _extends(frame.filename)] or frames
    place = f", {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _extends(file: str) -> bool:
    """Return True if a file is part of a package that extends Askback, or of none that is installed."""
    return "site-packages" not in file or any(name in file for name in _extensions())


@cache
def _extensions() -> tuple[str, ...]:
    """Return how the files of packages that extend Askback can be told: their folder, or the module."""
    groups = [group for group in entry_points().groups if group.startswith("askback.")]
    points = (point for group in groups for point in entry_points(group=group))
    names = dict.fromkeys(point.module.partition(".")[0] for point in points)
    return tuple(part for name in names if name not in _PARTS for part in (f"/{name}/", f"/{name}.py"))


def _is_theirs(file: str) -> bool:
    """Return True if a file is neither part of Askback nor of Python."""
    standard = file.startswith(_STANDARD) and "site-packages" not in file
    return not (file.startswith(("<", *_OUR_FOLDERS)) or standard)
