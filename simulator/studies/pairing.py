"""Pairing of the people of a study with two seats: pure functions over what the log holds.

A participant's set has an episode of its own for what only they are asked (consent, instructions, questions
before and after; `simulator.studies.machine`). Whoever has come to the task waits, until an episode of
the task is made for two of them, or for them and a model. `next_step` says what is to be done, one thing at
a time, and whoever looks does it (`simulator.studies.pairs`); nothing of it is kept in memory, so a server
that starts again goes on where the last one was.

What always holds, whatever arrivals, silences, returns and stampedes there are (tests/simulator/studies draws
them at random):

- a set has one task at a time, and nobody plays with themselves;
- a pair that was made stays, until its task is done or one of the two has left;
- whoever waits, or whose partner has left, comes to an end of it within the study's time;
- per item, tasks that are done, and live ones that are not stale, are at most the wanted number; and of those
  who are let in, each finds a task that is not yet given, if somebody comes for the other seat.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from random import Random
from typing import Any, Final, Literal, NamedTuple

from logs import LogReader
from simulator.studies.files import Assignment, Study
from simulator.studies.ledger import moment, newest_erasure
from simulator.studies.parts import Pairing
from simulator.studies.quota import Cell, Place, Quota, State, choose, counted

PRESENT: Final = "study.present"
"""Kind of the event that says that somebody's browser is there; ``set`` in its details says in which set."""
WAITING: Final = "study.waiting"
"""Kind of the event of somebody who begins to wait; ``after``: the number of the task they had before."""

LEFT: Final = "The participant left."
AWAY: Final = "The participant was not there any more."
NO_PARTNER: Final = "no partner came"
PARTNER_LEFT: Final = "the partner left"
REASONS: Final = (LEFT, AWAY, NO_PARTNER, PARTNER_LEFT)
"""Why a set ends before its task is played."""
MODEL_FAILED: Final = "the model opposite failed"
PAID: Final = (NO_PARTNER, PARTNER_LEFT, MODEL_FAILED)
"""Reasons for which somebody leaves with the code of a paid exit."""

Standing = Literal["new", "waiting", "playing", "played", "lost"]
_MOST_SECONDS_BETWEEN_BEATS: Final = 30.0


class Guest(NamedTuple):
    """A participant in a set that is live.

    Attributes:
        set: names the set (`set_name`).
    """

    participant: str
    seat: str
    set: str


def set_name(participant: str, seed: int) -> str:
    """Return the name of the set of a participant that has this seed."""
    return f"{participant}/{seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An episode of the task, with one person in it or two.

    Attributes:
        number: 1, 2, 3, … in the order made.
        episode_id: its name.
        guests: the people in it, by seat.
        cell: the item.
        made: when.
        status: how it ended; None if it has not.
        cause: the seat for which it was aborted.
        message: why.
    """

    number: int
    episode_id: str
    guests: Mapping[str, Guest]
    cell: Cell
    made: datetime
    status: str | None = None
    cause: str | None = None
    message: str = ""

    def holds(self, set: str) -> bool:
        """Return True if somebody plays it as a part of a set."""
        return any(guest.set == set for guest in self.guests.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Lobby:
    """The state of a study's pairing, as the log holds it now.

    Attributes:
        stale_after: see `Place.stale`.
        tasks: in the order made.
        guests: those in a set that is live, with their places.
        withdrawn: people who have, or who were excluded.
        seen: when a set's browser was last there, by the set.
        waiting: since when, and after which task, somebody waits or has waited, by the set.
        listening: since when somebody could be heard: while no server ran, nobody was silent.
    """

    pairing: Pairing
    now: datetime
    stale_after: timedelta
    tasks: Sequence[Task]
    guests: Mapping[Guest, Place]
    withdrawn: frozenset[str]
    seen: Mapping[str, datetime]
    waiting: Mapping[str, tuple[datetime, int]]
    listening: datetime

    def task(self, set: str) -> Task | None:
        """Return the newest task of a set."""
        return next((task for task in reversed(self.tasks) if task.holds(set)), None)

    def standing(self, set: str) -> Standing:
        """Return where somebody is, who has come to the task."""
        task, (_, after) = self.task(set), self.waiting.get(set, (None, -1))
        if after == (task.number if task else 0):
            return "waiting"
        if task is None:
            return "new"
        return "playing" if task.status is None else "lost" if task.status == "aborted" else "played"

    def is_silent(self, set: str, *since: datetime) -> bool:
        """Return True if neither a set's browser nor `since` was later than the grace and a beat ago."""
        heard, grace = (*since, *filter(None, [self.seen.get(set)])), self.pairing.grace_seconds
        return not heard or self.now - max(heard) > timedelta(seconds=grace) + beat(self.pairing)

    def is_gone(self, task: Task, set: str) -> bool:
        """Return True if one of the people in a task has been silent for too long."""
        return self.is_silent(set, task.made, self.listening)

    def place_of(self, task: Task) -> Place:
        """Return a task as the quota of items counts it."""
        gone = any(guest.participant in self.withdrawn for guest in task.guests.values())
        state: State = "started" if task.status is None else "completed"
        if gone or task.status == "aborted":
            state = "returned"
        seen = (self.seen.get(guest.set, task.made) for guest in task.guests.values())
        return Place(
            id=task.episode_id,
            number=task.number,
            participant="",
            state=state,
            cell=task.cell,
            seed=None,
            attempt=0,
            since=task.made,
            moved_at=max(task.made, *seen),
        )

    def counts(self) -> Counter[Cell]:
        """Return how many tasks count, by item."""
        return counted(map(self.place_of, self.tasks), self.now, self.stale_after)


