r"""Episodes of a benchmark that is a declaration (`simulator.benchmark`): its rows, its graph, its players.

::

    START -> SEAT -> SEAT -> … -> END      one node a seat, named like it; `Benchmark.next_seat` says whose
    move it is

Where a person is due the invocation ends; the runner invokes the graph again with the state rebuilt from the
turn log, so no checkpointer is needed. A benchmark with a graph of its own gets the same context (`Table`)
and state (`GraphState`), and records its moves with `play_move`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Annotated, Any, Literal, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import ValidationError

from logs.rows import Ending, Item, Judgment, Score, Turn, content_hash
from simulator.benchmark import Due, Move, State
from simulator.blocks import Block, Talk
from simulator.errors import InputError, SeatError
from simulator.fields import read_fields
from simulator.form_blocks import Form
from simulator.model_forms import form_of, read_form
from simulator.models import ChatModel
from simulator.runner.declared_results import (
    AnyBenchmark,
    AnyState,
    due_in,
    known_in,
    move_in,
    outcome_of,
    scores_of,
)
from simulator.runner.declared_seats import PromptedSeat
from simulator.runner.machines import (
    NO_OPTIONS,
    ActiveEpisode,
    EpisodeMachine,
    Result,
    SeatPage,
    Take,
    due_since,
    make_turn,
    state_after,
    task_turns,
)
from simulator.seats import Line, Reply, ScriptSeat, Seat, View
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


class DeclaredMachine(EpisodeMachine[Table, GraphState]):
    """See `simulator.runner.machines.EpisodeMachine`."""

    def __init__(self, benchmark: AnyBenchmark) -> None:
        self.benchmark = benchmark
        self.name = benchmark.name
        self.seats = tuple(seat.name for seat in benchmark.seats)

    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """Return the uncompiled graph: the benchmark's own, or that of turn-taking."""
        return self.benchmark.graph() if self.benchmark.graph else turn_taking(self.seats)

    def item_row(self, item: Any) -> Item:
        """Return an item as a row of the log: every field of its model."""
        data = item.model_dump(mode="json")
        return Item(
            hash=content_hash(data),
            benchmark=self.name,
            name=self.benchmark.key(item),
            language=language_of(item),
            data=data,
        )

    def read_item(self, row: Item) -> Any:
        """Return the item of a row.

        Raises:
            InputError: if it is not one of this version's.
        """
        assert self.benchmark.item is not None
        try:
            return self.benchmark.item.model_validate(row.data)
        except ValidationError as error:
            raise InputError(f"the item {row.name} of the log is no item of {self.name}: {error}") from error

    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """Return who sits in `seat` under the name of a built-in player or a model.

        Raises:
            InputError: if the name means nothing there.
        """
        spec = self.benchmark.seat(seat)
        if name in spec.players:
            return ScriptSeat(spec.players[name], name, "offline")
        if spec.prompt is None or (name.startswith("offline/") and not name.startswith("offline/script")):
            known = ", ".join([*spec.players, *(["provider/model"] if spec.prompt else []), "script:FILE"])
            raise InputError(f"Nobody called {name!r} can sit in the {seat}'s seat; known are {known}.")
        return PromptedSeat(models(name), self.name, spec)

    def table(self, live: ActiveEpisode) -> Table:
        """Return the graph's context."""
        return Table(benchmark=self.benchmark, live=live, start=self.start(live.item, live.episode.options))

    def start(self, item: Any, options: Mapping[str, Any]) -> AnyState:
        """Return the state before the first move of an episode with these options.

        Raises:
            InputError: if the options are none of the rules.
        """
        assert self.benchmark.rules is not None
        rules = read_fields(self.benchmark.rules, options, f"the rules of {self.name}: ")
        return State(item=item, rules=rules, language=language_of(item))

    def steps(self, table: Table) -> int:
        """Return more graph steps than any episode takes: what ends one is `Benchmark.next_seat`."""
        return 10_000

    def rebuild(self, turns: Sequence[Turn]) -> GraphState:
        """Return the graph's state after `turns`."""
        moves = [[move.seat, move.kind, move.text, dict(move.payload)] for move in moves_of(turns)]
        return GraphState(moves=moves, since=due_since(turns))

    def take(self, seat: str) -> Take[Table, GraphState]:
        """Return what makes a turn of a reply of `seat`."""
        return lambda table, said, reply: table.take(said, seat, reply)

    def seat_due(self, table: Table, state: GraphState) -> str | None:
        """Return the seat that is to move; None at the end."""
        due = table.due(state)
        return due.seat if due else None

    def status(self, table: Table, state: GraphState) -> Literal["completed", "truncated"] | None:
        """Return how the episode has ended; None if it has not."""
        return None if table.due(state) else outcome_of(self.benchmark, table.state(state))

    def view(
        self, live: ActiveEpisode, state: GraphState, seat: str, ending: Ending | None, warning: str | None
    ) -> SeatPage:
        """Return what a person in `seat` may see now; of the task nothing while a study asks for a step."""
        table = self.table(live)
        stands = table.state(state)
        due = table.due(state) if ending is None else None
        stage = live.stage or ("task" if due else "done")
        shown: Sequence[Block] = ()
        if stage == "task":
            shown = self.benchmark.view(stands, seat) if self.benchmark.view else [Talk(stands.moves)]
        my_turn = due is not None and due.seat == seat
        due_here = due if my_turn else self._last_due(stands, seat)
        form = due_here.form if due_here is not None and stage == "task" else None
        if form is not None and not any(isinstance(block, Form) for block in shown):
            shown = [*shown, form_of(form)]
        people = (other for other, who in live.seats.items() if who.kind == "person" and other != seat)
        return SeatPage(
            episode_id=live.episode.id,
            seat=seat,
            people=tuple(people),
            language=stands.language,
            stage=stage,
            due=due_here,
            my_turn=my_turn,
            waits_for="" if my_turn or due is None else due.seat,
            blocks=tuple(shown),
            moves=stands.moves if stage == "task" else (),
            first=live.first,
            number=live.first + len(stands.moves),
            ending=ending,
            warning=warning,
        )

    def _last_due(self, state: AnyState, seat: str) -> Due | None:
        """Return the last move that was due from a seat."""
        made = [number for number, move in enumerate(state.moves) if move.seat == seat]
        assert self.benchmark.next_seat is not None
        return self.benchmark.next_seat(replace(state, moves=state.moves[: made[-1]])) if made else None

    def replay(
        self,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> Result:
        """Return what everybody may see of an ended episode: if it was broken off, the moves alone."""
        state = self.final(item, turns, options)
        assert self.benchmark.next_seat is not None
        if self.benchmark.next_seat(state) is not None:
            return Result(language=state.language, moves=state.moves)
        return Result(
            language=state.language,
            moves=state.moves,
            blocks=tuple(self.benchmark.reveal(state) if self.benchmark.reveal else ()),
            scores={score.metric: score.value for score in self.score(item, turns, judgments, options)},
        )

    def scored(
        self,
        episode_id: str,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any],
    ) -> tuple[Score, ...]:
        """Return the scores of the state at the end."""
        return scores_of(self.benchmark, self.final(item, turns, options), episode_id)

    def final(self, item: Any, turns: Sequence[Turn], options: Mapping[str, Any] = NO_OPTIONS) -> AnyState:
        """Return the state after the turns of an episode with these options."""
        return replace(self.start(item, options), moves=moves_of(turns))


def language_of(item: Any) -> str:
    """Return the language of an item's texts: its field ``language``, English where it has none."""
    return str(getattr(item, "language", "en"))
