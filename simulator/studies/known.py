"""The studies that there are: those that come with benchmarks, were added as files, or were opened on a log.

An added study is a file in the Askback folder, named after its id. It can be tried out at once, by whichever
server runs there; people come in when it is opened, which writes it into the log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from logs import LogReader, NotInLog
from logs.paths import default_path, home
from simulator import catalog
from simulator.errors import InputError
from simulator.studies.checking import check_studies
from simulator.studies.files import STUDY, Study, find_studies, read_study, run_id, scan_study
from simulator.studies.material import builtin_studies, material_type
from simulator.studies.people import PREVIEW, preview_of
from trees.faults import Fault

MOST_BYTES: Final = 200_000
"""The size of a study file that is added; the longest that comes with Askback has 4,000."""
_FOLDER: Final = "studies"
_READS_CODE: Final = ("python:", "script:")


def holding() -> tuple[str, ...]:
    """Return the benchmarks that hold studies."""
    return tuple(each.name for each in catalog.installed() if material_type(each) is not None)


def all_builtin() -> dict[str, Study]:
    """Return the studies that come with benchmarks, by id."""
    return {study.id: study for name in holding() for study in builtin_studies(name)}


def added() -> dict[str, Study]:
    """Return the studies that were added, by id."""
    studies = (_read(file, file.stat().st_mtime_ns) for file in find_studies(home() / _FOLDER))
    return {study.id: study for study in studies}


@cache
def _read(file: Path, changed: int) -> Study:
    return read_study(file)


def opened(reader: LogReader) -> dict[str, Study]:
    """Return the studies that have been opened on a log, by id, without previews."""
    files = [run.config["study"] for run in reader.runs() if "study_hash" in run.config]
    return {file["id"]: Study.model_validate(file) for file in files if PREVIEW not in file["id"]}


def enterable(reader: LogReader, benchmark: str, study_id: str) -> Study | None:
    """Return a study of a benchmark that people may enter though no server was started with it.

    That is one that was opened on the log, and the preview of one that was opened or added.
    """
    study = _find_opened(reader, study_id)
    name, dot, _ = study_id.partition(PREVIEW)
    if study is None and dot:
        sources = (_find_opened(reader, name), added().get(name))
        previews = (preview_of(source) for source in sources if source is not None)
        study = next((preview for preview in previews if preview.id == study_id), None)
    return study if study is not None and study.benchmark == benchmark else None


def _find_opened(reader: LogReader, study_id: str) -> Study | None:
    try:
        config = reader.run(run_id(study_id)).config
    except NotInLog:
        return None
    return Study.model_validate(config["study"]) if "study_hash" in config else None


def find_study(name: str, log: Path | None = None) -> Study:
    """Return a study by its id, if it is one of those that there are, or a study file.

    Raises:
        InputError: if there is neither, or the file is wrong.
    """
    known = all_builtin()
    if name in known:
        return known[name]
    if not Path(name).is_file():
        known |= added()
        if (path := log or default_path()).is_file():
            with LogReader(path) as reader:
                known |= opened(reader)
        if name in known:
            return known[name]
        raise InputError(f"{name}: no file, and no study that is known; those are {', '.join(known)}.")
    study = read_study(name)
    if study.benchmark not in holding():
        raise InputError(f"{name}: {study.benchmark} holds no studies; {', '.join(holding())} do.")
    return study


def study_file(name: str) -> Path:
    """Return the file of a built-in study, or the file itself.

    Raises:
        InputError: if there is neither, or the file is wrong.
    """
    study = find_study(name)
    folder = catalog.find(study.benchmark).folder
    if Path(name).is_file() or folder is None:
        return Path(name)
    return next(file for file in find_studies(folder / "studies") if read_study(file).id == name)


def add_study(content: bytes, reader: LogReader, *, keep: bool = True) -> Study | tuple[Fault, ...]:
    """Keep a study file that somebody sends, if it is right; one that is kept and not open yet is replaced.

    `keep`: False to say only what is wrong with it.

    Returns:
        The study, or everything that is wrong with the file.

    Raises:
        InputError: if the file is too large, or its id is another study's.
    """
    if len(content) > MOST_BYTES:
        message = f"a study file has at most {MOST_BYTES:,} bytes, and this one has {len(content):,}."
        raise InputError(message, code="study_too_large", most=f"{MOST_BYTES:,}", size=f"{len(content):,}")
    folder = home() / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=home()) as draft:
        file = Path(draft) / "study.yaml"
        file.write_bytes(content)
        study, faults = scan_study(file)
        # What it names is looked at before anything that it names is read.
        problems = () if study is None else _reaching_out(study)
        faults += tuple(Fault(str(file), "", 0, "study", problem, kind=STUDY) for problem in problems)
        faults = faults or check_studies([file])
        if study is None or faults:
            return faults
        on_log = _find_opened(reader, study.id)
        if PREVIEW in study.id or study.id in all_builtin() or (on_log is not None and on_log != study):
            message = f"{study.id}: there is another study of this id; give the file an id of its own."
            raise InputError(message, code="study_known", study=study.id)
        if keep:
            # The id is a plain name: what the file was called on another machine is nobody's path here.
            os.replace(file, folder / f"{study.id}.yaml")
    return study


def _reaching_out(study: Study) -> Iterator[str]:
    """Yield what is wrong with a file from elsewhere that names files, programs or servers."""
    values: dict[str, Any] = {**study.settings, **study.pairing.partner}
    for name, value in values.items():
        texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
        if any(text.startswith(_READS_CODE) or "@http" in text or _is_path(text) for text in texts):
            yield (
                f"settings: {name}: names a file, a program or a server, which only a study that is opened "
                "by command may; data can be registered with `askback data add`"
            )


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", ".", "\\")) or ("/" in text and os.path.exists(text))


def studies_of(reader: LogReader) -> Mapping[str, Study]:
    """Return all studies that there are, by id: as they were opened, if they were."""
    return {**all_builtin(), **added(), **opened(reader)}
