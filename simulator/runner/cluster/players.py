"""Episodes on a cluster: players are actors on the nodes, and the command assigns jobs to them.

Players are actors because seats are built once per process (models' clients, a user's agent), and many
episodes share an event loop. Ray starts and watches the actors, and restarts them elsewhere when a node is
lost.

The command calls each player about once in `_REPORT_SECONDS`, however many episodes it plays concurrently: a
call sends jobs, with the turns logged so far, and returns the endings since the last call. A call costs some
milliseconds of CPU, so that one per episode would be noticeable. The episodes of a lost player are read from
the log again, with all turns logged by then, and assigned to another player.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import tempfile
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
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
from simulator.runner.batch import Executor, Job, OnEnding, logged_state, play_jobs
from simulator.runner.build import SCRIPT, NamedSeatFactory, SeatFactory, load_machine, script_seat
from simulator.runner.cluster import connecting
from simulator.runner.cluster.connecting import actor_options, import_ray
from simulator.runner.cluster.head import Head, Link, pack, unpack
from simulator.runner.machines import AnyMachine
from simulator.runner.options import Engine, Resources, tune_collector
from simulator.seats import Seat

_REPORT_SECONDS: Final = 0.5
_GROUP_SECONDS: Final = 0.25
"""For how long rows are collected: a call of the head costs as much as writing a hundred of them."""
_MOST_LOSSES: Final = 3
_GRACE: Final = 10.0
_PAUSE: Final = 1.0

Played = tuple[str, Ending, Sequence[Score]]
"""The episode id of a job, and how it ended."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """The facts about a run that players need; can be pickled.

    Attributes:
        places: concurrent episodes of each player.
        version: version of Askback and its prompts, which must be the same on every node.
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
    """Return the versions that must match on all nodes for episodes to be the same."""
    return f"Askback {version('askback')}, prompts {versions_digest(benchmark)}"


class Player:
    """The actor that plays episodes, several concurrently on one event loop."""

    def __init__(self, work: bytes, name: str) -> None:
        """Do nothing that can fail: Ray would retry it forever.

        `work`: a pickled `Work`. Unpickled, its handle would make it an object in Ray's store, which may be
        lost with a node before the actor is restarted.
        """
        self._work, self._name = work, name
        self._jobs: asyncio.Queue[Job] = asyncio.Queue()
        self._played: list[Played] = []
        self._pending = self._places = 0
        self._hungry = asyncio.Event()
        self._playing: asyncio.Task[None] | None = None

    async def play(self, *packed: bytes) -> bytes:
        """Accept more jobs; return the endings since the last call, or the error that stopped the player.

        `packed`: the jobs, by `pack`. The answer, a list of `Played` or an error, is pickled.

        Returns after `_REPORT_SECONDS`, or as soon as no job is left or a quarter of the places are free.
        """
        jobs: Sequence[Job] = unpack(packed)
        self._pending += len(jobs)
        if self._pending:
            self._hungry.clear()
        for job in jobs:
            self._jobs.put_nowait(job)
        self._playing = self._playing or asyncio.create_task(self._play())
        hungry = asyncio.create_task(self._hungry.wait())
        await asyncio.wait(
            (self._playing, hungry), timeout=_REPORT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        hungry.cancel()
        if self._playing.done():
            return pickle.dumps(_portable_error(self._playing))
        played, self._played = self._played, []
        return pickle.dumps(played)

    async def stop(self) -> None:
        """Stop playing; when this returns, everything that was played is on disk."""
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)

    async def _play(self) -> None:
        """Play jobs as they arrive, until cancelled."""
        work: Work = pickle.loads(self._work)
        self._places = work.places
        async with AsyncExitStack() as stack:
            machine, seats, log = await self._open(work, stack)
            tune_collector()  # Ray alone loads a hundred thousand objects
            await play_jobs(
                machine, seats, log, self._jobs.get, places=work.places, on_ending=self._add_ending
            )

    def _add_ending(self, job: Job, ending: Ending, scores: Sequence[Score]) -> None:
        self._played.append((job.episode.id, ending, scores))
        self._pending -= 1
        if self._pending <= self._places * 3 // 4:
            self._hungry.set()

    async def _open(self, work: Work, stack: AsyncExitStack) -> tuple[AnyMachine, Mapping[str, Seat], Relay]:
        os.environ.update(work.environment)
        machine = load_machine(work.benchmark)
        if (here := version_here(work.benchmark)) != work.version:
            raise InputError(f"A node of the cluster has {here}; the command runs with {work.version}.")
        link = Link(work.head, self._name, await work.head.join.remote(self._name))
        factory, log = work.factory, Relay(link.send, group_seconds=_GROUP_SECONDS)
        if isinstance(factory, NamedSeatFactory):
            models = link.share(factory.models)
            if work.prices is not None:
                models = replace(models, prices_path=_write_prices(work.prices))
            factory = replace(factory, models=models)
        return machine, await stack.enter_async_context(factory(log, work.places)), log


