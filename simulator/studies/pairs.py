"""The waiting room of a study with two seats: carries out the decisions of `simulator.studies.pairing`.

Each call of a participant's page first carries out all pending decisions of the study, one after the other,
and reads the log again after each. Tasks are numbered: if two servers create the same number, the log accepts
one of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from logs import LogConflict, LogReader
from logs.rows import Episode
from simulator.errors import ConflictError
from simulator.runner.sessions import Sessions
from simulator.seats import Reply
from simulator.seeds import derive_seed
from simulator.studies.desk import StudyDesk
from simulator.studies.ledger import format_time
from simulator.studies.machine import WAITING_ROOM
from simulator.studies.material import StudyMaterial
from simulator.studies.pairing import (
    AWAY,
    LEFT,
    NO_PARTNER,
    PARTNER_LEFT,
    PRESENT,
    REASONS,
    WAITING,
    EndTask,
    Guest,
    SetStatus,
    StartTask,
    Task,
    beat_interval,
    next_step,
    set_name,
    task_options,
)
from simulator.studies.quota import Place

LOST: Final = "lost"
"""The stage of a person whose partner has left and who may wait for another one."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A person's wait, as shown on their page.

    Attributes:
        then: what follows a wait in vain: ``model`` or ``paid_exit``.
    """

    since: datetime
    until: datetime
    seconds_left: float
    then: str


class Pairs:
    """A study's people, their waiting room and their tasks.

    Args:
        sets: sessions of each person's own episode (`machine.Participation`).
        tasks: sessions of the tasks.
        abort: aborts an episode that has not ended, given its id, the reason and the causing seat.
        absent: returns the reason why models cannot play with people; None if they can.
    """

    def __init__(
        self,
        reader: LogReader,
        desk: StudyDesk,
        material: StudyMaterial[Any],
        *,
        sets: Sessions,
        tasks: Sessions,
        abort: Callable[[str, str, str], Awaitable[None]],
        absent: Callable[[], Awaitable[object]],
    ) -> None:
        self._reader = reader
        self._desk = desk
        self._material = material
        self._sets = sets
        self._tasks = tasks
        self._abort = abort
        self._absent = absent
        self._study = desk.study
        self._lock = asyncio.Lock()

    def task(self, episode: Episode) -> Task | None:
        """Return the latest task of a participant's set."""
        return self._desk.lobby().task(_guest(episode).set)

    def is_over(self, episode_id: str) -> bool:
        """Return True if the task of a participant's set has been played to its end."""
        task = self.task(self._reader.episode(episode_id))
        return task is not None and task.status not in (None, "aborted")

    async def begin(self, place: Place, options: Mapping[str, object], name: str) -> str:
        """Begin the set of a place, with additional episode options; return the episode's id."""
        study, material = self._study, self._material
        assert place.cell is not None
        (seat,) = place.cell
        begun = bool(options.get("begun"))
        # The item is not known yet; benchmarks that look at the cell get the first one.
        example = replace(place, cell=material.cells[0])
        return await self._sets.start_item(
            study,
            {seat: "person"},
            {**material.options(example, begun=begun), **options, "seat": seat},
            run_id=study.sets_run,
            name=name,
            participant_id=place.participant,
        )

    async def view(self, episode: Episode) -> Any:
        """Return a participant's current view, and record their presence."""
        seat = episode.options["seat"]
        shown = await self._sets.view(episode.id, seat)
        set_status = await self._update(episode, ready=shown.stage == WAITING_ROOM)
        task = self.task(episode)
        if shown.stage == WAITING_ROOM and set_status == "playing" and task is not None:
            return await self._tasks.view(task.episode_id, seat)
        # Read again: a partner may have left, or the task may be over.
        shown = await self._sets.view(episode.id, seat)
        ending = self._reader.ending(episode.id)
        if ending is None:
            lost = set_status == "lost" and shown.stage == WAITING_ROOM
            return replace(shown, stage=LOST) if lost else shown
        if ending.status != "aborted" and task is not None:
            shown = await self._tasks.view(task.episode_id, seat)
        return replace(shown, stage="done", ending=ending)

    async def submit(self, episode: Episode, reply: Reply, number: int | None) -> Any:
        """Submit a participant's reply, in the task or in their own episode; see `Sessions.submit`."""
        seat, task = episode.options["seat"], self.task(episode)
        in_task = await self._update(episode, ready=False) == "playing"
        # A repeated reply belongs to the episode that accepted it, even if the task has begun or ended since.
        if self._has_turn(episode.id, reply):
            in_task = False
        elif task is not None and self._has_turn(task.episode_id, reply):
            in_task = True
        if in_task and task is not None:
            await self._tasks.submit(task.episode_id, seat, reply, number=number)
        else:
            await self._sets.submit(episode.id, seat, reply, number=number)
        return await self.view(episode)

    def _has_turn(self, episode_id: str, reply: Reply) -> bool:
        """Return True if a reply has become a turn of an episode already."""
        return bool(reply.key) and any(turn.key == reply.key for turn in self._reader.turns(episode_id))

    async def _update(self, episode: Episode, *, ready: bool) -> SetStatus:
        """Record a person's presence, carry out pending decisions, and return the person's status."""
        await self._record_presence(episode, ready=ready)
        await self.settle()
        return self._desk.lobby().set_status(_guest(episode).set)

    def reason(self, episode_id: str) -> str:
        """Return the reason why a set ended before its task; empty if it did not."""
        ending = self._reader.ending(episode_id)
        return ending.message if ending is not None and ending.message in REASONS else ""

    def waiting(self, episode_id: str) -> Waiting | None:
        """Return the wait of a person; None if they are not waiting."""
        episode = self._reader.episode(episode_id)
        lobby, set, pairing = self._desk.lobby(), _guest(episode).set, self._study.pairing
        if lobby.set_status(set) != "waiting":
            return None
        since, _ = lobby.waiting[set]
        then = "model" if any(seat != episode.options["seat"] for seat in pairing.partner) else "paid_exit"
        until = since + timedelta(minutes=pairing.wait_minutes)
        left = max(0.0, (until - lobby.now).total_seconds())
        return Waiting(since=since, until=until, seconds_left=left, then=then)

    async def wait_again(self, episode_id: str) -> None:
        """Return a person whose partner has left to the waiting room.

        Raises:
            ConflictError: if the study does not offer that, or the partner has not left.
        """
        episode = self._reader.episode(episode_id)
        lobby, set = self._desk.lobby(), _guest(episode).set
        task = lobby.task(set)
        lost = task is not None and lobby.set_status(set) == "lost" and _guest(episode) in lobby.guests
        if task is None or not lost or self._study.pairing.after_loss != "wait":
            raise ConflictError("There is no partner to wait for.")
        await self._event(WAITING, episode, after=task.number)
        await self.settle()

    async def leave(self, episode_id: str) -> None:
        """End a person's set and, for both people, their task."""
        episode = self._reader.episode(episode_id)
        async with self._lock:
            lobby, guest = self._desk.lobby(), _guest(episode)
            task, set_status = lobby.task(guest.set), lobby.set_status(guest.set)
            if task is not None and set_status == "playing":
                await self._abort(task.episode_id, LEFT, guest.seat)
            if set_status != "played":
                lost = set_status == "lost" and task is not None and task.cause != guest.seat
                await self._end_set(guest, PARTNER_LEFT if lost else LEFT)
        await self.settle()

    async def settle(self) -> None:
        """Carry out all pending decisions of the study."""
        async with self._lock:
            last: object = None
            while True:
                lobby, study = self._desk.lobby(), self._study
                seed = derive_seed(study.seed, "task", len(lobby.tasks))
                step = next_step(lobby, self._desk.items, seed=seed, order=study.assignment)
                if step is None:
                    return
                if step == last:  # the next call tries again
                    _log.error("study %s: this decision could not be carried out: %s", study.id, step)
                    return
                last = step
                if isinstance(step, StartTask):
                    await self._start_task(step)
                elif isinstance(step, EndTask):
                    await self._abort(step.task.episode_id, AWAY, step.seat)
                else:
                    await self._end_set(*step)

    async def _start_task(self, step: StartTask) -> None:
        study, number = self._study, step.number
        if len(step.guests) < 2 and await self._absent() is not None:
            (guest,) = step.guests.values()
            await self._end_set(guest, NO_PARTNER)
            return
        seed, now = derive_seed(study.seed, "task", number), self._desk.now()
        place = Place(
            id="",
            number=number,
            participant="",
            state="started",
            cell=step.cell,
            seed=seed,
            attempt=0,
            since=now,
            moved_at=now,
        )
        options = {
            **self._material.options(place, begun=False),
            "study": True,
            "language": study.language,
            **task_options(step, format_time(now)),
        }
        seats = {**self._material.seating} | {
            seat: "person" if seat in step.guests else study.pairing.partner[seat] for seat in study.people
        }
        item = self._material.item(step.cell, seed, study.language)
        with suppress(LogConflict):  # another server was first; its task is read next
            await self._tasks.write_episode(
                item, seats, options, seed, run_id=study.run_id, id=f"{study.run_id}/{number:05d}"
            )

    async def _end_set(self, guest: Guest, reason: str) -> None:
        with suppress(ConflictError):  # done by another server in the meantime
            await self._desk.return_place(guest.participant, reason)
        for episode in self._reader.episodes(self._study.sets_run, participant_id=guest.participant):
            if _guest(episode) == guest:
                await self._abort(episode.id, reason, guest.seat)

    async def _record_presence(self, episode: Episode, *, ready: bool) -> None:
        """Log a person's presence, unless it was logged recently."""
        lobby, guest = self._desk.lobby(), _guest(episode)
        if guest not in lobby.guests:
            return
        set_status, task = lobby.set_status(guest.set), lobby.task(guest.set)
        away = set_status == "waiting" and lobby.is_silent(guest.set)
        if ready and (set_status == "new" or away):
            # A person who comes back after the grace period starts waiting again.
            await self._event(WAITING, episode, after=task.number if task else 0)
            return
        seen = lobby.seen.get(guest.set)
        # A partner who was away for too long has left, even if they call before the other one does.
        if set_status == "playing" and task is not None and lobby.is_gone(task, guest.set):
            return
        if seen is None or lobby.now - seen >= beat_interval(self._study.pairing):
            await self._event(PRESENT, episode)

    async def _event(self, kind: str, episode: Episode, **details: int) -> None:
        guest = _guest(episode)
        await self._desk.write_event(kind, guest.participant, set=guest.set, **details)


def _guest(episode: Episode) -> Guest:
    assert episode.participant_id is not None
    options = episode.options
    return Guest(episode.participant_id, options["seat"], set_name(episode.participant_id, options["set"]))
