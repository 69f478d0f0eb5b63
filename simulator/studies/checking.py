"""What `askback check` says of study files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from simulator.errors import InputError
from simulator.registry import CHECKS, Checker
from simulator.runner.rooms import load_room
from simulator.studies.files import Study, scan_study
from simulator.studies.quota import quota_of
from trees.faults import Fault

KIND: Final = "study files (.yaml or .yml with the key benchmark)"
_SUFFIXES: Final = (".yaml", ".yml")


def find_studies(path: Path) -> tuple[Path, ...]:
    """The study files in a folder and the folders below; a file itself if it is one."""
    if path.is_file():
        return (path,) if _is_study(path) else ()
    files = path.rglob("*") if path.is_dir() else ()
    return tuple(sorted(file for file in files if file.is_file() and _is_study(file)))


def checker() -> Checker:
    """What `askback check` does with study files."""
    return Checker(KIND, find_studies, check_studies)


def check_studies(files: Sequence[Path]) -> tuple[Fault, ...]:
    """All faults of study files, and ids that stand in two of them."""
    faults: list[Fault] = []
    first: dict[str, Path] = {}
    for file in files:
        study, found = scan_study(file)
        faults += found
        if study is None:
            continue
        if (other := first.setdefault(study.id, file)) != file:
            faults.append(Fault(str(file), study.id, 0, "id", f"{other} has the same id"))
        if problem := _refusal(study):
            faults.append(Fault(str(file), study.id, 0, "study", problem))
    return tuple(sorted(faults))


def _refusal(study: Study) -> str:
    """What the design and the benchmark's room have against a study; empty if nothing."""
    try:
        room = load_room(study.benchmark)
        if study.seat not in room.seats:
            return f"seat: {study.benchmark} has no seat {study.seat!r}; there are: {', '.join(room.seats)}"
        if study.conditions:
            quota_of(study)
        if study.benchmark in CHECKS:
            CHECKS[study.benchmark](study)
    except InputError as error:
        return str(error)
    return ""


def _is_study(file: Path) -> bool:
    if file.suffix.lower() not in _SUFFIXES:
        return False
    # Looked for in the text, so that a file whose YAML is broken is known for what it is, too.
    with file.open("rb") as opened:
        return any(line.startswith(b"benchmark:") for line in opened)