def _portable_error(playing: asyncio.Task[None]) -> AskbackError | LogError:
    """Return the error of a player that has stopped, as one that can be pickled."""
    try:
        playing.result()
    except LogError as error:
        return LogError(str(error))
    except AskbackError as error:
        return WorkerFailed(str(error))
    except Exception:
        return WorkerFailed(f"A player on the cluster failed:\n{traceback.format_exc()}")
    raise AssertionError("a player plays until it is cancelled")


def _write_prices(prices: str) -> Path:
    path = Path(tempfile.mkdtemp()) / "prices.yaml"
    path.write_text(prices, encoding="utf-8")
    return path


@dataclass(frozen=True, kw_only=True)
class Players:
    """Plays jobs on a cluster (a `batch.Executor`)."""

    work: Work
    path: Path
    players: int
    resources: Mapping[str, float]

    async def __call__(self, jobs: Sequence[Job], on_ending: OnEnding) -> None:
        """Play `jobs`; if cancelled, stop the players and wait until what they have played is written.

        Raises:
            LogError: if the log could not be written.
            WorkerFailed: if seats could not be built, or too many players were lost with one episode.
        """
        if not jobs:
            return
        ray = import_ray()
        make = ray.remote(Player).options(max_restarts=-1, **actor_options(self.resources))
        most = min(self.players, len(jobs))
        work = ray.cloudpickle.dumps(self.work)
        team = {name: make.remote(work, name) for name in map("player-{}".format, range(most))}
        dispatcher = _Dispatcher(ray, self, jobs, on_ending, most)
        serving = [asyncio.create_task(dispatcher.serve(name, actor)) for name, actor in team.items()]
        done = asyncio.create_task(dispatcher.done())
        try:
            await asyncio.wait([done, *serving], return_when=asyncio.FIRST_COMPLETED)
            if not done.done():
                await asyncio.gather(*(task for task in serving if task.done()))
        except ray.exceptions.RayActorError as error:
            raise WorkerFailed(
                f"The process that writes the log was lost ({error}). Everything played so far is in the "
                "log; the same command continues."
            ) from error
        finally:
            for task in (done, *serving):
                task.cancel()
            await asyncio.gather(done, *serving, return_exceptions=True)
            await _dismiss(ray, team.values())


