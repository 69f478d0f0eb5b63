"""AmbiEnt as the runner sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langgraph.graph.state import StateGraph

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
from simulator.runner.graph_room import GraphRoom, Take
from simulator.runner.rooms import Live
from simulator.seats import Seat

# Graph steps beside those of the plan: the start, and what LangGraph counts itself.
_OTHER_STEPS = 4


class AmbientRoom(GraphRoom[graph.Table, graph.State]):
    """See `simulator.runner.rooms.Room`. Its items are examples prepared for a task (`items.Item`)."""

    name = BENCHMARK
    seats: tuple[str, ...] = (ANNOTATOR,)

    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """The uncompiled graph."""
        return graph.build_graph()

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

    def rebuild(self, turns: Sequence[Turn]) -> graph.State:
        """The episode's state after `turns`."""
        return graph.rebuild(turns)

    def steps(self, table: graph.Table) -> int:
        """More graph steps than any episode takes."""
        return len(table.steps) + _OTHER_STEPS

    def take(self, seat: str) -> Take[graph.Table, graph.State]:
        """What makes a turn of a reply."""
        return graph.annotator_turn

    def due(self, live: Live, state: graph.State) -> str | None:
        """The annotator, until the last step."""
        return None if graph.step_due(self.table(live), state) is None else ANNOTATOR

    def status(self, live: Live, state: graph.State) -> Literal["completed"] | None:
        """Completed after the last step; who may not go on before is aborted instead, by the graph."""
        table = self.table(live)
        return "completed" if len(state["said"]) >= len(table.steps) else None

    def view(
        self, live: Live, state: graph.State, seat: str, ending: Ending | None, warning: str | None
    ) -> ParticipantView:
        """What a person may see now."""
        return show.participant_view(self.table(live), state, ending, warning)

    def replay(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay:
        """An ended episode of a person's task, with what was hidden."""
        return show.replay(item, turns)

    def score(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> tuple[Score, ...]:
        """See `score`."""
        return score_rows(turns[0].episode_id, item, turns) if turns else ()

    def table(self, live: Live) -> graph.Table:
        """The graph's context."""
        return graph.Table(
            episode_id=live.episode.id,
            item=live.item,
            annotator=live.seats[ANNOTATOR],
            record=live.record,
            seed=live.episode.seed,
            repeat=live.episode.repeat,
            options=live.episode.options,
        )


ROOM = AmbientRoom()
