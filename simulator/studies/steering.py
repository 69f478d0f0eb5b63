"""Operations of a researcher on a study: plan, status, open, pause, close, and snapshots for citation.

The log in a snapshot contains only the study's runs, without platform ids and without people who have
withdrawn. Any Askback installation reads it (``--log FOLDER/log.sqlite``) and reproduces its scores.
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
from simulator.output_files import write_atomically
from simulator.studies.admission import AdmissionState, erase_due
from simulator.studies.desk import StudyDesk
from simulator.studies.files import Study
from simulator.studies.known import all_studies, opened_studies
from simulator.studies.material import StudyMaterial, material_of
from simulator.studies.progress import StudyProgress
from simulator.studies.quota import quota_of

StudyState = Literal["ready", "open", "paused", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The size, seats and cost of a study.

    Attributes:
        seating: seat -> player.
        total: pay of all sets; None for no pay.
        hourly: pay per hour, if a set takes as long as announced.
        no_code: outcomes without a completion code.
    """

    sets: int
    conditions: int
    people: int
    seating: Mapping[str, str]
    total: float | None
    hourly: float | None
    no_code: tuple[str, ...]


class StudyStatus(NamedTuple):
    """A study on a log.

    Attributes:
        state: ``ready`` if it was never opened there.
    """

    study: Study
    state: StudyState
    progress: StudyProgress


def plan_of(study: Study) -> Plan:
    """Return a study's number of places, conditions and people, and its pay.

    Raises:
        InputError: if its benchmark cannot run it.
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
    """Return the material of a known study."""
    material = material_of(study)
    assert material is not None  # known studies belong to benchmarks that support studies
    return material


def desk_of(study: Study, log: LogWriter, reader: LogReader) -> StudyDesk:
    """Return the desk of a study."""
    material = required_material(study)
    return StudyDesk(log, reader, study, material.cells, seats=material.seating)


def study_statuses(log: LogWriter, reader: LogReader) -> tuple[StudyStatus, ...]:
    """Return the status of all known studies, except those that cannot be read here."""
    known = opened_studies(reader)

    def stand(study: Study) -> StudyStatus:
        return study_status(desk_of(study, log, reader), opened=study.id in known)

    there = (attempt(f"study {study.id}", partial(stand, study)) for study in all_studies(reader).values())
    return tuple(each for each in there if each is not None)


def study_status(desk: StudyDesk, *, opened: bool) -> StudyStatus:
    """Return the status of a study; `opened`: True if it was ever opened on its log."""
    return StudyStatus(desk.study, desk.admitting.state if opened else "ready", desk.progress())


def admit_as(desk: StudyDesk, state: AdmissionState) -> bool:
    """Open, pause or close a study, from outside an event loop; return False if its state did not change.

    Raises:
        InputError: if the study was changed after it was opened.
    """
    return asyncio.run(desk.admit_as(state))


def close(desk: StudyDesk, reader: LogReader) -> tuple[bool, tuple[Erasure, ...]]:
    """Close a study, and erase everyone who has withdrawn; people under way may finish.

    Returns:
        False if it was already closed, and the erasures.

    Raises:
        InputError: if the study was changed after it was opened.
    """
    changed = admit_as(desk, "closed")
    return changed, erase_due(reader.path, run_id=desk.study.run_id)


MANIFEST: Final = "manifest.json"


def write_snapshot(reader: LogReader, study: Study, folder: Path) -> dict[str, object]:
    """Write a snapshot of a study into a folder, and return its manifest.

    Returns:
        The contents of ``manifest.json``: ``study`` and ``study_hash``, versions of ``askback`` and
        ``python``, ``written_at``, ``episodes`` by ending, ``prompts`` by whether their text is included
        (``kept``) or has changed since (``changed``), and ``files`` by SHA-256.

    Raises:
        NotInLog: if the study was never opened on this log.
        LogError, InputError: if the folder cannot be written.
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
        write_atomically(folder / name, text)
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
    write_atomically(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    return manifest
