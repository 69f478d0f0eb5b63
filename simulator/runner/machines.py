"""A benchmark as the runner sees it: an `EpisodeMachine` plays, stores and scores its episodes.

Below it stand what every graph does with a reply, which becomes a turn for the log and an update of the
state, and the pages that people have of episodes whose pages are made of blocks.
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


TableT = TypeVar("TableT")
StateT = TypeVar("StateT")

NO_OPTIONS: Final[Mapping[str, Any]] = MappingProxyType({})
"""The options of an episode of which none are known."""

Take = Callable[[TableT, StateT, Reply], tuple[Turn, dict[str, Any]]]
"""A reply as a turn and an update of the state; SeatError if it breaks the rules."""


@dataclass(frozen=True, kw_only=True)
class ActiveEpisode:
    """An episode with live objects.

    Attributes:
        record: puts a turn into the log; when it returns, the turn counts.
        first: the number of the benchmark's first turn; the study's are before it.
        stage: what the study shows instead of the task; empty while the task goes on.
    """

    episode: Episode
    item: Any
    seats: Mapping[str, Seat]
    record: Callable[[Turn], Awaitable[None]] = field(repr=False)
    first: int = 0
    stage: str = ""


def refuse_unknown(seat: str, name: str, known: str) -> None:
    """Refuse the name of a built-in player that there is not; other names are those of models and scripts.

    Raises:
        InputError: says who is `known` in the seat.
    """
    if name.startswith("offline/") and not name.startswith("offline/script"):
        raise InputError(f"Nobody called {name!r} can sit in the {seat}'s seat; known are {known}.")


def score_rows(
    episode_id: str, values: Mapping[str, float | None], version: str, details: Mapping[str, Any] = NO_OPTIONS
) -> tuple[Score, ...]:
    """Return metrics of an episode as rows of the log, each with the same details.

    Raises:
        InputError: if a value is no number; names its metric.
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
        raise InputError(f"{metric} is {value!r}, neither a number nor None.")
    return number


