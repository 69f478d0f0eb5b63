"""A study, a clock that tests set, and desks on a fresh log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Item, Status, Turn, content_hash
from simulator.studies import Cell, Study, StudyDesk
from simulator.studies.admission import Admission

sys.path.insert(0, str(Path(__file__).parent))  # duets, guessing

GIVEN: dict[str, Any] = {
    "id": "pattern",
    "title": "Finding the pattern",
    "benchmark": "handmethat",
    "seat": "robot",
    "conditions": ["subject", "location"],
    "participants": 4,
    "stale_after_minutes": 30,
    "pay": {"amount": 2.0, "currency": "USD", "minutes": 10},
    "completion_codes": {"complete": "C1", "screened_out": "C2", "returned": "C3"},
    "completion_url": "https://app.prolific.com/submissions/complete?cc={code}",
}


@dataclass
class Clock:
    now: datetime = datetime(2026, 3, 1, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_minutes(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)


@dataclass
class Office:
    """Desks on one log, and what one does at them."""

    path: Path
    log: LogWriter
    reader: LogReader
    clock: Clock
    stack: ExitStack

    def study(self, **changed: Any) -> Study:
        given = {key: value for key, value in {**GIVEN, **changed}.items() if value is not None}
        return Study.model_validate(given)

    def desk(
        self, cells: tuple[Cell, ...] | None = None, *, apart: bool = False, **changed: Any
    ) -> StudyDesk:
        """A desk; `apart`: with a connection of its own, as another program has."""
        log = self.stack.enter_context(self._writer()) if apart else self.log
        return StudyDesk(log, self.reader, self.study(**changed), cells, clock=self.clock)

    def _writer(self) -> LogWriter:
        return LogWriter(self.path, durable=False, group_seconds=0.0)

    def play(
        self, study: Study, admission: Admission, status: Status | None = "completed", turns: int = 1
    ) -> str:
        """Log an episode of a participant, as the pages would."""
        assert admission.place is not None
        data = {"seed": admission.place.seed, "attempt": admission.place.attempt}
        item = Item(hash=content_hash(data), benchmark=study.benchmark, name="set", language="en", data=data)
        id = f"{admission.place.id}/{admission.place.attempt}"
        self.log.put(item)
        self.log.put(
            Episode(
                id=id,
                run_id=study.run_id,
                item_hash=item.hash,
                language="en",
                seats={study.seat: "person"},
                seed=0,
                participant_id=admission.participant,
            )
        )
        for number in range(turns):
            self.turn(id, number)
        if status:
            self.log.put(Ending(episode_id=id, status=status))
        self.log.flush()
        return id

    def turn(self, episode: str, number: int) -> None:
        time = self.clock.now.isoformat(timespec="milliseconds")
        text = "I think it is the first one"
        self.log.put(Turn(episode_id=episode, number=number, seat="robot", text=text, created_at=time))
        self.log.flush()


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    path = tmp_path / "log.sqlite"
    with ExitStack() as stack:
        log = stack.enter_context(LogWriter(path, durable=False, group_seconds=0.0))
        reader = stack.enter_context(LogReader(path))
        yield Office(path, log, reader, Clock(), stack)