class Meet(NamedTuple):
    """A task is made for `guests`, by seat; for one of them with a model."""

    guests: Mapping[str, Guest]
    cell: Cell
    number: int


class Part(NamedTuple):
    """A task ends, because somebody is not there any more."""

    task: Task
    seat: str


class Dismiss(NamedTuple):
    """Somebody's set ends without a task, for this reason."""

    guest: Guest
    reason: str


Decision = Meet | Part | Dismiss


def beat(pairing: Pairing) -> timedelta:
    """Return how often the log is told, at most, that somebody is there."""
    return timedelta(seconds=min(pairing.grace_seconds / 4, _MOST_SECONDS_BETWEEN_BEATS))


def next_step(lobby: Lobby, quota: Quota, *, seed: int, order: Assignment = "balanced") -> Decision | None:
    """Return what is to be done now; None if nothing is.

    Whoever has waited longest is the first to get a partner; the item is the one of which most is wanted
    still, among those that neither of the two has seen.

    Args:
        lobby: what the log holds.
        quota: how many tasks are wanted of each item.
        seed: breaks ties.
        order: of the items; see `files.Study.assignment`.
    """
    cell = partial(choose, quota, lobby.counts(), seed=seed, order=order)
    return next(chain(_partings(lobby), _losses(lobby), _meetings(lobby, cell)), None)


def _partings(lobby: Lobby) -> Iterator[Decision]:
    here = {guest.set for guest in lobby.guests}
    for task in lobby.tasks:
        if task.status is not None or len(task.guests) < 2:
            continue
        heard = {
            seat: max(task.made, lobby.seen.get(guest.set, task.made)) for seat, guest in task.guests.items()
        }
        for seat, guest in sorted(task.guests.items(), key=lambda each: heard[each[0]]):
            if guest.set not in here or lobby.is_gone(task, guest.set):
                yield Part(task, seat)


def _losses(lobby: Lobby) -> Iterator[Decision]:
    for guest in lobby.guests:
        task = lobby.task(guest.set)
        if task is None or lobby.standing(guest.set) != "lost":
            continue
        if task.cause == guest.seat:
            yield Dismiss(guest, task.message)
        elif lobby.pairing.after_loss == "paid_exit" or len(task.guests) < 2:
            yield Dismiss(guest, PARTNER_LEFT)


def _meetings(lobby: Lobby, choose_cell: Callable[..., Cell | None]) -> Iterator[Decision]:
    number = max((task.number for task in lobby.tasks), default=0) + 1
    present = [
        guest
        for guest in lobby.guests
        if lobby.standing(guest.set) == "waiting" and not lobby.is_silent(guest.set)
    ]
    present.sort(key=lambda guest: (lobby.waiting[guest.set][0], guest.set))

    def cell(*guests: Guest) -> Cell | None:
        people = {guest.participant for guest in guests}
        had = {
            task.cell
            for task in lobby.tasks
            if any(other.participant in people for other in task.guests.values())
        }
        return choose_cell(had=had)

    for place, first in enumerate(present):
        for second in present[place + 1 :]:
            if second.seat == first.seat or second.participant == first.participant:
                continue
            if (item := cell(first, second)) is not None:
                yield Meet({first.seat: first, second.seat: second}, item, number)
    for guest in present:
        if lobby.now - lobby.waiting[guest.set][0] < timedelta(minutes=lobby.pairing.wait_minutes):
            continue
        item = cell(guest) if any(seat != guest.seat for seat in lobby.pairing.partner) else None
        yield Meet({guest.seat: guest}, item, number) if item is not None else Dismiss(guest, NO_PARTNER)


