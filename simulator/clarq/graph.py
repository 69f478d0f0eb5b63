r"""The dialogue as a LangGraph state machine, the same for all kinds of players.

::

    START -> greet -> seek -> classify ---------> seek -> … -> END
                          |           \-> walk -> seek
                           -> respond ----------> seek

A provider that answers through experts (`ProviderAgent`) classifies the seeker's line and, if it asks for
a detail and nodes are available, walks through the tree. Its response follows from that decision, so it
is not a step of the machine. Any other provider makes its complete move in `respond`. When a person is to
move, the invocation ends; the runner invokes the graph again with the state rebuilt from the turn log
(`rebuild`). So no checkpointer is needed: the log is the checkpoint.
"""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from itertools import filterfalse
from time import monotonic
from typing import Annotated, Any, Literal, TypedDict, get_args

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Turn
from personas.templates import render
from simulator.clarq import provider as rules
from simulator.clarq.data import (
    PROVIDER,
    SEEKER,
    TURN_LIMIT,
    SeekerKnows,
    background_text,
    is_farewell,
    template_name,
)
from simulator.clarq.experts import Experts, Situation
from simulator.clarq.provider import Decision, ProviderTurn
from simulator.errors import SeatError
from simulator.runner.machines import is_aside, make_turn, state_after
from simulator.seats import Kind, Line, Reply, Seat, View
from simulator.seeds import derive_seed
from trees import OPENING, Frontier, Task


@dataclass(frozen=True, slots=True)
class ProviderKnows:
    """A provider's `View.task`: the complete task and the position of the dialogue in its tree."""

    task: Task
    frontier: Frontier


class ProviderAgent:
    """A provider seat that answers through experts; in an episode, the graph runs its steps."""

    def __init__(self, experts: Experts, kind: Kind) -> None:
        self.experts = experts
        self.kind = kind
        self.name = experts.name

    async def reply(self, view: View) -> Reply:
        """Run all steps and return the reply, for use outside the graph."""
        situation = situation_of(view)
        decision = await rules.decide(self.experts, situation, multi=bool(view.options.get("multi")))
        turn = await rules.respond(self.experts, situation, decision)
        trace = rules.trace(decision, situation.frontier, turn)
        return Reply(text=turn.text, move={"give": list(turn.give)}, trace=trace)


def situation_of(view: View) -> Situation:
    """Return a provider's view as a situation for its experts."""
    task_view: ProviderKnows = view.task
    return Situation(
        task=task_view.task,
        lines=view.lines,
        frontier=task_view.frontier,
        episode_id=view.episode_id,
        number=view.number,
        seed=view.seed,
        repeat=view.repeat,
    )


@dataclass(frozen=True, kw_only=True)
class Context:
    """The live objects of an episode, the graph's context; a turn counts once `record` has returned."""

    episode_id: str
    task: Task
    seeker: Seat
    provider: Seat
    record: Callable[[Turn], Awaitable[None]]
    seed: int = 0
    repeat: int = 0
    turn_limit: int = TURN_LIMIT
    multi: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def prompt(self) -> str:
        """The seeker's background as prompt text."""
        return background_text(self.task)


class State(TypedDict):
    """The state of a dialogue in plain values: ``[seat, text]`` per turn; `since` in monotonic seconds."""

    lines: Annotated[list[list[str]], operator.add]
    opened: bool
    given: Annotated[list[str], operator.add]
    decision: dict[str, Any]
    since: float


Update = dict[str, Any]
# The nodes that may follow a turn.
NextNode = Literal["seek", "classify", "respond", "__end__"]


def rebuild(turns: Iterable[Turn]) -> State:
    """Return the state after an episode's `turns`, given in order."""
    lines: list[list[str]] = []
    given: list[str] = []
    opened = False
    for turn in filterfalse(is_aside, turns):
        lines.append([turn.seat, turn.text])
        indices = turn.payload.get("give", [])
        opened = opened or OPENING in indices
        given += [index for index in indices if index != OPENING]
    return State(lines=lines, opened=opened, given=given, decision={}, since=monotonic())


def frontier(task: Task, state: State) -> Frontier:
    """Return the position of the dialogue in the task's tree."""
    return Frontier(task.tree, state["opened"], tuple(state["given"]))


def ending(state: State, turn_limit: int) -> Literal["completed", "truncated"] | None:
    """Return the status of an ended dialogue (by a goodbye, or at the turn limit); None if it continues."""
    lines = state["lines"]
    if not lines:
        return None
    seat, text = lines[-1]
    if seat == SEEKER:
        return "completed" if is_farewell(text) else None
    return "truncated" if sum(who == SEEKER for who, _ in lines) >= turn_limit else None


def seat_due(state: State, turn_limit: int) -> str | None:
    """Return the seat to move; None when the dialogue has ended. Jax, the provider, greets first."""
    if ending(state, turn_limit):
        return None
    lines = state["lines"]
    return SEEKER if lines and lines[-1][0] == PROVIDER else PROVIDER


def view_for(context: Context, state: State, seat: str) -> View:
    """Return everything that `seat` may see now; a seeker never sees the tree."""
    task_view = (
        SeekerKnows(context.task.background, context.prompt, context.task.language)
        if seat == SEEKER
        else ProviderKnows(context.task, frontier(context.task, state))
    )
    number = len(state["lines"])
    return View(
        episode_id=context.episode_id,
        seat=seat,
        number=number,
        language=context.task.language,
        lines=tuple([_line(seat, text) for seat, text in state["lines"]]),
        task=task_view,
        seed=derive_seed(context.seed, number),
        repeat=context.repeat,
        moves=_moves(state, seat),
        options=context.options,
    )


