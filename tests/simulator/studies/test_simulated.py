"""The quota's invariants against simulated people, who drop out, finish late, withdraw, are excluded."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logs import LogReader, LogWriter
from simulator.errors import ConflictError
from simulator.studies import Cell, Place, Study, StudyDesk
from simulator.studies.admission import Admission

CELLS = tuple(product(("subject", "location"), ("arrow", "qa")))
PEOPLE = 9
STALE = timedelta(minutes=30)
MOVES = (
    "arrive",
    "arrive",
    "arrive",
    "start",
    "start",
    "complete",
    "return",
    "screen_out",
    "come_back",
    "exclude",
    "include",
    "free",
    "wait",
)

Move = tuple[str, int]


@dataclass
class World:
    """Two programs that serve one study, and what must hold after each of people's moves."""

    desks: list[StudyDesk]
    now: datetime = datetime(2026, 3, 1, 9, tzinfo=UTC)
    known: dict[int, str] = field(default_factory=dict)
    completed: set[str] = field(default_factory=set)
    given: dict[str, Place] = field(default_factory=dict)
    out: set[str] = field(default_factory=set)
    back: set[str] = field(default_factory=set)

    def clock(self) -> datetime:
        return self.now

    async def move(self, move: Move, desk: StudyDesk) -> None:
        kind, who = move
        if kind == "wait":
            self.now += timedelta(minutes=3 * who)
        elif kind == "arrive":
            self.check_admission(await desk.admit(f"key {who}"), who)
        elif who in self.known:
            person = self.known[who]
            with suppress(ConflictError):
                if kind == "start":
                    await desk.start_set(person)
                elif kind == "come_back":
                    await desk.admit_again(person)
                elif kind == "complete":
                    await desk.complete_set(person)
                    self.completed.add(person)
                elif kind == "return":
                    await desk.return_place(person)
                elif kind == "screen_out":
                    await desk.screen_out(person)
                elif kind == "free":
                    await desk.free(person, "asleep", by="ann")
                elif kind == "exclude":
                    await desk.exclude(person, "a bot", by="ann")
                    if person in self.completed:
                        self.completed.discard(person)
                        self.out.add(person)
                elif kind == "include":
                    await desk.include(person, by="ann")
                    if person in self.out:
                        self.out.discard(person)
                        self.completed.add(person)
                        self.back.add(person)
                elif kind == "withdraw":
                    await desk.withdraw_and_erase(person)
                    self.completed.discard(person)

    def check_admission(self, admission: Admission, who: int) -> None:
        if admission.placed:
            assert admission.participant is not None
            self.known[who] = admission.participant
        # Of moves at the same moment one may free a place after another one was told that there is none.
        if admission.code == "full" and len(self.desks) == 1:
            machine = [
                cell for cell, target in self.desks[0].quota.wanted.items() if self.filled()[cell] < target
            ]
            assert not machine, "sent away while there was a place"

    def filled(self) -> Counter[Cell]:
        """Completed + live − stale, by the cells with a wanted number."""
        places = self.desks[0].ledger()
        counted = [p for p in places if p.state == "completed" or (p.live and self.now - p.moved_at <= STALE)]
        return Counter(place.cell[:1] for place in counted if place.cell)

    def check(self) -> None:
        desk = self.desks[0]
        places, targets = desk.ledger(), desk.quota.wanted
        new = [place for place in places if place.id not in self.given]
        # Who was taken back after their place was given again is beyond the number, too.
        back = {place.id for place in places if place.participant in self.back}
        late = Counter(place.cell[:1] for place in places if place.cell and (place.late or place.id in back))
        for cell, count in self.filled().items():
            assert count <= targets[cell] + late[cell], "more than wanted, and nobody was late or taken back"
        if len(self.desks) == 1:
            for place in new:
                assert place.cell is not None
                assert self.filled()[place.cell[:1]] <= targets[place.cell[:1]], "given beyond the number"
        self.given |= {place.id: place for place in new}
        by_person = Counter(place.participant for place in places if not place.erased)
        assert set(by_person.values()) <= {1}, "two sets for one person"
        done = {place.participant for place in places if place.state == "completed"}
        assert done == self.completed, "a completion was lost or made up"
        for place in places:
            before = self.given[place.id]
            assert place.erased or (place.cell, place.participant) == (before.cell, before.participant)


def world(stack: ExitStack, policy: str, programs: int) -> World:
    path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "log.sqlite"
    logs = [stack.enter_context(LogWriter(path, durable=False, group_seconds=0.0)) for _ in range(programs)]
    reader = stack.enter_context(LogReader(path))
    given: dict[str, Any] = {
        "id": "simulated",
        "title": "t",
        "benchmark": "handmethat",
        "seat": "robot",
        "participants": 5,
        "stale_after_minutes": STALE.total_seconds() / 60,
        "resume": {"policy": policy, "max_age_minutes": 90},
    }
    study = Study.model_validate(given)
    whole = World([])
    whole.desks = [StudyDesk(log, reader, study, CELLS, clock=whole.clock) for log in logs]
    return whole


@given(
    moves=st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, PEOPLE - 1)), min_size=5, max_size=40),
    policy=st.sampled_from(["resume", "restart", "block"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_one_move_after_the_other(moves: list[Move], policy: str) -> None:
    async def run() -> None:
        with ExitStack() as stack:
            here = world(stack, policy, 1)
            await here.desks[0].open()
            for move in moves:
                await here.move(move, here.desks[0])
                here.check()

    asyncio.run(run())


@pytest.mark.each("seed", range(6))
async def test_many_moves_at_once_on_two_programs(seed: int) -> None:
    """Rounds of moves that all happen at the same moment, each at either program."""
    random = Random(seed)
    with ExitStack() as stack:
        here = world(stack, random.choice(["resume", "restart"]), 2)
        for desk in here.desks:
            await desk.open()
        for _ in range(12):
            here.now += timedelta(minutes=random.choice((1, 5, 40)))
            people = random.sample(range(PEOPLE), 5)
            kinds = [random.choice(MOVES[:-1]) for _ in people]
            if random.random() < 0.1:
                kinds = ["withdraw"]
            # The same person at both programs now and then: a second tab, a double click.
            rush = [
                (kind, who)
                for kind, who in zip(kinds, people, strict=False)
                for _ in range(random.choice((1, 2)))
            ]
            await asyncio.gather(*(here.move(move, random.choice(here.desks)) for move in rush))
            here.check()
