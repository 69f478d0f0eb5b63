"""Episodes on a cluster: players are actors, one per place that the nodes offer, and the command deals.

Why actors. Seats are built once per process (models' clients, a user's agent), and many episodes share an
event loop; Ray starts the actors, watches them, and starts them again elsewhere when a node is lost.

How. An episode goes out with the turns that the log holds of it, and its ending comes back. Several go out
in one call where they are short: as many as take `_CALL_SECONDS`, by the time the last ones took, so that
the call (about a millisecond) is lost in them. The episodes of a lost player are read from the log again,
with what is there of them by then, and dealt to another.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from logs import LogError, LogReader
from logs.relay import Relay
from logs.rows import Ending, Score
from personas.templates import versions_digest
from simulator.errors import AskbackError, InputError, WorkerFailed
from simulator.models import ModelOptions
from simulator.models.budget import PRICES_VARIABLE
from simulator.models.load import WEIGHTS
from simulator.runner.batch import Executor, Job, Tell, logged_state, play_job
from simulator.runner.build import SCRIPT, NamedSeatFactory, SeatFactory, load_machine, script_seat
from simulator.runner.cluster import connecting
from simulator.runner.cluster.connecting import actor_options, imported_ray
from simulator.runner.cluster.head import Head, Link
from simulator.runner.machines import AnyMachine
from simulator.runner.options import Engine, Resources
from simulator.seats import Seat

_CALL_SECONDS: Final = 0.5
_MOST_LOSSES: Final = 3
_GRACE: Final = 10.0
_PAUSE: Final = 1.0

Played = tuple[Ending, tuple[Score, ...]]


@dataclass(frozen=True, kw_only=True)
class Work:
    """The facts that players need of a run; can be pickled.

    Attributes:
        head: the handle of the actor that writes the log.
        version: Askback's and its prompts', which must be the same on every node.
        prices: the user's price table, as text.
    """

    benchmark: str
    factory: SeatFactory
    head: Any
    places: int
    version: str
    environment: Mapping[str, str] = field(repr=False)
    prices: str | None = None


def version_here(benchmark: str) -> str:
    """Return what must be the same on all nodes for episodes to be the same."""
    return f"Askback {version('askback')}, prompts {versions_digest(benchmark)}"


class Player:
    """The actor that plays episodes, several at a time on one event loop."""

    def __init__(self, work: bytes, name: str) -> None:
        """Begin nothing yet: what fails here Ray tries again for ever.

        `work`: a `Work`, pickled: what has a handle in it would be an object in Ray's store otherwise, which
        may be lost with a node before the actor is started again.
        """
        self._work, self._name = work, name
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._tasks: set[asyncio.Task[list[Played]]] = set()
        self._table: tuple[AnyMachine, Mapping[str, Seat], Relay] | None = None

    async def play(self, jobs: Sequence[Job]) -> list[Played] | AskbackError | LogError:
        """Play episodes, one after the other; what went wrong, if they cannot be played."""
        task = asyncio.create_task(self._play(jobs))
        self._tasks.add(task)
        try:
            return await task
        except LogError as error:
            return LogError(str(error))
        except AskbackError as error:
            return WorkerFailed(str(error))
        except Exception:
            return WorkerFailed(f"A player on the cluster failed:\n{traceback.format_exc()}")
        finally:
            self._tasks.discard(task)

    async def stop(self) -> None:
        """Break off what is played; when this returns, everything that was played is on disk."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._table is not None:
            await self._table[2].aflush()
        await self._stack.aclose()

    async def _play(self, jobs: Sequence[Job]) -> list[Played]:
        async with self._opening:
            machine, seats, log = self._table or await self._open()
        played: list[Played] = []
        for job in jobs:
            outcome = await play_job(machine, seats, job, log)
            if outcome.ending is not None:
                played.append((outcome.ending, outcome.scores))
        return played

    async def _open(self) -> tuple[AnyMachine, Mapping[str, Seat], Relay]:
        work: Work = pickle.loads(self._work)
        os.environ.update(work.environment)
        machine = load_machine(work.benchmark)
        if (here := version_here(work.benchmark)) != work.version:
            raise InputError(f"A node of the cluster has {here}; the command runs with {work.version}.")
        link = Link(work.head, self._name, await work.head.join.remote(self._name))
        factory, log = work.factory, Relay(link.send)
        if isinstance(factory, NamedSeatFactory):
            models = link.share(factory.models)
            if work.prices is not None:
                models = replace(models, prices_path=_written(work.prices))
            factory = replace(factory, models=models)
        seats = await self._stack.enter_async_context(factory(log, work.places))
        self._table = machine, seats, log
        return self._table


def _written(prices: str) -> Path:
    path = Path(tempfile.mkdtemp()) / "prices.yaml"
    path.write_text(prices, encoding="utf-8")
    return path


