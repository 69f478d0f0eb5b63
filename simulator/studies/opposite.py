"""Models of servers that sit opposite people: asked once before anybody meets them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace

from simulator.errors import AskbackError, InputError
from simulator.models import ModelOptions, Needs, run_preflight
from simulator.models.load import PROVIDERS
from simulator.models.preflight import REMOTE
from simulator.runner.build import Models
from simulator.studies.files import Study
from simulator.studies.material import material_of


def needs_opposite(study: Study) -> Mapping[str, Needs]:
    """Return the servers' models that sit opposite a study's participants, with what is asked of them."""
    material = material_of(study)
    return {} if material is None else material.needs


def missing_models(needs: Mapping[str, Needs], options: ModelOptions) -> Mapping[str, AskbackError]:
    """Ask each model for one answer; return those that give none, with the reason."""
    return asyncio.run(_missing(needs, replace(options, cache_path=None)))


def joined(several: Iterable[Mapping[str, Needs]]) -> Mapping[str, Needs]:
    """Return what all of them need together."""
    found: dict[str, Needs] = {}
    for needs in several:
        for name, need in needs.items():
            found[name] = found.get(name, Needs()) | need
    return found


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
