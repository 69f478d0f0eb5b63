"""All known studies: those built into benchmarks, added as files, or opened on a log.

An added study is a file in the Askback folder, named after its id. Any server running there can preview it
immediately; people are admitted once it is opened, which writes it to the log. `askback check` reports faults
of study files, and models in them that do not answer.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pydantic import ValidationError

from logs import LogReader, NotInLog
from logs.paths import default_path, home
from simulator import catalog
from simulator.benchmark import Checker
from simulator.catalog import attempt, warn_once
from simulator.errors import AskbackError, InputError
from simulator.fields import field_faults
from simulator.models import ModelOptions, Needs, run_preflight
from simulator.models.budget import Budget
from simulator.models.load import PROVIDERS, bare_name
from simulator.models.preflight import REMOTE
from simulator.runner.build import Models, load_machine
from simulator.studies.files import STUDY, Study, find_studies, lines_of, read_study, run_id, scan_study
from simulator.studies.material import material_of, material_type
from simulator.studies.people import PREVIEW, preview_of
from simulator.studies.quota import quota_of
from trees.faults import Fault

MOST_BYTES: Final = 200_000
"""The maximum size of an added study file; the largest built-in one has 4,000 bytes."""
_FOLDER: Final = "studies"
_READS_CODE: Final = ("python:", "script:")


def study_benchmarks() -> tuple[str, ...]:
    """Return the benchmarks that support studies."""
    return tuple(each.name for each in catalog.installed() if material_type(each) is not None)


def all_builtin() -> dict[str, Study]:
    """Return the built-in studies of all benchmarks, by id."""
    return {study.id: study for name in study_benchmarks() for study in builtin_studies(name)}


def builtin_studies(benchmark: str) -> tuple[Study, ...]:
    """Return the built-in studies of a benchmark, except those with faulty files.

    A study whose id an earlier benchmark uses is left out, since links could not tell the two apart.
    """
    own = _studies_of(benchmark)
    if catalog.is_ours(benchmark):
        return own
    taken = dict[str, str]()
    for name in takewhile(lambda name: name != benchmark, (each.name for each in catalog.installed())):
        taken |= {study.id: name for study in _studies_of(name)}
    for study in own:
        if study.id in taken:
            warn_once(
                f"a study of {benchmark} is left out: {taken[study.id]} also has a study {study.id!r}; "
                "give it another id"
            )
    return tuple(study for study in own if study.id not in taken)


def _studies_of(benchmark: str) -> tuple[Study, ...]:
    folder = catalog.find(benchmark).folder
    return () if folder is None else _studies_in(benchmark, folder / "studies")


@cache
def _studies_in(benchmark: str, folder: Path) -> tuple[Study, ...]:
    read = (attempt(f"a study of {benchmark}", partial(read_study, file)) for file in find_studies(folder))
    return tuple(study for study in read if study is not None)


def added_studies() -> dict[str, Study]:
    """Return the studies that were added as files, by id."""
    studies = (_read(file, file.stat().st_mtime_ns) for file in find_studies(home() / _FOLDER))
    return {study.id: study for study in studies}


@cache
def _read(file: Path, changed: int) -> Study:
    return read_study(file)


def opened_studies(reader: LogReader) -> dict[str, Study]:
    """Return the studies that have been opened on a log, by id, without previews."""
    files = [run.config["study"] for run in reader.runs() if "study_hash" in run.config]
    return {file["id"]: Study.model_validate(file) for file in files if PREVIEW not in file["id"]}


def find_enterable(reader: LogReader, benchmark: str, study_id: str) -> Study | None:
    """Return a study of a benchmark that no server was started with but that people may enter.

    That is a study opened on the log, or the preview of a study that was opened or added.
    """
    study = find_opened(reader, study_id)
    name, dot, _ = study_id.partition(PREVIEW)
    if study is None and dot:
        sources = (find_opened(reader, name), added_studies().get(name))
        previews = (preview_of(source) for source in sources if source is not None)
        study = next((preview for preview in previews if preview.id == study_id), None)
    return study if study is not None and study.benchmark == benchmark else None


def find_opened(reader: LogReader, study_id: str) -> Study | None:
    """Return the study of that id as it was opened on a log; None if it was not."""
    try:
        config = reader.run(run_id(study_id)).config
    except NotInLog:
        return None
    return Study.model_validate(config["study"]) if "study_hash" in config else None


def require_unchanged(study: Study, reader: LogReader) -> None:
    """Refuse a study of one's own that was opened on a log with different content.

    Raises:
        InputError: names the ways out.
    """
    if study.id not in all_builtin() and find_opened(reader, study.id) not in (None, study):
        raise InputError(
            f"study {study.id!r} has been opened with different content, and an open study cannot be "
            "changed. Undo the change, give the changed study a new id, or name the open one by its id."
        )


def find_study(name: str, log: Path | None = None) -> Study:
    """Return the study with an id, or in a study file.

    Raises:
        InputError: if there is neither, or the file is faulty.
    """
    known = all_builtin()
    if name in known:
        return known[name]
    if not Path(name).is_file():
        known |= added_studies()
        if (path := log or default_path()).is_file():
            with LogReader(path) as reader:
                known |= opened_studies(reader)
        if name not in known:
            raise InputError(f"{name}: neither a file nor a known study; known are {', '.join(known)}.")
        study = known[name]
    else:
        study = read_study(name)
    if study.benchmark not in study_benchmarks():
        raise InputError(f"{name}: {study.benchmark} has no studies; {', '.join(study_benchmarks())} do.")
    return study


def study_file(name: str) -> Path:
    """Return the file of a built-in study, or the named file itself.

    Raises:
        InputError: if there is neither, or the file is faulty.
    """
    study = find_study(name)
    folder = catalog.find(study.benchmark).folder
    if Path(name).is_file() or folder is None:
        return Path(name)
    return next(file for file in find_studies(folder / "studies") if read_study(file).id == name)


def add_study(content: bytes, reader: LogReader, *, keep: bool = True) -> Study | tuple[Fault, ...]:
    """Add an uploaded study file if it has no faults; it replaces an earlier version that is not open yet.

    `keep`: False to check the file only.

    Returns:
        The study, or all faults of the file.

    Raises:
        InputError: if the file is too large, or another study has its id.
    """
    if len(content) > MOST_BYTES:
        message = f"a study file may have at most {MOST_BYTES:,} bytes; this one has {len(content):,}."
        raise InputError(message, code="study_too_large", most=f"{MOST_BYTES:,}", size=f"{len(content):,}")
    folder = home() / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=home()) as draft:
        file = Path(draft) / "study.yaml"
        file.write_bytes(content)
        study, faults = scan_study(file)
        # References are checked before anything that the file refers to is read.
        problems = () if study is None else _references_outside(study)
        faults += tuple(Fault(str(file), "", 0, "study", problem, kind=STUDY) for problem in problems)
        faults = faults or check_studies([file])
        if study is None or faults:
            return faults
        on_log = find_opened(reader, study.id)
        if PREVIEW in study.id or study.id in all_builtin() or (on_log is not None and on_log != study):
            message = f"{study.id}: another study has this id; give the file a new id."
            raise InputError(message, code="study_known", study=study.id)
        if keep:
            # Named by the id: the uploaded file's name must not become a path here.
            os.replace(file, folder / f"{study.id}.yaml")
    return study


def _references_outside(study: Study) -> Iterator[str]:
    """Yield faults of an uploaded study that refers to files, programs or servers."""
    values: dict[str, Any] = {**study.settings, **study.pairing.partner}
    for name, value in values.items():
        texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
        if any(text.startswith(_READS_CODE) or "@http" in text or _is_path(text) for text in texts):
            yield (
                f"settings: {name}: names a file, a program or a server, which is only allowed in studies "
                "opened on the command line; data can be registered with `askback data add`"
            )


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", ".", "\\")) or ("/" in text and os.path.exists(text))


def all_studies(reader: LogReader) -> Mapping[str, Study]:
    """Return all known studies by id, in the opened version if there is one."""
    return {**all_builtin(), **added_studies(), **opened_studies(reader)}


KIND: Final = "study files (.yaml or .yml with the key benchmark)"


def checker() -> Checker:
    """Return the checker of study files for `askback check`."""
    return Checker(KIND, find_studies, check_studies)


def check_studies(files: Sequence[Path]) -> tuple[Fault, ...]:
    """Return all faults of study files, including duplicate ids."""
    faults: list[Fault] = []
    first: dict[str, Path] = {}
    for file in files:
        study, file_faults = scan_study(file)
        faults += file_faults
        if study is None:
            continue
        lines = lines_of(file)
        if (other := first.setdefault(study.id, file)) != file:
            line = lines.get("id", 0)
            faults.append(Fault(str(file), study.id, line, "id", f"{other} has the same id", kind=STUDY))
        for problem in dict.fromkeys(_study_problems(study)):
            message = problem.removeprefix(f"study {study.id!r}").lstrip(",: ")
            faults.append(Fault(str(file), study.id, _line(message, lines), "study", message, kind=STUDY))
    return tuple(sorted(faults))


def _study_problems(study: Study) -> Iterator[str]:
    """Yield the problems that the design and the benchmark find in a study."""
    try:
        load_machine(study.benchmark)
    except InputError as error:
        reason = str(error)
        yield f"benchmark: {reason[:1].lower()}{reason[1:]}"
        return
    if study.conditions:
        yield from _problems_of(partial(quota_of, study))
    yield from _problems_of(partial(_check_material, study))


def _check_material(study: Study) -> None:
    if (material := material_of(study)) is not None:
        material.check()


def _problems_of(check: Callable[[], object]) -> Iterator[str]:
    """Yield all problems found by a check: one per field of the settings."""
    try:
        check()
    except InputError as error:
        yield str(error)
        if isinstance(error.__cause__, ValidationError):
            more = list(field_faults(error.__cause__))[1:]
            yield from (f"settings: {fault}" for fault in more)


def _line(message: str, lines: Mapping[str, int]) -> int:
    """Return the line of the field that a message is about; the first line if it names no field."""
    words = re.findall(r"[\w-]+", message)
    first = "seats" if words[0] == "seat" and "seat" not in lines else words[0]
    places = ["conditions"] if "no condition" in message or "of the conditions" in message else [first]
    if first in ("settings", "opposite") or first not in lines:
        # A setting, known to the benchmark or not.
        places = [*(f"settings.{word}" for word in words), *places]
    return next((lines[place] for place in places if place in lines), lines[""])


def needs_opposite(study: Study) -> Mapping[str, Needs]:
    """Return the remote models that play with a study's participants, with the abilities they need."""
    material = material_of(study)
    return {} if material is None else material.needs


