"""Pairing of people in studies with two seats: pure functions over the log.

A participant's set has its own episode for consent, instructions and questions before and after the task
(`simulator.studies.machine`). A person who reaches the task waits until an episode of the task is created for
two people, or for one and a model. `next_step` returns the next decision, and the caller carries it out
(`simulator.studies.pairs`). All state is in the log, so a restarted server continues where the last one was.

Invariants, under any arrivals, silences, returns and stampedes (tests/simulator/studies draws random ones):

- a set has one task at a time, and nobody plays with themselves;
- a pair stays together until its task is done or one of the two has left;
- everybody who waits, or whose partner has left, gets a partner or leaves within the study's time limits;
- per item, completed tasks plus live tasks that are not stale are at most the wanted number; and everybody
  who is admitted finds a task that is still open, provided that somebody comes for the other seat.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from random import Random
from typing import Any, Final, Literal, NamedTuple

from logs import LogReader
from simulator.studies.files import Assignment, Study
from simulator.studies.ledger import newest_erasure, parse_time
from simulator.studies.parts import Pairing
from simulator.studies.quota import Cell, Place, Quota, State, count_taken, next_cell

PRESENT: Final = "study.present"
"""The kind of event that records a participant's browser as present; ``set`` in its details names the set."""
WAITING: Final = "study.waiting"
"""The kind of event that records the start of waiting; ``after`` is the number of the person's last task."""

LEFT: Final = "The participant left."
AWAY: Final = "The participant was not there any more."
NO_PARTNER: Final = "no partner came"
PARTNER_LEFT: Final = "the partner left"
REASONS: Final = (LEFT, AWAY, NO_PARTNER, PARTNER_LEFT)
"""Reasons why a set ends before its task is played."""
MODEL_FAILED: Final = "the model opposite failed"
PAID: Final = (NO_PARTNER, PARTNER_LEFT, MODEL_FAILED)
"""Reasons of a paid exit, with the completion code of that name unless another set was completed."""

SetStatus = Literal["new", "waiting", "playing", "played", "lost"]
_MOST_SECONDS_BETWEEN_BEATS: Final = 30.0


class Guest(NamedTuple):
    """A participant in a live set.

    Attributes:
        set: the name of the set (`set_name`).
    """

    participant: str
    seat: str
    set: str


def paid_exits(places: Iterable[Place]) -> list[Place]:
    """Return the places that ended in a paid exit."""
    return [place for place in places if place.state == "returned" and place.reason in PAID]


def set_name(participant: str, seed: int) -> str:
    """Return the name of the participant's set with this seed."""
    return f"{participant}/{seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An episode of the task, with one or two people.

    Attributes:
        number: 1, 2, 3, … in the order of creation.
        guests: the people in it, by seat.
        cell: the item.
        made: the time of creation.
        status: how it ended; None if it has not.
        cause: the seat that caused an abort.
    """

    number: int
    episode_id: str
    guests: Mapping[str, Guest]
    cell: Cell
    made: datetime
    status: str | None = None
    cause: str | None = None
    message: str = ""

    def is_part_of(self, set: str) -> bool:
        """Return True if the task is part of a set."""
        return any(guest.set == set for guest in self.guests.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Lobby:
    """The current state of a study's pairing, from the log.

    Attributes:
        stale_after: see `Place.stale`.
        guests: people in live sets, with their places.
        withdrawn: people who have withdrawn or were excluded.
        seen: when a set's browser was last present, by set.
        waiting: start of the last wait, and the number of the task before it, by set.
        listening: when the server started; people are not silent while no server runs.
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
        """Return the latest task of a set."""
        return next((task for task in reversed(self.tasks) if task.is_part_of(set)), None)

    def set_status(self, set: str) -> SetStatus:
        """Return the status of a set that has reached the task."""
        task, (_, after) = self.task(set), self.waiting.get(set, (None, -1))
        if after == (task.number if task else 0):
            return "waiting"
        if task is None:
            return "new"
        return "playing" if task.status is None else "lost" if task.status == "aborted" else "played"

    def is_silent(self, set: str, *since: datetime) -> bool:
        """Return True if a set's last sign of life (or `since`) is older than the grace period and a beat."""
        times, grace = (*since, *filter(None, [self.seen.get(set)])), self.pairing.grace_seconds
        return not times or self.now - max(times) > timedelta(seconds=grace) + beat_interval(self.pairing)

    def is_gone(self, task: Task, set: str) -> bool:
        """Return True if the person of a set has been silent for too long in a task."""
        return self.is_silent(set, task.made, self.listening)

    def place_of(self, task: Task) -> Place:
        """Return a task as a place, to be counted against the quota of items."""
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
        """Return the number of tasks that count, by item."""
        return count_taken(map(self.place_of, self.tasks), self.now, self.stale_after)


