"""What the runner sees of a benchmark: it plays, stores and scores episodes of any through this protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from logs.rows import Ending, Episode, Item, Judgment, Score, Setup, Turn
from simulator.seats import Reply, Seat

if TYPE_CHECKING:
    from langgraph.graph.state import StateGraph

    from simulator.models import ChatModel


NO_OPTIONS: Final[Mapping[str, Any]] = MappingProxyType({})
"""The options of an episode of which none are known."""


@dataclass(frozen=True, kw_only=True)
class ActiveEpisode:
    """An episode with live objects.

    Attributes:
        episode: its row.
        item: the benchmark's own item.
        seats: who sits where.
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


class Room(Protocol):
    """A benchmark as the runner sees it. `state` is the graph's state, a dict of plain values."""

    name: str
    seats: tuple[str, ...]

    def seated(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return which of the seats an episode with these options has."""
        ...

    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """Return the uncompiled state machine."""
        ...

    def item_row(self, item: Any) -> Item:
        """Return the item as a row of the log."""
        ...

    def read_item(self, row: Item) -> Any:
        """Return the item out of its row."""
        ...

    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """Return who sits in `seat` under the name ``offline/…`` or ``provider/model``.

        Raises:
            InputError: if the name means nothing in that seat.
        """
        ...

    def setup(self, kinds: Mapping[str, str]) -> Setup:
        """Return H2H, H2L, L2H or L2L, out of who sits where (seat -> ``person``, ``model``, …)."""
        ...

    def rebuild(self, turns: Sequence[Turn]) -> Any:
        """Return the graph's state after `turns`."""
        ...

    async def advance(self, live: ActiveEpisode, state: Any) -> Any:
        """Play until the episode ends or a person is due; the state then."""
        ...

    def accept(self, live: ActiveEpisode, state: Any, seat: str, reply: Reply) -> Turn:
        """Return a person's reply as a turn (not yet recorded).

        Raises:
            SeatError: if the reply breaks the rules.
        """
        ...

    def due(self, live: ActiveEpisode, state: Any) -> str | None:
        """Return the seat that is to move; None at the end."""
        ...

    def ending(self, live: ActiveEpisode, state: Any) -> Ending | None:
        """Return how the episode ended; None if it has not."""
        ...

    def view(
        self, live: ActiveEpisode, state: Any, seat: str, ending: Ending | None, warning: str | None
    ) -> Any:
        """Return what a person in `seat` may see now."""
        ...

    def replay(self, item: Any, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Any:
        """Return an ended episode with everything that was hidden: every turn and why."""
        ...

    def score(
        self,
        item: Any,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> tuple[Score, ...]:
        """Return the scores of an ended episode with these options."""
        ...
