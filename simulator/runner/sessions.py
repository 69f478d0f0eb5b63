"""Episodes that people play, each rebuilt from the log on every call.

A person's reply is on disk before anything else happens; the seats opposite then move, each of their
turns on disk before it is shown. So a refresh, a second tab, a double click or a killed server lose and
double nothing: whoever calls next finds the turns in the log and goes on from there.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final
from uuid import uuid4
from weakref import WeakValueDictionary

from logs import LogConflict, LogError, LogReader, LogWriter
from logs.rows import Ending, Episode, Event, Judgment, Run, Turn
from simulator.errors import ConflictError, InputError, SeatError, Trouble
from simulator.models import ChatModel, ModelError
from simulator.models.load import bare_name
from simulator.runner.build import Models
from simulator.runner.execute import Recorder, finish, traceback_event
from simulator.runner.lobby import Loading
from simulator.runner.logged import MODEL_FAILURE
from simulator.runner.machines import ActiveEpisode, AnyMachine
from simulator.seats import Reply
from simulator.seeds import derive_seed

SEAT_TAKEN: Final = "seat.taken"
"""The event of somebody who takes a seat that they were invited to: ``seat``, and ``holder``, a pseudonym."""
_ITEMS_KEPT: Final = 256
_MOVED_ON = "The dialogue has moved on; here is where it stands now."


@dataclass(frozen=True)
class _Here:
    """An episode as the log holds it now; `recorder` is what `live` records with."""

    live: ActiveEpisode
    recorder: Recorder
    turns: tuple[Turn, ...]
    state: Any
    ending: Ending | None

    @property
    def id(self) -> str:
        return self.live.episode.id


class Sessions:
    """Start, show, move, judge and replay episodes with people in them."""

    def __init__(
        self, machine: AnyMachine, log: LogWriter, reader: LogReader, models: Callable[[str], ChatModel]
    ) -> None:
        self._machine: Any = machine
        self._log = log
        self._reader = reader
        self._loading = Loading(models)
        # The log says of a model on a server of one's own where it is.
        self._addressed = models.addressed if isinstance(models, Models) else str
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._warnings: dict[str, Trouble] = {}
        # By its hash an item is the same for ever.
        self._item = lru_cache(_ITEMS_KEPT)(lambda hash: self._machine.read_item(reader.item(hash)))

    async def start_item(
        self,
        item: Any,
        seats: Mapping[str, str],
        options: Mapping[str, object] | None = None,
        *,
        run_id: str | None = None,
        name: str | None = None,
        participant_id: str | None = None,
    ) -> str:
        """Begin an episode of `item` and play it on to the first person's turn.

        Args:
            item: the benchmark's own item.
            seats: seat -> who sits there.
            options: of the episode.
            run_id: the run it belongs to; default: one for everybody who plays with these seats.
            name: stands for the item in the episode's id, which players may see; default: the item's.
            participant_id: the person who plays, who must be in the log.

        Returns:
            The episode's id.

        Raises:
            InputError: if a seat's name means nothing.
            ModelError: if a model cannot be loaded.
        """
        # Every play is an episode of its own; the repeat index only has to be unlike the others'.
        unique = uuid4().int >> 96
        id = await self.write_episode(
            item, seats, options, unique, run_id=run_id, name=name, participant_id=participant_id
        )
        await self._advance(await self._load(self._reader.episode(id)))
        return id

    async def write_episode(
        self,
        item: Any,
        seats: Mapping[str, str],
        options: Mapping[str, object] | None,
        unique: int,
        *,
        run_id: str | None = None,
        name: str | None = None,
        id: str | None = None,
        participant_id: str | None = None,
    ) -> str:
        """Write the rows of an episode that nobody has moved in yet.

        Everything is as for `start_item`, but `unique`: a number that makes it unlike other plays of the
        item, from which its seed follows; and `id`: the episode's, by default made of run, name and `unique`.

        Raises:
            LogConflict: if another episode has the id.
        """
        options = dict(options or {})
        seats = {seat: self._addressed(who) for seat, who in seats.items()}
        built = await self._loading.seats(self._machine, seats, options)
        setup = self._machine.setup({seat: who.kind for seat, who in built.items()})
        names = (_in_run_id(seats[seat]) for seat in built)
        run_id = run_id or "-".join(["play", self._machine.name, *names])
        row = self._machine.item_row(item)
        episode = Episode(
            id=id or f"{run_id}/{name or row.name}.{row.language}/{unique:x}",
            run_id=run_id,
            item_hash=row.hash,
            language=row.language,
            seats={
                seat: who.name if bare_name(seats[seat]) == seats[seat] else seats[seat]
                for seat, who in built.items()
            },
            seed=derive_seed(unique, row.name),
            repeat=unique,
            participant_id=participant_id,
            options=options,
        )
        if run_id not in {run.id for run in self._reader.runs()}:
            config = {"seats": dict(seats)}
            await self._log.write(
                Run(id=run_id, benchmark=self._machine.name, setup=setup, seed=0, config=config)
            )
        await asyncio.gather(self._log.write(row), self._log.write(episode))
        return episode.id

    def holders(self, episode_id: str) -> dict[str, str]:
        """Return who holds each seat of an episode that has been taken (`take_seat`).

        Raises:
            NotInLog: if there is no such episode.
        """
        self._reader.episode(episode_id)
        held: dict[str, str] = {}
        for event in self._reader.events(episode_id=episode_id, kind=SEAT_TAKEN):
            held.setdefault(event.details["seat"], event.details["holder"])
        return held

    async def take_seat(self, episode_id: str, seat: str, holder: str) -> bool:
        """Give a person's seat to `holder` unless somebody has taken it; return True if it is theirs.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if no person sits there.
        """
        async with self._lock(episode_id):
            _require_person(self._reader.episode(episode_id), seat)
            if seat not in self.holders(episode_id):
                details = {"seat": seat, "holder": holder}
                await self._log.write(Event(kind=SEAT_TAKEN, episode_id=episode_id, details=details))
        # Another server on the log may have written one, too: the first one counts.
        return self.holders(episode_id)[seat] == holder

    async def view(self, episode_id: str, seat: str) -> Any:
        """Return what a person in `seat` sees now; a seat opposite that is due (after a restart) moves first.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if no person sits there.
        """
        return await self._view(self._reader.episode(episode_id), seat)

    async def _view(self, episode: Episode, seat: str) -> Any:
        async with self._lock(episode.id):
            here = await self._load(episode)
            _require_person(episode, seat)
            here = await self._advance(here)
        return self._shown(here, seat)

    async def submit(self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None) -> Any:
        """Take a person's reply, once: the same key is the same turn, whenever it arrives.

        `number`: the turn it was written for, as the view said; None if any will do.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if no person sits there.
            ConflictError: if it is not that seat's turn (another tab moved, the dialogue is over), or
                that seat's turn has another number by now.
            SeatError: if the reply breaks the rules; nothing was logged, and it may be corrected.
        """
        return await self._submit(self._reader.episode(episode_id), seat, reply, number)

    async def _submit(self, episode: Episode, seat: str, reply: Reply, number: int | None) -> Any:
        async with self._lock(episode.id):
            here = await self._load(episode)
            _require_person(episode, seat)
            if not any(reply.key and turn.key == reply.key for turn in here.turns):
                here = await self._take(here, seat, reply, number)
            here = await self._advance(here)
        return self._shown(here, seat)

    async def _take(self, here: _Here, seat: str, reply: Reply, number: int | None) -> _Here:
        due = self._is_due(here.live, here.state, seat, number, len(here.turns))
        if here.ending is not None or not due:
            raise ConflictError(_MOVED_ON)
        turn = self._machine.accept(here.live, here.state, seat, reply)
        try:
            await self._log.write(turn)
        except LogConflict as error:  # another process was first
            raise ConflictError(_MOVED_ON) from error
        turns = (*here.turns, turn)
        return replace(here, turns=turns, state=self._machine.rebuild(turns))

    def _is_due(self, live: ActiveEpisode, state: Any, seat: str, number: int | None, now: int) -> bool:
        """Return True if a reply of `seat`, written for the turn `number`, can be the turn `now`."""
        return number in (None, now) and self._machine.due(live, state) == seat

    async def judge(self, episode_id: str, seat: str, success: bool, key: str) -> None:
        """Log a person's own verdict on an ended episode (did the seeker succeed?).

        Raises:
            ConflictError: if the episode has not ended.
        """
        self._require_ended(await self._load(self._reader.episode(episode_id)))
        await self._log.write(
            Judgment(
                id=f"{episode_id}/success/{seat}/{key}",
                episode_id=episode_id,
                annotator=seat,
                kind="success",
                value={"success": success},
                key=key,
            )
        )

    async def replay(self, episode_id: str, seat: str) -> Any:
        """Return the ended episode with everything that was hidden.

        Raises:
            ConflictError: if it has not ended.
        """
        here = await self._load(self._reader.episode(episode_id))
        self._require_ended(here)
        return self._revealed(here, tuple(self._reader.judgments(episode_id=episode_id)))

    def _revealed(self, here: _Here, judgments: tuple[Judgment, ...]) -> Any:
        return self._machine.replay(here.live.item, here.turns, judgments)

    def _lock(self, episode_id: str) -> asyncio.Lock:
        return self._locks.setdefault(episode_id, asyncio.Lock())

    async def _load(self, episode: Episode) -> _Here:
        item = self._item(episode.item_hash)
        seats = await self._loading.seats(self._machine, episode.seats, episode.options)
        turns = tuple(self._reader.turns(episode.id))
        recorder = Recorder(self._log, durable=True)
        live = ActiveEpisode(episode=episode, item=item, seats=seats, record=recorder)
        return _Here(live, recorder, turns, self._machine.rebuild(turns), self._reader.ending(episode.id))

    async def _advance(self, here: _Here) -> _Here:
        """Let the seats opposite move; at the end write scores and ending, once.

        Whatever goes wrong opposite, the person keeps the dialogue and is told; the next view or reply
        asks the seat again. Only a seat that breaks the rules ends it.
        """
        self._warnings.pop(here.id, None)
        if here.ending is not None:
            return here
        state: Any = None
        ending: Ending | None = None
        try:
            state = await self._machine.advance(here.live, here.state)
        except SeatError as error:
            ending = Ending(episode_id=here.id, status="aborted", cause=error.cause, message=str(error))
        except ModelError as error:
            self._warnings[here.id] = Trouble(f"{type(error).__name__}: {error}", error.code)
            details = {"error": self._warnings[here.id]}
            await self._log.write(Event(kind=MODEL_FAILURE, episode_id=here.id, details=details))
        except LogConflict:  # another process lets the same seats move
            here = await self._load(here.live.episode)
            if here.ending is not None:
                return here
        except LogError:
            raise
        except Exception as error:
            self._warnings[here.id] = Trouble(type(error).__name__, "program")
            await self._log.write(traceback_event(here.live))
        turns = (*here.turns, *here.recorder.turns)
        here = replace(here, turns=turns, state=self._machine.rebuild(turns) if state is None else state)
        ending = ending or self._machine.ending(here.live, here.state)
        if ending is not None:
            if (written := self._reader.ending(here.id)) is not None:  # another process was first
                return replace(here, ending=written)
            ending, _ = await finish(self._machine, here.live, self._log, ending, here.turns)
        return replace(here, ending=ending)

    def _shown(self, here: _Here, seat: str) -> Any:
        return self._machine.view(here.live, here.state, seat, here.ending, self._warnings.get(here.id))

    def _require_ended(self, here: _Here) -> None:
        if here.ending is None:
            raise ConflictError("The dialogue has not ended yet.")


def _require_person(episode: Episode, seat: str) -> None:
    if episode.seats.get(seat) != "person":
        raise InputError(f"No person sits in the {seat}'s seat of this dialogue.", code="no_person")


def _in_run_id(name: str) -> str:
    """Return a seat's name as a part of a run's; the address of a server is made fit for that of a page."""
    return name.replace("/", "-") if bare_name(name) == name else re.sub(r"[^\w.:-]+", "-", name)
