"""ClarQ-LLM as the runner sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langgraph.graph.state import StateGraph

from logs.rows import Ending, Item, Judgment, Score, Turn
from simulator.clarq import graph
from simulator.clarq.data import background_text, item_row, task_from_json
from simulator.clarq.score import score_episode, score_rows
from simulator.clarq.seating import seat_for
from simulator.clarq.views import Replay, SeatView, replay, seat_view
from simulator.models import ChatModel
from simulator.runner.graph_room import GraphRoom, Take
from simulator.runner.rooms import Live
from simulator.seats import Seat
from trees import Task

_STEPS_PER_TURN = 5


class ClarqRoom(GraphRoom[graph.Table, graph.State]):
    """See `simulator.runner.rooms.Room`."""

    name = "clarq"
    seats: tuple[str, ...] = (graph.SEEKER, graph.PROVIDER)

    def item_row(self, item: Task) -> Item:
        """The task as a row of the log."""
        return item_row(item)

    def read_item(self, row: Item) -> Task:
        """The task out of its row."""
        return task_from_json(row.data)

    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """``offline/seeker[:manner]``, ``offline/experts``, or a model in either seat."""
        return seat_for(seat, name, models, options)

    def rebuild(self, turns: Sequence[Turn]) -> graph.State:
        """The dialogue's state after `turns`."""
        return graph.rebuild(turns)

    def build_graph(self) -> StateGraph[Any, Any, Any, Any]:
        """See `graph.build_graph`."""
        return graph.build_graph()

    def steps(self, table: graph.Table) -> int:
        """The greeting, and at most four nodes per seeker turn."""
        return _STEPS_PER_TURN * (table.turn_limit + 2)

    def take(self, seat: str) -> Take[graph.Table, graph.State]:
        """What makes a turn of a reply of `seat`."""
        return graph.seeker_turn if seat == graph.SEEKER else graph.provider_move

    def due(self, live: Live, state: graph.State) -> str | None:
        """The seat that is to move."""
        return graph.due(state, self._limit(live))

    def status(self, live: Live, state: graph.State) -> Literal["completed", "truncated"] | None:
        """Completed by a goodbye, truncated at the turn limit."""
        return graph.ending(state, self._limit(live))

    def view(
        self, live: Live, state: graph.State, seat: str, ending: Ending | None, warning: str | None
    ) -> SeatView:
        """What a person in `seat` may see now."""
        return seat_view(self.table(live), state, seat, ending, warning)

    def replay(self, item: Task, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay:
        """An ended dialogue, with the tree."""
        return replay(item, turns, judgments)

    def score(self, item: Task, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> tuple[Score, ...]:
        """S, D and L."""
        if not turns:
            return ()
        return score_rows(turns[0].episode_id, score_episode(item, turns, judgments))

    def table(self, live: Live) -> graph.Table:
        """The graph's context."""
        options = live.episode.options
        return graph.Table(
            episode_id=live.episode.id,
            task=live.item,
            prompt=background_text(live.item),
            seeker=live.seats[graph.SEEKER],
            provider=live.seats[graph.PROVIDER],
            record=live.record,
            seed=live.episode.seed,
            repeat=live.episode.repeat,
            turn_limit=self._limit(live),
            multi=bool(options.get("multi", False)),
            options=options,
        )

    def _limit(self, live: Live) -> int:
        return int(live.episode.options.get("turn_limit", graph.TURN_LIMIT))


ROOM = ClarqRoom()
