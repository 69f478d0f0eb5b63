r"""A participant's way through a study, as a LangGraph state machine; the benchmark's graph is its subgraph.

::

    START -> welcome -> consent -> instructions -> comprehension -> qualification -> questions_before
          -> task -> questions_after -> debriefing -> completion -> END

    consent                             -> declined
    comprehension, qualification, task  -> screened_out
    welcome                             -> withdrawn      who withdraws may be anywhere

Each node but `task` asks people what the benchmark's sessions put there (`Step`). A node with nothing to ask
is passed over: free play has instructions at most, and in a further set of a study these are known. `task`
plays the benchmark's graph, and a way out aborts the episode.

Where a person is due, the invocation ends; the next one goes on where people stand (`standing`), with the
state rebuilt from the turn log. So no checkpointer is needed: the log is the checkpoint. Sessions of people
play it (`simulator.studies.machine`), which begin the task by themselves (`play_task`), as most turns stay
within it; episodes without people need none of it.
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
from simulator.forms import NO, YES, checked_length, measured, read_consent
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
PLACES: Final = (START, *BEFORE, "task", *AFTER, END)
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
"""The field of a turn's payload with the attention checks that were answered wrongly."""
PASSED: Final = "passed"
"""The text of a turn with all questions about the instructions answered rightly; else ``failed``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that people are asked beside the task: a page, and the turn that answers it.

    Attributes:
        node: where on the way.
        kind: of the turn: no other step of an episode has it.
        page: the stage that a participant's view names; default: the kind.
        wants: the answer without which nobody goes on, at a node with a way out; empty where any will do.
        when: in free play, in the first set of a study, in further ones.
        seat: who is asked; empty for every person.
        measured: the turn holds what the page measured (`forms.measured`).
        option: of the episode, without which nobody is asked.
        questions: the study's own, if these are what is asked.
        choices: the answers that there are; empty where any will do.
        paired: False if people who are paired are not asked: their task stands elsewhere.
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


CONSENT: Final = Step(node="consent", kind="consent", wants=YES)
READY: Final = Step(node="instructions", kind="ready", page="instructions", when=("play", "first"))
COMMENT: Final = Step(node="questions_after", kind="comment", when=("first", "further"))
QUESTIONS_BEFORE: Final = Step(node="questions_before", kind=ASKED_BEFORE)
QUESTIONS_AFTER: Final = Step(node="questions_after", kind=ASKED_AFTER, when=("first", "further"))
DEBRIEFING: Final = Step(node="debriefing", kind="debriefing", when=("first", "further"))
REST: Final = "break"
"""The option of a set before which somebody is offered a break, and the kind of the turn that ends it."""
BREAK: Final = Step(node="instructions", kind=REST, when=("further",), option=REST)
_TRY: Final = Step(node="comprehension", kind=TRIED, page="comprehension")
_AGAIN: Final = Step(node="comprehension", kind="ready_", page="instructions_again")


class Due(NamedTuple):
    """A step that is due, and the seat that is asked."""

    seat: str
    step: Step


@dataclass(frozen=True, kw_only=True)
class Table:
    """The parts an episode is played with; they travel as the graph's context, never in its state.

    Attributes:
        around: what a person is asked beside the task.
    """

    machine: AnyMachine
    episode: ActiveEpisode
    around: tuple[Step, ...]

    @cached_property
    def way(self) -> tuple[Due, ...]:
        """Return what the people of this episode are asked: one person's steps, then the next one's."""
        options = self.episode.episode.options
        now = occasion(options)
        people = (seat for seat, who in self.episode.seats.items() if who.kind == "person")
        return tuple(
            Due(seat, step)
            for seat in people
            for step in self.around
            if now in step.when and step.seat in ("", seat) and (not step.option or options.get(step.option))
        )

    def task(self, state: State) -> ActiveEpisode:
        """Return the episode as the benchmark plays it, which begins after the steps before."""
        before = {_key(due) for due in self.way if due.step.node in BEFORE}
        return replace(self.episode, first=sum((seat, kind) in before for seat, kind, _ in state["said"]))


class State(TypedDict):
    """Plain values only.

    Attributes:
        said: ``[seat, kind, text]`` per turn, those of the task among them.
        task: the state of the benchmark's graph.
        leaver: the seat of whoever leaves before the end; given at the start by who withdraws.
    """

    said: Annotated[list[list[str]], operator.add]
    task: Any
    leaver: str


def occasion(options: Mapping[str, Any]) -> Occasion:
    """Return when an episode is played: in free play, as a person's first set of a study, or a further one.

    Raises:
        InputError: if the options ``study`` and ``begun`` are not true or false.
    """
    for name in ("study", "begun"):
        if not isinstance(options.get(name, False), bool):
            raise InputError(f"{name} {options[name]!r}: must be true or false")
    if not options.get("study"):
        return "play"
    return "further" if options.get("begun") else "first"


def line(turn: Turn) -> list[str]:
    """Return a turn as the state holds it; one of the task is of no kind, whatever the benchmark calls it."""
    return [turn.seat, turn.payload["kind"] if is_aside(turn) else "", turn.text]


def own_steps(study: Study) -> tuple[Step, ...]:
    """Return what a study itself asks and says."""
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


def merge_steps(own: Sequence[Step], around: Sequence[Step]) -> tuple[Step, ...]:
    """Return a study's own steps and a benchmark's, node by node; at each node the study's come first."""
    return tuple(sorted((*own, *around), key=lambda step: PLACES.index(step.node)))


