"""What `askback check` says of study files, and of the servers' models that sit opposite people in them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from simulator.benchmark import Checker
from simulator.errors import AskbackError, InputError
from simulator.fields import field_faults
from simulator.models import ModelOptions, Needs, run_preflight
from simulator.models.budget import Budget
from simulator.models.load import PROVIDERS, bare_name
from simulator.models.preflight import REMOTE
from simulator.runner.build import Models, load_machine
from simulator.studies.files import STUDY, Study, find_studies, lines_of, scan_study
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