@dataclass(frozen=True, kw_only=True)
class Players:
    """Plays jobs on a cluster (a `batch.Executor`).

    Attributes:
        path: of the log.
        players: how many actors.
        resources: what each asks of its node.
    """

    work: Work
    path: Path
    players: int
    resources: Mapping[str, float]

    async def __call__(self, jobs: Sequence[Job], tell: Tell) -> None:
        """Play `jobs`; if cancelled, stop the players and wait until what they have played is written.

        Raises:
            LogError: if the log could not be written.
            WorkerFailed: if seats could not be built, or episodes lose every process that plays them.
        """
        if not jobs:
            return
        ray = imported_ray()
        make = ray.remote(Player).options(max_restarts=-1, **actor_options(self.resources))
        most = min(self.players, len(jobs))
        work = ray.cloudpickle.dumps(self.work)
        team = {name: make.remote(work, name) for name in map("player-{}".format, range(most))}
        dealer = _Dealer(ray, self, jobs, tell, most * self.work.places)
        places = [
            asyncio.create_task(dealer.serve(name, actor))
            for name, actor in team.items()
            for _ in range(min(self.work.places, -(-len(jobs) // most)))
        ]
        done = asyncio.create_task(dealer.done())
        try:
            await asyncio.wait([done, *places], return_when=asyncio.FIRST_COMPLETED)
            if not done.done():
                await asyncio.gather(*(place for place in places if place.done()))
        except ray.exceptions.RayActorError as error:
            raise WorkerFailed(
                f"The process that writes the log was lost ({error}). What was played is in the log; the "
                "same command continues."
            ) from error
        finally:
            for task in (done, *places):
                task.cancel()
            await asyncio.gather(done, *places, return_exceptions=True)
            await _dismiss(ray, team.values())


class _Dealer:
    """Deals jobs to places, and takes those of lost players back."""

    def __init__(self, ray: Any, players: Players, jobs: Sequence[Job], tell: Tell, places: int) -> None:
        self._lost_error: Any = ray.exceptions.RayActorError
        self._head, self._path, self._tell, self._places = players.work.head, players.path, tell, places
        self._waiting: asyncio.Queue[Job] = asyncio.Queue()
        for job in jobs:
            self._waiting.put_nowait(job)
        self._losses: Counter[tuple[str, str, int]] = Counter()
        self._lives: Counter[str] = Counter()
        self._expelling: dict[str, asyncio.Future[None]] = {}

    async def done(self) -> None:
        """Wait until every job has been played."""
        await self._waiting.join()

    async def serve(self, name: str, actor: Any) -> None:
        """Have one place of a player play whatever waits, for as long as there is any."""
        size = 1
        await self._wait_started(actor)  # one for whom there is no room yet must not hold a job
        while True:
            jobs = [await self._waiting.get()]
            while len(jobs) < min(size, self._waiting.qsize() // (2 * self._places)):
                jobs.append(self._waiting.get_nowait())
            start, life = time.monotonic(), self._lives[name]
            try:
                answer = await actor.play.remote(jobs)
            except self._lost_error:
                await self._expel(name, life)
                self._take_back(jobs)
                await self._wait_started(actor)
                continue
            if isinstance(answer, Exception):
                raise answer
            for ending, scores in answer:
                self._tell(ending, scores)
            size = max(1, round(_CALL_SECONDS * len(jobs) / (time.monotonic() - start)))
            for _ in jobs:
                self._waiting.task_done()

    async def _expel(self, name: str, life: int) -> None:
        """Take a lost player's lease back, once for all its places."""
        if self._lives[name] == life:
            self._lives[name] += 1
            self._expelling[name] = asyncio.ensure_future(_await(self._head.expel.remote(name)))
        await self._expelling[name]

    def _take_back(self, jobs: Sequence[Job]) -> None:
        """Put the jobs of a lost player back, as the log has them now."""
        with LogReader(self._path) as reader:
            states = [logged_state(job, reader) for job in jobs]
        for job, state in zip(jobs, states, strict=True):
            if isinstance(state, Job):
                self._count_loss(job)
                self._waiting.put_nowait(state)
            else:
                self._tell(*state)
            self._waiting.task_done()

    def _count_loss(self, job: Job) -> None:
        key = (job.row.hash, job.row.language, job.episode.repeat)
        self._losses[key] += 1
        if self._losses[key] > _MOST_LOSSES:
            raise WorkerFailed(
                f"{_MOST_LOSSES + 1} processes were lost while they played {job.episode.id}. What was played "
                "is in the log; the same command continues. If memory was short, take fewer --workers or a "
                "smaller --concurrency."
            )

    async def _wait_started(self, actor: Any) -> None:
        """Wait until Ray has started a player, wherever there is room.

        Raises:
            WorkerFailed: if it cannot be started on a node, where Askback may be missing.
        """
        while True:
            try:
                await actor.__ray_ready__.remote()
            except self._lost_error as error:
                if error.actor_init_failed:
                    raise WorkerFailed(f"A node of the cluster cannot start a player: {error}") from None
                await asyncio.sleep(_PAUSE)
            else:
                return


async def _await(reference: Any) -> Any:
    return await reference


async def _dismiss(ray: Any, team: Any) -> None:
    stopping = [asyncio.create_task(_await(actor.stop.remote())) for actor in team]
    await asyncio.wait(stopping, timeout=_GRACE)
    for task in stopping:
        task.cancel()
    await asyncio.gather(*stopping, return_exceptions=True)
    for actor in team:
        ray.kill(actor)


@asynccontextmanager
async def on_cluster(
    engine: Engine, factory: NamedSeatFactory, log: Path, places: int
) -> AsyncIterator[tuple[NamedSeatFactory, Executor]]:
    """Yield who makes the seats of this process, and the players of a cluster; see `executors.playing`."""
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
        return script_seat(who, seat)
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
