r"""The graph of a benchmark that is a declaration (`simulator.benchmark`): state, nodes and moves.

::

    START -> SEAT -> SEAT -> … -> END      one node a seat, named like it; `Benchmark.next_seat` says whose
    move it is

Where a person is due the invocation ends; the runner invokes the graph again with the state rebuilt from the
turn log, so no checkpointer is needed. A benchmark with a graph of its own gets the same context (`Table`)
and state (`GraphState`), and records its moves with `play_move`. What the functions of a declaration return
is checked: an episode in which it is wrong fails (`simulator.runner.execute`), and the run goes on.
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
        since: when the seat that is due became so (seconds, monotonic).
    """

    moves: Annotated[list[list[Any]], operator.add]
    since: float


Update = dict[str, Any]
AnyBenchmark = Benchmark[Any, Any]
AnyState = State[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Table:
    """The pieces that an episode is played with; travels as the graph's context, never in its state.

    Attributes:
        live: the episode with who sits where.
    """

    benchmark: AnyBenchmark
    live: ActiveEpisode
    start: AnyState

    def state(self, said: GraphState) -> AnyState:
        """Return where the episode stands, as the rules of a benchmark see it."""
        return replace(self.start, moves=tuple(Move(*move) for move in said["moves"]))

    def due(self, said: GraphState) -> Due | None:
        """Return the move that is to come; None at the end."""
        return due_in(self.benchmark, self.state(said), self.live.seats)

    def view(self, said: GraphState, seat: str) -> View:
        """Return all that a seat may see now."""
        episode, moves, state = self.live.episode, said["moves"], self.state(said)
        return View(
            episode_id=episode.id,
            seat=seat,
            number=len(moves),
            language=state.language,
            lines=tuple(Line(move.seat, move.text) for move in state.moves),
            task=known_in(self.benchmark, state, seat),
            seed=derive_seed(episode.seed, len(moves)),
            repeat=episode.repeat,
            moves=sum(move.seat == seat for move in state.moves),
            options=episode.options,
        )

    def take(self, said: GraphState, seat: str, reply: Reply) -> tuple[Turn, Update]:
        """Return a reply as a turn of the log and an update of the state.

        Raises:
            SeatError: if it is not that seat's turn, or the reply breaks the rules.
        """
        due = self.due(said)
        if due is None or due.seat != seat:
            raise SeatError(f"It is not the {seat}'s turn.", seat, code="not_due")
        if due.form is not None:
            filled = read_form(due.form, reply.move or {}, seat)
            reply = replace(reply, text=reply.text.strip() or _in_line(filled.values()), move=filled)
        accept = partial(move_in, self.benchmark) if self.benchmark.accept else accept_reply
        move = accept(self.state(said), due, reply)
        payload = {"kind": move.kind, **({"payload": dict(move.payload)} if move.payload else {})}
        turn = make_turn(
            self.live.episode.id,
            len(said["moves"]),
            seat,
            reply,
            text=move.text,
            payload=payload,
            since=said["since"],
        )
        return turn, {"moves": [[seat, move.kind, move.text, dict(move.payload)]], "since": monotonic()}


def accept_reply(state: AnyState, due: Due, reply: Reply) -> Move:
    """Return the text of a reply as a move; what was filled in, if a form is due.

    Raises:
        SeatError: if it is empty, or none of the choices.
    """
    text = reply.text.strip()
    if due.form is not None:
        return Move(due.seat, due.kind, text, reply.move or {})
    if not text:
        raise SeatError(f"The {due.seat} said nothing.", due.seat, code="nothing_said")
    if due.choices and text not in due.choices:
        known = ", ".join(due.choices)
        raise SeatError(f"The {due.seat} said {text!r}, none of {known}.", due.seat, code="no_choice")
    return Move(due.seat, due.kind, text)


def _in_line(values: Iterable[Any]) -> str:
    """Return what was filled in as a line; fields that were left empty are left out."""
    lists = (value if isinstance(value, list | tuple) else [value] for value in values)
    return ", ".join(str(value) for each in lists for value in each if value not in (None, ""))


def moves_of(turns: Sequence[Turn]) -> tuple[Move, ...]:
    """Return logged turns as moves."""
    return tuple(
        Move(turn.seat, turn.payload["kind"], turn.text, turn.payload.get("payload", {}))
        for turn in task_turns(turns)
    )


def turn_taking(seats: Sequence[str]) -> StateGraph[GraphState, Table, GraphState, GraphState]:
    """Return the uncompiled graph of seats that take turns: one node for each."""
    graph = StateGraph(GraphState, context_schema=Table)
    graph.add_conditional_edges(START, _start, [*seats, "__end__"])
    for seat in seats:
        graph.add_node(seat, _node(seat), destinations=(*seats, "__end__"))
    return graph


async def play_move(table: Table, said: GraphState, seat: str) -> Command[Any]:
    """Ask a seat for its move, record it, and go on with whoever is due then."""
    waiting = GraphState(moves=said["moves"], since=monotonic())
    reply = await table.live.seats[seat].reply(table.view(waiting, seat))
    turn, update = table.take(waiting, seat, reply)
    await table.live.record(turn)
    return Command(update=update, goto=next_node(table, state_after(waiting, update)))


def next_node(table: Table, said: GraphState) -> str:
    """Return the seat that is due, ``__end__`` if that is nobody or a person."""
    due = table.due(said)
    return "__end__" if due is None or table.live.seats[due.seat].kind == "person" else due.seat


async def _start(said: GraphState, runtime: Runtime[Table]) -> str:
    # Asynchronous although it waits for nothing: LangGraph hands a plain function to a thread.
    return next_node(runtime.context, said)


def _node(seat: str) -> Any:
    async def play(said: GraphState, runtime: Runtime[Table]) -> Command[Any]:
        return await play_move(runtime.context, said, seat)

    return play


# ---- the functions of a declaration, and what they return


def due_in(benchmark: AnyBenchmark, state: AnyState, seats: Collection[str]) -> Due | None:
    """Return the move that is to come; None at the end.

    Raises:
        InputError: if it is that of a seat that is none of `seats`.
    """
    assert benchmark.next_seat is not None
    due = benchmark.next_seat(state)
    if due is not None and due.seat not in seats:
        raise _wrong(benchmark, "next_seat", f"the seat {due.seat!r}; there are: {', '.join(seats)}")
    return due


def known_in(benchmark: AnyBenchmark, state: AnyState, seat: str) -> dict[str, Any]:
    """Return what a seat knows.

    Raises:
        InputError: if it has no names.
    """
    known = benchmark.knows(state, seat)
    if not isinstance(known, Mapping):
        raise _wrong(benchmark, "knows", f"{known!r}, no values by name")
    return dict(known)


def move_in(benchmark: AnyBenchmark, state: AnyState, due: Due, reply: Reply) -> Move:
    """Return a reply as a move.

    Raises:
        SeatError: if it breaks the rules.
        InputError: if it is made anything but a move of the seat that is due.
    """
    assert benchmark.accept is not None
    move = benchmark.accept(state, due, reply)
    if not isinstance(move, Move) or move.seat != due.seat:
        raise _wrong(benchmark, "accept", f"{move!r}, no Move of the {due.seat}, who is due")
    return move


def outcome_of(benchmark: AnyBenchmark, state: AnyState) -> Literal["completed", "truncated"]:
    """Return how a state at its end ended.

    Raises:
        InputError: if that is neither word.
    """
    outcome = benchmark.outcome(state)
    if outcome not in ENDED:
        raise _wrong(benchmark, "outcome", f"{outcome!r}, neither {' nor '.join(ENDED)}")
    return outcome


def scores_of(benchmark: AnyBenchmark, state: AnyState, episode_id: str) -> tuple[Score, ...]:
    """Return the scores of a state at its end.

    There may be others beside the metrics that are declared; one that is left out is undefined.

    Raises:
        InputError: if one is no number, or a share beyond its bounds, or others stand in the place of those
            that are declared, which a slip of the pen does.
    """
    assert benchmark.score is not None
    values, declared = benchmark.score(state), [metric.name for metric in benchmark.metrics]
    if {*values} - {*declared} and {*declared} - {*values}:
        known = f"{', '.join(values)}; its metrics are {', '.join(declared)}"
        raise _wrong(benchmark, "score", f"{known} (None for one that is undefined)")
    for metric in benchmark.metrics:
        value = values.get(metric.name)
        if metric.is_share and isinstance(value, int | float) and (value < 0 or value > 1):
            raise _wrong(benchmark, "score", f"{metric.name} {value}; a share lies between 0 and 1")
    try:
        return score_rows(episode_id, values, benchmark.scorer_version)
    except InputError as error:
        raise InputError(f"{benchmark.name}: score: {error}") from error


def _wrong(benchmark: AnyBenchmark, function: str, what: str) -> InputError:
    return InputError(f"{benchmark.name}: {function} returned {what}.")
