"""Playing a run of any benchmark: preflight, progress, clean shutdown.

A `RunRequest` has the items, seats and options of a run; its `RunSettings`, which several runs may share, the
log, models and concurrency. `play_run` plays one from Python, without a command line.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from operator import index
from pathlib import Path
from typing import Any, Final

import typer
from pydantic_core import PydanticSerializationError
from rich.console import Console

from logs import LogReader, LogWriter
from logs.rows import Event
from personas.templates import versions_digest
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.errors import InputError
from simulator.fields import EpisodeOptions, read_fields
from simulator.models import ModelOptions, Needs, ServerDown
from simulator.models.fleet import address_of
from simulator.models.load import addressed_name, bare_name
from simulator.runner.batch import SOFTWARE_VERSION, run_batch
from simulator.runner.build import NamedSeatFactory, Plan, build_plan, machine_of
from simulator.runner.executors import open_executor
from simulator.runner.logged import ENDED, endings_of_runs
from simulator.runner.machines import AnyMachine
from simulator.runner.options import HERE, Engine, ModelFlags, tune_collector
from simulator.runner.run_summary import progress_bar
from simulator.seats import Seat
from simulator.seeds import draw_strata

RUN_STARTED: Final = "run.started"
"""Kind of the event that a command starts or continues a run."""
Afterwards = Callable[[str], Awaitable[None]]
"""Further work on a run, by its name, once it has been played (such as judging)."""


@asynccontextmanager
async def _do_nothing_afterwards(reader: LogReader, log: LogWriter) -> AsyncIterator[Afterwards]:
    async def do_nothing(run_id: str) -> None:
        pass

    yield do_nothing


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of one or several runs, of any benchmark.

    Attributes:
        models: options of the models; see `ModelFlags`.
        repeats: how often each item is played.
        name: the run's name, or the common start of several names; None to name each after its configuration.
        concurrency: concurrent episodes; on a cluster, per process.
        engine: where the run is played.
        typed: the options of the command, for the log; None if the run was not started by a command.
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
        """Return the concurrent episodes: at least as many as a local model answers in parallel."""
        return max(self.concurrency, self.models.together)


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A checked request for one run.

    Attributes:
        seats: seat -> its occupant, usually by name.
        items: the benchmark's own items, in the order of play.
        config: further configuration that distinguishes this run from others (data, languages); the models'
            server, decoding options and the versions of prompts and Askback are added.
        needs: model -> its needs besides text, checked before anything is played; other models are only
            asked for a text.
        label: part of a generated name, if one command plays several runs.
        shown: metric -> its short name in the progress display.
        afterwards: context opened before anything is played, so that its errors come first; the function it
            yields is called after the run.
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
        """Return the factory of the seats."""
        return NamedSeatFactory(
            benchmark=self.machine.name, names=self.seats, options=self.options, models=self.settings.models
        )


def answer_options(options: ModelOptions) -> dict[str, Any]:
    """Return the options that change models' answers; empty if none is set, to match older runs."""
    chosen = {
        "decoding": options.decoding.chosen,
        "server_options": dict(options.extra),
        "together": options.together if options.together > 1 else None,
    }
    return {name: value for name, value in chosen.items() if value}


def service_name(model: str, options: ModelOptions) -> str:
    """Return a model with its address and answer options, as part of the keys of its answers in a journal."""
    chosen = answer_options(options)
    settings = [json.dumps(chosen, ensure_ascii=False, sort_keys=True)] if chosen else []
    return " ".join((addressed_name(model), address_of(options.base_url), *settings))


def refuse_idle_options(options: ModelOptions, *, asked: bool) -> None:
    """Refuse decoding options that would change the run's name and nothing else.

    Raises:
        InputError: if options are set but no language model is `asked`.
    """
    if (options.decoding.chosen or options.extra) and not asked:
        chosen = ", ".join((*options.decoding.chosen, *options.extra))
        raise InputError(f"No language model plays, so these options have no effect; omit: {chosen}.")


