r"""The episode as a LangGraph state machine: one graph, whatever the task, whoever sits in its seats.

::

    people, in a study, first set:  consent -> ready -> …
    people, free play:                         ready -> …
    people, further sets:                      [ready ->] …      users alone: they say what they want
    everybody else:                                     …
    two people: each in their own time, and the task begins when both are through

    decide:    decide -> END                                       the robot acts, or nobody would answer
               decide -> answer -> decide -> answer -> … -> END    it asks, and has questions left
    annotate:  annotate -> END

    START -> leave                       no consent: the episode is aborted
          -> decide | answer | annotate  whose turn it is, and the others' after it
          -> END                         a person is due, or nobody

Once the questions are used up the robot must act. Where a person is due, the invocation ends; the runner
invokes the graph again with the state rebuilt from the turn log (`rebuild`). So no checkpointer is needed:
the log is the checkpoint. What was asked and answered is appended to the task at every further decision.
"""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from time import monotonic
from typing import Annotated, Any, Final, Literal, NamedTuple, TypedDict, get_args

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Turn
from simulator.ambik.items import DecideItem, DraftItem, Item
from simulator.ambik.moves import annotated, answered, decided_by, fronted
from simulator.ambik.players.knows import AnnotatorKnows, RobotKnows, UserKnows
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Kind, Options, blinded, seats_of
from simulator.errors import SeatError
from simulator.forms import NO
from simulator.runner.turns import due_since, make_turn, state_after
from simulator.seats import Line, Reply, Seat, View
from simulator.seeds import derive_seed

DECLINED: Final = "declined"
_ASKS: Final = "asks"


class Due(NamedTuple):
    """Who is to do what."""

    seat: str
    kind: Kind


@dataclass(frozen=True, kw_only=True)
class Table:
    """What an episode is played with; travels as the graph's context, never in its state.

    Attributes:
        seats: those that the task has.
        record: puts a turn into the log; when it returns, the turn counts.
    """

    episode_id: str
    item: Item
    seats: Mapping[str, Seat]
    record: Callable[[Turn], Awaitable[None]] = field(repr=False)
    seed: int = 0
    repeat: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def rules(self) -> Options:
        """The options, read."""
        return Options.read(self.options)

    @cached_property
    def front(self) -> tuple[Due, ...]:
        """What people do before the task: two of them in any order, each their own things in this one."""
        people = [seat for seat in seats_of(self.options) if self.seats[seat].kind == "person"]
        return tuple(Due(seat, kind) for seat in people for kind in self._before(seat))

    def _before(self, seat: str) -> tuple[Kind, ...]:
        if self.rules.begun:
            # A robot that acts at once would end the set before its user has seen it.
            return ("ready",) if seat == USER else ()
        return ("consent", "ready") if self.rules.study else ("ready",)

    @property
    def decided_on(self) -> DecideItem:
        """The item, of an episode with a robot."""
        assert not isinstance(self.item, DraftItem)
        return self.item

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """The actions that are offered, in display order: it is drawn, so no place tells anything."""
        given = () if isinstance(self.item, DraftItem) else tuple(dict.fromkeys(self.item.options))
        return tuple(Random(derive_seed(self.seed, "offered")).sample(given, len(given)))


class State(TypedDict):
    """Plain values only.

    Attributes:
        said: ``[seat, kind, text, "asks" or ""]`` per turn.
        since: when the seat that is due became so (seconds, monotonic).
    """

    said: Annotated[list[list[str]], operator.add]
    since: float


Update = dict[str, Any]
Node = Literal["leave", "decide", "answer", "annotate"]
Place = Literal["leave", "decide", "answer", "annotate", "__end__"]


def rebuild(turns: Iterable[Turn]) -> State:
    """The state after `turns`, which must be an episode's, in order."""
    logged = tuple(turns)
    said = [_line(turn.seat, turn.payload, turn.text) for turn in logged]
    return State(said=said, since=due_since(logged))


def due(table: Table, state: State, seat: str = "") -> Due | None:
    """Who is to do what next; None when the episode is over.

    Args:
        table: what is played with.
        state: of the episode.
        seat: whose turn it is, where it may be either's: two people read the instructions at the same time.
    """
    said = state["said"]
    if left(table, state) is not None:
        return None
    if missing := unread(table, state):
        return next((one for one in missing if one.seat == seat), missing[0])
    played = said[len(table.front) :]
    if table.rules.task == "annotate":
        return None if played else Due(ANNOTATOR, "annotate")
    if not played or played[-1][1] == "answer":
        return Due(ROBOT, "decide")
    waits = played[-1][3] == _ASKS and asked(state) <= table.rules.questions
    return Due(USER, "answer") if waits else None


def unread(table: Table, state: State) -> tuple[Due, ...]:
    """What people have still to do before the task."""
    done = {(who, kind) for who, kind, *_ in state["said"]}
    return tuple(one for one in table.front if one not in done)


def left(table: Table, state: State) -> str | None:
    """Why a person may not go on: they did not consent."""
    declined = any(kind == "consent" and text == NO for _, kind, text, _ in state["said"])
    return DECLINED if declined else None