def seeker_turn(context: Context, state: State, reply: Reply) -> tuple[Turn, Update]:
    """Return a seeker's reply as a turn for the log and a state update.

    Raises:
        SeatError: if the reply is empty.
    """
    text = reply.text.strip()
    if not text:
        raise SeatError("The seeker said nothing.", SEEKER, code="nothing_said")
    return _turn(context, state, SEEKER, reply, text, {}, {})


def provider_move(context: Context, state: State, reply: Reply) -> tuple[Turn, Update]:
    """Return the move of a provider without experts (a person, a script) as a turn and a state update.

    Raises:
        SeatError: if the move breaks the rules of `provider.take_move`.
    """
    before = frontier(context.task, state)
    turn = rules.take_move(before, reply.move, reply.text, context.task.language, multi=context.multi)
    return _provider_turn(context, state, reply, None, turn)


def greeting(context: Context, state: State) -> tuple[Turn, Update]:
    """Return Jax's fixed greeting as a turn and a state update."""
    name = template_name("greeting", str(context.options.get("personas", "default")))
    text = render(name, context.task.language, {}).text.strip()
    return _turn(context, state, PROVIDER, Reply(), text, {"greeting": True}, {})


def build_graph() -> StateGraph[State, Context, State, State]:
    """Return the uncompiled graph; batch runs compile it without a checkpointer.

    Nodes name their successor themselves (`Command`): a conditional edge would read the complete state
    again, which costs a third of a step.
    """
    graph = StateGraph(State, context_schema=Context)
    graph.add_conditional_edges(START, _start, ["greet", *get_args(NextNode)])
    for name, node in (("greet", _greet), ("seek", _seek), ("classify", _classify), ("walk", _walk)):
        graph.add_node(name, node)
    graph.add_node("respond", _respond)
    return graph


async def _start(state: State, runtime: Runtime[Context]) -> Literal["greet", NextNode]:
    # Asynchronous although it awaits nothing: LangGraph would run a plain function in a thread.
    return _next_node(runtime.context, state) if state["lines"] else "greet"


def _next_node(context: Context, state: State) -> NextNode:
    seat = seat_due(state, context.turn_limit)
    if seat is None:
        return "__end__"
    player = context.seeker if seat == SEEKER else context.provider
    if player.kind == "person":
        return "__end__"
    if seat == SEEKER:
        return "seek"
    return "classify" if isinstance(player, ProviderAgent) else "respond"


async def _greet(state: State, runtime: Runtime[Context]) -> Command[Literal["seek", "__end__"]]:
    return await _record(runtime.context, state, *greeting(runtime.context, state))


async def _seek(
    state: State, runtime: Runtime[Context]
) -> Command[Literal["classify", "respond", "__end__"]]:
    context = runtime.context
    reply = await context.seeker.reply(view_for(context, state, SEEKER))
    return await _record(context, state, *seeker_turn(context, state, reply))


async def _classify(state: State, runtime: Runtime[Context]) -> Command[Literal["walk", "seek", "__end__"]]:
    experts, situation = _experts_and_situation(runtime.context, state)
    decision = await rules.classify(experts, situation)
    if decision.walking:
        return Command(update={"decision": asdict(decision)}, goto="walk")
    return await _respond_by_experts(runtime.context, state, experts, situation, decision)


async def _walk(state: State, runtime: Runtime[Context]) -> Command[Literal["seek", "__end__"]]:
    experts, situation = _experts_and_situation(runtime.context, state)
    decision = Decision(**state["decision"])
    decision = await rules.walk(experts, situation, decision, multi=runtime.context.multi)
    return await _respond_by_experts(runtime.context, state, experts, situation, decision)


async def _respond(state: State, runtime: Runtime[Context]) -> Command[Literal["seek", "__end__"]]:
    context = runtime.context
    reply = await context.provider.reply(view_for(context, state, PROVIDER))
    return await _record(context, state, *provider_move(context, state, reply))


async def _respond_by_experts(
    context: Context, state: State, experts: Experts, situation: Situation, decision: Decision
) -> Command[Any]:
    turn = await rules.respond(experts, situation, decision)
    return await _record(context, state, *_provider_turn(context, state, Reply(), decision, turn))


# Every turn sees all lines before it; without the cache, its cost would grow with the dialogue.
_line = lru_cache(maxsize=8192)(Line)


def _moves(state: State, seat: str) -> int:
    """Return the number of moves of `seat`; the greeting does not count as a move."""
    spoken = sum(who == seat for who, _ in state["lines"])
    return max(spoken - 1, 0) if seat == PROVIDER else spoken


def _experts_and_situation(context: Context, state: State) -> tuple[Experts, Situation]:
    """Return the provider's experts and their situation."""
    assert isinstance(context.provider, ProviderAgent)
    return context.provider.experts, situation_of(view_for(context, state, PROVIDER))


def _provider_turn(
    context: Context, state: State, reply: Reply, decision: Decision | None, turn: ProviderTurn
) -> tuple[Turn, Update]:
    payload = rules.trace(decision, frontier(context.task, state), turn)
    update: Update = {"opened": True} if OPENING in turn.give else {"given": list(turn.give)}
    return _turn(context, state, PROVIDER, reply, turn.text.strip(), payload, update)


def _turn(
    context: Context,
    state: State,
    seat: str,
    reply: Reply,
    text: str,
    payload: dict[str, Any],
    update: Update,
) -> tuple[Turn, Update]:
    number = len(state["lines"])
    turn = make_turn(
        context.episode_id, number, seat, reply, text=text, payload=payload, since=state["since"]
    )
    return turn, {"lines": [[seat, text]], "since": monotonic(), **update}


async def _record(context: Context, state: State, turn: Turn, update: Update) -> Command[Any]:
    await context.record(turn)
    return Command(update=update, goto=_next_node(context, state_after(state, update)))
