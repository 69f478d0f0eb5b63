r"""The graph of a declared benchmark (`simulator.benchmark`): state, nodes and moves.

::

    START -> SEAT -> SEAT -> … -> END      one node per seat, with its name; `Benchmark.next_seat` chooses

When a person is next to move, the invocation ends; the runner invokes the graph again with the state rebuilt
from the turn log, so no checkpointer is needed. A benchmark with its own graph gets the same context
(`Context`) and state (`GraphState`), and records its moves with `play_move`. The results of a declaration's
functions are checked: a wrong one makes the episode fail (`simulator.runner.execute`); the run continues.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Annotated, Any, Literal, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from logs.rows import Score, Turn
from simulator.benchmark import Benchmark, Due, Move, State
from simulator.errors import InputError, SeatError
from simulator.model_forms import read_form
from simulator.runner.logged import ENDED
from simulator.runner.machines import ActiveEpisode, make_turn, score_rows, state_after, task_turns
from simulator.seats import Line, Reply, View
from simulator.seeds import derive_seed


class GraphState(TypedDict):
    """The graph's state: plain values only.

    Attributes:
        moves: ``[seat, kind, text, payload]`` per turn.
        since: when it became the next seat's turn (seconds, monotonic).
    """

    moves: Annotated[list[list[Any]], operator.add]
    since: float


Update = dict[str, Any]
AnyBenchmark = Benchmark[Any, Any]
AnyState = State[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Context:
    """The objects with which an episode is played, passed as the graph's context, never in its state.

    Attributes:
        live: the episode with the occupants of its seats.
        start: the benchmark's state before the first move.
    """

    benchmark: AnyBenchmark
    live: ActiveEpisode
    start: AnyState

    def state(self, current: GraphState) -> AnyState:
        """Return the episode's state as the benchmark's rules see it."""
        return replace(self.start, moves=tuple(Move(*move) for move in current["moves"]))

    def due(self, current: GraphState) -> Due | None:
        """Return the next move to make; None at the end."""
        return checked_due(self.benchmark, self.state(current), self.live.seats)

    def view(self, current: GraphState, seat: str) -> View:
        """Return a seat's current view."""
        episode, moves, state = self.live.episode, current["moves"], self.state(current)
        return View(
            episode_id=episode.id,
            seat=seat,
            number=len(moves),
            language=state.language,
            lines=tuple(Line(move.seat, move.text) for move in state.moves if move.text),
            task=checked_knowledge(self.benchmark, state, seat),
            seed=derive_seed(episode.seed, len(moves)),
            repeat=episode.repeat,
            moves=sum(move.seat == seat for move in state.moves),
            options=episode.options,
        )

    def take(self, current: GraphState, seat: str, reply: Reply) -> tuple[Turn, Update]:
        """Convert a reply to a turn of the log and an update of the state.

        Raises:
            SeatError: if it is not that seat's turn, or the reply breaks the rules. A text without values
                breaks those of a form, even if all fields have defaults: it would be lost.
        """
        due = self.due(current)
        if due is None or due.seat != seat:
            raise SeatError(f"It is not the {seat}'s turn.", seat, code="not_due")
        if due.form is not None:
            if reply.move is None and reply.text.strip():
                names = ", ".join(due.form.model_fields)
                message = f"The {seat} said {reply.text!r} instead of values for the form: {names}."
                raise SeatError(message, seat, code="no_values")
            by_person = self.live.seats[seat].kind == "person"
            values = read_form(due.form, reply.move or {}, seat, from_page=by_person)
            reply = replace(reply, text=reply.text.strip() or join_values(values.values()), move=values)
        accept = partial(checked_move, self.benchmark) if self.benchmark.accept else accept_reply
        move = accept(self.state(current), due, reply)
        payload = {"kind": move.kind, **({"payload": dict(move.payload)} if move.payload else {})}
        turn = make_turn(
            self.live.episode.id,
            len(current["moves"]),
            seat,
            reply,
            text=move.text,
            payload=payload,
            since=current["since"],
        )
        return turn, {"moves": [[seat, move.kind, move.text, dict(move.payload)]], "since": monotonic()}


def accept_reply(state: AnyState, due: Due, reply: Reply) -> Move:
    """Return a reply as a move: its text, and the form's values if a form was asked for.

    Raises:
        SeatError: if the text is empty, or not one of the choices.
    """
    text = reply.text.strip()
    if due.form is not None:
        return Move(due.seat, due.kind, text, reply.move or {})
    if not text:
        raise SeatError(f"The {due.seat} said nothing.", due.seat, code="nothing_said")
    if due.choices and text not in due.choices:
        known = ", ".join(due.choices)
        raise SeatError(f"The {due.seat} said {text!r}, not one of: {known}.", due.seat, code="no_choice")
    return Move(due.seat, due.kind, text)


def join_values(values: Iterable[Any]) -> str:
    """Return a form's values as one line, without empty fields."""
    lists = (value if isinstance(value, list | tuple) else [value] for value in values)
    return ", ".join(str(value) for each in lists for value in each if value not in (None, ""))


