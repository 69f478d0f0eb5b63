"""A run from Python, without a command line: names or live objects in the seats, nothing printed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console

from logs import LogReader
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.errors import InputError
from simulator.fields import read_fields
from simulator.runner.command import RunRequest, RunSettings, play
from simulator.runner.finding import machine_of
from simulator.runner.logged import ENDED, endings_of_runs
from simulator.runner.options import HERE, ModelFlags
from simulator.sampling import stratified
from simulator.seats import Seat

_log = logging.getLogger(__name__)


def play_run(
    benchmark: str | Benchmark[Any, Any],
    *,
    seats: Mapping[str, str | Seat],
    items: Sequence[Any] | None,
    data: str,
    limit: int | None,
    repeat: int,
    seed: int,
    name: str | None,
    log: Path,
    concurrency: int,
    rules: Mapping[str, Any] | None,
    base_url: str | Sequence[str] | None,
    budget: float | None,
) -> str:
    """Play a run, or go on with it, and return its name; see `askback.run`.

    Raises:
        InputError: if a name, rule or seat is wrong, or the log holds another run of that name.
        ModelError: if a model cannot be reached.
        LogError: if the log cannot be written.
    """
    if not isinstance(benchmark, str):
        # Seats find it by name; a cell of a notebook that is run again replaces it.
        catalog.register(benchmark)
    declared = catalog.find(benchmark if isinstance(benchmark, str) else benchmark.name)
    request = RunRequest(
        machine=machine_of(declared),
        seats=_seats(declared, seats),
        items=_items(declared, items, data, limit, seed),
        settings=RunSettings(
            log=log,
            models=ModelFlags(base_url=_as_list(base_url), budget=budget).options(log),
            seed=seed,
            repeats=repeat,
            name=name,
            concurrency=concurrency,
            engine=HERE,
        ),
        options=_options(declared, rules or {}),
        config={"data": data if items is None else "given"},
    )
    # A notebook has an event loop of its own in this thread, and only one can run there.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        run = play(request, Console(quiet=True))
    else:
        with ThreadPoolExecutor(1) as thread:
            run = thread.submit(play, request, Console(quiet=True)).result()
    _warn_of_failure(log, run)
    return run


def _warn_of_failure(path: Path, run: str) -> None:
    """Say on stderr if no episode of a run has come to its end: a name alone would not tell."""
    with LogReader(path) as reader:
        endings = endings_of_runs(reader, [run])
    reasons = {**endings.failures, **endings.aborted}
    if reasons and not any(endings.statuses.get(status) for status in ENDED):
        _log.warning("askback: no episode of %s came to its end: %s", run, next(iter(reasons)))


def _as_list(base_url: str | Sequence[str] | None) -> list[str] | None:
    return [base_url] if isinstance(base_url, str) else list(base_url or ()) or None


def _seats(benchmark: Benchmark[Any, Any], seats: Mapping[str, str | Seat]) -> dict[str, str | Seat]:
    known = machine_of(benchmark).seats
    if unknown := [seat for seat in seats if seat not in known]:
        raise InputError(f"{benchmark.name} has no seat {unknown[0]}; there are: {', '.join(known)}.")
    return {seat.name: seat.usual for seat in benchmark.seats} | dict(seats)


def _items(
    benchmark: Benchmark[Any, Any], items: Sequence[Any] | None, data: str, limit: int | None, seed: int
) -> tuple[Any, ...]:
    if items is None:
        if benchmark.load is None:
            raise InputError(
                f"{benchmark.name} has several kinds of items: give those to be played (items=…)."
            )
        items = benchmark.load(data)
    elif benchmark.item is not None:
        for item in items:
            if not isinstance(item, benchmark.item):
                kind = benchmark.item.__name__
                raise InputError(
                    f"items: {item!r} is no {kind}; give objects, as {benchmark.name} loads them."
                )
    return tuple(items) if limit is None else stratified(items, limit, lambda item: (), seed)


def _options(benchmark: Benchmark[Any, Any], rules: Mapping[str, Any]) -> dict[str, Any]:
    model = benchmark.rules or (benchmark.runs().rules if benchmark.runs else None)
    if model is not None and (unknown := [rule for rule in rules if rule not in model.model_fields]):
        known = ", ".join(model.model_fields)
        raise InputError(f"{benchmark.name} has no rule {unknown[0]}; there are: {known}.")
    if benchmark.rules is None:
        return dict(rules)
    options: dict[str, Any] = read_fields(benchmark.rules, rules).model_dump(mode="json")
    return options