def over(table: Table, state: State) -> bool:
    """Whether everything has been said; not so where somebody left."""
    return due(table, state) is None and left(table, state) is None


def asked(state: State) -> int:
    """How many questions the robot has asked."""
    return sum(flag == _ASKS for *_, flag in state["said"])


def must_act(table: Table, state: State) -> bool:
    """Whether the questions are used up. Where nobody answers, a robot may decide to ask nevertheless."""
    return 0 < table.rules.questions <= asked(state)


def pending(state: State) -> str:
    """The question that waits for an answer, or was the last one; empty if nothing was asked."""
    return next((text for *_, text, flag in reversed(state["said"]) if flag == _ASKS), "")


def exchanges(state: State) -> tuple[tuple[str, str], ...]:
    """Questions of this episode with their answers."""
    found: list[tuple[str, str]] = []
    question = ""
    for _, kind, text, flag in state["said"]:
        if flag == _ASKS:
            question = text
        elif kind == "answer":
            found.append((question, text))
    return tuple(found)


def seat_view(table: Table, state: State, seat: str) -> View:
    """All that `seat` may see now."""
    number = len(state["said"])
    talk = state["said"][len(table.front) :]
    return View(
        episode_id=table.episode_id,
        seat=seat,
        number=number,
        language=table.rules.language,
        lines=tuple(Line(who, text) for who, _, text, _ in talk),
        task=_knows(table, state, seat),
        seed=derive_seed(table.seed, number),
        repeat=table.repeat,
        moves=sum(who == seat for who, *_ in talk),
        options=table.options,
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
    """A reply as a turn for the log and an update of the state.

    Raises:
        SeatError: if the episode is over, it is not that seat's turn, or the reply breaks a rule (`forms`).
    """
    now = due(table, state, seat)
    if now is None or now.seat != seat:
        raise SeatError("Nothing is asked of you now.", seat, code="over")
    who, person = table.seats[seat], table.seats[seat].kind == "person"
    if now.kind == "decide":
        text, payload = decided_by(
            reply,
            table.decided_on,
            table.rules,
            offered=table.offered,
            must_act=must_act(table, state),
            episode_id=table.episode_id,
            name=who.name,
            person=person,
        )
    elif now.kind == "answer":
        robot = table.seats[ROBOT].kind == "person"
        question = None if robot else pending(state)
        text, payload = answered(reply, question, asked=len(state["said"]) - 1, person=person)
    elif now.kind == "annotate":
        assert isinstance(table.item, DraftItem)
        text, payload = annotated(reply, table.item.draft, name=who.name, person=person)
    else:
        text, payload = fronted(reply, now.kind, seat)
    turn = make_turn(
        table.episode_id,
        len(state["said"]),
        seat,
        reply,
        text=text,
        payload=payload,
        since=state["since"],
    )
    return turn, {"said": [_line(seat, payload, text)], "since": monotonic()}


def _line(seat: str, payload: Mapping[str, Any], text: str) -> list[str]:
    return [seat, payload["kind"], text, _ASKS if payload.get("asks") else ""]


def build_graph() -> StateGraph[State, Table, State, State]:
    """The uncompiled graph; batch runs compile it without a checkpointer."""
    graph = StateGraph(State, context_schema=Table)
    graph.add_conditional_edges(START, _start, list(get_args(Place)))
    graph.add_node("leave", _leave)
    graph.add_node("decide", _decide)
    graph.add_node("answer", _answer)
    graph.add_node("annotate", _annotate)
    return graph


def _next(table: Table, state: State) -> Place:
    if left(table, state) is not None:
        return "leave"
    now = due(table, state)
    if now is None or table.seats[now.seat].kind == "person":
        return "__end__"
    assert now.kind in get_args(Node)
    return now.kind  # type: ignore[return-value]


async def _start(state: State, runtime: Runtime[Table]) -> Place:
    # Asynchronous although it waits for nothing: LangGraph hands a plain function to a thread.
    return _next(runtime.context, state)


async def _leave(state: State, runtime: Runtime[Table]) -> Update:
    who = next(seat for seat, kind, text, _ in state["said"] if kind == "consent" and text == NO)
    raise SeatError("The participant did not consent.", who, code=DECLINED)


async def _decide(state: State, runtime: Runtime[Table]) -> Command[Place]:
    return await _moved(runtime.context, state, ROBOT)


async def _answer(state: State, runtime: Runtime[Table]) -> Command[Place]:
    return await _moved(runtime.context, state, USER)


async def _annotate(state: State, runtime: Runtime[Table]) -> Command[Place]:
    return await _moved(runtime.context, state, ANNOTATOR)


async def _moved(table: Table, state: State, seat: str) -> Command[Place]:
    now = State(said=state["said"], since=monotonic())
    reply = await table.seats[seat].reply(seat_view(table, now, seat))
    turn, update = take(table, now, seat, reply)
    await table.record(turn)
    return Command(update=update, goto=_next(table, state_after(now, update)))
