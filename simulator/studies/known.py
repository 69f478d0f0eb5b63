"""The studies that there are: those that come with benchmarks, were added as files, or were opened on a log.

An added study is a file in the Askback folder, named after its id. It can be tried out at once, by whichever
server runs there; people come in when it is opened, which writes it into the log. `askback check` says what
is wrong with study files, and with the servers' models that sit opposite people in them.
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
"""The size of a study file that is added; the longest that comes with Askback has 4,000."""
_FOLDER: Final = "studies"
_READS_CODE: Final = ("python:", "script:")


def holding() -> tuple[str, ...]:
    """Return the benchmarks that hold studies."""
    return tuple(each.name for each in catalog.installed() if material_type(each) is not None)


def all_builtin() -> dict[str, Study]:
    """Return the studies that come with benchmarks, by id."""
    return {study.id: study for name in holding() for study in builtin_studies(name)}


def builtin_studies(benchmark: str) -> tuple[Study, ...]:
    """Return the studies that come with a benchmark, but for those whose files are faulty.

    An id that a benchmark before it has is that one's: a link could not tell the two apart.
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
                f"a study of {benchmark} is left out: {taken[study.id]} has one called {study.id!r}, too; "
                "give it an id of its own"
            )
    return tuple(study for study in own if study.id not in taken)


def _studies_of(benchmark: str) -> tuple[Study, ...]:
    folder = catalog.find(benchmark).folder
    return () if folder is None else _studies_in(benchmark, folder / "studies")


@cache
def _studies_in(benchmark: str, folder: Path) -> tuple[Study, ...]:
    read = (attempt(f"a study of {benchmark}", partial(read_study, file)) for file in find_studies(folder))
    return tuple(study for study in read if study is not None)


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


KIND: Final = "study files (.yaml or .yml with the key benchmark)"


def checker() -> Checker:
    """Return what `askback check` does with study files."""
    return Checker(KIND, find_studies, check_studies)


def check_studies(files: Sequence[Path]) -> tuple[Fault, ...]:
    """Return all faults of study files, and ids that stand in two of them."""
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
        for problem in dict.fromkeys(_refusals(study)):
            message = problem.removeprefix(f"study {study.id!r}").lstrip(",: ")
            faults.append(Fault(str(file), study.id, _line(message, lines), "study", message, kind=STUDY))
    return tuple(sorted(faults))


def _refusals(study: Study) -> Iterator[str]:
    """Yield what the design and the benchmark have against a study."""
    try:
        machine = load_machine(study.benchmark)
    except InputError as error:
        reason = str(error)
        yield f"benchmark: {reason[:1].lower()}{reason[1:]}"
        return
    unknown = [seat for seat in study.people if seat not in machine.seats]
    for seat in unknown:
        yield f"seat: {study.benchmark} has no seat {seat!r}; there are: {', '.join(machine.seats)}"
    if study.conditions:
        yield from _refusals_of(partial(quota_of, study))
    # The benchmark reads a study of its own seats alone.
    if not unknown:
        yield from _refusals_of(partial(_check_material, study))


def _check_material(study: Study) -> None:
    if (material := material_of(study)) is not None:
        material.check()


def _refusals_of(check: Callable[[], object]) -> Iterator[str]:
    """Yield all that a check finds wrong: of settings each field."""
    try:
        check()
    except InputError as error:
        yield str(error)
        if isinstance(error.__cause__, ValidationError):
            more = list(field_faults(error.__cause__))[1:]
            yield from (f"settings: {fault}" for fault in more)


def _line(message: str, lines: Mapping[str, int]) -> int:
    """Return the line of the field that a message is about; of the first one if it names none."""
    words = re.findall(r"[\w-]+", message)
    first = "seats" if words[0] == "seat" and "seat" not in lines else words[0]
    places = ["conditions"] if "no condition" in message or "of the conditions" in message else [first]
    if first in ("settings", "opposite") or first not in lines:
        # A setting that is named, or that the benchmark does not know.
        places = [*(f"settings.{word}" for word in words), *places]
    return next((lines[place] for place in places if place in lines), lines[""])


def needs_opposite(study: Study) -> Mapping[str, Needs]:
    """Return the servers' models that sit opposite a study's participants, with what is asked of them."""
    material = material_of(study)
    return {} if material is None else material.needs


def absent_opposite(study: Study, options: ModelOptions) -> Mapping[str, AskbackError]:
    """Return the models that cannot sit opposite a study's participants, with the reason.

    Where a study says what they may cost, a model without a known price is none of them: its cost would be
    counted as nothing.
    """
    if study.model_budget is not None:
        options = replace(options, budget=Budget(study.model_budget))
    return missing_models(needs_opposite(study), options)


def why_absent(name: str, error: AskbackError) -> str:
    """Return why a model cannot sit opposite, for a sentence that has named it."""
    message, named = str(error), bare_name(name)
    if message.startswith(f"{named} "):
        return f"it{message.removeprefix(named)}"
    return message.removeprefix(f"{named}: ")


def missing_models(needs: Mapping[str, Needs], options: ModelOptions) -> Mapping[str, AskbackError]:
    """Ask each model for one answer; return those that give none, with the reason."""
    return asyncio.run(_missing_models(needs, replace(options, cache_path=None)))


def joined(several: Iterable[Mapping[str, Needs]]) -> Mapping[str, Needs]:
    """Return what all of them need together."""
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
                    # What runs in this process is loaded when it is needed: it has neither key nor server.
                    raise InputError(f"no model is called so; known are {', '.join(PROVIDERS)}, each with /…")
            except AskbackError as error:
                missing[name] = error
    finally:
        await models.close()
    return missing
