r"""A participant's path through a study, as a LangGraph state machine with the benchmark's graph as subgraph.

::

    START -> welcome -> consent -> instructions -> comprehension -> qualification -> questions_before
          -> task -> questions_after -> debriefing -> completion -> END

    consent                             -> declined
    comprehension, qualification, task  -> screened_out
    welcome                             -> withdrawn      people can withdraw at any point

Each node except `task` asks people the steps that the benchmark's sessions and the study put there (`Step`).
Nodes without steps are skipped: free play has instructions at most, and later sets of a study skip what was
asked in the first. `task` plays the benchmark's graph, and a way out aborts the episode.

The invocation ends where a person is to move; the next one starts at `current_node`, with the state rebuilt
from the turn log. So no checkpointer is needed: the log is the checkpoint. `simulator.studies.machine` plays
the graph for sessions with people, and calls `play_task` directly, as most turns stay within the task.
Episodes without people do not need this graph.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Final, Literal, NamedTuple, TypedDict, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.erase import PERSONAL
from logs.rows import Turn
from simulator.errors import InputError, SeatError
from simulator.forms import NO, YES, checked_length, measurements, read_consent
from simulator.runner.machines import ASIDE, ActiveEpisode, AnyMachine, is_aside
from simulator.seats import Reply
from simulator.studies.files import Study
from simulator.studies.questions import (
    ASKED_AFTER,
    ASKED_BEFORE,
    TRIED,
    Question,
    When,
    missed_checks,
    read_answers,
)

Before = Literal["welcome", "consent", "instructions", "comprehension", "qualification", "questions_before"]
After = Literal["questions_after", "debriefing", "completion"]
Node = Literal[Before, After]
WayOut = Literal["declined", "screened_out", "withdrawn"]
Occasion = Literal["play", "first", "further"]

BEFORE: Final[tuple[Before, ...]] = get_args(Before)
AFTER: Final[tuple[After, ...]] = get_args(After)
NODES: Final = (START, *BEFORE, "task", *AFTER, END)
_OUT: Final[Mapping[str, WayOut]] = {
    "welcome": "withdrawn",
    "consent": "declined",
    "comprehension": "screened_out",
    "qualification": "screened_out",
    "task": "screened_out",
}
WAYS_OUT: Final[Mapping[WayOut, str]] = {
    "declined": "The participant did not consent.",
    "screened_out": "The participant did not qualify.",
    "withdrawn": "The participant withdrew.",
}
MISSED: Final = "missed"
"""The payload field with the ids of failed attention checks."""
PASSED: Final = "passed"
"""The text of a turn that answers all comprehension questions correctly; otherwise ``failed``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step outside the task: a page, and the turn that answers it.

    Attributes:
        node: the node of the graph that asks it.
        kind: the kind of the turn, unique within an episode.
        page: the stage in a participant's view; default: the kind.
        wants: the answer required to continue, at a node with a way out; empty if any answer will do.
        when: the occasions on which it is asked: free play, the first set of a study, further sets.
        seat: the seat that is asked; empty for every person.
        measured: True if the turn includes the page's measurements (`forms.measurements`).
        option: the episode option that must be set for the step to be asked; empty for none.
        questions: the study's questions, if the step asks these.
        choices: the possible answers; empty if any answer will do.
        paired: False if people who are paired are not asked.
        at_once: True if it is about what just happened: it comes before the study's own steps at its node.
    """

    node: Node
    kind: str
    page: str = ""
    wants: str = ""
    when: tuple[Occasion, ...] = ("first",)
    seat: str = ""
    measured: bool = True
    option: str = ""
    questions: tuple[Question, ...] = ()
    choices: tuple[str, ...] = ()
    paired: bool = True
    at_once: bool = False


CONSENT: Final = Step(node="consent", kind="consent", wants=YES)
READY: Final = Step(node="instructions", kind="ready", page="instructions", when=("play", "first"))
COMMENT: Final = Step(node="questions_after", kind="comment", when=("first", "further"))
QUESTIONS_BEFORE: Final = Step(node="questions_before", kind=ASKED_BEFORE)
QUESTIONS_AFTER: Final = Step(node="questions_after", kind=ASKED_AFTER, when=("first", "further"))
DEBRIEFING: Final = Step(node="debriefing", kind="debriefing", when=("first", "further"))
REST: Final = "break"
"""The option of a set that begins with a break, and the kind of the turn that ends the break."""
BREAK: Final = Step(node="instructions", kind=REST, when=("further",), option=REST)
_TRY: Final = Step(node="comprehension", kind=TRIED, page="comprehension")
_AGAIN: Final = Step(node="comprehension", kind="ready_", page="instructions_again")


class Due(NamedTuple):
    """A step to be asked, and the seat that is asked."""

    seat: str
    step: Step


@dataclass(frozen=True, kw_only=True)
class Context:
    """The graph's context: what an episode is played with, apart from its state.

    Attributes:
        outer_steps: the steps outside the task.
    """

    machine: AnyMachine
    episode: ActiveEpisode
    outer_steps: tuple[Step, ...]

    @cached_property
    def steps(self) -> tuple[Due, ...]:
        """The steps of this episode's people, person by person."""
        options = self.episode.episode.options
        now = occasion(options)
        people = (seat for seat, who in self.episode.seats.items() if who.kind == "person")
        return tuple(
            Due(seat, step)
            for seat in people
            for step in self.outer_steps
            if now in step.when and step.seat in ("", seat) and (not step.option or options.get(step.option))
        )

    def task(self, state: State) -> ActiveEpisode:
        """Return the episode as seen by the benchmark: it begins after the steps before the task."""
        first = sum((seat, kind) in self._before for seat, kind, _ in state["said"])
        task: ActiveEpisode = self.episode.once(replace, first=first)
        return task

    @cached_property
    def _before(self) -> frozenset[tuple[str, str]]:
        return frozenset(_key(due) for due in self.steps if due.step.node in BEFORE)


