"""What every `askback run BENCHMARK` does once its command line is read: play a run, show it, stop cleanly.

A benchmark's own command reads its own options, makes a `Wanted` out of them, calls `play`, and prints its
own report of the run. The options that all of them have become a `Manner`, which several runs may share.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.paths import default_path
from personas.templates import versions_digest
from simulator.errors import InputError
from simulator.home import home
from simulator.models import Budget, Decoding, LogRecordings, ModelOptions, Needs, ServerDown
from simulator.models.decoding import read_settings
from simulator.models.load import bare_name
from simulator.models.prices import read_prices
from simulator.models.redaction import public_url
from simulator.runner.batch import SOFTWARE_VERSION, run_batch
from simulator.runner.build import Models, NamedCrew, Plan, build_plan
from simulator.runner.progress import progress_bar
from simulator.runner.rooms import Room
from simulator.runner.share import executor_for, workers_for
from simulator.seats import Seat

TIMEOUT: Final = ModelOptions().timeout
"""Seconds that a server may take for one answer, unless a command says otherwise."""

Afterwards = Callable[[str], Awaitable[None]]
"""What is still to be done with a run, by its name, once it has been played (ClarQ's judge)."""


@asynccontextmanager
async def _nothing(reader: LogReader, log: LogWriter) -> AsyncIterator[Afterwards]:
    async def rest(run_id: str) -> None:
        pass

    yield rest


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a run is played, or several are, of whatever benchmark.

    Attributes:
        log: the log's file.
        models: how models are reached; see `model_options`.
        seed: of the run.
        repeats: how often each item is played.
        name: of the run, or what the names of several begin with; None to name each after its configuration.
        concurrency: episodes at a time.
        workers: processes that share them; None to choose.
    """

    log: Path
    models: ModelOptions = field(default_factory=ModelOptions)
    seed: int = 0
    repeats: int = 1
    name: str | None = None
    concurrency: int = 8
    workers: int | None = None

    @property
    def places(self) -> int:
        """Episodes at a time: a batch that fewer ask for would never be full."""
        return max(self.concurrency, self.models.together)

    def called(self, name: str | None) -> Manner:
        """The same for one of several runs, called `name`."""
        return replace(self, name=name)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One run of a command line, checked.

    Attributes:
        seats: seat -> the name of who sits there.
        items: the benchmark's own items, in the order in which they are played.
        manner: how it is played.
        options: go into every episode.
        config: what else tells this run from others (the data, the languages); the models' server, decoding
            options and the versions of the prompts and of Askback need not be named.
        needs: model -> what is asked of it beside text, which its server is asked for once before anything is
            played; models that are not named are asked for a text.
        label: stands in a name that is made, where one command plays several runs.
        title: what the progress display counts.
        shown: metric -> its short name in the progress display.
        afterwards: opened before anything is played, so that what it lacks is told first; what it yields is
            called when everything has been played.
    """

    room: Room
    seats: Mapping[str, str]
    items: tuple[Any, ...]
    manner: Manner
    options: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, Needs] = field(default_factory=dict)
    label: str = ""
    title: str = "episodes"
    shown: Mapping[str, str] = field(default_factory=dict)
    afterwards: Callable[[LogReader, LogWriter], AbstractAsyncContextManager[Afterwards]] = _nothing

    @property
    def crew(self) -> NamedCrew:
        """Who plays, by name."""
        return NamedCrew(
            benchmark=self.room.name, names=self.seats, options=self.options, models=self.manner.models
        )


def read_manner(
    log: Path | None,
    *,
    seed: int,
    repeat: int,
    concurrency: int,
    workers: int | None,
    budget: float | None,
    base_url: str | None,
    cache: bool,
    prices: Path | None,
    run: str | None,
    together: int = 1,
    decoding: Decoding | None = None,
    reasoning_effort: str | None = None,
    settings: Sequence[str] | None = None,
    timeout: float | None = None,
) -> Manner:
    """How runs are played, as the options say that every `run` command has.

    Raises:
        InputError: if the price table is missing or wrong, or an option is out of its range.
    """
    path = log or default_path()
    return Manner(
        log=path,
        models=model_options(
            path,
            base_url=base_url,
            cache=cache,
            budget=budget,
            prices=prices,
            together=together,
            decoding=replace(decoding or Decoding(), seed=seed),
            extra=read_settings(settings or (), reasoning_effort),
            timeout=timeout,
        ),
        seed=seed,
        repeats=repeat,
        name=run,
        concurrency=concurrency,
        workers=workers,
    )


