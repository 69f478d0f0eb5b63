"""Who plays a run: this process, several of this machine, or a cluster."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from simulator.errors import InputError
from simulator.models import ModelOptions
from simulator.models.load import WEIGHTS
from simulator.models.prices import PRICES_VARIABLE
from simulator.runner.batch import Executor
from simulator.runner.build import SCRIPT, NamedSeatFactory, read_script
from simulator.runner.options import Engine, Resources, processors
from simulator.seats import ScriptSeat, Seat

# So many dialogues are worth the two seconds that a process takes to start.
_WORTH_A_WORKER: Final = 200


@asynccontextmanager
async def playing(
    engine: Engine, factory: NamedSeatFactory, log: Path, *, episodes: int, places: int
) -> AsyncIterator[tuple[NamedSeatFactory, Executor | None]]:
    """Yield who makes the seats of this process, and who plays; None for this process itself.

    Args:
        engine: the choice.
        factory: makes the seats.
        log: the log's file.
        episodes: of the run.
        places: episodes at a time; on a cluster in each of its processes.

    Raises:
        InputError: if the cluster cannot be reached, or lacks something.
    """
    if engine.is_ray:
        async with on_cluster(engine, factory, log, places) as both:
            yield both
        return
    workers = workers_for(engine, factory.names, episodes)
    if workers == 1:
        yield factory, None
        return
    from simulator.runner.executors import Workers

    yield (
        factory,
        Workers(
            benchmark=factory.benchmark,
            factory=factory,
            path=log,
            workers=workers,
            concurrency=places,
            budget=factory.models.budget,
        ),
    )


def workers_for(engine: Engine, seats: Mapping[str, str | Seat], episodes: int) -> int:
    """Return how many processes play: as many as asked for; else one, but more for a long offline run."""
    if engine.workers is not None:
        return engine.workers
    names = (who if isinstance(who, str) else who.name for who in seats.values())
    offline = all(name.startswith(("offline/", SCRIPT)) for name in names)
    return max(1, min(processors(), episodes // _WORTH_A_WORKER)) if offline else 1


@asynccontextmanager
async def on_cluster(
    engine: Engine, factory: NamedSeatFactory, log: Path, places: int
) -> AsyncIterator[tuple[NamedSeatFactory, Executor]]:
    """Yield who makes the seats of this process, and the players of a cluster; see `playing`."""
    from simulator.runner.cluster import connecting
    from simulator.runner.cluster.head import Head, Link
    from simulator.runner.cluster.players import Players, Work, version_here

    names = {seat: _portable(seat, who) for seat, who in factory.names.items()}
    if unknown := [seat for seat in engine.resources if seat not in names]:
        raise InputError(f"--resources {unknown[0]}: there is no such seat; there are {', '.join(names)}.")
    with connecting.connected(engine.address) as ray:
        here = connecting.on_node(connecting.this_node(ray))
        environment, of_models = connecting.environment(), _of_models(factory.names, engine.resources)
        head = (
            ray.remote(Head)
            .options(num_cpus=0, **here)
            .remote(log.resolve(), factory.models, environment, of_models)
        )
        link = Link(head, "command", await head.join.remote("command"))
        wants = _of_players(factory.names, engine.resources)
        work = Work(
            benchmark=factory.benchmark,
            factory=replace(factory, names=names),
            head=head,
            places=places,
            version=version_here(factory.benchmark),
            environment=environment,
            prices=_prices(factory.models),
        )
        players = engine.workers or sum(
            connecting.places_for(wants, node) for node in connecting.living_nodes(ray)
        )
        if not players:
            raise InputError(f"No node of the cluster offers {dict(wants)} (see --resources).")
        try:
            yield (
                replace(factory, models=link.share(factory.models)),
                Players(work=work, path=log, players=players, resources=wants),
            )
        finally:
            await head.close.remote()


def _portable(seat: str, who: str | Seat) -> str | Seat:
    """Return who sits there, for a process that cannot read this machine's files."""
    if isinstance(who, str) and who.startswith(SCRIPT):
        return ScriptSeat(read_script(Path(who.removeprefix(SCRIPT)), seat), who)
    return who


def _is_local(who: str | Seat) -> bool:
    return isinstance(who, str) and any(f"{provider}/" in who for provider in WEIGHTS)


def _of_models(names: Mapping[str, str | Seat], resources: Resources) -> Resources:
    """Return what is asked for the models of seats, by who sits there."""
    return {str(who): resources[seat] for seat, who in names.items() if _is_local(who) and seat in resources}


def _of_players(names: Mapping[str, str | Seat], resources: Resources) -> Mapping[str, float]:
    """Return what a process that plays asks for: of all seats whose players compute in it."""
    wants: dict[str, float] = {"num_cpus": 1.0}
    for seat, who in names.items():
        if not _is_local(who):
            wants |= resources.get(seat, {})
    return wants


def _prices(models: ModelOptions) -> str | None:
    """Return the user's price table as text; None if there is none."""
    path = models.prices_path or os.environ.get(PRICES_VARIABLE)
    return None if not path else Path(path).read_text(encoding="utf-8")