class State(TypedDict):
    """The graph's state, JSON values only.

    Attributes:
        said: ``[seat, kind, text]`` per turn, including turns of the task.
        task: the state of the benchmark's graph.
        leaver: the seat of a person who leaves early; set at the start for a person who withdraws.
    """

    said: Annotated[list[list[str]], operator.add]
    task: Any
    leaver: str


def occasion(options: Mapping[str, Any]) -> Occasion:
    """Return the occasion of an episode: free play, a person's first set of a study, or a further set.

    Raises:
        InputError: if the options ``study`` and ``begun`` are not true or false.
    """
    for name in ("study", "begun"):
        if not isinstance(options.get(name, False), bool):
            raise InputError(f"{name} {options[name]!r}: must be true or false")
    if not options.get("study"):
        return "play"
    return "further" if options.get("begun") else "first"


def turn_entry(turn: Turn) -> list[str]:
    """Return a turn's entry in the state; turns of the task have an empty kind."""
    return [turn.seat, turn.payload["kind"] if is_aside(turn) else "", turn.text]


def study_steps(study: Study) -> tuple[Step, ...]:
    """Return the steps that a study itself adds."""
    tries = study.comprehension_tries
    asked = {when: tuple(each for each in study.questions if each.when == when) for when in get_args(When)}
    steps: list[Step] = [BREAK] if study.break_every else []
    if asked["comprehension"]:
        for number in range(1, tries + 1):
            if number > 1:
                steps.append(replace(_AGAIN, kind=f"{_AGAIN.kind}{number}"))
            last = PASSED if number == tries else ""
            tried = replace(_TRY, kind=f"{_TRY.kind}{number}", wants=last, questions=asked["comprehension"])
            steps.append(tried)
    if asked["before"]:
        steps.append(replace(QUESTIONS_BEFORE, questions=asked["before"]))
    if asked["after"]:
        steps.append(replace(QUESTIONS_AFTER, questions=asked["after"]))
    return (*steps, DEBRIEFING) if DEBRIEFING.kind in study.texts else tuple(steps)


