"""A benchmark of one person made up for studies: two guesses; and its sessions on one log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from logs import LogReader, LogWriter
from logs.rows import Ending, Item, Turn, content_hash
from simulator.errors import SeatError
from simulator.models.errors import TimedOut
from simulator.seats import Reply
from simulator.studies import Study, parse_cell
from simulator.studies.admission import Entry
from simulator.studies.graph import CONSENT, Step
from simulator.studies.material import StudyMaterial
from simulator.studies.parts import StudySettings
from simulator.studies.sessions import StudySessions

SEAT, WARDEN = "guesser", "warden"
QUIZ, RIGHT = "quiz", "four"


@dataclass(frozen=True)
class Seen:
    word: str
    stage: str
    number: int = 0
    study: bool = False
    ending: Ending | None = None


class Guessing:
    """Two guesses. Who says "crash" meets a seat that breaks."""

    name = "guessing"
    seats = (SEAT,)

    def episode_seats(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return self.seats

    def item_row(self, item: str) -> Item:
        data = {"word": item}
        return Item(hash=content_hash(data), benchmark=self.name, name=item, language="en", data=data)

    def read_item(self, row: Item) -> str:
        return str(row.data["word"])

    def setup(self, kinds: Mapping[str, str]) -> Any:
        return "H2L"

    def rebuild(self, turns: Sequence[Turn]) -> dict[str, Any]:
        return {"guesses": [turn.text for turn in turns], "since": 0.0}

    async def advance(self, live: Any, state: dict[str, Any]) -> dict[str, Any]:
        if "crash" in state["guesses"]:
            raise SeatError("The warden said nothing that could be read.", WARDEN)
        if "mute" in state["guesses"]:
            raise TimedOut("no answer")
        return state

    def accept(self, live: Any, state: dict[str, Any], seat: str, reply: Reply) -> Turn:
        return Turn(
            episode_id=live.episode.id,
            number=len(state["guesses"]),
            seat=SEAT,
            text=reply.text,
            payload={"kind": "guess"},
            key=reply.key,
        )

    def due(self, live: Any, state: dict[str, Any]) -> str | None:
        return SEAT if len(state["guesses"]) < 2 else None

    def ending(self, live: Any, state: dict[str, Any]) -> Ending | None:
        return None if self.due(live, state) else Ending(episode_id=live.episode.id, status="completed")

    def view(
        self, live: Any, state: dict[str, Any], seat: str, ending: Ending | None, warning: str | None
    ) -> Seen:
        over = ending or self.due(live, state) is None
        return Seen(live.item, live.stage or ("done" if over else "guess"), ending=ending)

    def replay(self, item: str, turns: Sequence[Turn], judgments: Any) -> list[str]:
        return [item, *(turn.text for turn in turns)]

    def score(self, item: str, turns: Sequence[Turn], judgments: Any) -> tuple[Any, ...]:
        return ()

    def seat_for(self, *given: Any) -> Any:
        raise AssertionError("nobody but people plays")


class Guesses(StudyMaterial[StudySettings]):
    benchmark = "guessing"
    seats = (SEAT,)
    task = "guess"

    @property
    def cells(self) -> list[tuple[str, ...]]:
        return [parse_cell(name) for name in self.study.conditions]

    def item(self, cell: Any, seed: int, language: str) -> str:
        return f"{cell[0]} in {language}"

    def options(self, place: Any, *, begun: bool) -> dict[str, object]:
        return {"cell": place.cell[0], "second": begun}

    @property
    def shows_result(self) -> bool:
        return self.study.id == "open"


class GuessingSessions(StudySessions):
    outer_steps = (CONSENT, Step(node="comprehension", kind=QUIZ, wants=RIGHT))
    material = Guesses


def study(**more: Any) -> Study:
    given = {
        "id": "words",
        "title": "Words",
        "benchmark": "guessing",
        "seat": SEAT,
        "conditions": ["red", "blue", "green", "grey"],
        "judgments_per_item": 2,
        "sets_per_participant": 3,
        "settings": {"languages": ["en", "zh"]},
        "completion_codes": {"complete": "C", "screened_out": "S", "returned": "R"},
    }
    return Study.model_validate(given | more)


class House:
    """Sessions on one log; `again` is what a server is that was killed and started."""

    def __init__(self, path: Path) -> None:
        self.log = LogWriter(path, durable=False, group_seconds=0.0)
        self.reader = LogReader(path)
        self.again(study())

    def again(self, *studies: Study) -> None:
        def nothing(name: str) -> Any:
            raise AssertionError(name)

        machine: Any = Guessing()
        self.sessions = GuessingSessions(machine, self.log, self.reader, nothing, studies=studies)

    async def enter(self, who: str, study: str = "words", language: str = "en") -> Entry:
        identity = {"PROLIFIC_PID": who}
        return await self.sessions.enter(study, identity=identity, participant_key="k", language=language)

    async def say(self, episode: str, *texts: str) -> dict[str, Any]:
        for text in texts:
            view = await self.sessions.view(episode, SEAT)
            reply = Reply(text=text, key=f"{episode} {view.number}")
            view = await self.sessions.submit(episode, SEAT, reply, number=view.number)
        return asdict(view)

    async def first_set(self, who: str) -> str:
        episode = (await self.enter(who)).episode_id
        assert episode is not None
        assert (await self.say(episode, "yes", RIGHT, "a", "b"))["stage"] == "done"
        return episode

    def states(self, study: str = "words") -> list[str]:
        return [row.state for row in self.reader.assignments(run_id=f"study-{study}")]
