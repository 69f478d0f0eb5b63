"""AmbiBench as the runner sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langgraph.graph.state import StateGraph

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
from simulator.runner.graph_room import GraphRoom, Take
from simulator.runner.rooms import Live
from simulator.seats import Seat

# Graph steps beside the trials: the start, and what LangGraph counts itself.
_OTHER_STEPS = 4


class AmbiBenchRoom(GraphRoom[graph.Table, graph.State]):
    """See `simulator.runner.rooms.Room`. Its items are prompts (`trials.Item`)."""

    name = BENCHMARK
    seats: tuple[str, ...] = (PARTICIPANT,)

    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """The uncompiled graph."""
        return graph.build_graph()

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

    def rebuild(self, turns: Sequence[Turn]) -> graph.State:
        """The episode's state after `turns`."""
        return graph.rebuild(turns)

    def steps(self, table: graph.Table) -> int:
        """More graph steps than any episode takes."""
        return len(table.steps) + _OTHER_STEPS

    def take(self, seat: str) -> Take[graph.Table, graph.State]:
        """What makes a turn of a reply."""
        return graph.participant_turn

    def due(self, live: Live, state: graph.State) -> str | None:
        """The participant, until the last step."""
        return None if graph.step_due(self.table(live), state) is None else PARTICIPANT

    def status(self, live: Live, state: graph.State) -> Literal["completed"] | None:
        """Completed after the last step. Without consent it is aborted instead, by the graph."""
        table = self.table(live)
        return "completed" if len(state["said"]) >= len(table.steps) else None

    def view(
        self, live: Live, state: graph.State, seat: str, ending: Ending | None, warning: str | None
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

    def table(self, live: Live) -> graph.Table:
        """The graph's context."""
        return graph.Table(
            episode_id=live.episode.id,
            item=live.item,
            participant=live.seats[PARTICIPANT],
            record=live.record,
            seed=live.episode.seed,
            repeat=live.episode.repeat,
            options=live.episode.options,
        )


def chosen(turns: Sequence[Turn]) -> tuple[Mode, Tie]:
    """How tables are read in an episode, as its answers say: written ones (``text``) by the default."""
    for turn in turns:
        if turn.payload.get("table") is not None:
            return turn.payload["score_mode"], turn.payload["tie_rule"]
    return "strip", "wrong"


ROOM = AmbiBenchRoom()
