r"""The episode as a LangGraph state machine: one graph, whatever the task, whoever sits in its one seat.

::

    people, in a study, first set:  consent -> ready -> qualification … -> the task's steps -> end
    people, further sets:                                                  the task's steps -> end
    people, free play:                         ready ->                    the task's steps -> end
    everybody else:                                                        the task's steps -> end

    the task's steps (`playing.task_steps`):
        crowd       label -> plausible -> relabel        evaluate    plausible -> relabel
        annotate    annotate                             true_false  one statement after the other
        generate    generate                             continue    one option after the other
        nli         one pair after the other             claim       paraphrase -> claim

    START -> leave               no consent, or not qualified: the episode is aborted
          -> all -> END          a seat that can does all steps that are left at once
          -> answer -> answer…   the others: one step after the other
          -> END                 a person is due, or nobody

Where a person is due, the invocation ends; the runner invokes the graph again with the state rebuilt from
the turn log (`rebuild`). So no checkpointer is needed: the log is the checkpoint, and as an episode is a
fixed list of steps, where it stands is how many turns the log holds. Earlier answers are turns of the log,
which never change: they are locked.
"""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from typing import Annotated, Any, Final, Literal, TypedDict, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Turn
from simulator.ambient.data import Question
from simulator.ambient.items import Item
from simulator.ambient.payloads import logged
from simulator.ambient.players.knows import AnswersAll, Knows
from simulator.ambient.playing import ANNOTATOR, NO, Options, Step, plan
from simulator.ambient.shown import Shown, shown_in
from simulator.errors import SeatError
from simulator.runner.turns import make_turn, state_after
from simulator.seats import Reply, Seat, View
from simulator.seeds import derive_seed

SCREENED_OUT: Final = "screened_out"
DECLINED: Final = "declined"


@dataclass(frozen=True, kw_only=True)
class Table:
    """What an episode is played with; travels as the graph's context, never in its state.

    Attributes:
        record: puts a turn into the log; when it returns, the turn counts.
    """

    episode_id: str
    item: Item
    annotator: Seat
    record: Callable[[Turn], Awaitable[None]] = field(repr=False)
    seed: int = 0
    repeat: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def person(self) -> bool:
        """Whether a person takes part."""
        return self.annotator.kind == "person"

    @cached_property
    def rules(self) -> Options:
        """The options, read."""
        return Options.read(self.options)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every turn that the episode will have."""
        return plan(self.item, person=self.person, options=self.rules, seed=self.seed)

    @property
    def questions(self) -> tuple[Question, ...]:
        """Of the qualification."""
        return self.rules.qualification.questions if self.rules.qualification else ()

    def shown(self, step: Step) -> Shown:
        """What is shown in a step."""
        return shown_in(self.item, step, self.questions)


class State(TypedDict):
    """Plain values only.

    Attributes:
        said: ``[kind, text]`` per turn.
        since: when the annotator became due (seconds, monotonic).
    """

    said: Annotated[list[list[str]], operator.add]
    since: float


Update = dict[str, Any]
Place = Literal["leave", "all", "answer", "__end__"]


def rebuild(turns: Iterable[Turn]) -> State:
    """The state after `turns`, which must be an episode's, in order."""
    logged_turns = tuple(turns)
    said = [[turn.payload["kind"], turn.text] for turn in logged_turns]
    # A person takes their time between two invocations; it runs from the turn before.
    age = _seconds_since(logged_turns[-1].created_at) if logged_turns else 0.0
    return State(said=said, since=monotonic() - age)


def step_due(table: Table, state: State) -> Step | None:
    """What is to be done next; None when the episode is over."""
    done = len(state["said"])
    over = left(table, state) is not None or done >= len(table.steps)
    return None if over else table.steps[done]


