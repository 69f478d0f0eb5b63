"""A benchmark of two people made up for pairing: the asker asks, the teller answers; and its sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from logs import LogReader, LogWriter
from logs.rows import Ending, Item, Turn, content_hash
from simulator.errors import InputError
from simulator.seats import Reply
from simulator.studies import Study
from simulator.studies.graph import COMMENT, CONSENT, Step
from simulator.studies.material import StudyMaterial
from simulator.studies.parts import StudySettings
from simulator.studies.sessions import StudySessions

ASKER, TELLER = "asker", "teller"
SEATS = (ASKER, TELLER)
ITEMS = ("red", "blue", "green")
MODEL = "offline/parrot"


@dataclass(frozen=True)
class Seen:
    stage: str
    item: str = ""
    lines: tuple[str, ...] = ()
    number: int = 0
    study: bool = False
    ending: Ending | None = None
    warning: str | None = None


@dataclass(frozen=True)
class Somebody:
    name: str
    kind: str


class Duet:
    """The asker asks, the teller answers; a model answers or asks at once."""

    name = "duet"
    seats = SEATS

    def episode_seats(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return SEATS

    def item_row(self, item: str) -> Item:
        data = {"word": item}
        return Item(hash=content_hash(data), benchmark=self.name, name=item, language="en", data=data)

    def read_item(self, row: Item) -> str:
        return str(row.data["word"])

    def setup(self, kinds: Mapping[str, str]) -> Any:
        return "H2H"

    def rebuild(self, turns: Sequence[Turn]) -> dict[str, Any]:
        return {"lines": [turn.text for turn in turns], "since": 0.0}

    async def advance(self, live: Any, state: dict[str, Any]) -> dict[str, Any]:
        lines = list(state["lines"])
        while (seat := self.due(live, {"lines": lines})) and live.seats[seat].kind != "person":
            turn = Turn(episode_id=live.episode.id, number=len(lines), seat=seat, text="parrot", payload={})
            await live.record(turn)
            lines.append(turn.text)
        return {"lines": lines, "since": 0.0}

    def accept(self, live: Any, state: dict[str, Any], seat: str, reply: Reply) -> Turn:
        number = len(state["lines"])
        id, payload = live.episode.id, {"kind": "line"}
        return Turn(episode_id=id, number=number, seat=seat, text=reply.text, payload=payload, key=reply.key)

    def due(self, live: Any, state: dict[str, Any]) -> str | None:
        return SEATS[len(state["lines"])] if len(state["lines"]) < 2 else None

    def ending(self, live: Any, state: dict[str, Any]) -> Ending | None:
        return None if self.due(live, state) else Ending(episode_id=live.episode.id, status="completed")

    def view(
        self, live: Any, state: dict[str, Any], seat: str, ending: Ending | None, warning: str | None
    ) -> Seen:
        over = ending or self.due(live, state) is None
        if live.stage:
            return Seen(live.stage, ending=ending)
        stage = "done" if over else "play"
        return Seen(stage, live.item, tuple(state["lines"]), ending=ending)

    def replay(self, item: str, turns: Sequence[Turn], judgments: Any) -> list[str]:
        return [item, *(turn.text for turn in turns)]

    def score(self, *given: Any) -> tuple[Any, ...]:
        return ()

    def seat_for(self, seat: str, name: str, *given: Any) -> Any:
        if name != MODEL:
            raise InputError(f"nobody is called {name}")
        return Somebody(name, "model")


class Duets(StudyMaterial[StudySettings]):
    benchmark = "duet"
    seats = SEATS
    task = "duet"
    shows_result = True

    @property
    def cells(self) -> list[tuple[str, ...]]:
        return [(name,) for name in self.study.conditions]

    def item(self, cell: Any, seed: int, language: str) -> str:
        return str(cell[0])


class DuetSessions(StudySessions):
    outer_steps = (CONSENT, Step(node="instructions", kind="ready"), COMMENT)
    material = Duets


def study(**more: Any) -> Study:
    known: dict[str, Any] = {
        "id": "duets",
        "title": "Duets",
        "benchmark": "duet",
        "setup": "H2H",
        "seats": list(SEATS),
        "conditions": list(ITEMS),
        "judgments_per_item": 2,
        "sets_per_participant": 2,
        "pairing": {"wait_minutes": 5, "grace_seconds": 60, "after_loss": "wait"},
        "completion_codes": {"complete": "C", "returned": "R", "paid_exit": "P"},
        "stale_after_minutes": 30,
    }
    return Study.model_validate(known | more)


WITH_MODEL = {"wait_minutes": 5, "grace_seconds": 60, "then": "model", "partner": dict.fromkeys(SEATS, MODEL)}


@dataclass
class House:
    """Sessions on one log, under a clock that tests set."""

    path: Path
    stack: ExitStack
    study: Study
    now: datetime = datetime(2026, 3, 1, 9, tzinfo=UTC)
    episodes: dict[str, tuple[str, str]] = field(default_factory=dict)
    keys: int = 0

    def __post_init__(self) -> None:
        self.log = self.stack.enter_context(LogWriter(self.path, durable=False, group_seconds=0.0))
        self.reader = self.stack.enter_context(LogReader(self.path))
        self.start()

    def start(self) -> DuetSessions:
        """Start the server, again if it ran."""

        def nothing(name: str) -> Any:
            raise AssertionError(name)

        machine: Any = Duet()
        self.sessions = DuetSessions(
            machine, self.log, self.reader, nothing, studies=[self.study], clock=lambda: self.now
        )
        return self.sessions

    def pass_seconds(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    async def arrive(self, who: str) -> str:
        """Let somebody in; return the seat, or why there is none."""
        entry = await self.sessions.enter("duets", identity={}, participant_key=who, language="en")
        if entry.episode_id is None:
            return entry.refusal or ""
        self.episodes[who] = (entry.episode_id, entry.seat)
        return entry.seat

    async def say(self, who: str, text: str) -> Any:
        self.keys += 1
        return await self.sessions.submit(*self.episodes[who], Reply(text=text, key=f"k{self.keys}"))

    async def look(self, who: str) -> Any:
        return await self.sessions.view(*self.episodes[who])

    async def ready(self, who: str) -> Any:
        await self.arrive(who)
        await self.say(who, "yes")
        return await self.say(who, "read")

    def code(self, who: str) -> str | None:
        completion = self.sessions.completion(self.episodes[who][0])
        return completion.code if completion else None

    def tasks(self) -> list[Any]:
        return self.reader.episodes(self.study.run_id)

    def by_seat(self, *people: str) -> tuple[str, ...]:
        """Return people in the order of their seats."""
        return tuple(sorted(people, key=lambda who: SEATS.index(self.episodes[who][1])))

    @property
    def pairs(self) -> Any:
        return next(iter(self.sessions._pairs.values()))

    def reason(self, who: str) -> str:
        return str(self.pairs.reason(self.episodes[who][0]))

    async def leave(self, who: str) -> None:
        await self.pairs.leave(self.episodes[who][0])

    async def wait_again(self, who: str) -> None:
        await self.pairs.wait_again(self.episodes[who][0])
