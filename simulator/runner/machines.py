"""A benchmark as the runner sees it: an `EpisodeMachine` plays, stores and scores its episodes.

Also what all graphs share (a reply becomes a turn for the log and an update of the state), and the pages of
episodes that are built from blocks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar, cast

from logs.rows import Ending, Episode, Item, Judgment, Score, Setup, Turn
from simulator.benchmark import Due, Move
from simulator.blocks import Block, Words
from simulator.errors import InputError, SeatError
from simulator.seats import Reply, Seat

if TYPE_CHECKING:
    from langgraph.graph.state import StateGraph

    from simulator.models import ChatModel
    from simulator.runner.compiling import CompiledGraph


ContextT = TypeVar("ContextT")
StateT = TypeVar("StateT")
T = TypeVar("T")

NO_OPTIONS: Final[Mapping[str, Any]] = MappingProxyType({})
"""The options of an episode without any."""

Take = Callable[[ContextT, StateT, Reply], tuple[Turn, dict[str, Any]]]
"""Converts a reply to a turn and an update of the state; raises SeatError if it breaks the rules."""


@dataclass(frozen=True, kw_only=True)
class ActiveEpisode:
    """An episode with live objects.

    Attributes:
        seats: seat -> its occupant.
        record: writes a turn to the log; the turn counts once it returns.
        first: the number of the benchmark's first turn; the study's own turns come before it.
        stage: what the study shows instead of the task; empty during the task.
    """

    episode: Episode
    item: Any
    seats: Mapping[str, Seat]
    record: Callable[[Turn], Awaitable[None]] = field(repr=False)
    first: int = 0
    stage: str = ""
    _made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, make: Callable[..., T], **values: Any) -> T:
        """Return `make(self, **values)`, made only once: nothing that an episode is played with changes."""
        key = make, *values.items()
        if key not in self._made:
            self._made[key] = make(self, **values)
        made: T = self._made[key]
        return made


def refuse_unknown(seat: str, name: str, known: str) -> None:
    """Refuse an unknown built-in player; other names are those of models and scripts.

    Raises:
        InputError: if the name is that of a built-in player; lists the `known` ones.
    """
    if name.startswith("offline/") and not name.startswith("offline/script"):
        raise InputError(f"{name!r} cannot sit in the {seat}'s seat; known players: {known}.")


def score_rows(
    episode_id: str, values: Mapping[str, float | None], version: str, details: Mapping[str, Any] = NO_OPTIONS
) -> tuple[Score, ...]:
    """Return an episode's metrics as rows of the log, each with the same details.

    Raises:
        InputError: if a value is not a finite number; names its metric.
    """
    return tuple(
        Score(
            episode_id=episode_id,
            metric=metric,
            value=_number(metric, value),
            version=version,
            details=dict(details),
        )
        for metric, value in values.items()
    )


def _number(metric: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, str):
        raise InputError(f"{metric} is {value!r}; expected a finite number or None.")
    return number


class EpisodeMachine(ABC, Generic[ContextT, StateT]):
    """Plays episodes with a LangGraph graph: its context has the live objects, the log rebuilds its state.

    A machine refers to the benchmark's existing functions: ``rebuild = staticmethod(graph.rebuild)``.

    The graph has no checkpointer. Its invocation ends with the episode, or when a person is next to move;
    `accept` then converts the person's submission to a turn.

    Attributes:
        seats: all seats that an episode can have.
        person_only_kinds: kinds of turns that only people take, before the task.
    """

    name: str
    seats: tuple[str, ...]
    person_only_kinds: Collection[str] = ()

    # Items, seats and scores

    def episode_seats(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the seats of an episode with these options; by default, all seats."""
        return self.seats

    def setup(self, kinds: Mapping[str, str]) -> Setup:
        """Return the setup of seats (seat -> ``person``, ``model``, …): H2H, H2L, L2H or L2L.

        The letters are those of the first and the second seat (L without one): H for a person, else L.
        """
        letters = ["H" if kinds[seat] == "person" else "L" for seat in self.seats if seat in kinds]
        return cast(Setup, "2".join([*letters, "L"][:2]))

    @abstractmethod
    def item_row(self, item: Any) -> Item:
        """Return the item as a row of the log."""

    @abstractmethod
    def read_item(self, row: Item) -> Any:
        """Return the item of a row."""

    @abstractmethod
    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """Return the occupant of `seat` with the name ``offline/…`` or ``provider/model``.

        Raises:
            InputError: if the seat has no player of that name.
        """

    @abstractmethod
    def view(
        self, live: ActiveEpisode, state: StateT, seat: str, ending: Ending | None, warning: str | None
    ) -> Any:
        """Return the current page of a person in `seat`."""

    @abstractmethod
    def replay(self, item: Any, turns: Sequence[Turn], judgments: Sequence[Judgment], /) -> Any:
        """Return an ended episode with everything that was hidden: every turn and its reasons."""

    def score(
        self,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> tuple[Score, ...]:
        """Return the scores of an ended episode with these options; empty if it has no turns."""
        return self.compute_scores(turns[0].episode_id, item, turns, judgments, options) if turns else ()

    @abstractmethod
    def compute_scores(
        self,
        episode_id: str,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any],
        /,
    ) -> tuple[Score, ...]:
        """Return the scores of an ended episode that has turns."""

    def cooperative_reply(self, options: Mapping[str, Any], turns: Sequence[Turn]) -> Reply | None:
        """Return a cooperative person's reply to the next of `person_only_kinds`; None elsewhere."""
        return None

    def form_reply(self, reply: Reply, knows: Any) -> Reply:
        """Convert a built-in player's reply to the form that a person would submit on the page.

        `knows`: what the player was shown (`simulator.seats.View.task`).
        """
        return reply

    # The machine

    @abstractmethod
    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """Return the uncompiled graph."""

    @abstractmethod
    def make_context(self, live: ActiveEpisode) -> ContextT:
        """Return the graph's context."""

    def context(self, live: ActiveEpisode) -> ContextT:
        """Return the graph's context, made only once for an episode."""
        return live.once(self.make_context)

    @abstractmethod
    def rebuild(self, turns: Sequence[Turn]) -> StateT:
        """Return the graph's state after `turns`."""

    @abstractmethod
    def steps(self, context: ContextT) -> int:
        """Return an upper bound of graph steps of any episode."""

    @abstractmethod
    def take(self, seat: str) -> Take[ContextT, StateT]:
        """Return the function that converts a reply of `seat` to a turn."""

    @abstractmethod
    def seat_due(self, context: ContextT, state: StateT) -> str | None:
        """Return the seat that is next to move; None at the end."""

    @abstractmethod
    def status(self, context: ContextT, state: StateT) -> Literal["completed", "truncated"] | None:
        """Return the status of an ended episode; None if it has not ended."""

    def due(self, live: ActiveEpisode, state: StateT) -> str | None:
        """Return the seat that is next to move; None at the end."""
        return self.seat_due(self.context(live), state)

    async def advance(self, live: ActiveEpisode, state: StateT) -> StateT:
        """Play until the episode ends or a person is next to move.

        Raises:
            InputError: if it takes more than `steps`.
        """
        from langgraph.errors import GraphRecursionError

        context = self.context(live)
        try:
            return await self._compiled.play(state, context, steps=self.steps(context))
        except GraphRecursionError as error:
            raise InputError(f"the episode has not ended after {self.steps(context)} steps.") from error

    def accept(self, live: ActiveEpisode, state: StateT, seat: str, reply: Reply) -> Turn:
        """Return a person's reply as a turn (not yet recorded).

        Raises:
            SeatError: if it is not that seat's turn or the reply breaks the rules.
        """
        if self.due(live, state) != seat:
            raise SeatError(f"It is not the {seat}'s turn.", seat, code="not_due")
        turn, _ = self.take(seat)(self.context(live), state, reply)
        return turn

    def ending(self, live: ActiveEpisode, state: StateT) -> Ending | None:
        """Return the ending as a row of the log; None if the episode has not ended."""
        status = self.status(self.context(live), state)
        return Ending(episode_id=live.episode.id, status=status) if status else None

    @cached_property
    def _compiled(self) -> CompiledGraph[StateT, ContextT]:
        # LangGraph takes a second to import, which commands that only read the log should not wait for.
        from simulator.runner.compiling import CompiledGraph

        return CompiledGraph(self.build_graph())


