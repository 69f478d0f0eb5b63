"""Items of every task and functions that play them, shared by tests of episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from logs.rows import Ending, Episode, Turn
from simulator.ambient.data import Question
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.graph import MACHINE
from simulator.ambient.items import (
    AnnotateItem,
    Candidate,
    ClaimItem,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    Item,
    NliItem,
    TrueFalseItem,
)
from simulator.ambient.players import seat_for
from simulator.ambient.playing import Qualification
from simulator.ambient.sessions import AmbientSessions
from simulator.runner.machines import ActiveEpisode
from simulator.seats import PersonSeat, Reply, ScriptSeat, Seat
from simulator.studies.machine import StudyMachine

SEAT = "annotator"
PEOPLE = StudyMachine(MACHINE, AmbientSessions.outer_steps)


def example(
    id: str = "7", *, side: str = "premise", labels: tuple[str, ...] = ("entailment", "neutral")
) -> Any:
    """Return an example with one ambiguous side, in which each sentence is its own description."""
    original = {"premise": f"premise {id} whole", "hypothesis": f"hypothesis {id} whole"}
    readings = []
    for number, label in enumerate(labels):
        sentences = {**original, side: f"{original[side]} read {number}"}
        readings.append(Disambiguation(sentences["premise"], sentences["hypothesis"], label))
    return Example(
        id=id,
        premise=original["premise"],
        hypothesis=original["hypothesis"],
        premise_ambiguous=side == "premise",
        hypothesis_ambiguous=side == "hypothesis",
        labels=frozenset(labels),
        disambiguations=tuple(readings),
    )


def crowd_item(origin: str = "") -> CrowdItem:
    return CrowdItem(
        id="7.premise",
        example_id="7",
        premise="The old sentence.",
        hypothesis="A hypothesis.",
        side="premise",
        candidates=(
            Candidate("First reading.", "neutral"),
            Candidate("A distractor.", None),
            Candidate("Second reading.", "entailment"),
        ),
        gold=frozenset({"neutral", "entailment"}),
        origin=origin,
    )


def items() -> dict[str, Item]:
    pair = example()
    shots = tuple(example(str(number)) for number in range(20, 24))
    return {
        "crowd": crowd_item(),
        "evaluate": crowd_item("local/model"),
        "annotate": AnnotateItem(id="7", example=pair),
        "generate": GenerateItem(id="7", example=pair, side="premise", shots=shots),
        "true_false": TrueFalseItem(
            id="7.premise",
            example_id="7",
            side="premise",
            sentence=pair.premise,
            rewrites=pair.rewrites("premise"),
        ),
        "continue": ContinueItem(
            id="7.premise",
            example_id="7",
            side="premise",
            sentence=pair.premise,
            rewrites=pair.rewrites("premise"),
            distractor="premise 7 half",
            wanted=4,
            max_tokens=8,
        ),
        "nli": NliItem(id="7", example=pair),
        "claim": ClaimItem(id="c1", claim='Says "that" it rains', cleaned="It rains"),
    }


@pytest.fixture(name="items")
def items_fixture() -> dict[str, Item]:
    return items()


@pytest.fixture
def qualification() -> Qualification:
    questions = (Question(f"q-premise {n}", f"q-hypothesis {n}", "neutral") for n in range(3))
    return Qualification(questions=tuple(questions), needed=2)


@pytest.fixture(name="form")
def form_fixture() -> Callable[[str], Reply]:
    return form


def form(kind: str) -> Reply:
    """Return a valid form for a person's stage."""
    forms: dict[str, Any] = {
        "consent": Reply(text="yes"),
        "ready": Reply(text="ready"),
        "qualification": Reply(move={"label": "neutral"}),
        "label": Reply(move={"label": "neutral"}),
        "plausible": Reply(move={"plausible": [True, False, True]}),
        "relabel": Reply(move={"labels": ["neutral", "contradiction", "entailment"], "comment": "Hm."}),
        "true_false": Reply(move={"answer": True}),
        "annotate": Reply(
            move={
                "discard": None,
                "labels": ["neutral", "entailment"],
                "rewrites": [
                    {"premise": f"One way {n}", "hypothesis": "hypothesis 7 whole", "label": label}
                    for n, label in enumerate(("neutral", "entailment"))
                ],
                "comment": "Tricky.",
            }
        ),
    }
    return forms[kind]


@dataclass
class Played:
    turns: list[Turn]
    live: ActiveEpisode
    state: Any
    ending: Ending | None

    @property
    def payloads(self) -> list[dict[str, Any]]:
        return [turn.payload for turn in self.turns]


def live_for(item: Item, seat: Seat, turns: list[Turn], *, seed: int = 5, **options: Any) -> ActiveEpisode:
    row = MACHINE.item_row(item)
    episode = Episode(
        id="e",
        run_id="r",
        item_hash=row.hash,
        language="en",
        seats={SEAT: seat.name},
        seed=seed,
        options=options,
    )

    async def record(turn: Turn) -> None:
        turns.append(turn)

    return ActiveEpisode(episode=episode, item=MACHINE.read_item(row), seats={SEAT: seat}, record=record)


def seat_of(player: Any) -> Seat:
    if isinstance(player, str):
        return PersonSeat() if player == "person" else seat_for(SEAT, player, _no_model, {})
    return ScriptSeat(player) if isinstance(player, list) or callable(player) else player


def _no_model(name: str) -> Any:
    raise AssertionError(f"{name} is no built-in player")


@pytest.fixture
def run() -> Callable[..., Any]:
    """Return a function that plays an item to its end or to a person's next turn."""

    async def play(
        item: Item, player: Any, turns: tuple[Turn, ...] = (), seed: int = 5, **options: Any
    ) -> Played:
        written = list(turns)
        live = live_for(item, seat_of(player), written, seed=seed, **options)
        state = await MACHINE.advance(live, MACHINE.rebuild(written))
        return Played(written, live, state, MACHINE.ending(live, state))

    return play


@dataclass
class Person:
    """A person whose submissions become turns as in sessions; the state is rebuilt each time."""

    item: Item
    options: dict[str, Any]
    seed: int = 5

    def __post_init__(self) -> None:
        self.turns: list[Turn] = []
        self.live = live_for(self.item, PersonSeat(), self.turns, seed=self.seed, **self.options)

    @property
    def state(self) -> Any:
        return PEOPLE.rebuild(self.turns)

    @property
    def view(self) -> Any:
        return PEOPLE.view(self.live, self.state, SEAT, PEOPLE.ending(self.live, self.state), None)

    def submit(self, reply: Reply) -> Turn:
        turn = PEOPLE.accept(self.live, self.state, SEAT, reply)
        self.turns.append(turn)
        return turn

    @property
    def stage(self) -> str:
        """The page, or the kind of the current step of the task."""
        view = self.view
        return str(view.due.kind if view.due else view.stage)

    @property
    def kind(self) -> str:
        stage = self.stage
        return {"instructions": "ready", "done": ""}.get(stage, stage)


@pytest.fixture
def person() -> Callable[..., Person]:
    def sit(item: Item, seed: int = 5, **options: Any) -> Person:
        return Person(item, options, seed)

    return sit
