"""Episodes that people play, each rebuilt from the log on every call.

A person's reply is on disk before anything else happens; then the other seats move, and each of their turns
is on disk before it is shown. So a refresh, a second tab, a double click or a killed server neither loses nor
repeats a turn: the next call finds the turns in the log and continues from there.
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
"""Kind of the event that a person takes a seat they were invited to: ``seat``, ``holder`` (a pseudonym)."""
_ITEMS_KEPT: Final = 256
_MOVED_ON = "The dialogue has moved on; here is where it stands now."


@dataclass(frozen=True)
class _Snapshot:
    """An episode as it is in the log now; `recorder` is the recorder of `live`."""

    live: ActiveEpisode
    recorder: Recorder
    turns: tuple[Turn, ...]
    state: Any
    ending: Ending | None

    @property
    def id(self) -> str:
        return self.live.episode.id


class Sessions:
    """Starts, shows, advances, judges and replays episodes with people in them."""

    def __init__(
        self, machine: AnyMachine, log: LogWriter, reader: LogReader, models: Callable[[str], ChatModel]
    ) -> None:
        self._machine: Any = machine
        self._log = log
        self._reader = reader
        self._loading = Loading(models)
        # The log has the address of a model on the user's own server.
        self._addressed = models.addressed if isinstance(models, Models) else str
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._warnings: dict[str, Trouble] = {}
        # An item with a given hash never changes.
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
        """Start an episode of `item` and play it to the first person's turn.

        Args:
            item: the benchmark's own item.
            seats: seat -> name of its occupant.
            options: the episode's options.
            run_id: the run it belongs to; by default one shared by all plays with these seats.
            name: the item's name in the episode's id, which players may see; default: the item's own.
            participant_id: the person who plays, who must be in the log.

        Returns:
            The episode's id.

        Raises:
            InputError: if a seat's name is unknown.
            ModelError: if a model cannot be loaded.
        """
        # Every play is a new episode; the repeat index only has to be unique.
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
        """Write the rows of a new episode, without playing it.

        Arguments as for `start_item`, and `unique`: a number that distinguishes the episode from other plays
        of the item and determines its seed; `id`: its id, by default built from run, name and `unique`.

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
        """Return the holder of each seat of an episode that has been taken (`take_seat`).

        Raises:
            NotInLog: if there is no such episode.
        """
        self._reader.episode(episode_id)
        holders: dict[str, str] = {}
        for event in self._reader.events(episode_id=episode_id, kind=SEAT_TAKEN):
            holders.setdefault(event.details["seat"], event.details["holder"])
        return holders

    async def take_seat(self, episode_id: str, seat: str, holder: str) -> bool:
        """Give a person's seat to `holder` unless it is taken; return True if it is theirs.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if no person sits there.
        """
        async with self._lock(episode_id):
            _require_person(self._reader.episode(episode_id), seat)
            if seat not in self.holders(episode_id):
                details = {"seat": seat, "holder": holder}
                await self._log.write(Event(kind=SEAT_TAKEN, episode_id=episode_id, details=details))
        # Another server on the same log may have written one, too: the first one counts.
        return self.holders(episode_id)[seat] == holder

    async def view(self, episode_id: str, seat: str) -> Any:
        """Return the page of a person in `seat`; other seats that are to move (after a restart) move first.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if no person sits there.
        """
        return await self._view(self._reader.episode(episode_id), seat)

    async def _view(self, episode: Episode, seat: str) -> Any:
        async with self._lock(episode.id):
            snapshot = await self._load(episode)
            _require_person(episode, seat)
            snapshot = await self._advance(snapshot)
        return self._show(snapshot, seat)

    async def submit(self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None) -> Any:
        """Accept a person's reply, exactly once: the same key is the same turn, whenever it arrives.

        `number`: the turn it was written for, as the view said; None for any turn.

        Raises:
            NotInLog: if there is no such episode.
            InputError: if no person sits there.
            ConflictError: if it is not that seat's turn (another tab moved, the dialogue is over), or
                the turn has another number by now.
            SeatError: if the reply breaks the rules; nothing was logged, and it may be corrected.
        """
        return await self._submit(self._reader.episode(episode_id), seat, reply, number)

    async def _submit(self, episode: Episode, seat: str, reply: Reply, number: int | None) -> Any:
        async with self._lock(episode.id):
            snapshot = await self._load(episode)
            _require_person(episode, seat)
            if not any(reply.key and turn.key == reply.key for turn in snapshot.turns):
                snapshot = await self._take(snapshot, seat, reply, number)
            snapshot = await self._advance(snapshot)
        return self._show(snapshot, seat)

    async def _take(self, snapshot: _Snapshot, seat: str, reply: Reply, number: int | None) -> _Snapshot:
        due = self._is_due(snapshot.live, snapshot.state, seat, number, len(snapshot.turns))
        if snapshot.ending is not None or not due:
            raise ConflictError(_MOVED_ON)
        turn = self._machine.accept(snapshot.live, snapshot.state, seat, reply)
        try:
            await self._log.write(turn)
        except LogConflict as error:  # another process was first
            raise ConflictError(_MOVED_ON) from error
        turns = (*snapshot.turns, turn)
        return replace(snapshot, turns=turns, state=self._machine.rebuild(turns))

    def _is_due(self, live: ActiveEpisode, state: Any, seat: str, number: int | None, now: int) -> bool:
        """Return True if a reply of `seat`, written for turn `number`, can become turn `now`."""
        return number in (None, now) and self._machine.due(live, state) == seat

    async def judge(self, episode_id: str, seat: str, success: bool, key: str) -> None:
        """Log a person's verdict on an ended episode (did the seeker succeed?).

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
        """Return the ended episode, with everything that was hidden.

        Raises:
            ConflictError: if it has not ended.
        """
        snapshot = await self._load(self._reader.episode(episode_id))
        self._require_ended(snapshot)
        return self._reveal(snapshot, tuple(self._reader.judgments(episode_id=episode_id)))

    def _reveal(self, snapshot: _Snapshot, judgments: tuple[Judgment, ...]) -> Any:
        return self._machine.replay(snapshot.live.item, snapshot.turns, judgments)

    def _lock(self, episode_id: str) -> asyncio.Lock:
        return self._locks.setdefault(episode_id, asyncio.Lock())

    async def _load(self, episode: Episode) -> _Snapshot:
        item = self._item(episode.item_hash)
        seats = await self._loading.seats(self._machine, episode.seats, episode.options)
        turns = tuple(self._reader.turns(episode.id))
        recorder = Recorder(self._log, durable=True)
        live = ActiveEpisode(episode=episode, item=item, seats=seats, record=recorder)
        return _Snapshot(live, recorder, turns, self._machine.rebuild(turns), self._reader.ending(episode.id))

    async def _advance(self, snapshot: _Snapshot) -> _Snapshot:
        """Let the other seats move; at the end write scores and ending, once.

        If another seat fails, the person keeps the dialogue and sees a warning; the next view or reply asks
        that seat again. Only a seat that breaks the rules ends the episode.
        """
        self._warnings.pop(snapshot.id, None)
        if snapshot.ending is not None:
            return snapshot
        state: Any = None
        ending: Ending | None = None
        try:
            state = await self._machine.advance(snapshot.live, snapshot.state)
        except SeatError as error:
            ending = Ending(episode_id=snapshot.id, status="aborted", cause=error.cause, message=str(error))
        except ModelError as error:
            self._warnings[snapshot.id] = Trouble(f"{type(error).__name__}: {error}", error.code)
            details = {"error": self._warnings[snapshot.id]}
            await self._log.write(Event(kind=MODEL_FAILURE, episode_id=snapshot.id, details=details))
        except LogConflict:  # another process has moved the same seats
            snapshot = await self._load(snapshot.live.episode)
            if snapshot.ending is not None:
                return snapshot
        except LogError:
            raise
        except Exception as error:
            self._warnings[snapshot.id] = Trouble(type(error).__name__, "program")
            await self._log.write(traceback_event(snapshot.live))
        turns = (*snapshot.turns, *snapshot.recorder.turns)
        snapshot = replace(
            snapshot, turns=turns, state=self._machine.rebuild(turns) if state is None else state
        )
        ending = ending or self._machine.ending(snapshot.live, snapshot.state)
        if ending is not None:
            if (logged := self._reader.ending(snapshot.id)) is not None:  # another process was first
                return replace(snapshot, ending=logged)
            ending, _ = await finish(self._machine, snapshot.live, self._log, ending, snapshot.turns)
        return replace(snapshot, ending=ending)

    def _show(self, snapshot: _Snapshot, seat: str) -> Any:
        return self._machine.view(
            snapshot.live, snapshot.state, seat, snapshot.ending, self._warnings.get(snapshot.id)
        )

    def _require_ended(self, snapshot: _Snapshot) -> None:
        if snapshot.ending is None:
            raise ConflictError("The dialogue has not ended yet.")


def _require_person(episode: Episode, seat: str) -> None:
    if episode.seats.get(seat) != "person":
        raise InputError(f"No person sits in the {seat}'s seat of this dialogue.", code="no_person")


def _in_run_id(name: str) -> str:
    """Return a seat's name as part of a run's name, with a server's address made safe for URLs."""
    return name.replace("/", "-") if bare_name(name) == name else re.sub(r"[^\w.:-]+", "-", name)
