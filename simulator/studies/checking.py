"""What `askback check` says of study files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from simulator.benchmark import Checker
from simulator.errors import InputError
from simulator.runner.finding import load_room
from simulator.studies.files import Study, find_studies, scan_study
from simulator.studies.material import material_of
from simulator.studies.quota import quota_of
from trees.faults import Fault

KIND: Final = "study files (.yaml or .yml with the key benchmark)"


def checker() -> Checker:
    """Return what `askback check` does with study files."""
    return Checker(KIND, find_studies, check_studies)


def check_studies(files: Sequence[Path]) -> tuple[Fault, ...]:
    """Return all faults of study files, and ids that stand in two of them."""
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
    """Return what the design and the benchmark's room have against a study; empty if nothing."""
    try:
        room = load_room(study.benchmark)
        if study.seat not in room.seats:
            return f"seat: {study.benchmark} has no seat {study.seat!r}; there are: {', '.join(room.seats)}"
        if study.conditions:
            quota_of(study)
        if (material := material_of(study)) is not None:
            material.check()
    except InputError as error:
        return str(error)
    return ""