def absent_opposite(study: Study, options: ModelOptions) -> Mapping[str, AskbackError]:
    """Return the models that cannot play with a study's participants, with the reason.

    If the study has a budget, a model without a known price is refused, as its cost would count as zero.
    """
    if study.model_budget is not None:
        options = replace(options, budget=Budget(study.model_budget))
    return missing_models(needs_opposite(study), options)


def why_absent(name: str, error: AskbackError) -> str:
    """Return the reason why a model cannot play, for a sentence that has already named the model."""
    message, named = str(error), bare_name(name)
    if message.startswith(f"{named} "):
        return f"it{message.removeprefix(named)}"
    return message.removeprefix(f"{named}: ")


def missing_models(needs: Mapping[str, Needs], options: ModelOptions) -> Mapping[str, AskbackError]:
    """Ask each model for one answer; return the models that do not answer, with the reason."""
    return asyncio.run(_missing_models(needs, replace(options, cache_path=None)))


def merge_needs(several: Iterable[Mapping[str, Needs]]) -> Mapping[str, Needs]:
    """Return the combined needs per model."""
    needs_by_model: dict[str, Needs] = {}
    for needs in several:
        for name, need in needs.items():
            needs_by_model[name] = needs_by_model.get(name, Needs()) | need
    return needs_by_model


async def _missing_models(needs: Mapping[str, Needs], options: ModelOptions) -> Mapping[str, AskbackError]:
    models = Models(options=options)
    missing: dict[str, AskbackError] = {}
    try:
        for name, need in needs.items():
            try:
                if name.startswith(REMOTE):
                    await run_preflight(models(name), need, fresh=True)
                elif name.partition("/")[0] not in PROVIDERS:
                    # Models in this process have neither key nor server, and are loaded on first use.
                    raise InputError(f"not a model; models are named {'/…, '.join(PROVIDERS)}/…")
            except AskbackError as error:
                missing[name] = error
    finally:
        await models.close()
    return missing
