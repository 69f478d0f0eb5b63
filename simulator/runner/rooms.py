"""What a benchmark package offers the runner, and which packages there are.

The runner plays, stores and scores episodes of any benchmark through this protocol; a new benchmark is a
package with a `room.py` (its `ROOM`), a `run_command.py` (its `score_command`) and one line in `_ROOMS`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

from logs.rows import Ending, Episode, Item, Judgment, Score, Setup, Turn
from simulator.errors import InputError
from simulator.seats import Reply, Seat

if TYPE_CHECKING:
    from simulator.models import ChatModel

_ROOMS: Final[Mapping[str, str]] = {
    "clarq": "simulator.clarq",
    "handmethat": "simulator.handmethat",
    "ambibench": "simulator.ambibench",
    "ambient": "simulator.ambient",
    "ambik": "simulator.ambik",
}


@dataclass(frozen=True, kw_only=True)
class Live:
    """An episode with live objects.

    Attributes:
        episode: its row.
        item: the benchmark's own item (ClarQ: a `trees.Task`).
        seats: who sits where.
        record: puts a turn into the log; when it returns, the turn counts.
    """

    episode: Episode
    item: Any
    seats: Mapping[str, Seat]
    record: Callable[[Turn], Awaitable[None]] = field(repr=False)


class Room(Protocol):
    """A benchmark as the runner sees it. `state` is the graph's state, a dict of plain values."""

    name: str
    seats: tuple[str, ...]

    def seated(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Which of the seats an episode with these options has."""
        ...

    def item_row(self, item: Any) -> Item:
        """The item as a row of the log."""
        ...

    def read_item(self, row: Item) -> Any:
        """The item out of its row."""
        ...

    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """Who sits in `seat` under the name ``offline/…`` or ``provider/model``.

        Raises:
            InputError: if the name means nothing in that seat.
        """
        ...

    def setup(self, kinds: Mapping[str, str]) -> Setup:
        """H2H, H2L, L2H or L2L, out of who sits where (seat -> ``person``, ``model``, …)."""
        ...

    def rebuild(self, turns: Sequence[Turn]) -> Any:
        """The graph's state after `turns`."""
        ...

    async def advance(self, live: Live, state: Any) -> Any:
        """Play until the episode ends or a person is due; the state then."""
        ...

    def accept(self, live: Live, state: Any, seat: str, reply: Reply) -> Turn:
        """A person's reply as a turn (not yet recorded).

        Raises:
            SeatError: if the reply breaks the rules.
        """
        ...

    def due(self, live: Live, state: Any) -> str | None:
        """The seat that is to move; None at the end."""
        ...

    def ending(self, live: Live, state: Any) -> Ending | None:
        """How the episode ended; None if it has not."""
        ...

    def view(self, live: Live, state: Any, seat: str, ending: Ending | None, warning: str | None) -> Any:
        """What a person in `seat` may see now."""
        ...

    def replay(self, item: Any, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Any:
        """An ended episode with everything that was hidden: every turn and why."""
        ...

    def score(self, item: Any, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> tuple[Score, ...]:
        """The scores of an ended episode."""
        ...


@cache
def load_room(name: str) -> Room:
    """The room called `name`.

    Raises:
        InputError: if there is none.
    """
    room: Room = load_part(name, "room").ROOM
    return room


def load_part(name: str, part: str) -> ModuleType:
    """The module `part` of the benchmark called `name`; nothing else of a benchmark is imported.

    Raises:
        InputError: if there is no such benchmark.
    """
    if name not in _ROOMS:
        raise InputError(f"There is no benchmark called {name!r}; there are: {', '.join(_ROOMS)}.")
    return import_module(f"{_ROOMS[name]}.{part}")