def left(table: Table, state: State) -> str | None:
    """Why a person may not go on: they did not consent, or got too little of the qualification right."""
    said = state["said"]
    if said[:1] == [["consent", NO]]:
        return DECLINED
    test = table.rules.qualification
    answers = [text for kind, text in said if kind == "qualification"]
    if test is None or len(answers) < len(test.questions) or not answers:
        return None
    right = sum(text == question.label for text, question in zip(answers, test.questions, strict=True))
    return SCREENED_OUT if right < test.needed else None


def seat_view(table: Table, state: State, steps: tuple[Step, ...]) -> View:
    """All that the annotator may see of `steps`, which are due next."""
    number = len(state["said"])
    knows = Knows(
        steps=steps,
        shown=table.shown(steps[0]),
        item=table.item,
        seeds=tuple(derive_seed(table.seed, number + place) for place in range(len(steps))),
        said=tuple((kind, text) for kind, text in state["said"]),
    )
    return View(
        episode_id=table.episode_id,
        seat=ANNOTATOR,
        number=number,
        language=table.rules.language,
        lines=(),
        task=knows,
        seed=knows.seeds[0],
        repeat=table.repeat,
        moves=number,
        options=table.options,
    )


def annotator_turn(table: Table, state: State, reply: Reply) -> tuple[Turn, Update]:
    """A reply as a turn for the log and an update of the state.

    Raises:
        SeatError: if the episode is over, or the reply breaks the rules of its form (`forms`).
    """
    step = step_due(table, state)
    if step is None:
        raise SeatError("Nothing is asked any more.", ANNOTATOR, code="over")
    text, payload = logged(table.item, step, reply, table.rules, person=table.person)
    turn = make_turn(
        table.episode_id,
        len(state["said"]),
        ANNOTATOR,
        reply,
        text=text,
        payload=payload,
        since=state["since"],
    )
    return turn, {"said": [[step.kind, text]], "since": monotonic()}


def build_graph() -> StateGraph[State, Table, State, State]:
    """The uncompiled graph; batch runs compile it without a checkpointer."""
    graph = StateGraph(State, context_schema=Table)
    graph.add_conditional_edges(START, _start, list(get_args(Place)))
    graph.add_node("leave", _leave)
    graph.add_node("all", _all)
    graph.add_node("answer", _answer)
    graph.add_edge("all", END)
    return graph


def _next(table: Table, state: State) -> Place:
    if left(table, state) is not None:
        return "leave"
    if step_due(table, state) is None or table.person:
        return "__end__"
    seat = table.annotator
    return "all" if isinstance(seat, AnswersAll) and seat.answers_all(table.item) else "answer"


async def _start(state: State, runtime: Runtime[Table]) -> Place:
    # Asynchronous although it waits for nothing: LangGraph hands a plain function to a thread.
    return _next(runtime.context, state)


async def _leave(state: State, runtime: Runtime[Table]) -> Update:
    if left(runtime.context, state) == DECLINED:
        raise SeatError("The participant did not consent.", ANNOTATOR, code=DECLINED)
    raise SeatError("The participant did not qualify.", ANNOTATOR, code=SCREENED_OUT)


async def _all(state: State, runtime: Runtime[Table]) -> Update:
    table, seat = runtime.context, runtime.context.annotator
    assert isinstance(seat, AnswersAll)
    before = len(state["said"])
    replies = await seat.answer_all(seat_view(table, state, table.steps[before:]))
    for reply in replies:
        turn, update = annotator_turn(table, state, reply)
        await table.record(turn)
        state = state_after(state, update)
    return {"said": state["said"][before:], "since": state["since"]}


async def _answer(state: State, runtime: Runtime[Table]) -> Command[Place]:
    table = runtime.context
    due = State(said=state["said"], since=monotonic())
    step = step_due(table, due)
    assert step is not None
    reply = await table.annotator.reply(seat_view(table, due, (step,)))
    turn, update = annotator_turn(table, due, reply)
    await table.record(turn)
    return Command(update=update, goto=_next(table, state_after(due, update)))


def _seconds_since(written: str) -> float:
    return max((datetime.now(UTC) - datetime.fromisoformat(written)).total_seconds(), 0.0)