def declined(turns: Iterable[Turn]) -> bool:
    """Return True if somebody did not consent."""
    return any(line(turn)[1:] == [CONSENT.kind, NO] for turn in turns)


def refused(table: Table, state: State) -> Due | None:
    """Return the first step whose wanted answer was not given."""
    said = {(seat, kind): text for seat, kind, text in state["said"]}
    asked = (due for due in table.way if due.step.wants and _key(due) in said)
    return next((due for due in asked if said[_key(due)] != due.step.wants), None)


def unanswered(table: Table, state: State, nodes: tuple[Node, ...]) -> tuple[Due, ...]:
    """Return what people have still to answer at `nodes`; who has passed needs no further try."""
    said = {(seat, kind) for seat, kind, _ in state["said"]}
    passed = {seat for seat, kind, text in state["said"] if kind.startswith(TRIED) and text == PASSED}
    return tuple(
        due
        for due in table.way
        if due.step.node in nodes
        and _key(due) not in said
        and not (due.step.node == "comprehension" and due.seat in passed)
    )


def current_node(table: Table, state: State) -> str:
    """Return the node in which the machine goes on: all before it have nothing to ask any more."""
    if state["leaver"]:
        return "withdrawn"
    wrong = refused(table, state)
    open_steps = (*((wrong,) if wrong else ()), *unanswered(table, state, BEFORE))
    return min((due.step.node for due in open_steps), key=PLACES.index, default="task")


def next_step(table: Table, state: State, seat: str = "") -> Due | None:
    """Return what is asked next beside the task; None while the task goes on, and at the end.

    `seat`: whose step it is, where it may be anybody's: two people read at the same time.
    """
    if refused(table, state) is not None:
        return None
    due = unanswered(table, state, BEFORE)
    if not due and is_over(table, state):
        due = unanswered(table, state, AFTER)
    return next((each for each in due if each.seat == seat), due[0] if due else None)


def stage_of(table: Table, state: State, seat: str, *, ended: bool) -> str:
    """Return what somebody's page shows in place of the task; empty while that is to be shown."""
    due = None if ended else next_step(table, state, seat)
    if due is not None:
        return (due.step.page or due.step.kind) if due.seat == seat else "gather"
    after = {due.step.kind for due in table.way if due.step.node in AFTER}
    gone = refused(table, state) is not None and not ended
    return "done" if gone or (state["said"] and state["said"][-1][1] in after) else ""