def merge_steps(own: Sequence[Step], outer_steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return all steps in the order of nodes; at each, the study's come first, except for `at_once`."""
    return tuple(sorted((*own, *outer_steps), key=lambda step: (NODES.index(step.node), not step.at_once)))


def has_declined(turns: Iterable[Turn]) -> bool:
    """Return True if a person did not consent."""
    return any(turn_entry(turn)[1:] == [CONSENT.kind, NO] for turn in turns)


def unmet_step(context: Context, state: State) -> Due | None:
    """Return the first step that was not answered as required."""
    said = {(seat, kind): text for seat, kind, text in state["said"]}
    asked = (due for due in context.steps if due.step.wants and _key(due) in said)
    return next((due for due in asked if said[_key(due)] != due.step.wants), None)


def open_steps(context: Context, state: State, nodes: tuple[Node, ...]) -> tuple[Due, ...]:
    """Return the open steps at `nodes`; a person who passed the comprehension check needs no further try."""
    said = {(seat, kind) for seat, kind, _ in state["said"]}
    passed = {seat for seat, kind, text in state["said"] if kind.startswith(TRIED) and text == PASSED}
    return tuple(
        due
        for due in context.steps
        if due.step.node in nodes
        and _key(due) not in said
        and not (due.step.node == "comprehension" and due.seat in passed)
    )


def current_node(context: Context, state: State) -> str:
    """Return the node at which the graph continues: all nodes before it are answered."""
    if state["leaver"]:
        return "withdrawn"
    wrong = unmet_step(context, state)
    remaining = (*((wrong,) if wrong else ()), *open_steps(context, state, BEFORE))
    return min((due.step.node for due in remaining), key=NODES.index, default="task")


def next_step(context: Context, state: State, seat: str = "") -> Due | None:
    """Return the next step outside the task; None during the task, and at the end.

    `seat`: prefer this seat's step, as two people can answer their steps at the same time.
    """
    if unmet_step(context, state) is not None:
        return None
    due = open_steps(context, state, BEFORE)
    if not due and is_over(context, state):
        due = open_steps(context, state, AFTER)
    return next((each for each in due if each.seat == seat), due[0] if due else None)


def stage_of(context: Context, state: State, seat: str, *, ended: bool) -> str:
    """Return the stage that a person's page shows in place of the task; empty if it shows the task."""
    due = None if ended else next_step(context, state, seat)
    if due is not None:
        return (due.step.page or due.step.kind) if due.seat == seat else "gather"
    after = {due.step.kind for due in context.steps if due.step.node in AFTER}
    gone = unmet_step(context, state) is not None and not ended
    return "done" if gone or (state["said"] and state["said"][-1][1] in after) else ""


def is_over(context: Context, state: State) -> bool:
    """Return True if the task has ended."""
    return context.machine.ending(context.task(state), state["task"]) is not None


def read_answer(due: Due, reply: Reply) -> tuple[str, dict[str, Any]]:
    """Return the text and the payload of the turn for a reply.

    Raises:
        SeatError: if the consent is neither yes nor no, a text is too long or not among the choices, or a
            question of the study is not answered.
    """
    seat, step = due
    text = step.kind
    if step.node == "consent":
        text = read_consent(reply.text, seat)
    elif not step.questions and (step.wants or step.node in ("questions_before", "questions_after")):
        text = checked_length(reply.text.strip(), seat)
    if step.choices and text not in step.choices:
        raise SeatError(f"Say {' or '.join(step.choices)}.", seat, code="no_choice")
    details = {"person": True, "private": [], **measurements(reply.move or {}, seat)} if step.measured else {}
    if step.questions:
        answers = read_answers(step.questions, (reply.move or {}).get("answers"), seat)
        # Answers are personal data: they go when the person is erased, and no score depends on them.
        details |= {PERSONAL: ["answers"], "answers": answers}
        missed = missed_checks(step.questions, answers)
        if step.node == "comprehension":
            text = "failed" if missed else PASSED
        elif missed:
            details[MISSED] = missed
    return text, {"kind": step.kind, ASIDE: step.node, **details}


def build_graph() -> StateGraph[State, Context, State, State]:
    """Return the uncompiled graph; it needs no checkpointer."""
    graph = StateGraph(State, context_schema=Context)
    graph.add_edge(START, "welcome")
    for node in (*BEFORE, *AFTER):
        graph.add_node(node, _make_ask_node(node), destinations=_destinations(node))
    graph.add_node("task", _play_task, destinations=_destinations("task"))
    for way_out in WAYS_OUT:
        graph.add_node(way_out, _make_exit_node(way_out))
    return graph


def _make_ask_node(node: Node) -> Any:
    async def ask(state: State, runtime: Runtime[Context]) -> Command[Any]:
        context, wrong = runtime.context, unmet_step(runtime.context, state)
        if wrong is not None and wrong.step.node == node:
            return Command(update={"leaver": wrong.seat}, goto=_OUT[node])
        return Command(goto=END if open_steps(context, state, (node,)) else _next_node(context, node))

    return ask


async def _play_task(state: State, runtime: Runtime[Context]) -> Command[Any]:
    # `StudyMachine` has played the task by now; this serves callers that run the graph by itself.
    update, following = await play_task(runtime.context, state)
    return Command(update=update, goto=following)


async def play_task(context: Context, state: State) -> tuple[State, str]:
    """Play the benchmark's graph until it ends or a person is to move; return update and next node."""
    said = list[list[str]]()

    async def record(turn: Turn) -> None:
        numbered = replace(turn, number=len(state["said"]) + len(said))
        await context.episode.record(numbered)
        said.append(turn_entry(numbered))

    try:
        task = await context.machine.advance(replace(context.task(state), record=record), state["task"])
    except SeatError as error:
        if error.code != "screened_out":
            raise
        return State(said=said, task=state["task"], leaver=error.cause), "screened_out"
    played = State(said=said, task=task, leaver="")
    return played, _next_node(context, "task") if is_over(context, played) else END


def _make_exit_node(way_out: WayOut) -> Any:
    async def leave(state: State) -> State:
        raise SeatError(WAYS_OUT[way_out], state["leaver"], code=way_out)

    return leave


def _next_node(context: Context, place: str) -> str:
    """Return the next node that has something to do."""
    needed = {"task", END, *(due.step.node for due in context.steps)}
    return next(later for later in NODES[NODES.index(place) + 1 :] if later in needed)


def _destinations(place: str) -> tuple[str, ...]:
    """Return the successors of a node, for drawings: only its neighbour and its way out."""
    following = NODES[NODES.index(place) + 1]
    return (following, _OUT[place]) if place in _OUT else (following,)


def _key(due: Due) -> tuple[str, str]:
    return due.seat, due.step.kind
