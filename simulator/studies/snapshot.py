"""A study as it is cited and kept: its file, its log, its prompts, and what all of them were made with.

The log in a snapshot holds the study's runs alone, without outside identities and without whoever has
withdrawn. Every Askback reads it (``--log FOLDER/log.sqlite``) and scores it again, to the same numbers.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

from logs import LogReader
from logs.export import export_log
from logs.rows import now
from personas.templates import sources_of
from simulator.studies.files import Study

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
