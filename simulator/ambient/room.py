"""AmbiEnt as the runner sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from logs.rows import Ending, Judgment, Score, Turn
from logs.rows import Item as ItemRow
from simulator.ambient import graph, show
from simulator.ambient.items import Item
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.rows import BENCHMARK, item_from_row, item_row
from simulator.ambient.score import score_rows
from simulator.ambient.seating import seat_for
from simulator.ambient.views import ParticipantView, Replay
from simulator.models import ChatModel
from simulator.runner.one_seat import OneSeatRoom, State
from simulator.runner.rooms import Live
from simulator.seats import Seat


class AmbientRoom(OneSeatRoom[graph.Table]):
    """See `simulator.runner.rooms.Room`. Its items are examples prepared for a task (`items.Item`)."""

    name = BENCHMARK
    seats: tuple[str, ...] = (ANNOTATOR,)
    table_type = graph.Table

    def item_row(self, item: Item) -> ItemRow:
        """The item as a row of the log."""
        return item_row(item)

    def read_item(self, row: ItemRow) -> Item:
        """The item out of its row."""
        return item_from_row(row)

    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """See `seating.seat_for`."""
        return seat_for(seat, name, models, options)

    def view(
        self, live: Live, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> ParticipantView:
        """What a person may see now."""
        return show.participant_view(self.table(live), state, ending, warning)

    def replay(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay:
        """An ended episode of a person's task, with what was hidden."""
        return show.replay(item, turns)

    def score(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> tuple[Score, ...]:
        """See `score`."""
        return score_rows(turns[0].episode_id, item, turns) if turns else ()


ROOM = AmbientRoom()