class StartTask(NamedTuple):
    """Create a task for `guests`, by seat; a single guest plays with a model."""

    guests: Mapping[str, Guest]
    cell: Cell
    number: int


class EndTask(NamedTuple):
    """End a task because the person in `seat` has left."""

    task: Task
    seat: str


class EndSet(NamedTuple):
    """End a person's set without a task."""

    guest: Guest
    reason: str


Decision = StartTask | EndTask | EndSet


def beat_interval(pairing: Pairing) -> timedelta:
    """Return the least time between two events that record a participant as present."""
    return timedelta(seconds=min(pairing.grace_seconds / 4, _MOST_SECONDS_BETWEEN_BEATS))


def next_step(lobby: Lobby, quota: Quota, *, seed: int, order: Assignment = "balanced") -> Decision | None:
    """Return the next decision to carry out; None if there is none.

    People are paired in the order in which they began to wait; `next_cell` chooses the item by `order`, among
    those that neither person has seen.
    """
    cell = partial(next_cell, quota, lobby.counts(), seed=seed, order=order)
    return next(chain(_abandoned_tasks(lobby), _lost_sets(lobby), _new_tasks(lobby, cell)), None)


def _abandoned_tasks(lobby: Lobby) -> Iterator[Decision]:
    here = {guest.set for guest in lobby.guests}
    for task in lobby.tasks:
        if task.status is not None or len(task.guests) < 2:
            continue
        last_seen = {
            seat: max(task.made, lobby.seen.get(guest.set, task.made)) for seat, guest in task.guests.items()
        }
        for seat, guest in sorted(task.guests.items(), key=lambda each: last_seen[each[0]]):
            if guest.set not in here or lobby.is_gone(task, guest.set):
                yield EndTask(task, seat)


def _lost_sets(lobby: Lobby) -> Iterator[Decision]:
    for guest in lobby.guests:
        task = lobby.task(guest.set)
        if task is None or lobby.set_status(guest.set) != "lost":
            continue
        if task.cause == guest.seat:
            yield EndSet(guest, task.message)
        elif lobby.pairing.after_loss == "paid_exit" or len(task.guests) < 2:
            yield EndSet(guest, PARTNER_LEFT)


def _new_tasks(lobby: Lobby, choose_cell: Callable[..., Cell | None]) -> Iterator[Decision]:
    number = max((task.number for task in lobby.tasks), default=0) + 1
    present = [
        guest
        for guest in lobby.guests
        if lobby.set_status(guest.set) == "waiting" and not lobby.is_silent(guest.set)
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
                yield StartTask({first.seat: first, second.seat: second}, item, number)
    for guest in present:
        if lobby.now - lobby.waiting[guest.set][0] < timedelta(minutes=lobby.pairing.wait_minutes):
            continue
        item = cell(guest) if any(seat != guest.seat for seat in lobby.pairing.partner) else None
        yield StartTask({guest.seat: guest}, item, number) if item is not None else EndSet(guest, NO_PARTNER)


def taken_by_seat(lobby: Lobby, seats: Sequence[str]) -> Counter[str]:
    """Return how many of the wanted tasks are taken, by seat.

    Tasks that count are taken in every seat, and each person without a task takes one in their seat, unless
    they have been silent for longer than the grace period: others would wait for them in vain.
    """
    places = [lobby.place_of(task) for task in lobby.tasks]
    tasks = sum(count_taken(places, lobby.now, lobby.stale_after).values())
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
    """Return the seat of the next person: the one with fewer people; None if no seat is free."""
    if (least := min(taken.values())) >= wanted:
        return None
    return Random(seed).choice([seat for seat, count in taken.items() if count == least])


# ---- reading the log


def task_options(step: StartTask, now: str) -> dict[str, Any]:
    """Return the episode options that describe a task, for `Lobbies` to read."""
    return {
        "task": step.number,
        "people": {seat: guest.participant for seat, guest in step.guests.items()},
        "sets": {seat: guest.set for seat, guest in step.guests.items()},
        "cell": list(step.cell),
        "made": now,
    }


class Lobbies:
    """An incremental reader of a study's pairing: it reads each row of the log once."""

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
        """Return the current state, given the study's `places` with their latest moves."""
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
                self._event, event, time = seq, json.loads(details), parse_time(created)
                if (set := event.get("set")) is None:  # erased
                    continue
                self._seen[set] = max(time, self._seen.get(set, time))
                if kind == WAITING:
                    self._waiting[set] = (time, event["after"])


def _task(id: str, options: Mapping[str, Any]) -> Task:
    people, sets = options["people"], options["sets"]
    return Task(
        number=options["task"],
        episode_id=id,
        guests={seat: Guest(people[seat], seat, sets[seat]) for seat in people},
        cell=tuple(options["cell"]),
        made=parse_time(options["made"]),
    )
