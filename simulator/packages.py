"""Faults of other people's packages: said in a sentence, told once, and nobody else is stopped by them.

Whoever asks for what is broken gets the error; where all that is installed is gone through, `attempt` leaves
out what is broken, says so on stderr, and the rest goes on.
"""

from __future__ import annotations

import logging
import sysconfig
import traceback
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, TypeVar

from simulator.errors import AskbackError, InputError

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
