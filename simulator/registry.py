"""What benchmarks bring to the commands that serve all of them: files to check, data to register, studies.

`app.py` fills it in with functions that are imported when they are called (`simulator.deferred`), so that
nothing of a benchmark is read before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trees.faults import Fault

if TYPE_CHECKING:
    from simulator.models import Needs
    from simulator.studies.files import Study
    from simulator.studies.quota import Cell


@dataclass(frozen=True, slots=True)
class Checker:
    """What `askback check` does with one kind of file.

    Attributes:
        kind: which files, in words.
        find: the files of this kind in a folder; a file itself if it is of this kind.
        check: all faults of such files, which belong together.
    """

    kind: str
    find: Callable[[Path], tuple[Path, ...]]
    check: Callable[[Sequence[Path]], tuple[Fault, ...]]


CHECKERS: Final[list[Callable[[], Checker]]] = []
"""The kinds of files `askback check` knows; the first that finds a file gets it."""

Register = Callable[[Path, str, bool], None]
REGISTER: Final[dict[str, Register]] = {}
"""What `askback data add BENCHMARK` does, by benchmark: path, name, whether a part will do."""


@dataclass(frozen=True, slots=True)
class StudyRoom:
    """What a benchmark says of its studies.

    Attributes:
        builtin: those that come with Askback.
        cells: the cells of a study.
    """

    builtin: Callable[[], Sequence[Study]]
    cells: Callable[[Study], Sequence[Cell]]


ROOMS: Final[dict[str, StudyRoom]] = {}
"""Benchmarks that hold studies."""

OPPOSITE: Final[dict[str, Callable[[Study], Mapping[str, Needs]]]] = {}
"""The servers' models that sit opposite a study's participants, by benchmark, and what is asked of them."""

CHECKS: Final[dict[str, Callable[[Study], object]]] = {}
"""What a benchmark's room has against a study's conditions and settings, by benchmark: an `InputError`."""