AnyMachine = EpisodeMachine[Any, Any]


# ---- turns


ValuesT = TypeVar("ValuesT", bound=Mapping[str, Any])
ASIDE: Final = "study"
"""Payload key of a turn that answers a study's own question: the node of the study's graph."""
_UNMARKED: Final = frozenset({"consent", "ready", "comment"})
"""Kinds of such turns in older logs, which did not mark them."""
_MARKED_SINCE: Final = "2026-11-24"


def make_turn(
    episode_id: str,
    number: int,
    seat: str,
    reply: Reply,
    *,
    text: str,
    payload: Mapping[str, Any],
    since: float,
) -> Turn:
    """Return a reply as a turn of the log; its trace, if any, becomes part of the payload.

    `reply`: empty for a text that was not asked for (a greeting). `text`: what counts as said. `since`: when
    it became the seat's turn (seconds, monotonic), to measure the time if the reply has not.
    """
    seconds = monotonic() - since if reply.seconds is None else reply.seconds
    trace = {"trace": dict(reply.trace)} if reply.trace else {}
    return Turn(
        episode_id=episode_id,
        number=number,
        seat=seat,
        text=text,
        payload={**payload, **trace},
        key=reply.key,
        seconds=round(seconds, 4),
    )


def is_aside(turn: Turn) -> bool:
    """Return True if a turn answers a study's own question and is not a move of the benchmark."""
    old = turn.created_at < _MARKED_SINCE and turn.payload.get("kind") in _UNMARKED
    return ASIDE in turn.payload or old


