"""A run of whatever benchmark, once what was asked for is read: play it, show how it goes, stop cleanly.

A `RunRequest` says which items are played by whom under which options; its `RunSettings`, which several runs
may share, how. `play_run` makes one from Python, without a command line.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.rows import Event
from personas.templates import versions_digest
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.errors import InputError
from simulator.fields import read_fields
from simulator.models import ModelOptions, Needs, ServerDown
from simulator.models.fleet import address_of
from simulator.models.load import addressed, bare_name
from simulator.runner.batch import SOFTWARE_VERSION, run_batch
from simulator.runner.build import NamedSeatFactory, Plan, build_plan, machine_of
from simulator.runner.executors import playing
from simulator.runner.logged import ENDED, endings_of_runs
from simulator.runner.machines import AnyMachine
from simulator.runner.options import HERE, Engine, ModelFlags
from simulator.runner.run_summary import progress_bar
from simulator.seats import Seat
from simulator.seeds import stratified

RUN_STARTED: Final = "run.started"
"""Kind of the event that a command begins a run, or goes on with it."""
Afterwards = Callable[[str], Awaitable[None]]
"""What is still to be done with a run, by its name, once it has been played (by a judge, say)."""


@asynccontextmanager
async def _do_nothing_afterwards(reader: LogReader, log: LogWriter) -> AsyncIterator[Afterwards]:
    async def rest(run_id: str) -> None:
        pass

    yield rest


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of one run or several, of whatever benchmark.

    Attributes:
        log: the log's file.
        models: how models are reached; see `ModelFlags`.
        name: of the run, or what the names of several begin with; None to name each after its configuration.
        concurrency: episodes at a time; on a cluster in each process.
        engine: who plays.
        typed: the options of the command that asked for it, for the log; None if no command did.
    """

    log: Path
    models: ModelOptions = field(default_factory=ModelOptions)
    seed: int = 0
    repeats: int = 1
    name: str | None = None
    concurrency: int = 8
    engine: Engine = field(default_factory=Engine)
    typed: Mapping[str, Any] | None = None

    @property
    def places(self) -> int:
        """Episodes at a time: a batch that fewer ask for would never be full."""
        return max(self.concurrency, self.models.together)


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One run of a command line, checked.

    Attributes:
        seats: seat -> the name of who sits there.
        items: the benchmark's own items, in the order in which they are played.
        config: what else tells this run from others (the data, the languages); the models' server, decoding
            options and the versions of the prompts and of Askback need not be named.
        needs: model -> what is asked of it beside text, which its server is asked for once before anything is
            played; models that are not named are asked for a text.
        label: stands in a name that is made, where one command plays several runs.
        shown: metric -> its short name in the progress display.
        afterwards: opened before anything is played, so that what it lacks is told first; what it yields is
            called when everything has been played.
    """

    machine: AnyMachine
    seats: Mapping[str, str | Seat]
    items: tuple[Any, ...]
    settings: RunSettings
    options: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, Needs] = field(default_factory=dict)
    label: str = ""
    title: str = "episodes"
    shown: Mapping[str, str] = field(default_factory=dict)
    afterwards: Callable[[LogReader, LogWriter], AbstractAsyncContextManager[Afterwards]] = (
        _do_nothing_afterwards
    )

    @property
    def factory(self) -> NamedSeatFactory:
        """Return who plays, by name."""
        return NamedSeatFactory(
            benchmark=self.machine.name, names=self.seats, options=self.options, models=self.settings.models
        )


def asked_how(options: ModelOptions) -> dict[str, Any]:
    """Return what was chosen of how models answer: empty if nothing was, so that older work goes on."""
    chosen = {
        "decoding": options.decoding.chosen,
        "server_options": dict(options.extra),
        "together": options.together if options.together > 1 else None,
    }
    return {name: value for name, value in chosen.items() if value}


def service_name(model: str, options: ModelOptions) -> str:
    """Return which model is asked, where and how: part of the key of each of its answers in a journal."""
    chosen = asked_how(options)
    how = [json.dumps(chosen, ensure_ascii=False, sort_keys=True)] if chosen else []
    return " ".join((addressed(model), address_of(options.base_url), *how))


def refuse_idle_options(options: ModelOptions, *, asked: bool) -> None:
    """Refuse decoding options that would be part of a name without changing anything.

    Raises:
        InputError: if no language model is `asked`.
    """
    if (options.decoding.chosen or options.extra) and not asked:
        chosen = ", ".join((*options.decoding.chosen, *options.extra))
        raise InputError(f"No language model plays, so nothing is decoded; leave out: {chosen}.")


def run_name(name: str | None, pair: tuple[str, str], pairs: Collection[tuple[str, str]]) -> str | None:
    """Return what one of several runs is called: the name given, with who and what added where these differ.

    Args:
        name: as given; None to name each run after its configuration.
        pair: who plays this run, and what.
        pairs: who plays what in all of them.
    """
    if name is None:
        return None
    who, what = pair
    player = who.rpartition("/")[2].replace(":", "-") if len({player for player, _ in pairs}) > 1 else ""
    part = what if len({part for _, part in pairs}) > 1 else ""
    return "-".join(filter(None, (name, player, part)))


def read_ranges(option: str, text: str, such_as: str) -> list[int]:
    """Return ``1-3,7`` as ``[1, 2, 3, 7]``.

    Raises:
        InputError: if it is not of that form.
    """
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(first) > int(last or first):
            raise InputError(f"{option} {text!r}: write numbers and ranges, such as {such_as}.")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def play(request: RunRequest, console: Console) -> str:
    """Play a run, or go on with it where the log says that it stopped; its name.

    Raises:
        InputError: if a name means nothing in its seat or names a person, if the log holds another run of
            that name, or if there is no such cluster.
        ModelError: if a model cannot be loaded, or its server does not answer any more.
        LogError: if the log cannot be written.
        typer.Exit: with status 130 after Ctrl-C; everything played so far is in the log.
    """
    if "person" in request.seats.values():
        raise InputError("People play in the browser: start the app with `askback app`.")
    engine = request.settings.engine
    # What is loaded by now outlives the run; the collector need not look through it again and again.
    gc.freeze()
    try:
        return asyncio.run(_play(request, engine, console))
    except ServerDown as error:
        raise ServerDown(
            f"{error}. Everything played so far is in the log; the same command continues."
        ) from error
    except KeyboardInterrupt:
        console.print("\nStopped; everything played so far is in the log. The same command continues.")
        raise typer.Exit(130) from None
    finally:
        gc.unfreeze()


async def _play(request: RunRequest, engine: Engine, console: Console) -> str:
    settings = request.settings
    episodes = len(request.items) * settings.repeats
    opening = playing(engine, request.factory, settings.log, episodes=episodes, places=settings.places)
    async with LogWriter(settings.log, durable=False) as log, opening as (factory, executor):
        with LogReader(settings.log) as reader:
            async with (
                factory.open(log, settings.places) as (seats, models),
                request.afterwards(reader, log) as rest,
            ):
                refuse_idle_options(settings.models, asked=bool(models.loaded))
                plan = _plan(request, seats)
                console.print(f"[dim]run[/dim] {plan.run.id} [dim]in[/dim] {settings.log}")
                with progress_bar(console, request.title, request.shown) as show:
                    await run_batch(
                        plan,
                        log,
                        reader,
                        concurrency=settings.places,
                        executor=executor,
                        on_progress=show,
                        preflight=lambda: models.preflight(request.needs),
                        begun=_begun(settings, plan.run.id),
                    )
                await rest(plan.run.id)
    return plan.run.id


def _begun(settings: RunSettings, run_id: str) -> Event | None:
    """Return the event by which the log knows the command that plays a run, and its process."""
    if settings.typed is None:
        return None
    details = {"options": dict(settings.typed), "process": os.getpid()}
    return Event(kind=RUN_STARTED, run_id=run_id, details=details)


def _plan(request: RunRequest, seats: Mapping[str, Seat]) -> Plan:
    settings = request.settings
    reached: dict[str, Any] = {
        "base_url": address_of(settings.models.base_url) or None,
        "prompts": versions_digest(request.machine.name),
        SOFTWARE_VERSION: version("askback"),
    }
    # Seats are named by their models alone; where a name has an address, the run says so.
    names = {seat: who for seat, who in request.seats.items() if isinstance(who, str)}
    if servers := {seat: name for seat, name in names.items() if bare_name(name) != name}:
        reached["servers"] = {seat: addressed(name) for seat, name in servers.items()}
    reached |= asked_how(settings.models)
    return build_plan(
        machine=request.machine,
        items=request.items,
        seats=seats,
        config={**request.config, **reached},
        seed=settings.seed,
        repeats=settings.repeats,
        options=request.options,
        name=settings.name,
        label=request.label,
    )


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
