"""Pairs for tests of episodes, and functions that play them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from logs.rows import Ending, Episode, Turn
from simulator.ambik.intents import parse_intent, parse_variants
from simulator.ambik.items import Candidate, Draft, DraftItem, Item, Pair, PairItem, Scenario, ScenarioItem
from simulator.ambik.machine import MACHINE, seat_for
from simulator.ambik.playing import seats_of
from simulator.ambik.sessions import AmbikSessions
from simulator.runner.machines import ActiveEpisode
from simulator.seats import PersonSeat, Reply, ScriptSeat, Seat
from simulator.studies.machine import StudyMachine

PEOPLE = StudyMachine(MACHINE, AmbikSessions.outer_steps)
PAIR = Pair(
    id="p1",
    objects=("fig tray", "date tray", "wire rack"),
    scene="a fig tray, a date tray, a wire rack",
    clear="Carry the fig tray to the guests.",
    indirect="Carry the purple fruit to the guests.",
    ambiguous="Carry a tray to the guests.",
    type="preferences",
    shortlist=("fig tray", "date tray"),
    question="Zzquestion of the data?",
    answer="Zzanswer: figs.",
    clear_plan=("Wash your grippers.", "Lift the fig tray.", "Roll to the guests."),
    ambiguous_plan=("Wash your grippers.", "Lift a tray.", "Roll to the guests."),
    step=1,
    intent=parse_intent("fig tray, -zzsecret"),
    variants=parse_variants("fig tray\ndate tray"),
    options=("Lift the fig tray.", "Lift the date tray.", "Lift the wire rack."),
)
FIG, DATE, RACK = PAIR.options
SCENARIO = Scenario(
    id="3",
    objects=("pear", "plum"),
    scene="a pear and a plum",
    task="Put the fruit in the top drawer.",
    intended=("pear",),
    location="top drawer",
    type="multilabel",
)
DRAFT = Draft(
    id="d1",
    objects=("mug", "jar"),
    scene="a mug, a jar",
    clear="Fill the mug.",
    candidates={
        "preferences": Candidate(
            type="preferences", task="Fill it.", question="Which one?", answer="The mug."
        )
    },
    plan=("Fetch the mug.", "Fill it."),
    ambiguous_plan=("Fetch something.", "Fill it."),
)


@pytest.fixture
def pair() -> Pair:
    return PAIR


@pytest.fixture
def item() -> PairItem:
    return PairItem(pair=PAIR, member="ambiguous", options=PAIR.options)


@pytest.fixture
def clear(item: PairItem) -> PairItem:
    return replace(item, member="clear")


@pytest.fixture
def scenario() -> ScenarioItem:
    return ScenarioItem(scenario=SCENARIO)


@pytest.fixture
def draft() -> DraftItem:
    return DraftItem(draft=DRAFT)


@pytest.fixture
def log_path(tmp_path: Any) -> Any:
    return tmp_path / "log.sqlite"


def act(action: str, *marked: str) -> Reply:
    return Reply(move={"marked": list(marked), "act": action})


def ask(question: str, *marked: str) -> Reply:
    return Reply(move={"marked": list(marked), "ask": question})


@pytest.fixture(name="act")
def act_fixture() -> Callable[..., Reply]:
    return act


@pytest.fixture(name="ask")
def ask_fixture() -> Callable[..., Reply]:
    return ask


def decided(method: str, **fields: Any) -> Reply:
    return Reply(move={"decision": {"method": method, **fields}})


@pytest.fixture(name="decided")
def decided_fixture() -> Callable[..., Reply]:
    return decided


@pytest.fixture
def knowno() -> Reply:
    """KnowNo's decision on `PAIR`, with a certain first and an even second and third option."""
    return decided(
        "knowno",
        options={"A": FIG, "B": DATE, "C": RACK, "D": "do nothing"},
        filled=["D"],
        tokens=[["A", -0.5], ["B", -1.5], ["C", -3.0], ["The", -4.0]],
        prompts=[["generate", "How?"], ["choose", "Which?"]],
        raw=[["generate", "A) …"], ["choose", "A"]],
        flags=["filled"],
        generator="some/model",
        chooser="other/model",
    )


@dataclass
class Played:
    turns: list[Turn]
    live: ActiveEpisode
    state: Any
    ending: Ending | None

    @property
    def kinds(self) -> list[str]:
        return [turn.payload["kind"] for turn in self.turns]

    def payload(self, kind: str = "decide", place: int = -1) -> Mapping[str, Any]:
        return [turn.payload for turn in self.turns if turn.payload["kind"] == kind][place]

    def view(self, seat: str) -> Any:
        return PEOPLE.view(self.live, self.state, seat, self.ending, None)


def seat_of(seat: str, who: Any) -> Seat:
    if isinstance(who, str):
        return PersonSeat() if who == "person" else seat_for(seat, who, _no_model, {})
    return ScriptSeat(who, f"script:{seat}") if isinstance(who, list) or callable(who) else who


def _no_model(name: str) -> Any:
    raise AssertionError(f"{name} is nobody built in")


def live_for(
    item: Item, seats: Mapping[str, Any], turns: list[Turn], options: Mapping[str, Any]
) -> ActiveEpisode:
    built = {seat: seat_of(seat, seats[seat]) for seat in seats_of(options)}
    row = MACHINE.item_row(item)
    episode = Episode(
        id="e",
        run_id="r",
        item_hash=row.hash,
        language="en",
        seats={seat: who.name for seat, who in built.items()},
        seed=5,
        options=dict(options),
    )

    async def record(turn: Turn) -> None:
        turns.append(turn)

    return ActiveEpisode(episode=episode, item=MACHINE.read_item(row), seats=built, record=record)


@pytest.fixture
def play() -> Callable[..., Any]:
    """Play an item to its end, or to the next person's turn."""

    async def run(
        item: Item,
        robot: Any = None,
        user: Any = "offline/item",
        *,
        annotator: Any = None,
        turns: tuple[Turn, ...] = (),
        **options: Any,
    ) -> Played:
        seats = {"robot": robot, "user": user, "annotator": annotator}
        written = list(turns)
        live = live_for(item, seats, written, options)
        state = await PEOPLE.advance(live, PEOPLE.rebuild(written))
        return Played(written, live, state, PEOPLE.ending(live, state))

    return run


@pytest.fixture
def submit(play: Callable[..., Any]) -> Callable[..., Any]:
    """Take a person's reply and play on from the log, as the sessions do."""

    async def take(played: Played, seat: str, reply: Reply) -> Played:
        turn = PEOPLE.accept(played.live, PEOPLE.rebuild(played.turns), seat, reply)
        played.turns.append(turn)
        state = await PEOPLE.advance(played.live, PEOPLE.rebuild(played.turns))
        return Played(played.turns, played.live, state, PEOPLE.ending(played.live, state))

    return take
