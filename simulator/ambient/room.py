"""AmbiEnt as the runner sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logs.rows import Ending, Judgment, Score, Turn
from simulator.ambient import graph, rows, seating, show
from simulator.ambient.items import Item
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.score import score_rows
from simulator.ambient.views import ParticipantView, Replay
from simulator.runner.one_seat import OneSeatRoom, State
from simulator.runner.rooms import NO_OPTIONS, ActiveEpisode


class AmbientRoom(OneSeatRoom[graph.Table]):
    """See `simulator.runner.rooms.Room`. Its items are examples prepared for a task (`items.Item`)."""

    name = rows.BENCHMARK
    seats: tuple[str, ...] = (ANNOTATOR,)
    table_type = graph.Table
    item_row = staticmethod(rows.item_row)
    read_item = staticmethod(rows.item_from_row)
    seat_for = staticmethod(seating.seat_for)

    def view(
        self, live: ActiveEpisode, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> ParticipantView:
        """Return what a person may see now."""
        return show.participant_view(self.table(live), state, ending, warning, live.stage)

    def replay(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay:
        """Return an ended episode of a person's task, with what was hidden."""
        return show.replay(item, turns)

    def score(
        self,
        item: Item,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> tuple[Score, ...]:
        """See `score`."""
        return score_rows(turns[0].episode_id, item, turns) if turns else ()


ROOM = AmbientRoom()
