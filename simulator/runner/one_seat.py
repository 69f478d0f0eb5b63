r"""The shared machine of benchmarks whose episodes have one seat and a fixed list of steps.

::

    START -> all_at_once -> END    a seat that can answers all remaining steps together
          -> a step -> a step…     other seats: one step at a time, in the node of its kind
          -> END                   a person is next to move, or the episode is over

When a person is next, the invocation ends; the runner invokes the graph again with the state rebuilt from the
turn log (`rebuild`). So no checkpointer is needed: the log is the checkpoint, and the number of logged turns
is the position in the episode. Earlier answers are turns of the log and cannot be changed.

A benchmark defines the rest in its `OneSeatContext`: the steps, what a step shows, what a reply logs, and
when a person has to leave.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, Protocol, TypedDict, TypeVar

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Turn
from simulator.errors import SeatError
from simulator.runner.machines import ActiveEpisode, EpisodeMachine, Take, due_since, make_turn, state_after
from simulator.seats import Reply, Seat, View
from simulator.seeds import derive_seed


class Step(Protocol):
    """One turn of an episode."""

    @property
    def kind(self) -> str:
        """Return the kind of answer it asks for."""


ItemT = TypeVar("ItemT")
StepT = TypeVar("StepT", bound=Step)
AllAtOnce = Callable[[View], Awaitable[Sequence[Reply]]]
"""Answers all remaining steps, with one reply for each, in order."""


class State(TypedDict):
    """The graph's state: plain values only.

    Attributes:
        said: ``[kind, text]`` per turn.
        since: when it became the seat's turn (seconds, monotonic).
    """

    said: Annotated[list[list[str]], operator.add]
    since: float


Update = dict[str, Any]
AT_ONCE: Final = "all_at_once"


@dataclass(frozen=True, kw_only=True)
class OneSeatContext(ABC, Generic[ItemT, StepT]):
    """The live objects of an episode, passed as the graph's context, never in its state.

    Attributes:
        record: writes a turn to the log; the turn counts once it returns.
        NODES: step kind -> node of the graph.
        FLOW: node -> the nodes that may follow it, besides the end.
    """

    SEAT: ClassVar[str]
    NODES: ClassVar[Mapping[str, str]]
    FLOW: ClassVar[Mapping[str, tuple[str, ...]]]

    episode_id: str
    item: ItemT
    who: Seat
    record: Callable[[Turn], Awaitable[None]] = field(repr=False)
    seed: int = 0
    repeat: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def person(self) -> bool:
        """Return True if a person sits in the seat."""
        return self.who.kind == "person"

    @property
    @abstractmethod
    def steps(self) -> tuple[StepT, ...]:
        """Return every step of the episode."""

    @property
    @abstractmethod
    def language(self) -> str:
        """Return the language of the pages."""

    def exit_error(self, state: State) -> SeatError | None:
        """Return why a person may not continue after `state`; None if they may, which is the default."""
        return None

    @abstractmethod
    def task_view(self, state: State, steps: tuple[StepT, ...], *, at_once: bool) -> Any:
        """Return what the seat is shown (`View.task`) of the next `steps`."""

    @abstractmethod
    def bulk_answerer(self, step: StepT) -> AllAtOnce | None:
        """Return a function that answers all steps from `step` on; None for a seat that goes step by step."""

    @abstractmethod
    def turn_content(self, step: StepT, reply: Reply) -> tuple[str, dict[str, Any]]:
        """Return the text and the payload of the turn for a reply.

        Raises:
            SeatError: if the reply breaks the rules of the step.
        """


ContextT = TypeVar("ContextT", bound=OneSeatContext[Any, Any])


def rebuild(turns: Iterable[Turn]) -> State:
    """Return the state after an episode's `turns`, which must be in order."""
    turns = tuple(turns)
    dialogue = [[turn.payload["kind"], turn.text] for turn in turns]
    return State(said=dialogue, since=due_since(turns))


def step_due(context: OneSeatContext[Any, StepT], state: State) -> StepT | None:
    """Return the next step; None when the episode is over."""
    done = len(state["said"])
    over = context.exit_error(state) is not None or done >= len(context.steps)
    return None if over else context.steps[done]


