r"""The episode as a LangGraph state machine: one graph, whatever the task, whoever sits in its seats.

::

    decide:    decide -> END                                       the robot acts, or nobody would answer
               decide -> answer -> decide -> answer -> … -> END    it asks, and has questions left
    annotate:  annotate -> END

    START -> decide | answer | annotate  whose turn it is, and the others' after it
          -> END                         a person is due, or nobody

Once the questions are used up the robot must act. Where a person is due, the invocation ends; the runner
invokes the graph again with the state rebuilt from the turn log (`rebuild`). So no checkpointer is needed:
the log is the checkpoint. What was asked and answered is appended to the task at every further decision.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from time import monotonic
from typing import Annotated, Any, Final, Literal, NamedTuple, TypedDict, cast, get_args

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Turn
from simulator.ambik.items import DecideItem, DraftItem, Item
from simulator.ambik.payloads import annotated, answered, decided_by
from simulator.ambik.players.knows import AnnotatorKnows, RobotKnows, UserKnows
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Kind, Options, blinded
from simulator.errors import SeatError
from simulator.runner.rooms import ActiveEpisode
from simulator.runner.turns import due_since, make_turn, state_after
from simulator.seats import Line, Reply, View
from simulator.seeds import derive_seed

_ASKS: Final = "asks"


class Due(NamedTuple):
    """Who is to do what."""

    seat: str
    kind: Kind


@dataclass(frozen=True)
class Table:
    """The parts an episode is played with; they travel as the graph's context, never in its state."""

    live: ActiveEpisode

    @property
    def item(self) -> Item:
        """The item."""
        return cast(Item, self.live.item)

    @cached_property
    def rules(self) -> Options:
        """The options, read."""
        return Options.read(self.live.episode.options)

    @property
    def decided_on(self) -> DecideItem:
        """The item, of an episode with a robot."""
        assert not isinstance(self.item, DraftItem)
        return self.item

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """The actions that are offered, in display order: it is drawn, so no place tells anything."""
        options = () if isinstance(self.item, DraftItem) else tuple(dict.fromkeys(self.item.options))
        return tuple(Random(derive_seed(self.live.episode.seed, "offered")).sample(options, len(options)))


class State(TypedDict):
    """Plain values only.

    Attributes:
        said: ``[seat, kind, text, "asks" or ""]`` per turn.
        since: when the seat that is due became so (seconds, monotonic).
    """

    said: Annotated[list[list[str]], operator.add]
    since: float


Update = dict[str, Any]
Place = Literal["decide", "answer", "annotate", "__end__"]


def rebuild(turns: Iterable[Turn]) -> State:
    """Return the state after `turns`, which must be an episode's, in order."""
    logged = tuple(turns)
    said = [_line(turn.seat, turn.payload, turn.text) for turn in logged]
    return State(said=said, since=due_since(logged))


def due(table: Table, state: State) -> Due | None:
    """Return who is to do what next; None when the episode is over."""
    played = state["said"]
    if table.rules.task == "annotate":
        return None if played else Due(ANNOTATOR, "annotate")
    if not played or played[-1][1] == "answer":
        return Due(ROBOT, "decide")
    waits = played[-1][3] == _ASKS and asked(state) <= table.rules.questions
    return Due(USER, "answer") if waits else None


def asked(state: State) -> int:
    """Return how many questions the robot has asked."""
    return sum(flag == _ASKS for *_, flag in state["said"])


def must_act(table: Table, state: State) -> bool:
    """Return True if the questions are used up; where nobody answers, a robot may still decide to ask."""
    return 0 < table.rules.questions <= asked(state)


def pending(state: State) -> str:
    """Return the question that waits for an answer, or was the last one; empty if nothing was asked."""
    return next((text for *_, text, flag in reversed(state["said"]) if flag == _ASKS), "")


def exchanges(state: State) -> tuple[tuple[str, str], ...]:
    """Return the questions of this episode that were answered, with their answers."""
    questions = (text for *_, text, flag in state["said"] if flag == _ASKS)
    answers = (text for _, kind, text, _ in state["said"] if kind == "answer")
    return tuple(zip(questions, answers, strict=False))