def moves_of(turns: Sequence[Turn]) -> tuple[Move, ...]:
    """Return logged turns as moves."""
    return tuple(
        Move(turn.seat, turn.payload["kind"], turn.text, turn.payload.get("payload", {}))
        for turn in task_turns(turns)
    )


def turn_taking(seats: Sequence[str]) -> StateGraph[GraphState, Context, GraphState, GraphState]:
    """Return the uncompiled graph of seats that take turns, with one node per seat."""
    graph = StateGraph(GraphState, context_schema=Context)
    graph.add_conditional_edges(START, _start, [*seats, "__end__"])
    for seat in seats:
        graph.add_node(seat, _node(seat), destinations=(*seats, "__end__"))
    return graph


async def play_move(context: Context, current: GraphState, seat: str) -> Command[Any]:
    """Ask a seat for its move, record it, and go to the next seat's node."""
    waiting = GraphState(moves=current["moves"], since=monotonic())
    reply = await context.live.seats[seat].reply(context.view(waiting, seat))
    turn, update = context.take(waiting, seat, reply)
    await context.live.record(turn)
    return Command(update=update, goto=next_node(context, state_after(waiting, update)))


def next_node(context: Context, current: GraphState) -> str:
    """Return the seat that is next to move; ``__end__`` if there is none or a person sits there."""
    due = context.due(current)
    return "__end__" if due is None or context.live.seats[due.seat].kind == "person" else due.seat


async def _start(current: GraphState, runtime: Runtime[Context]) -> str:
    # Asynchronous, although it awaits nothing: LangGraph would run a plain function in a thread.
    return next_node(runtime.context, current)


def _node(seat: str) -> Any:
    async def play(current: GraphState, runtime: Runtime[Context]) -> Command[Any]:
        return await play_move(runtime.context, current, seat)

    return play


# ---- checked results of a declaration's functions


def checked_due(benchmark: AnyBenchmark, state: AnyState, seats: Collection[str]) -> Due | None:
    """Return the next move to make; None at the end.

    Raises:
        InputError: if it is not a `Due` of one of `seats`.
    """
    assert benchmark.next_seat is not None
    due = benchmark.next_seat(state)
    if due is not None and getattr(due, "seat", None) not in seats:
        raise _invalid(benchmark, "next_seat", f"{due!r}; expected None or a Due of {' or '.join(seats)}")
    return due


def checked_knowledge(benchmark: AnyBenchmark, state: AnyState, seat: str) -> dict[str, Any]:
    """Return what a seat knows.

    Raises:
        InputError: if it is not a mapping.
    """
    knowledge = benchmark.knows(state, seat)
    if not isinstance(knowledge, Mapping):
        raise _invalid(benchmark, "knows", f"{knowledge!r}; expected a mapping from names to values")
    return dict(knowledge)


def checked_move(benchmark: AnyBenchmark, state: AnyState, due: Due, reply: Reply) -> Move:
    """Return a reply as a move.

    Raises:
        SeatError: if it breaks the rules.
        InputError: if the result is not a move of the seat that is to move.
    """
    assert benchmark.accept is not None
    move = benchmark.accept(state, due, reply)
    if not isinstance(move, Move) or move.seat != due.seat:
        raise _invalid(benchmark, "accept", f"{move!r}; expected a Move of the {due.seat}")
    return move


def checked_outcome(benchmark: AnyBenchmark, state: AnyState) -> Literal["completed", "truncated"]:
    """Return the outcome of a final state.

    Raises:
        InputError: if it is neither word.
    """
    outcome = benchmark.outcome(state)
    if outcome not in ENDED:
        raise _invalid(benchmark, "outcome", f"{outcome!r}; expected {' or '.join(ENDED)}")
    return outcome


def checked_scores(benchmark: AnyBenchmark, state: AnyState, episode_id: str) -> tuple[Score, ...]:
    """Return the scores of a final state.

    There may be scores besides those of declared metrics; a missing one is undefined.

    Raises:
        InputError: if a score is not a number, a share is out of bounds, or there are both missing and
            undeclared scores, which is probably a typo.
    """
    assert benchmark.score is not None
    values, declared = benchmark.score(state), [metric.name for metric in benchmark.metrics]
    if not isinstance(values, Mapping):
        raise _invalid(benchmark, "score", f"{values!r}; expected a mapping from metrics to numbers")
    if {*values} - {*declared} and {*declared} - {*values}:
        names = f"{', '.join(values)}; its metrics are {', '.join(declared)}"
        raise _invalid(benchmark, "score", f"{names} (use None for an undefined one)")
    for metric in benchmark.metrics:
        value = values.get(metric.name)
        if metric.is_share and isinstance(value, int | float) and (value < 0 or value > 1):
            raise _invalid(benchmark, "score", f"{metric.name} {value}; a share is between 0 and 1")
    try:
        return score_rows(episode_id, values, benchmark.scorer_version)
    except InputError as error:
        raise InputError(f"{benchmark.name}: score: {error}") from error


def _invalid(benchmark: AnyBenchmark, function: str, what: str) -> InputError:
    return InputError(f"{benchmark.name}: {function} returned {what}.")
