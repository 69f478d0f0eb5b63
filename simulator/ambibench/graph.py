r"""The episode as a LangGraph state machine: one graph, whoever sits in its one seat.

::

    people, in a study:   consent -> instructions -> trials -> comment -> end (later sets: from trials on)
    people, free play:               instructions -> trials            -> end
    everybody else:                                  trials            -> end

    START -> decline                  a person has refused their consent: the episode is aborted
          -> score -> END             a seat that can answers all trials that are left, in one step
          -> answer -> answer -> END  the others: one trial after the other
          -> END                      a person is due, or nobody

Where a person is due, the invocation ends; the runner invokes the graph again with the state rebuilt from
the turn log (`rebuild`). So no checkpointer is needed: the log is the checkpoint, and as an episode is a
fixed list of steps (`playing.plan`), where it stands is how many turns the log holds.
"""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from typing import Annotated, Any, Literal, TypedDict, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Turn
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.oracle import Belief, beliefs
from simulator.ambibench.players.knows import PromptKnows, ScoresAll, TrialKnows
from simulator.ambibench.playing import (
    NO,
    PARTICIPANT,
    Options,
    Step,
    label_payload,
    person_text,
    plan,
    text_payload,
)
from simulator.ambibench.trials import Item
from simulator.errors import SeatError
from simulator.runner.turns import make_turn, state_after
from simulator.seats import Reply, Seat, View
from simulator.seeds import derive_seed


@dataclass(frozen=True, kw_only=True)
class Table:
    """What an episode is played with; travels as the graph's context, never in its state.

    Attributes:
        record: puts a turn into the log; when it returns, the turn counts.
    """

    episode_id: str
    item: Item
    participant: Seat
    record: Callable[[Turn], Awaitable[None]] = field(repr=False)
    seed: int = 0
    repeat: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def person(self) -> bool:
        """Whether a person takes part."""
        return self.participant.kind == "person"

    @cached_property
    def rules(self) -> Options:
        """The options, read."""
        return Options.read(self.options)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every turn that the episode will have."""
        rules = self.rules
        return plan(self.item, person=self.person, study=rules.study, begun=rules.begun)

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """What the Bayes-optimal learner thinks at each position; none where nothing is labelled."""
        return () if isinstance(self.item, AwsPrompt) else beliefs(self.item)


class State(TypedDict):
    """Plain values only.

    Attributes:
        said: ``[kind, text]`` per turn.
        since: when the participant became due (seconds, monotonic).
    """

    said: Annotated[list[list[str]], operator.add]
    since: float


Update = dict[str, Any]
Place = Literal["decline", "score", "answer", "__end__"]


def rebuild(turns: Iterable[Turn]) -> State:
    """The state after `turns`, which must be an episode's, in order."""
    logged = tuple(turns)
    said = [[turn.payload["kind"], turn.text] for turn in logged]
    # A person takes their time between two invocations; it runs from the turn before.
    age = _seconds_since(logged[-1].created_at) if logged else 0.0
    return State(said=said, since=monotonic() - age)


def step_due(table: Table, state: State) -> Step | None:
    """What is to be done next; None when the episode is over."""
    done = len(state["said"])
    over = declined(state) or done >= len(table.steps)
    return None if over else table.steps[done]


def declined(state: State) -> bool:
    """Whether a person has refused their consent."""
    return state["said"][:1] == [["consent", NO]]


def trial_view(table: Table, state: State) -> View:
    """All that the participant may see of the trial that is due."""
    step = step_due(table, state)
    assert step is not None
    assert step.trial is not None
    setting = "aws" if isinstance(table.item, AwsPrompt) else table.item.setting
    return _view(table, state, TrialKnows(step.trial.text, step.trial.answer, setting))


