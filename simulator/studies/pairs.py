"""The waiting room of a study with two seats: does what `simulator.studies.pairing` decides.

Whoever looks, looks for everybody: each call of a participant's page first does what is due for anybody in
the study, one decision after the other, and reads the log again after each. Two servers on one log number
the tasks that they make; of two that make the same number the log lets one have it.
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
from simulator.studies.ledger import written
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
    Guest,
    Meet,
    Part,
    Standing,
    Task,
    beat,
    next_step,
    set_name,
    task_options,
)
from simulator.studies.quota import Place

LOST: Final = "lost"
"""The stage of somebody whose partner has left and who may wait for another one."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The state of somebody's wait, as they are told.

    Attributes:
        then: what comes then: ``model`` or ``paid_exit``.
    """

    since: datetime
    until: datetime
    seconds_left: float
    then: str


class Pairs:
    """A study's people, their waiting room and their tasks.

    Args:
        desk: gives the places.
        material: of the study.
        sets: of the episodes in which each is asked what is theirs alone (`machine.Participation`).
        tasks: of the episodes that they play.
        abort: ends an episode that has not ended: its id, why, and for which seat.
        absent: returns why models that are to sit opposite cannot play; None if they can.
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
        """Return the newest task of a participant's set."""
        return self._desk.lobby().task(_guest(episode).set)

    def is_over(self, episode_id: str) -> bool:
        """Return True if the task of a participant's set has been played to its end."""
        task = self.task(self._reader.episode(episode_id))
        return task is not None and task.status not in (None, "aborted")

    async def begin(self, place: Place, options: Mapping[str, object], name: str) -> str:
        """Begin the set of a place, with these options beside its own; return the episode's id."""
        study, material = self._study, self._material
        assert place.cell is not None
        (seat,) = place.cell
        begun = bool(options.get("begun"))
        # An item's place, for benchmarks that look at it: which one it will be is not known yet.
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
        """Return what a participant sees now, and note that they are there."""
        seat = episode.options["seat"]
        shown = await self._sets.view(episode.id, seat)
        standing = await self._look(episode, ready=shown.stage == WAITING_ROOM)
        task = self.task(episode)
        if shown.stage == WAITING_ROOM and standing == "playing" and task is not None:
            return await self._tasks.view(task.episode_id, seat)
        # Whatever has happened meanwhile: a partner who left, a task that is over.
        shown = await self._sets.view(episode.id, seat)
        ending = self._reader.ending(episode.id)
        if ending is None:
            lost = standing == "lost" and shown.stage == WAITING_ROOM
            return replace(shown, stage=LOST) if lost else shown
        if ending.status != "aborted" and task is not None:
            shown = await self._tasks.view(task.episode_id, seat)
        return replace(shown, stage="done", ending=ending)

    async def submit(self, episode: Episode, reply: Reply, number: int | None) -> Any:
        """Take what a participant says, in the task or beside it; see `Sessions.submit`."""
        seat, task = episode.options["seat"], self.task(episode)
        in_task = await self._look(episode, ready=False) == "playing"
        # What is sent again belongs where it was taken, whatever has begun or ended since.
        if self._has(episode.id, reply):
            in_task = False
        elif task is not None and self._has(task.episode_id, reply):
            in_task = True
        if in_task and task is not None:
            await self._tasks.submit(task.episode_id, seat, reply, number=number)
        else:
            await self._sets.submit(episode.id, seat, reply, number=number)
        return await self.view(episode)

    def _has(self, episode_id: str, reply: Reply) -> bool:
        """Return True if a reply has become a turn of an episode already."""
        return bool(reply.key) and any(turn.key == reply.key for turn in self._reader.turns(episode_id))

    async def _look(self, episode: Episode, *, ready: bool) -> Standing:
        """Note that somebody is there, do what is due for anybody, and return where they stand then."""
        await self._note(episode, ready=ready)
        await self.settle()
        return self._desk.lobby().standing(_guest(episode).set)

    def reason(self, episode_id: str) -> str:
        """Return why somebody's set ended before its task; empty if it did not."""
        ending = self._reader.ending(episode_id)
        return ending.message if ending is not None and ending.message in REASONS else ""

    def waiting(self, episode_id: str) -> Waiting | None:
        """Return for how long somebody waits; None if they do not."""
        episode = self._reader.episode(episode_id)
        lobby, set, pairing = self._desk.lobby(), _guest(episode).set, self._study.pairing
        if lobby.standing(set) != "waiting":
            return None
        since, _ = lobby.waiting[set]
        then = "model" if any(seat != episode.options["seat"] for seat in pairing.partner) else "paid_exit"
        until = since + timedelta(minutes=pairing.wait_minutes)
        left = max(0.0, (until - lobby.now).total_seconds())
        return Waiting(since=since, until=until, seconds_left=left, then=then)

    async def wait_again(self, episode_id: str) -> None:
        """Put somebody whose partner has left into the waiting room once more.

        Raises:
            ConflictError: if the study does not offer that, or they have lost nobody.
        """
        episode = self._reader.episode(episode_id)
        lobby, set = self._desk.lobby(), _guest(episode).set
        task = lobby.task(set)
        lost = task is not None and lobby.standing(set) == "lost" and _guest(episode) in lobby.guests
        if task is None or not lost or self._study.pairing.after_loss != "wait":
            raise ConflictError("There is no partner to wait for.")
        await self._event(WAITING, episode, after=task.number)
        await self.settle()

    async def leave(self, episode_id: str) -> None:
        """Let somebody go: their task ends for both, and they are done."""
        episode = self._reader.episode(episode_id)
        async with self._lock:
            lobby, guest = self._desk.lobby(), _guest(episode)
            task, standing = lobby.task(guest.set), lobby.standing(guest.set)
            if task is not None and standing == "playing":
                await self._abort(task.episode_id, LEFT, guest.seat)
            if standing != "played":
                lost = standing == "lost" and task is not None and task.cause != guest.seat
                await self._dismiss(guest, PARTNER_LEFT if lost else LEFT)
        await self.settle()

    async def settle(self) -> None:
        """Do whatever is due, for anybody in the study."""
        async with self._lock:
            last: object = None
            while True:
                lobby, study = self._desk.lobby(), self._study
                seed = derive_seed(study.seed, "task", len(lobby.tasks))
                step = next_step(lobby, self._desk.items, seed=seed, order=study.assignment)
                if step is None:
                    return
                if step == last:  # the next one to look tries again
                    _log.error("study %s: this could not be done: %s", study.id, step)
                    return
                last = step
                if isinstance(step, Meet):
                    await self._meet(step)
                elif isinstance(step, Part):
                    await self._abort(step.task.episode_id, AWAY, step.seat)
                else:
                    await self._dismiss(*step)

    async def _meet(self, step: Meet) -> None:
        study, number = self._study, step.number
        if len(step.guests) < 2 and await self._absent() is not None:
            (guest,) = step.guests.values()
            await self._dismiss(guest, NO_PARTNER)
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
            **task_options(step, written(now)),
        }
        seats = {**self._material.seating} | {
            seat: "person" if seat in step.guests else study.pairing.partner[seat] for seat in study.people
        }
        item = self._material.item(step.cell, seed, study.language)
        with suppress(LogConflict):  # another server was first; what it wrote is read next
            await self._tasks.write_episode(
                item, seats, options, seed, run_id=study.run_id, id=f"{study.run_id}/{number:05d}"
            )

    async def _dismiss(self, guest: Guest, reason: str) -> None:
        with suppress(ConflictError):  # done in the meantime, on another server
            await self._desk.returned(guest.participant, reason)
        for episode in self._reader.episodes(self._study.sets_run, participant_id=guest.participant):
            if _guest(episode) == guest:
                await self._abort(episode.id, reason, guest.seat)

    async def _note(self, episode: Episode, *, ready: bool) -> None:
        """Tell the log that somebody is there, if it has not been told of late."""
        lobby, guest = self._desk.lobby(), _guest(episode)
        if guest not in lobby.guests:
            return
        standing, task = lobby.standing(guest.set), lobby.task(guest.set)
        away = standing == "waiting" and lobby.is_silent(guest.set)
        if ready and (standing == "new" or away):
            # Whoever comes back after the time of grace waits anew: nobody has waited for them.
            await self._event(WAITING, episode, after=task.number if task else 0)
            return
        seen = lobby.seen.get(guest.set)
        # A partner who was away for too long is gone, whoever of the two looks first.
        if standing == "playing" and task is not None and lobby.is_gone(task, guest.set):
            return
        if seen is None or lobby.now - seen >= beat(self._study.pairing):
            await self._event(PRESENT, episode)

    async def _event(self, kind: str, episode: Episode, **details: int) -> None:
        guest = _guest(episode)
        await self._desk.write_event(kind, guest.participant, set=guest.set, **details)


def _guest(episode: Episode) -> Guest:
    assert episode.participant_id is not None
    options = episode.options
    return Guest(episode.participant_id, options["seat"], set_name(episode.participant_id, options["set"]))
