"""AmbiBench as the runner sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logs.rows import Ending, Judgment, Score, Turn
from simulator.ambibench import graph, rows, seating, show
from simulator.ambibench.labels import Mode, Tie
from simulator.ambibench.playing import PARTICIPANT
from simulator.ambibench.score import score_rows
from simulator.ambibench.trials import Item
from simulator.ambibench.views import ParticipantView, Replay, TextReplay
from simulator.runner.one_seat import OneSeatRoom, State
from simulator.runner.rooms import NO_OPTIONS, ActiveEpisode


class AmbiBenchRoom(OneSeatRoom[graph.Table]):
    """See `simulator.runner.rooms.Room`. Its items are prompts (`trials.Item`)."""

    name = rows.BENCHMARK
    seats: tuple[str, ...] = (PARTICIPANT,)
    table_type = graph.Table
    item_row = staticmethod(rows.item_row)
    read_item = staticmethod(rows.item_from_row)

    seat_for = staticmethod(seating.seat_for)

    def view(
        self, live: ActiveEpisode, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> ParticipantView:
        """Return what a person may see now."""
        return show.participant_view(self.table(live), state, ending, warning, live.stage)

    def replay(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay | TextReplay:
        """Return an ended episode, with what was hidden."""
        return show.replay(item, turns, judgments, *chosen(turns))

    def score(
        self,
        item: Item,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> tuple[Score, ...]:
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
