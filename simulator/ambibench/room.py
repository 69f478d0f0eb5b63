"""AmbiBench as the runner sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from logs.rows import Ending, Judgment, Score, Turn
from logs.rows import Item as ItemRow
from simulator.ambibench import graph, show
from simulator.ambibench.labels import Mode, Tie
from simulator.ambibench.playing import PARTICIPANT
from simulator.ambibench.rows import BENCHMARK, item_from_row, item_row
from simulator.ambibench.score import score_rows
from simulator.ambibench.seating import seat_for
from simulator.ambibench.trials import Item
from simulator.ambibench.views import ParticipantView, Replay, TextReplay
from simulator.models import ChatModel
from simulator.runner.one_seat import OneSeatRoom, State
from simulator.runner.rooms import Live
from simulator.seats import Seat


class AmbiBenchRoom(OneSeatRoom[graph.Table]):
    """See `simulator.runner.rooms.Room`. Its items are prompts (`trials.Item`)."""

    name = BENCHMARK
    seats: tuple[str, ...] = (PARTICIPANT,)
    table_type = graph.Table

    def item_row(self, item: Item) -> ItemRow:
        """The prompt as a row of the log."""
        return item_row(item)

    def read_item(self, row: ItemRow) -> Item:
        """The prompt out of its row."""
        return item_from_row(row)

    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """See `seating.seat_for`."""
        return seat_for(seat, name, models)

    def view(
        self, live: Live, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> ParticipantView:
        """What a person may see now."""
        return show.participant_view(self.table(live), state, ending, warning)

    def replay(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay | TextReplay:
        """An ended episode, with what was hidden."""
        return show.replay(item, turns, judgments, *chosen(turns))

    def score(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> tuple[Score, ...]:
        """Accuracy and validity, or the category of a text; tables are read as the episode's options said."""
        if not turns:
            return ()
        mode, tie = chosen(turns)
        return score_rows(turns[0].episode_id, item, turns, judgments, mode, tie)


def chosen(turns: Sequence[Turn]) -> tuple[Mode, Tie]:
    """How tables are read in an episode, as its answers say: written ones (``text``) by the default."""
    for turn in turns:
        if turn.payload.get("table") is not None:
            return turn.payload["score_mode"], turn.payload["tie_rule"]
    return "strip", "wrong"


ROOM = AmbiBenchRoom()