def run_name(name: str | None, pair: tuple[str, str], pairs: Collection[tuple[str, str]]) -> str | None:
    """Return the name of one of several runs: the given name, with player and part where these differ.

    `pair` and `pairs`: player and part (such as a task) of this run, and of all runs. None names a run after
    its configuration.
    """
    if name is None:
        return None
    player, part = pair
    player = player.rpartition("/")[2].replace(":", "-") if len({player for player, _ in pairs}) > 1 else ""
    part = part if len({part for _, part in pairs}) > 1 else ""
    return "-".join(filter(None, (name, player, part)))


def read_ranges(option: str, text: str, such_as: str) -> list[int]:
    """Parse ``1-3,7`` as ``[1, 2, 3, 7]``.

    Raises:
        InputError: if the text has another form.
    """
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(first) > int(last or first):
            raise InputError(f"{option} {text!r}: expected numbers and ranges, such as {such_as}.")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def play(request: RunRequest, console: Console) -> str:
    """Play a run, or continue it from the log; return its name.

    Raises:
        InputError: if a seat's name is unknown or a person's, if the log has another run of that name, or if
            the cluster cannot be reached.
        ModelError: if a model cannot be loaded, or its server no longer answers.
        LogError: if the log cannot be written.
        typer.Exit: with status 130 after Ctrl-C; everything played so far is in the log.
    """
    if "person" in request.seats.values():
        raise InputError("People play in the browser: start the app with `askback app`.")
    engine = request.settings.engine
    thresholds = gc.get_threshold()
    tune_collector()
    try:
        return asyncio.run(_play(request, engine, console))
    except ServerDown as error:
        raise ServerDown(
            f"{error}. Everything played so far is in the log; the same command continues."
        ) from error
    except KeyboardInterrupt:
        console.print("\nStopped. Everything played so far is in the log; the same command continues.")
        raise typer.Exit(130) from None
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


async def _play(request: RunRequest, engine: Engine, console: Console) -> str:
    settings = request.settings
    episodes = len(request.items) * settings.repeats
    opening = open_executor(engine, request.factory, settings.log, episodes=episodes, places=settings.places)
    async with LogWriter(settings.log, durable=False) as log, opening as (factory, executor):
        with LogReader(settings.log) as reader:
            async with (
                factory.open(log, settings.places) as (seats, models),
                request.afterwards(reader, log) as afterwards,
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
                        start_event=_start_event(settings, plan.run.id),
                    )
                await afterwards(plan.run.id)
    return plan.run.id


def _start_event(settings: RunSettings, run_id: str) -> Event | None:
    """Return an event with the options and the process of the command that plays a run."""
    if settings.typed is None:
        return None
    details = {"options": dict(settings.typed), "process": os.getpid()}
    return Event(kind=RUN_STARTED, run_id=run_id, details=details)