def is_over(table: Table, state: State) -> bool:
    """Return True if the task has come to its end."""
    return table.machine.ending(table.task(state), state["task"]) is not None


def read_answer(due: Due, reply: Reply) -> tuple[str, dict[str, Any]]:
    """Return the text and the payload of the turn that a reply makes.

    Raises:
        SeatError: if the consent is neither yes nor no, what is said is too long or none of the choices, or
            a question of the study's own has no answer.
    """
    seat, step = due
    text = step.kind
    if step.node == "consent":
        text = read_consent(reply.text, seat)
    elif not step.questions and (step.wants or step.node in ("questions_before", "questions_after")):
        text = checked_length(reply.text.strip(), seat)
    if step.choices and text not in step.choices:
        raise SeatError(f"Say {' or '.join(step.choices)}.", seat, code="no_choice")
    seen = {"person": True, "private": [], **measured(reply.move or {}, seat)} if step.measured else {}
    if step.questions:
        answers = read_answers(step.questions, (reply.move or {}).get("answers"), seat)
        # Who somebody is goes when they are erased; no score is made of it.
        seen |= {PERSONAL: ["answers"], "answers": answers}
        missed = missed_checks(step.questions, answers)
        if step.node == "comprehension":
            text = "failed" if missed else PASSED
        elif missed:
            seen[MISSED] = missed
    return text, {"kind": step.kind, ASIDE: step.node, **seen}


def build_graph() -> StateGraph[State, Table, State, State]:
    """Return the uncompiled graph; it needs no checkpointer."""
    graph = StateGraph(State, context_schema=Table)
    graph.add_edge(START, "welcome")
    for node in (*BEFORE, *AFTER):
        graph.add_node(node, _asking(node), destinations=_destinations(node))
    graph.add_node("task", _play_task, destinations=_destinations("task"))
    for way_out in WAYS_OUT:
        graph.add_node(way_out, _leaving(way_out))
    return graph


def _asking(node: Node) -> Any:
    async def ask(state: State, runtime: Runtime[Table]) -> Command[Any]:
        table, wrong = runtime.context, refused(runtime.context, state)
        if wrong is not None and wrong.step.node == node:
            return Command(update={"leaver": wrong.seat}, goto=_OUT[node])
        return Command(goto=END if unanswered(table, state, (node,)) else _next_place(table, node))

    return ask


async def _play_task(state: State, runtime: Runtime[Table]) -> Command[Any]:
    # A study's machine plays the task before it comes here; this is for whoever plays the graph by itself.
    update, following = await play_task(runtime.context, state)
    return Command(update=update, goto=following)


async def play_task(table: Table, state: State) -> tuple[State, str]:
    """Play the benchmark's graph until it ends or a person is due; return what is new, and what follows."""
    said = list[list[str]]()

    async def record(turn: Turn) -> None:
        numbered = replace(turn, number=len(state["said"]) + len(said))
        await table.episode.record(numbered)
        said.append(line(numbered))

    try:
        task = await table.machine.advance(replace(table.task(state), record=record), state["task"])
    except SeatError as error:
        if error.code != "screened_out":
            raise
        return State(said=said, task=state["task"], leaver=error.cause), "screened_out"
    played = State(said=said, task=task, leaver="")
    return played, _next_place(table, "task") if is_over(table, played) else END


def _leaving(way_out: WayOut) -> Any:
    async def leave(state: State) -> State:
        raise SeatError(WAYS_OUT[way_out], state["leaver"], code=way_out)

    return leave


def _next_place(table: Table, place: str) -> str:
    """Return the next place where something is to be done."""
    needed = {"task", END, *(due.step.node for due in table.way)}
    return next(later for later in PLACES[PLACES.index(place) + 1 :] if later in needed)


def _destinations(place: str) -> tuple[str, ...]:
    """Return where a node leads, as the drawing has it: places that are passed over left out."""
    following = PLACES[PLACES.index(place) + 1]
    return (following, _OUT[place]) if place in _OUT else (following,)


def _key(due: Due) -> tuple[str, str]:
    return due.seat, due.step.kind