def taken(lobby: Lobby, seats: Sequence[str]) -> Counter[str]:
    """Return how many of the wanted tasks nobody can be let in for any more, by seat.

    Those are the ones that count, in every seat, and as many as people there are who have none yet; whoever
    has been silent for longer than the grace holds none: others would wait for them in vain.
    """
    places = [lobby.place_of(task) for task in lobby.tasks]
    tasks = sum(counted(places, lobby.now, lobby.stale_after).values())
    busy = {
        guest.set
        for task, place in zip(lobby.tasks, places, strict=True)
        if place.state != "returned"
        for guest in task.guests.values()
    }
    free = Counter(
        guest.seat
        for guest, place in lobby.guests.items()
        if guest.set not in busy
        and not place.stale(lobby.now, lobby.stale_after)
        and not lobby.is_silent(guest.set, place.moved_at, lobby.listening)
    )
    return Counter({seat: tasks + free[seat] for seat in seats})


def choose_seat(taken: Mapping[str, int], wanted: int, seed: int) -> str | None:
    """Return the seat of the next person: the one that lacks more people; None if none is free."""
    if (least := min(taken.values())) >= wanted:
        return None
    return Random(seed).choice([seat for seat, count in taken.items() if count == least])


# ---- what the log holds


def task_options(step: Meet, now: str) -> dict[str, Any]:
    """Return what an episode's options say of a task, for `Lobbies` to read."""
    return {
        "task": step.number,
        "people": {seat: guest.participant for seat, guest in step.guests.items()},
        "sets": {seat: guest.set for seat, guest in step.guests.items()},
        "cell": list(step.cell),
        "made": now,
    }


class Lobbies:
    """Reads the pairing of a study, each row of the log once."""

    def __init__(self, reader: LogReader, study: Study, listening: datetime) -> None:
        self._reader = reader
        self._listening = listening
        self._study = study
        self._lock = threading.Lock()
        self._erasure = 0
        self._forget()

    def _forget(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._seen: dict[str, datetime] = {}
        self._waiting: dict[str, tuple[datetime, int]] = {}
        self._episode = self._event = 0

    def read(self, places: Sequence[Place], now: datetime) -> Lobby:
        """Return how things stand, with the `places` of the study as they were last moved."""
        with self._lock:
            self._read_on()
            return Lobby(
                pairing=self._study.pairing,
                now=now,
                stale_after=self._study.stale_after,
                tasks=tuple(self._tasks.values()),
                guests={
                    Guest(place.participant, place.cell[0], set_name(place.participant, place.seed)): place
                    for place in places
                    if place.live and place.cell and place.seed is not None
                },
                withdrawn=frozenset(
                    place.participant for place in places if place.state in ("excluded", "withdrawn")
                ),
                seen=dict(self._seen),
                waiting=dict(self._waiting),
                listening=self._listening,
            )

    def _read_on(self) -> None:
        with self._reader.connection() as connection:
            if (erasure := newest_erasure(connection)) != self._erasure:
                self._forget()
                self._erasure = erasure
            for seq, id, options in connection.execute(
                "SELECT seq, id, options FROM episodes WHERE run_id = ? AND seq > ? ORDER BY seq",
                [self._study.run_id, self._episode],
            ).fetchall():
                self._episode = seq
                self._tasks[id] = _task(id, json.loads(options))
            open = [id for id, task in self._tasks.items() if task.status is None]
            for id, status, cause, message in connection.execute(
                "SELECT episode_id, status, cause, message FROM endings "
                "WHERE episode_id IN (SELECT value FROM json_each(?))",
                [json.dumps(open)],
            ).fetchall():
                self._tasks[id] = replace(self._tasks[id], status=status, cause=cause, message=message)
            for seq, kind, details, created in connection.execute(
                "SELECT seq, kind, details, created_at FROM events "
                "WHERE run_id = ? AND seq > ? AND kind IN (?, ?) ORDER BY seq",
                [self._study.run_id, self._event, PRESENT, WAITING],
            ).fetchall():
                self._event, said, time = seq, json.loads(details), moment(created)
                if (set := said.get("set")) is None:  # erased
                    continue
                self._seen[set] = max(time, self._seen.get(set, time))
                if kind == WAITING:
                    self._waiting[set] = (time, said["after"])


def _task(id: str, options: Mapping[str, Any]) -> Task:
    people, sets = options["people"], options["sets"]
    return Task(
        number=options["task"],
        episode_id=id,
        guests={seat: Guest(people[seat], seat, sets[seat]) for seat in people},
        cell=tuple(options["cell"]),
        made=moment(options["made"]),
    )