def model_options(
    log: Path,
    *,
    base_url: str | None = None,
    cache: bool = True,
    budget: float | None = None,
    prices: Path | None = None,
    together: int = 1,
    decoding: Decoding | None = None,
    extra: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> ModelOptions:
    """How models are reached, as the command line says it; ``replay/<run>`` reads the same log.

    Args:
        log: the log's file.
        base_url: an OpenAI-compatible server.
        cache: whether repeated requests are answered from the cache in the Askback folder.
        budget: US dollars.
        prices: a price table.
        together: answers that a model on this machine writes at a time.
        decoding: options of all texts.
        extra: the server's own parameters, sent with every request.
        timeout: seconds for one answer; None for `TIMEOUT`.

    Raises:
        InputError: if the price table is missing or wrong, or the time-out is not above 0.
    """
    if timeout is not None and not 0 < timeout < float("inf"):
        raise InputError(f"--timeout {timeout}: must be a number of seconds above 0")
    if prices is not None:
        read_prices(prices)  # a mistake in it should not wait for the first model
    return ModelOptions(
        base_url=base_url,
        cache_path=home() / "cache.sqlite" if cache else None,
        budget=None if budget is None else Budget(budget),
        prices_path=prices,
        recordings=LogRecordings(log),
        together=together,
        decoding=decoding or Decoding(),
        extra=dict(extra or {}),
        timeout=TIMEOUT if timeout is None else timeout,
    )


def run_name(name: str | None, pair: tuple[str, str], pairs: Collection[tuple[str, str]]) -> str | None:
    """What one of several runs is called: the name given, with who and what added where these differ.

    Args:
        name: as given; None to name each run after its configuration.
        pair: who plays this run, and what.
        pairs: who plays what in all of them.
    """
    if name is None:
        return None
    who, what = pair
    player = who.rpartition("/")[2].replace(":", "-") if len({one for one, _ in pairs}) > 1 else ""
    part = what if len({one for _, one in pairs}) > 1 else ""
    return "-".join(filter(None, (name, player, part)))


def read_ranges(option: str, text: str, such_as: str) -> list[int]:
    """``1-3,7`` as ``[1, 2, 3, 7]``.

    Args:
        option: whose value it is, for the message.
        text: the value.
        such_as: examples, for the message.

    Raises:
        InputError: if it is not of that form.
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or int(first) > int(last or first):
            raise InputError(f"{option} {text!r}: write numbers and ranges, such as {such_as}.")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def play(wanted: Wanted, console: Console) -> str:
    """Play a run, or go on with it where the log says that it stopped; its name.

    Raises:
        InputError: if a name means nothing in its seat or names a person, if the log holds another run of
            that name, or if several processes would have to share a budget.
        ModelError: if a model cannot be loaded, or its server does not answer any more.
        LogError: if the log cannot be written.
        typer.Exit: with status 130 after Ctrl-C; everything played so far is in the log.
    """
    if "person" in wanted.seats.values():
        raise InputError("People play in the browser: start the app with `askback app`.")
    manner = wanted.manner
    episodes = len(wanted.items) * manner.repeats
    workers = workers_for(manner.workers, wanted.seats, episodes, manner.models.budget)
    # What is loaded by now outlives the run; the collector need not look through it again and again.
    gc.freeze()
    try:
        return asyncio.run(_play(wanted, workers, console))
    except ServerDown as error:
        raise ServerDown(
            f"{error}. Everything played so far is in the log; the same command continues."
        ) from error
    except KeyboardInterrupt:
        console.print("\nStopped; everything played so far is in the log. The same command continues.")
        raise typer.Exit(130) from None
    finally:
        gc.unfreeze()


async def _play(wanted: Wanted, workers: int, console: Console) -> str:
    crew, manner = wanted.crew, wanted.manner
    async with LogWriter(manner.log, durable=False) as log:
        with LogReader(manner.log) as reader:
            async with (
                crew.open(log, manner.places) as (seats, models),
                wanted.afterwards(reader, log) as rest,
            ):
                _refuse_idle_options(manner.models, models)
                plan = _plan(wanted, seats)
                console.print(f"[dim]run[/dim] {plan.run.id} [dim]in[/dim] {manner.log}")
                with progress_bar(console, wanted.title, wanted.shown) as show:
                    await run_batch(
                        plan,
                        log,
                        reader,
                        concurrency=manner.places,
                        executor=executor_for(crew, manner.log, workers, manner.places),
                        on_progress=show,
                        preflight=lambda: models.preflight(wanted.needs),
                    )
                await rest(plan.run.id)
    return plan.run.id


def _refuse_idle_options(options: ModelOptions, models: Models) -> None:
    """Refuse decoding options that would be part of a run's name without changing it.

    Raises:
        InputError: if no language model sits in any seat.
    """
    if (options.decoding.chosen or options.extra) and not models.loaded:
        chosen = ", ".join((*options.decoding.chosen, *options.extra))
        raise InputError(f"No language model plays, so nothing is decoded; leave out: {chosen}.")


def _plan(wanted: Wanted, seats: Mapping[str, Seat]) -> Plan:
    manner = wanted.manner
    reached: dict[str, Any] = {
        "base_url": None if manner.models.base_url is None else public_url(manner.models.base_url),
        "prompts": versions_digest(wanted.room.name),
        SOFTWARE_VERSION: version("askback"),
    }
    # Seats are named by their models alone; where a name has an address, the run says so.
    if servers := {seat: name for seat, name in wanted.seats.items() if bare_name(name) != name}:
        reached["servers"] = servers
    if decoding := manner.models.decoding.chosen:
        reached["decoding"] = decoding
    if manner.models.extra:
        reached["server_options"] = dict(manner.models.extra)
    if manner.models.together > 1:  # left out otherwise, so that older runs can be continued
        reached["together"] = manner.models.together
    return build_plan(
        room=wanted.room,
        items=wanted.items,
        seats=seats,
        config={**wanted.config, **reached},
        seed=manner.seed,
        repeats=manner.repeats,
        options=wanted.options,
        name=manner.name,
        label=wanted.label,
    )
