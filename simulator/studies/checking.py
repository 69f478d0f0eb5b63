"""What `askback check` says of study files, and of the servers' models that sit opposite people in them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from simulator.benchmark import Checker
from simulator.errors import AskbackError, InputError
from simulator.models import ModelOptions, Needs, run_preflight
from simulator.models.budget import Budget
from simulator.models.load import PROVIDERS
from simulator.models.preflight import REMOTE
from simulator.runner.build import Models
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
        study, file_faults = scan_study(file)
        faults += file_faults
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
        if unknown := [seat for seat in study.people if seat not in room.seats]:
            return f"seat: {study.benchmark} has no seat {unknown[0]!r}; there are: {', '.join(room.seats)}"
        if study.conditions:
            quota_of(study)
        if (material := material_of(study)) is not None:
            material.check()
    except InputError as error:
        return str(error)
    return ""


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


def missing_models(needs: Mapping[str, Needs], options: ModelOptions) -> Mapping[str, AskbackError]:
    """Ask each model for one answer; return those that give none, with the reason."""
    return asyncio.run(_missing(needs, replace(options, cache_path=None)))


def joined(several: Iterable[Mapping[str, Needs]]) -> Mapping[str, Needs]:
    """Return what all of them need together."""
    needs_by_model: dict[str, Needs] = {}
    for needs in several:
        for name, need in needs.items():
            needs_by_model[name] = needs_by_model.get(name, Needs()) | need
    return needs_by_model


async def _missing(needs: Mapping[str, Needs], options: ModelOptions) -> Mapping[str, AskbackError]:
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