def seat_view(table: Table, state: State, seat: str) -> View:
    """Return all that `seat` may see now."""
    number = table.live.first + len(state["said"])
    return View(
        episode_id=table.live.episode.id,
        seat=seat,
        number=number,
        language=table.rules.language,
        lines=tuple(Line(who, text) for who, _, text, _ in state["said"]),
        task=_knows(table, state, seat),
        seed=derive_seed(table.live.episode.seed, number),
        repeat=table.live.episode.repeat,
        moves=sum(who == seat for who, *_ in state["said"]),
        options=table.live.episode.options,
    )


def _knows(table: Table, state: State, seat: str) -> RobotKnows | UserKnows | AnnotatorKnows:
    if isinstance(table.item, DraftItem):
        return AnnotatorKnows(item=table.item)
    if seat == USER:
        return UserKnows(item=table.item, question=pending(state), exchanges=exchanges(state))
    forced = must_act(table, state)
    return RobotKnows(
        item=blinded(table.item, table.rules.dialogue, table.offered),
        exchanges=exchanges(state),
        may_ask=table.rules.questions > 0 and not forced,
        must_act=forced,
    )


def take(table: Table, state: State, seat: str, reply: Reply) -> tuple[Turn, Update]:
    """Return a reply as a turn for the log and an update of the state.

    Raises:
        SeatError: if the episode is over, it is not that seat's turn, or the reply breaks a rule (`forms`).
    """
    now = due(table, state)
    if now is None or now.seat != seat:
        raise SeatError("Nothing is asked of you now.", seat, code="over")
    who, person = table.live.seats[seat], table.live.seats[seat].kind == "person"
    number = table.live.first + len(state["said"])
    if now.kind == "decide":
        text, payload = decided_by(
            reply,
            table.decided_on,
            table.rules,
            offered=table.offered,
            must_act=must_act(table, state),
            episode_id=table.live.episode.id,
            name=who.name,
            person=person,
        )
    elif now.kind == "answer":
        robot = table.live.seats[ROBOT].kind == "person"
        question = None if robot else pending(state)
        text, payload = answered(reply, question, asked=number - 1, person=person)
    else:
        assert isinstance(table.item, DraftItem)
        text, payload = annotated(reply, table.item.draft, name=who.name, person=person)
    id, since = table.live.episode.id, state["since"]
    turn = make_turn(id, number, seat, reply, text=text, payload=payload, since=since)
    return turn, {"said": [_line(seat, payload, text)], "since": monotonic()}


def _line(seat: str, payload: Mapping[str, Any], text: str) -> list[str]:
    return [seat, payload["kind"], text, _ASKS if payload.get("asks") else ""]


def build_graph() -> StateGraph[State, Table, State, State]:
    """Return the uncompiled graph; batch runs compile it without a checkpointer."""
    graph = StateGraph(State, context_schema=Table)
    graph.add_conditional_edges(START, _start, list(get_args(Place)))
    for node in get_args(Kind):
        graph.add_node(node, _move)
    return graph


def _next(table: Table, state: State) -> Place:
    now = due(table, state)
    return "__end__" if now is None or table.live.seats[now.seat].kind == "person" else now.kind


async def _start(state: State, runtime: Runtime[Table]) -> Place:
    # Asynchronous although it waits for nothing: LangGraph hands a plain function to a thread.
    return _next(runtime.context, state)


async def _move(state: State, runtime: Runtime[Table]) -> Command[Place]:
    table, whose = runtime.context, due(runtime.context, state)
    assert whose is not None
    seat, now = whose.seat, State(said=state["said"], since=monotonic())
    reply = await table.live.seats[seat].reply(seat_view(table, now, seat))
    turn, update = take(table, now, seat, reply)
    await table.live.record(turn)
    return Command(update=update, goto=_next(table, state_after(now, update)))