def task_turns(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Return the turns of an episode's task, numbered from 0, without answers to a study's own questions."""
    task = (turn for turn in turns if not is_aside(turn))
    return tuple(turn if turn.number == n else replace(turn, number=n) for n, turn in enumerate(task))


def due_since(turns: Sequence[Turn]) -> float:
    """Return when it became the next seat's turn (seconds, monotonic), from an episode's logged `turns`.

    A person thinks between two calls of the program, so the time counts from the previous turn.
    """
    if not turns:
        return monotonic()
    age = (datetime.now(UTC) - datetime.fromisoformat(turns[-1].created_at)).total_seconds()
    return monotonic() - max(age, 0.0)


def state_after(state: ValuesT, update: Mapping[str, Any]) -> ValuesT:
    """Return `state` after `update`, as LangGraph would, for a node that chooses the next node itself.

    Lists are appended, as the states' reducers do; other values are replaced.
    """
    changed = {key: state[key] + value if isinstance(value, list) else value for key, value in update.items()}
    return cast(ValuesT, {**state, **changed})


# ---- pages


class ItemChoice(NamedTuple):
    """An item in a menu: its place among the items in its language, from 1, and its label."""

    place: int
    words: Words


class ItemGroup(NamedTuple):
    """Items of one kind."""

    label: str
    choices: Sequence[ItemChoice]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPage:
    """A page for a person in a seat.

    Attributes:
        people: the other seats with people in them.
        stage: what a study shows instead of the task, ``qualification`` during a qualification test, ``task``
            during the task, ``done`` at the end.
        due: the move that this seat is to make; while it waits, the last one that it made.
        waits_for: the seat that is next to move; empty if that is this one, or none.
        first: the number of the first of them in the log.
        warning: the problem of another seat.
    """

    episode_id: str
    seat: str
    people: tuple[str, ...] = ()
    language: str
    stage: str
    due: Due | None = None
    my_turn: bool = True
    waits_for: str = ""
    blocks: tuple[Block, ...] = ()
    moves: tuple[Move, ...] = ()
    first: int = 0
    number: int
    ending: Ending | None = None
    warning: str | None = None
    study: bool = False
    tested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """An ended episode, as its players may see it.

    Attributes:
        blocks: what is revealed; empty if the episode was broken off.
        scores: metric -> value; empty if the episode was broken off.
    """

    language: str
    moves: tuple[Move, ...]
    blocks: tuple[Block, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)
