"""ClarQ-LLM as the runner sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from logs.rows import Ending, Item, Judgment, Score, Turn
from simulator.clarq import graph
from simulator.clarq.data import background_text, item_row, task_from_json
from simulator.clarq.score import score_episode, score_rows
from simulator.clarq.seating import seat_for
from simulator.clarq.views import SeatView, replay, seat_view
from simulator.runner.graph_room import GraphRoom, Take
from simulator.runner.rooms import NO_OPTIONS, ActiveEpisode
from trees import Task

_STEPS_PER_TURN = 5


class ClarqRoom(GraphRoom[graph.Table, graph.State]):
    """See `simulator.runner.rooms.Room`."""

    name = "clarq"
    seats: tuple[str, ...] = (graph.SEEKER, graph.PROVIDER)

    item_row = staticmethod(item_row)
    seat_for = staticmethod(seat_for)
    build_graph = staticmethod(graph.build_graph)
    rebuild = staticmethod(graph.rebuild)
    replay = staticmethod(replay)

    def read_item(self, row: Item) -> Task:
        """Return the task out of its row."""
        return task_from_json(row.data)

    def steps(self, table: graph.Table) -> int:
        """Return the greeting, and at most four nodes per seeker turn."""
        return _STEPS_PER_TURN * (table.turn_limit + 2)

    def take(self, seat: str) -> Take[graph.Table, graph.State]:
        """Return what makes a turn of a reply of `seat`."""
        return graph.seeker_turn if seat == graph.SEEKER else graph.provider_move

    def seat_due(self, table: graph.Table, state: graph.State) -> str | None:
        """Return the seat that is to move."""
        return graph.due(state, table.turn_limit)

    def status(self, table: graph.Table, state: graph.State) -> Literal["completed", "truncated"] | None:
        """Completed by a goodbye, truncated at the turn limit."""
        return graph.ending(state, table.turn_limit)

    def view(
        self, live: ActiveEpisode, state: graph.State, seat: str, ending: Ending | None, warning: str | None
    ) -> SeatView:
        """Return what a person in `seat` may see now."""
        return seat_view(self.table(live), state, seat, ending, warning)

    def score(
        self,
        item: Task,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> tuple[Score, ...]:
        """S, D and L."""
        if not turns:
            return ()
        return score_rows(turns[0].episode_id, score_episode(item, turns, judgments))

    def table(self, live: ActiveEpisode) -> graph.Table:
        """Return the graph's context."""
        options = live.episode.options
        rules = graph.Rules.read(options)
        return graph.Table(
            episode_id=live.episode.id,
            task=live.item,
            prompt=background_text(live.item),
            seeker=live.seats[graph.SEEKER],
            provider=live.seats[graph.PROVIDER],
            record=live.record,
            seed=live.episode.seed,
            repeat=live.episode.repeat,
            turn_limit=rules.turn_limit,
            multi=rules.multi,
            options=options,
        )


ROOM = ClarqRoom()
