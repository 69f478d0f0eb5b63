"""A benchmark of one seat, played as a graph: who is due counts, up to three."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Annotated, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Episode, Turn
from simulator.errors import SeatError
from simulator.runner.machines import ActiveEpisode, EpisodeMachine, make_turn, state_after
from simulator.seats import PersonSeat, Reply, ScriptSeat, Seat, View

LAST = 3


@dataclass(frozen=True)
class Context:
    player: Seat
    record: Callable[[Turn], Awaitable[None]]


class State(TypedDict):
    replies: Annotated[list[str], operator.add]
    since: float


def _turn(context, state, reply):
    if not reply.text.isdigit():
        raise SeatError("That is no number.", "player")
    number = len(state["replies"])
    turn = make_turn("e", number, "player", reply, text=reply.text, payload={"n": 1}, since=state["since"])
    return turn, {"replies": [reply.text], "since": monotonic()}


async def _count(state: State, runtime: Runtime[Context]) -> Command[str]:
    view = View(
        episode_id="e", seat="player", number=0, language="en", lines=(), task=None, seed=0,
        moves=len(state["replies"]),
    )  # fmt: skip
    turn, update = _turn(runtime.context, state, await runtime.context.player.reply(view))
    await runtime.context.record(turn)
    return Command(update=update, goto=_next(runtime.context, state_after(state, update)))


def _next(context, state):
    return "__end__" if context.player.kind == "person" or len(state["replies"]) >= LAST else "count"


async def _start(state: State, runtime: Runtime[Context]) -> str:
    return _next(runtime.context, state)


class Counting(EpisodeMachine[Context, State]):
    name = "counting"
    seats = ("player",)

    def build_graph(self):
        graph = StateGraph(State, context_schema=Context)
        graph.add_conditional_edges(START, _start, ["count", "__end__"])
        graph.add_node("count", _count, destinations=("count", "__end__"))
        return graph

    def make_context(self, live):
        return Context(live.seats["player"], live.record)

    def steps(self, context):
        return LAST + 1

    def take(self, seat):
        return _turn

    def seat_due(self, context, state):
        return "player" if len(state["replies"]) < LAST else None

    def status(self, context, state):
        return None if self.seat_due(context, state) else "completed"


Counting.__abstractmethods__ = frozenset()  # only what is played here is there


MACHINE = Counting()


@pytest.fixture
def logged():
    return []


def live_with(seat, logged):
    async def record(turn):
        logged.append(turn)

    row = Episode(
        id="e", run_id="r", item_hash="h", language="en", seats={"player": seat.name}, seed=0, repeat=0
    )
    return ActiveEpisode(episode=row, item=None, seats={"player": seat}, record=record)


def state(*replies):
    return State(replies=list(replies), since=monotonic())


def test_whoever_sits_there_is_the_seeker_s_side_and_nobody_opposite_is_a_person():
    assert MACHINE.setup({"player": "person"}) == "H2L"
    assert MACHINE.setup({"player": "offline"}) == MACHINE.setup({"player": "model"}) == "L2L"


def test_an_episode_is_played_to_its_end(logged):
    live = live_with(
        ScriptSeat(["1", Reply(text="2", trace={"why": "next"}, seconds=7, key="k"), "3"]), logged
    )
    after = asyncio.run(MACHINE.advance(live, state()))
    assert after["replies"] == ["1", "2", "3"]
    assert [turn.number for turn in logged] == [0, 1, 2]
    assert (logged[1].payload, logged[1].seconds, logged[1].key) == (
        {"n": 1, "trace": {"why": "next"}},
        7,
        "k",
    )
    assert logged[0].payload == {"n": 1}
    assert 0 <= logged[0].seconds < 7
    ending = MACHINE.ending(live, after)
    assert ending is not None and (ending.episode_id, ending.status) == ("e", "completed")


def test_it_goes_on_from_where_it_stood(logged):
    live = live_with(ScriptSeat(["1", "2", "3"]), logged)
    assert asyncio.run(MACHINE.advance(live, state("1", "2")))["replies"] == ["1", "2", "3"]
    assert [turn.text for turn in logged] == ["3"]


def test_it_stops_where_a_person_is_due_and_takes_what_is_submitted(logged):
    live = live_with(PersonSeat(), logged)
    before = asyncio.run(MACHINE.advance(live, state("1")))
    assert before["replies"] == ["1"]
    assert MACHINE.ending(live, before) is None
    turn = MACHINE.accept(live, before, "player", Reply(text="2"))
    assert (turn.number, turn.text, turn.seat) == (1, "2", "player")
    with pytest.raises(SeatError, match="no number"):
        MACHINE.accept(live, before, "player", Reply(text="two"))
    with pytest.raises(SeatError, match="not the player's turn"):
        MACHINE.accept(live, state("1", "2", "3"), "player", Reply(text="4"))
    assert logged == []
