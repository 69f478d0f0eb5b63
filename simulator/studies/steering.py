"""A study in the hands of a researcher: what it comes to, where it stands, opened, paused, closed and cited.

The log in a snapshot holds the study's runs alone, without outside identities and without whoever has
withdrawn. Every Askback reads it (``--log FOLDER/log.sqlite``) and scores it again, to the same numbers.
"""

from __future__ import annotations

import asyncio
import json
import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from logs import Erasure, LogReader, LogWriter
from logs.export import export_log
from logs.rows import now
from personas.templates import sources_of
from simulator.catalog import attempt
from simulator.studies.admission import AdmissionState, erase_due
from simulator.studies.desk import StudyDesk
from simulator.studies.files import Study
from simulator.studies.known import opened, studies_of
from simulator.studies.material import StudyMaterial, material_of
from simulator.studies.progress import StudyProgress
from simulator.studies.quota import quota_of

StudyState = Literal["ready", "open", "paused", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The size, seats and cost of a study.

    Attributes:
        seating: seat -> who sits there.
        total: pay of all sets; None if nothing is paid.
        hourly: pay, if a set takes as long as the file says.
        no_code: ways to leave that a platform is told of, and for which there is no completion code.
    """

    sets: int
    conditions: int
    people: int
    seating: Mapping[str, str]
    total: float | None
    hourly: float | None
    no_code: tuple[str, ...]


class StudyStanding(NamedTuple):
    """A study on a log.

    Attributes:
        state: ``ready`` as long as it was never opened there.
    """

    study: Study
    state: StudyState
    progress: StudyProgress


def plan_of(study: Study) -> Plan:
    """Return what a study asks for: places, conditions, time and money.

    Raises:
        InputError: if its benchmark cannot hold it.
    """
    material = required_material(study)
    material.check()
    quota = quota_of(study, material.cells)
    sets = quota.total * len(study.people)
    codes = study.completion_codes.model_dump()
    paid = study.seats or study.model_failure.then != "wait"
    needless = {"failed_check"} if paid else {"failed_check", "paid_exit"}
    return Plan(
        sets=sets,
        conditions=len(quota.cells),
        people=-(-sets // study.sets_per_participant),
        seating=material.seating,
        total=study.pay.amount * sets if study.pay else None,
        hourly=study.pay.amount / study.pay.minutes * 60 if study.pay else None,
        no_code=tuple(name for name, code in codes.items() if code is None and name not in needless),
    )


def required_material(study: Study) -> StudyMaterial[Any]:
    """Return the material of a study that was looked up among those that there are."""
    material = material_of(study)
    assert material is not None  # benchmarks that hold no studies have none
    return material


def desk_of(study: Study, log: LogWriter, reader: LogReader) -> StudyDesk:
    """Return the desk of a study."""
    material = required_material(study)
    return StudyDesk(log, reader, study, material.cells, seats=material.seating)


def standings(log: LogWriter, reader: LogReader) -> tuple[StudyStanding, ...]:
    """Return how every study that there is stands, but for those that cannot be read here."""
    known = opened(reader)

    def stand(study: Study) -> StudyStanding:
        return study_standing(desk_of(study, log, reader), opened=study.id in known)

    there = (attempt(f"study {study.id}", partial(stand, study)) for study in studies_of(reader).values())
    return tuple(each for each in there if each is not None)


def study_standing(desk: StudyDesk, *, opened: bool) -> StudyStanding:
    """Return how a study stands; `opened`: at some time on its log."""
    return StudyStanding(desk.study, desk.admitting.state if opened else "ready", desk.progress())


def admit_as(desk: StudyDesk, state: AdmissionState) -> bool:
    """Open, pause or close a study, from outside an event loop; False if it was so already.

    Raises:
        InputError: if the study was changed after it was opened.
    """
    return asyncio.run(desk.admit_as(state))


def close(desk: StudyDesk, reader: LogReader) -> tuple[bool, tuple[Erasure, ...]]:
    """Close a study, and erase now who has withdrawn; who is under way may finish.

    Returns:
        False if it was closed already, and whoever was erased.

    Raises:
        InputError: if the study was changed after it was opened.
    """
    changed = admit_as(desk, "closed")
    return changed, erase_due(reader.path, run_id=desk.study.run_id)


MANIFEST: Final = "manifest.json"


def write_snapshot(reader: LogReader, study: Study, folder: Path) -> dict[str, object]:
    """Write a snapshot of a study into a folder, and return its manifest.

    Returns:
        What ``manifest.json`` says: ``study`` and ``study_hash``, ``askback`` and ``python`` by version,
        ``written_at``, ``episodes`` by how they ended, ``prompts`` by whether their text is there
        (``kept``) or has changed since (``changed``), and ``files`` by their SHA-256.

    Raises:
        NotInLog: if the study was never opened on this log.
        LogError: if the folder cannot be written.
    """
    run = reader.run(study.run_id)
    begun = {run.id for run in reader.runs()}
    runs = [id for id in study.runs if id in begun]
    written = {file.name for file in export_log(reader, folder, format="log", runs=runs)}
    texts = {"study.json": json.dumps(run.config["study"], ensure_ascii=False, indent=2) + "\n"}
    asked = {call.prompt_version for call in reader.model_calls(run_id=run.id)} - {""}
    prompts = sources_of(run.benchmark, asked)
    texts |= {f"prompts/{name}": text for name, text in prompts.items()}
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    states = Counter(reader.statuses(run.id).values())
    kept = {version for version in asked if sources_of(run.benchmark, {version})}
    manifest: dict[str, object] = {
        "study": study.id,
        "study_hash": run.config["study_hash"],
        "askback": version("askback"),
        "python": platform.python_version(),
        "written_at": now(),
        "episodes": dict(sorted(states.items())),
        "prompts": {"kept": sorted(kept), "changed": sorted(asked - kept)},
        "files": {
            name: sha256((folder / name).read_bytes()).hexdigest() for name in sorted(written | texts.keys())
        },
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return manifest