def seat_view(context: OneSeatContext[Any, Any], state: State, *, at_once: bool = False) -> View:
    """Return the seat's view of the next step, or with `at_once` of all remaining steps."""
    number = len(state["said"])
    steps = context.steps[number:] if at_once else context.steps[number : number + 1]
    return View(
        episode_id=context.episode_id,
        seat=context.SEAT,
        number=number,
        language=context.language,
        lines=(),
        task=context.task_view(state, steps, at_once=at_once),
        seed=derive_seed(context.seed, number),
        repeat=context.repeat,
        moves=number,
        options=context.options,
    )


def seat_turn(context: OneSeatContext[Any, Any], state: State, reply: Reply) -> tuple[Turn, Update]:
    """Convert a reply to a turn for the log and an update of the state.

    Raises:
        SeatError: if the episode is over, or the reply breaks the rules of its step.
    """
    step = step_due(context, state)
    if step is None:
        raise SeatError("The episode is over.", context.SEAT, code="over")
    text, payload = context.turn_content(step, reply)
    turn = make_turn(
        context.episode_id,
        len(state["said"]),
        context.SEAT,
        reply,
        text=text,
        payload=payload,
        since=state["since"],
    )
    return turn, {"said": [[step.kind, text]], "since": monotonic()}


def build_graph(
    flow: Mapping[str, tuple[str, ...]],
) -> StateGraph[State, OneSeatContext[Any, Any], State, State]:
    """Return the uncompiled graph of a `OneSeatContext.FLOW`."""
    graph = StateGraph(State, context_schema=OneSeatContext)
    graph.add_conditional_edges(START, _start, [AT_ONCE, *flow, END])
    for node, following in flow.items():
        graph.add_node(node, _answer, destinations=(*following, END))
    graph.add_node(AT_ONCE, _answer_all)
    graph.add_edge(AT_ONCE, END)
    return graph


class OneSeatMachine(EpisodeMachine[ContextT, State]):
    """The `EpisodeMachine` of such a benchmark."""

    context_type: type[ContextT]
    # Graph steps besides the episode's: the start, and those that LangGraph counts itself.
    _other_steps: Final = 4

    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """Return the uncompiled graph."""
        return build_graph(self.context_type.FLOW)

    rebuild = staticmethod(rebuild)

    def steps(self, context: ContextT) -> int:
        """Return an upper bound of graph steps."""
        return len(context.steps) + self._other_steps

    def take(self, seat: str) -> Take[ContextT, State]:
        """Return the function that converts a reply to a turn."""
        return seat_turn

    def seat_due(self, context: ContextT, state: State) -> str | None:
        """Return the one seat, until the last step."""
        return None if step_due(context, state) is None else self.context_type.SEAT

    def status(self, context: ContextT, state: State) -> Literal["completed"] | None:
        """Return ``completed`` after the last step; the graph aborts episodes that end before."""
        return "completed" if len(state["said"]) >= len(context.steps) else None

    def make_context(self, live: ActiveEpisode) -> ContextT:
        """Return the graph's context."""
        return self.context_type(
            episode_id=live.episode.id,
            item=live.item,
            who=live.seats[self.context_type.SEAT],
            record=live.record,
            seed=live.episode.seed,
            repeat=live.episode.repeat,
            options=live.episode.options,
        )


def _next(context: OneSeatContext[Any, Any], state: State) -> str:
    if why := context.exit_error(state):
        raise why
    step = step_due(context, state)
    if step is None or context.person:
        return END
    return context.NODES[step.kind] if context.bulk_answerer(step) is None else AT_ONCE


async def _start(state: State, runtime: Runtime[OneSeatContext[Any, Any]]) -> str:
    # Asynchronous, although it awaits nothing: LangGraph would run a plain function in a thread.
    return _next(runtime.context, state)


async def _answer_all(state: State, runtime: Runtime[OneSeatContext[Any, Any]]) -> Update:
    context, before = runtime.context, len(state["said"])
    answer = context.bulk_answerer(context.steps[before])
    assert answer is not None
    for reply in await answer(seat_view(context, state, at_once=True)):
        turn, update = seat_turn(context, state, reply)
        await context.record(turn)
        state = state_after(state, update)
    return {"said": state["said"][before:], "since": state["since"]}


async def _answer(state: State, runtime: Runtime[OneSeatContext[Any, Any]]) -> Command[Any]:
    context = runtime.context
    due = State(said=state["said"], since=monotonic())
    reply = await context.who.reply(seat_view(context, due))
    turn, update = seat_turn(context, due, reply)
    await context.record(turn)
    return Command(update=update, goto=_next(context, state_after(due, update)))