class _Dispatcher:
    """Assigns jobs to players, and requeues those of lost ones."""

    def __init__(
        self, ray: Any, run: Players, jobs: Sequence[Job], on_ending: OnEnding, players: int
    ) -> None:
        self._lost_error: Any = ray.exceptions.RayActorError
        # A long answer is stored on the player's node, and lost with it.
        self._lost_errors = (self._lost_error, ray.exceptions.ObjectLostError)
        self._head, self._path = run.work.head, run.path
        self._places, self._players = run.work.places, players
        self._on_ending = on_ending
        self._waiting: asyncio.Queue[Job] = asyncio.Queue()
        for job in jobs:
            self._waiting.put_nowait(job)
        self._losses: Counter[tuple[str, str, int]] = Counter()

    async def done(self) -> None:
        """Wait until every job has been played."""
        await self._waiting.join()

    async def serve(self, name: str, actor: Any) -> None:
        """Let a player play waiting jobs, until cancelled.

        It gets as many as it has places, and in addition twice as many as have ever ended during one call:
        so many may be on their way into the log, or end before the next call. But it gets no more than its
        share of the waiting jobs.
        """
        assigned: dict[str, Job] = {}
        ahead = 0
        await self._wait_started(actor)  # a player that is not scheduled yet must not hold a job
        while True:
            jobs = [] if assigned else [await self._waiting.get()]
            share = -(-self._waiting.qsize() // self._players)
            while len(jobs) < min(self._places + ahead - len(assigned), share):
                jobs.append(self._waiting.get_nowait())
            assigned |= {job.episode.id: job for job in jobs}
            try:
                answer: list[Played] | AskbackError | LogError = pickle.loads(
                    await actor.play.remote(*pack(jobs))
                )
            except self._lost_errors:
                await self._head.expel.remote(name)
                self._requeue(assigned.values())
                assigned.clear()
                await self._wait_started(actor)
                continue
            if isinstance(answer, Exception):
                raise answer
            for episode, ending, scores in answer:
                del assigned[episode]
                self._on_ending(ending, scores)
                self._waiting.task_done()
            ahead = max(ahead, 2 * len(answer))

    def _requeue(self, jobs: Collection[Job]) -> None:
        """Put a lost player's jobs back into the queue, in their logged state."""
        with LogReader(self._path) as reader:
            states = [logged_state(job, reader) for job in jobs]
        for job, state in zip(jobs, states, strict=True):
            if isinstance(state, Job):
                self._count_loss(job)
                self._waiting.put_nowait(state)
            else:
                self._on_ending(*state)
            self._waiting.task_done()

    def _count_loss(self, job: Job) -> None:
        key = (job.row.hash, job.row.language, job.episode.repeat)
        self._losses[key] += 1
        if self._losses[key] > _MOST_LOSSES:
            raise WorkerFailed(
                f"{_MOST_LOSSES + 1} processes were lost while playing {job.episode.id}. Everything played "
                "so far is in the log; the same command continues. If memory ran out, use fewer --workers or "
                "a smaller --concurrency."
            )

    async def _wait_started(self, actor: Any) -> None:
        """Wait until Ray has started a player."""
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
    """Yield the seat factory for this process, and the players of a cluster; see `open_executor`."""
    names = {seat: _portable(seat, who) for seat, who in factory.names.items()}
    if unknown := [seat for seat in engine.resources if seat not in names]:
        raise InputError(f"--resources {unknown[0]}: there is no such seat; the seats: {', '.join(names)}.")
    with connecting.connect(engine.address) as ray:
        here = connecting.on_node(connecting.this_node(ray))
        environment, model_resources = (
            connecting.environment(),
            _model_resources(factory.names, engine.resources),
        )
        head = (
            ray.remote(Head)
            .options(num_cpus=0, **here)
            .remote(log.resolve(), factory.models, environment, model_resources)
        )
        link = Link(head, "command", await head.join.remote("command"))
        resources = _player_resources(factory.names, engine.resources)
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
            connecting.places_for(resources, node) for node in connecting.living_nodes(ray)
        )
        if not players:
            raise InputError(f"No node of the cluster has {dict(resources)} (see --resources).")
        try:
            yield (
                replace(factory, models=link.share(factory.models)),
                Players(work=work, path=log, players=players, resources=resources),
            )
        finally:
            await head.close.remote()


def _portable(seat: str, who: str | Seat) -> str | Seat:
    """Return a seat's occupant in a form that does not depend on this machine's files."""
    if isinstance(who, str) and who.startswith(SCRIPT):
        return script_seat(who, seat)
    return who


def _is_local(who: str | Seat) -> bool:
    return isinstance(who, str) and any(f"{provider}/" in who for provider in WEIGHTS)


def _model_resources(names: Mapping[str, str | Seat], resources: Resources) -> Resources:
    """Return the resources of local models, by the seat's occupant."""
    return {str(who): resources[seat] for seat, who in names.items() if _is_local(who) and seat in resources}


def _player_resources(names: Mapping[str, str | Seat], resources: Resources) -> Mapping[str, float]:
    """Return the resources of a player: those of all seats that are computed in it."""
    total: dict[str, float] = {"num_cpus": 1.0}
    for seat, who in names.items():
        if not _is_local(who):
            total |= resources.get(seat, {})
    return total


def _prices(models: ModelOptions) -> str | None:
    """Return the user's price table as text, if any."""
    path = models.prices_path or os.environ.get(PRICES_VARIABLE)
    return None if not path else Path(path).read_text(encoding="utf-8")