def _plan(request: RunRequest, seats: Mapping[str, Seat]) -> Plan:
    settings = request.settings
    added: dict[str, Any] = {
        "base_url": address_of(settings.models.base_url) or None,
        "prompts": versions_digest(request.machine.name),
        SOFTWARE_VERSION: version("askback"),
    }
    # Seats are named after their models without addresses; the configuration has these.
    names = {seat: who for seat, who in request.seats.items() if isinstance(who, str)}
    if servers := {seat: name for seat, name in names.items() if bare_name(name) != name}:
        added["servers"] = {seat: addressed_name(name) for seat, name in servers.items()}
    added |= answer_options(settings.models)
    return build_plan(
        machine=request.machine,
        items=request.items,
        seats=seats,
        config={**request.config, **added},
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
    """Play a run, or continue it, and return its name; see `askback.run`.

    Raises:
        InputError: if a name, rule or seat is wrong, or the log has another run of that name.
        ModelError: if a model cannot be reached.
        LogError: if the log cannot be written.
    """
    if not isinstance(benchmark, str):
        # Seats find it by name; running a notebook's cell again replaces it.
        catalog.register(benchmark)
    declared = catalog.find(benchmark if isinstance(benchmark, str) else benchmark.name)
    seed, repeat = _whole_number("seed", seed), _whole_number("repeat", repeat, least=1)
    limit = None if limit is None else _whole_number("limit", limit, least=1)
    servers = [base_url] if isinstance(base_url, str) else list(base_url or ()) or None
    request = RunRequest(
        machine=machine_of(declared),
        seats=_seats(declared, seats),
        items=_items(declared, items, data, limit, seed),
        settings=RunSettings(
            log=log,
            models=ModelFlags(base_url=servers, budget=budget).options(log),
            seed=seed,
            repeats=repeat,
            name=name,
            concurrency=concurrency,
            engine=HERE,
        ),
        options=_options(declared, rules or {}),
        config={"data": data if items is None else "given"},
    )
    # A notebook already runs an event loop in this thread.
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
    """Log a warning if no episode of a run was played to its end, since only a name is returned."""
    with LogReader(path) as reader:
        endings = endings_of_runs(reader, [run])
    reasons = {**endings.failures, **endings.aborted}
    if reasons and not any(endings.statuses.get(status) for status in ENDED):
        _log.warning("askback: no episode of %s was played to its end: %s", run, next(iter(reasons)))


def _whole_number(name: str, value: Any, *, least: int | None = None) -> int:
    """Return a number, also one of numpy's, as Python's own, the only kind that the log can store."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{name} is {value!r}, not a whole number.")
    number = index(value)
    if least is not None and number < least:
        raise InputError(f"{name} is {number}; it must be at least {least}.")
    return number


def _seats(benchmark: Benchmark[Any, Any], seats: Mapping[str, str | Seat]) -> dict[str, str | Seat]:
    known = machine_of(benchmark).seats
    if unknown := [seat for seat in seats if seat not in known]:
        raise InputError(f"{benchmark.name} has no seat {unknown[0]}; its seats: {', '.join(known)}.")
    return {seat.name: seat.usual for seat in benchmark.seats} | dict(seats)


def _items(
    benchmark: Benchmark[Any, Any], items: Sequence[Any] | None, data: str, limit: int | None, seed: int
) -> tuple[Any, ...]:
    if items is None:
        if benchmark.load is None:
            raise InputError(f"{benchmark.name} has several kinds of items: give items, or use askback run.")
        items = catalog.load_items(benchmark, data)
    elif not items:
        raise InputError("items is empty; there is nothing to play.")
    elif wrong := [
        item for item in {type(each): each for each in items}.values() if not _is_item(benchmark, item)
    ]:
        kind = f"a {benchmark.item.__name__}" if benchmark.item else "an item"
        raise InputError(f"items: {wrong[0]!r} is not {kind}; pass objects as {benchmark.name} loads them.")
    return tuple(items) if limit is None else draw_strata(items, limit, lambda item: (), seed)


def _is_item(benchmark: Benchmark[Any, Any], item: Any) -> bool:
    if benchmark.item is not None:
        return isinstance(item, benchmark.item)
    try:
        with warnings.catch_warnings(action="error"):  # pydantic only warns of values of another type
            return bool(machine_of(benchmark).item_row(item))
    except (AttributeError, UserWarning, PydanticSerializationError):
        return False


def _options(benchmark: Benchmark[Any, Any], rules: Mapping[str, Any]) -> dict[str, Any]:
    model = benchmark.rules or (benchmark.runs().rules if benchmark.runs else None)
    if model is None:
        return dict(rules)
    ours = () if benchmark.rules else EpisodeOptions.model_fields  # the language of pages, not of items
    known = [rule for rule in model.model_fields if rule not in ours]
    if unknown := [rule for rule in rules if rule not in known]:
        raise InputError(f"{benchmark.name} has no rule {unknown[0]}; its rules: {', '.join(known)}.")
    options: dict[str, Any] = read_fields(model, rules).model_dump(mode="json")
    return options if benchmark.rules is not None else {name: options[name] for name in rules}
