"""What is the same in the rooms (`simulator.runner.rooms.Room`) of all benchmarks played as a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph, StateGraph

from logs.rows import Ending, Setup, Turn
from simulator.errors import SeatError
from simulator.runner.rooms import ActiveEpisode
from simulator.seats import Reply

TableT = TypeVar("TableT")
StateT = TypeVar("StateT")

Take = Callable[[TableT, StateT, Reply], tuple[Turn, dict[str, Any]]]
"""A reply as a turn and an update of the state; SeatError if it breaks the rules."""


class GraphRoom(ABC, Generic[TableT, StateT]):
    """Plays episodes as a LangGraph machine whose context is a table and whose state the log rebuilds.

    What a benchmark's own functions do already, its room names: ``rebuild = staticmethod(graph.rebuild)``.

    The graph has no checkpointer. It ends its invocation at the end of the episode and where a person is
    due; `accept` makes the turn of what the person then submits.
    """

    seats: tuple[str, ...]

    def seated(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the seats that an episode with these options has: all, where a room says nothing else."""
        return self.seats

    @abstractmethod
    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """Return the uncompiled graph."""

    @abstractmethod
    def table(self, live: ActiveEpisode) -> TableT:
        """Return the graph's context."""

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

    def setup(self, kinds: Mapping[str, str]) -> Setup:
        """Return the first seat's letter, then the other's (L if there is none): H a person, L not."""
        letters = ["H" if kinds[seat] == "person" else "L" for seat in self.seats if seat in kinds]
        return cast(Setup, "2".join([*letters, "L"][:2]))

    async def advance(self, live: ActiveEpisode, state: StateT) -> StateT:
        """Play until the episode ends or a person is due."""
        table = self.table(live)
        config: RunnableConfig = {"recursion_limit": self.steps(table)}
        output = await self._graph.ainvoke(state, config, context=table, version="v2")
        return cast(StateT, output.value)

    def accept(self, live: ActiveEpisode, state: StateT, seat: str, reply: Reply) -> Turn:
        """Return a person's reply as a turn.

        Raises:
            SeatError: if it is not that seat's turn or the reply breaks the rules.
        """
        if self.due(live, state) != seat:
            raise SeatError(f"It is not the {seat}'s turn.", seat, code="not_due")
        turn, _ = self.take(seat)(self.table(live), state, reply)
        return turn

    def ending(self, live: ActiveEpisode, state: StateT) -> Ending | None:
        """Return how the episode ended, as a row of the log."""
        status = self.status(self.table(live), state)
        return Ending(episode_id=live.episode.id, status=status) if status else None

    @cached_property
    def _graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        return self.build_graph().compile()