class EpisodeMachine(ABC, Generic[TableT, StateT]):
    """Plays episodes as a LangGraph machine with a table for context and a state that the log rebuilds.

    What a benchmark's own functions do already, its machine names: ``rebuild = staticmethod(graph.rebuild)``.

    The graph has no checkpointer. It ends its invocation at the end of the episode and where a person is
    due; `accept` makes the turn of what the person then submits.

    Attributes:
        name: of the benchmark.
        seats: that there can be.
        people_alone: the kinds of turns that people alone take, before the task that others do, too.
    """

    name: str
    seats: tuple[str, ...]
    people_alone: Collection[str] = ()

    # Items, seats and scores

    def seated(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the seats that an episode with these options has: all, where a machine says nothing else."""
        return self.seats

    def setup(self, kinds: Mapping[str, str]) -> Setup:
        """Return who sits where (seat -> ``person``, ``model``, …) as H2H, H2L, L2H or L2L.

        That is the first seat's letter, then the other's (L if there is none): H a person, L not.
        """
        letters = ["H" if kinds[seat] == "person" else "L" for seat in self.seats if seat in kinds]
        return cast(Setup, "2".join([*letters, "L"][:2]))

    @abstractmethod
    def item_row(self, item: Any) -> Item:
        """Return the item as a row of the log."""

    @abstractmethod
    def read_item(self, row: Item) -> Any:
        """Return the item out of its row."""

    @abstractmethod
    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """Return who sits in `seat` under the name ``offline/…`` or ``provider/model``.

        Raises:
            InputError: if the name means nothing in that seat.
        """

    @abstractmethod
    def view(
        self, live: ActiveEpisode, state: StateT, seat: str, ending: Ending | None, warning: str | None
    ) -> Any:
        """Return what a person in `seat` may see now."""

    @abstractmethod
    def replay(self, item: Any, turns: Sequence[Turn], judgments: Sequence[Judgment], /) -> Any:
        """Return an ended episode with everything that was hidden: every turn and why."""

    def score(
        self,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> tuple[Score, ...]:
        """Return the scores of an ended episode with these options; none where nothing was said."""
        return self.scored(turns[0].episode_id, item, turns, judgments, options) if turns else ()

    @abstractmethod
    def scored(
        self,
        episode_id: str,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any],
        /,
    ) -> tuple[Score, ...]:
        """Return the scores of an ended episode that has turns."""

    def willing(self, options: Mapping[str, Any], turns: Sequence[Turn]) -> Reply | None:
        """Return what a willing person says where people alone are asked (`people_alone`); None elsewhere."""
        return None

    def filled_in(self, reply: Reply, knows: Any) -> Reply:
        """Return what a person fills in on a page who does what a built-in player does.

        Args:
            reply: what the player says.
            knows: what it was shown (`simulator.seats.View.task`).
        """
        return reply

    # The machine

    @abstractmethod
    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """Return the uncompiled graph."""

    @abstractmethod
    def table(self, live: ActiveEpisode) -> TableT:
        """Return the graph's context."""

    @abstractmethod
    def rebuild(self, turns: Sequence[Turn]) -> StateT:
        """Return the graph's state after `turns`."""

    @abstractmethod
    def steps(self, table: TableT) -> int:
        """Return more graph steps than any episode takes."""

    @abstractmethod
    def take(self, seat: str) -> Take[TableT, StateT]:
        """Return what makes a turn of a reply of `seat`."""

    @abstractmethod
    def seat_due(self, table: TableT, state: StateT) -> str | None:
        """Return the seat that is to move; None at the end."""

    @abstractmethod
    def status(self, table: TableT, state: StateT) -> Literal["completed", "truncated"] | None:
        """Return how the episode has ended; None if it has not."""

    def due(self, live: ActiveEpisode, state: StateT) -> str | None:
        """Return the seat that is to move; None at the end."""
        return self.seat_due(self.table(live), state)

    async def advance(self, live: ActiveEpisode, state: StateT) -> StateT:
        """Play until the episode ends or a person is due."""
        table = self.table(live)
        return await self._compiled.play(state, table, steps=self.steps(table))

    def accept(self, live: ActiveEpisode, state: StateT, seat: str, reply: Reply) -> Turn:
        """Return a person's reply as a turn (not yet recorded).

        Raises:
            SeatError: if it is not that seat's turn or the reply breaks the rules.
        """
        if self.due(live, state) != seat:
            raise SeatError(f"It is not the {seat}'s turn.", seat, code="not_due")
        turn, _ = self.take(seat)(self.table(live), state, reply)
        return turn

    def ending(self, live: ActiveEpisode, state: StateT) -> Ending | None:
        """Return how the episode ended, as a row of the log; None if it has not."""
        status = self.status(self.table(live), state)
        return Ending(episode_id=live.episode.id, status=status) if status else None

    @cached_property
    def _compiled(self) -> CompiledGraph[StateT, TableT]:
        # LangGraph takes a second to import; who reads the log alone should not wait for it.
        from simulator.runner.compiling import CompiledGraph

        return CompiledGraph(self.build_graph())


AnyMachine = EpisodeMachine[Any, Any]


# ---- turns


ValuesT = TypeVar("ValuesT", bound=Mapping[str, Any])
ASIDE: Final = "study"
"""In the payload of a turn that answers what a study asks beside the task: at which node of its way."""
_UNMARKED: Final = frozenset({"consent", "ready", "comment"})
"""Kinds of such turns in logs from before they were marked."""
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
    """Return a reply as a turn of the log; its trace, if it has one, becomes part of the payload.

    Args:
        episode_id: the episode.
        number: of the turn.
        seat: who moved.
        reply: what came from there; an empty one for words that nobody was asked for (a greeting).
        text: what counts as said.
        payload: what the benchmark logs with it.
        since: when the seat became due (seconds, monotonic). It took the time from then on, unless it has
            measured that itself.
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
    """Return True if a turn answers what a study asks beside the task, and is no move of the benchmark's."""
    old = turn.created_at < _MARKED_SINCE and turn.payload.get("kind") in _UNMARKED
    return ASIDE in turn.payload or old


def task_turns(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Return the turns of an episode's task, numbered from 0; what a study asked beside it is left out."""
    task = (turn for turn in turns if not is_aside(turn))
    return tuple(turn if turn.number == n else replace(turn, number=n) for n, turn in enumerate(task))


def due_since(turns: Sequence[Turn]) -> float:
    """Return when whoever is due became so (seconds, monotonic), of an episode rebuilt from its `turns`.

    A person takes their time between two calls of the program; it runs from the turn before.
    """
    if not turns:
        return monotonic()
    age = (datetime.now(UTC) - datetime.fromisoformat(turns[-1].created_at)).total_seconds()
    return monotonic() - max(age, 0.0)


def state_after(state: ValuesT, update: Mapping[str, Any]) -> ValuesT:
    """Return the state that LangGraph makes of `state` and `update`, for a node that says where it goes on.

    Lists are appended, as the states' reducers do; everything else is replaced.
    """
    changed = {key: state[key] + value if isinstance(value, list) else value for key, value in update.items()}
    return cast(ValuesT, {**state, **changed})


# ---- pages


class ItemChoice(NamedTuple):
    """An item in a menu: its place among those in its language, from 1, and what it is called there."""

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
        stage: what a study shows instead of the task, ``qualification`` where somebody shows that they may do
            it, ``task`` while it goes on, ``done`` at the end.
        due: the move that this seat is to make; while it waits, the last that it made.
        waits_for: the seat that is due; empty if that is this one, or nobody.
        moves: of the task so far.
        first: the number of the first of them in the log.
        warning: what a seat opposite met with.
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
    """An ended episode, as everybody in it may see it.

    Attributes:
        blocks: what is revealed; nothing if the episode was broken off.
        scores: metric -> value; likewise.
    """

    language: str
    moves: tuple[Move, ...]
    blocks: tuple[Block, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)