def prompt_view(table: Table, state: State) -> View:
    """The whole prompt, for a seat that answers all the trials that are left at once."""
    assert not isinstance(table.item, AwsPrompt)
    number = len(state["said"])
    left = tuple(step.trial for step in table.steps[number:] if step.trial is not None)
    seeds = tuple(derive_seed(table.seed, number + place) for place in range(len(left)))
    return _view(table, state, PromptKnows(table.item, left, table.beliefs, seeds))


def _view(table: Table, state: State, knows: TrialKnows | PromptKnows) -> View:
    number = len(state["said"])
    return View(
        episode_id=table.episode_id,
        seat=PARTICIPANT,
        number=number,
        language=table.rules.language,
        lines=(),
        task=knows,
        seed=derive_seed(table.seed, number),
        repeat=table.repeat,
        moves=number,
        options=table.options,
    )


def participant_turn(table: Table, state: State, reply: Reply) -> tuple[Turn, Update]:
    """A reply as a turn for the log and an update of the state.

    Raises:
        SeatError: if the episode is over, or a person's reply breaks the rules (`playing.person_text`).
    """
    step = step_due(table, state)
    if step is None:
        raise SeatError("Nothing is asked any more.", PARTICIPANT, code="over")
    if table.person:
        reply = replace(reply, text=person_text(step.kind, reply.text))
    turn = make_turn(
        table.episode_id,
        len(state["said"]),
        PARTICIPANT,
        reply,
        text=reply.text,
        payload=_payload(table, step, reply),
        since=state["since"],
    )
    return turn, {"said": [[step.kind, reply.text]], "since": monotonic()}


def _payload(table: Table, step: Step, reply: Reply) -> dict[str, Any]:
    if step.trial is None:
        return {"kind": step.kind}
    if step.kind == "text":
        return text_payload(table.item, reply, person=table.person)
    belief = table.beliefs[step.trial.k - 1]
    return label_payload(step.trial, reply, belief, table.rules, person=table.person)


def build_graph() -> StateGraph[State, Table, State, State]:
    """The uncompiled graph; batch runs compile it without a checkpointer."""
    graph = StateGraph(State, context_schema=Table)
    graph.add_conditional_edges(START, _start, list(get_args(Place)))
    graph.add_node("decline", _decline)
    graph.add_node("score", _score)
    graph.add_node("answer", _answer)
    graph.add_edge("score", END)
    return graph


def _next(table: Table, state: State) -> Place:
    if declined(state):
        return "decline"
    step = step_due(table, state)
    if step is None or table.person:
        return "__end__"
    return "score" if step.kind == "answer" and isinstance(table.participant, ScoresAll) else "answer"


async def _start(state: State, runtime: Runtime[Table]) -> Place:
    # Asynchronous although it waits for nothing: LangGraph hands a plain function to a thread.
    return _next(runtime.context, state)


async def _decline(state: State, runtime: Runtime[Table]) -> Update:
    raise SeatError("The participant did not consent.", PARTICIPANT, code="declined")


async def _score(state: State, runtime: Runtime[Table]) -> Update:
    table, seat = runtime.context, runtime.context.participant
    assert isinstance(seat, ScoresAll)
    replies = await seat.score_all(prompt_view(table, state))
    return await _record_all(table, state, replies)


async def _answer(state: State, runtime: Runtime[Table]) -> Command[Place]:
    table = runtime.context
    due = State(said=state["said"], since=monotonic())
    reply = await table.participant.reply(trial_view(table, due))
    turn, update = participant_turn(table, due, reply)
    await table.record(turn)
    return Command(update=update, goto=_next(table, state_after(due, update)))


async def _record_all(table: Table, state: State, replies: Sequence[Reply]) -> Update:
    """Write one turn per reply, in order."""
    before = len(state["said"])
    for reply in replies:
        turn, update = participant_turn(table, state, reply)
        await table.record(turn)
        state = state_after(state, update)
    return {"said": state["said"][before:], "since": state["since"]}


def _seconds_since(written: str) -> float:
    return max((datetime.now(UTC) - datetime.fromisoformat(written)).total_seconds(), 0.0)
