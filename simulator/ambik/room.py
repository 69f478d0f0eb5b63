"""AmbiK as the runner sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langgraph.graph.state import StateGraph

from logs.rows import Ending, Judgment, Score, Turn
from logs.rows import Item as ItemRow
from simulator.ambik import graph, show
from simulator.ambik.items import Item
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, seats_of
from simulator.ambik.rows import BENCHMARK, item_from_row, item_row
from simulator.ambik.score import score_rows
from simulator.ambik.seating import seat_for
from simulator.ambik.views import ParticipantView, Replay
from simulator.models import ChatModel
from simulator.runner.graph_room import GraphRoom, Take
from simulator.runner.rooms import Live
from simulator.seats import Reply, Seat

_STEPS_PER_QUESTION = 2
_OTHER_STEPS = 8


class AmbikRoom(GraphRoom[graph.Table, graph.State]):
    """See `simulator.runner.rooms.Room`. Its items are `items.Item`: tasks and drafts."""

    name = BENCHMARK
    seats: tuple[str, ...] = (ROBOT, USER, ANNOTATOR)

    def seated(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Robot and user, or the annotator."""
        return seats_of(options)

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
        """A question and its answer for each that may be asked, and the decision to act."""
        return _STEPS_PER_QUESTION * table.rules.questions + _OTHER_STEPS

    def take(self, seat: str) -> Take[graph.Table, graph.State]:
        """What makes a turn of a reply of `seat`."""

        def take(table: graph.Table, state: graph.State, reply: Reply) -> tuple[Turn, dict[str, Any]]:
            return graph.take(table, state, seat, reply)

        return take

    def due(self, live: Live, state: graph.State) -> str | None:
        """The seat that is to move."""
        now = graph.due(self.table(live), state)
        return now.seat if now else None

    def may_begin(self, live: Live, state: graph.State, seat: str) -> bool:
        """Whether the person in `seat` has said nothing yet: they may begin, whatever others have done."""
        new = all(who != seat for who, *_ in state["said"])
        return new and any(one.seat == seat for one in graph.unread(self.table(live), state))

    def accept(self, live: Live, state: graph.State, seat: str, reply: Reply) -> Turn:
        """See `GraphRoom.accept`; what comes before the task is either's turn."""
        if not self.may_begin(live, state, seat):
            return super().accept(live, state, seat, reply)
        turn, _ = graph.take(self.table(live), state, seat, reply)
        return turn

    def status(self, live: Live, state: graph.State) -> Literal["completed"] | None:
        """Completed once the robot acts, or asks where nobody answers; once the form is filled in."""
        return "completed" if graph.over(self.table(live), state) else None

    def view(
        self, live: Live, state: graph.State, seat: str, ending: Ending | None, warning: str | None
    ) -> ParticipantView:
        """What a person in `seat` may see now."""
        return show.participant_view(self.table(live), state, seat, ending, warning)

    def replay(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay:
        """An ended episode, with what was hidden."""
        return show.replay(item, turns)

    def score(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> tuple[Score, ...]:
        """See `score`."""
        return score_rows(turns[0].episode_id, item, turns) if turns else ()

    def table(self, live: Live) -> graph.Table:
        """The graph's context."""
        return graph.Table(
            episode_id=live.episode.id,
            item=live.item,
            seats=live.seats,
            record=live.record,
            seed=live.episode.seed,
            repeat=live.episode.repeat,
            options=live.episode.options,
        )


ROOM = AmbikRoom()
