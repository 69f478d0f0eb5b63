"""ClarQ-LLM as the runner sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from logs.rows import Ending, Item, Judgment, Score, Setup, Turn
from simulator.clarq import graph
from simulator.clarq.data import background_text, item_row, task_from_json
from simulator.clarq.score import score_episode, score_rows
from simulator.clarq.seating import seat_for
from simulator.clarq.views import Replay, SeatView, replay, seat_view
from simulator.errors import SeatError
from simulator.models import ChatModel
from simulator.runner.rooms import Live
from simulator.seats import Reply, Seat
from trees import Task

# More graph steps than any dialogue takes: greeting, and at most four nodes per seeker turn.
_STEPS_PER_TURN = 5


class ClarqRoom:
    """See `simulator.runner.rooms.Room`."""

    name = "clarq"
    seats: tuple[str, ...] = (graph.SEEKER, graph.PROVIDER)

    @cached_property
    def _graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        return graph.build_graph().compile()

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

    def setup(self, kinds: Mapping[str, str]) -> Setup:
        """First letter the seeker's side, second the provider's; H a person, L anybody else."""
        letters = ("H" if kinds[seat] == "person" else "L" for seat in self.seats)
        return cast(Setup, "2".join(letters))

    def rebuild(self, turns: Sequence[Turn]) -> graph.State:
        """The dialogue's state after `turns`."""
        return graph.rebuild(turns)

    async def advance(self, live: Live, state: graph.State) -> graph.State:
        """Play until the dialogue ends or a person is due."""
        table = self.table(live)
        limit = _STEPS_PER_TURN * (table.turn_limit + 2)
        config: RunnableConfig = {"recursion_limit": limit}
        output = await self._graph.ainvoke(state, config, context=table, version="v2")
        return cast(graph.State, output.value)

    def accept(self, live: Live, state: graph.State, seat: str, reply: Reply) -> Turn:
        """A person's reply as a turn.

        Raises:
            SeatError: if it is not that seat's turn or the reply breaks the rules.
        """
        if self.due(live, state) != seat:
            raise SeatError(f"It is not the {seat}'s turn.", seat)
        take = graph.seeker_turn if seat == graph.SEEKER else graph.provider_move
        return take(self.table(live), state, reply)[0]

    def due(self, live: Live, state: graph.State) -> str | None:
        """The seat that is to move."""
        return graph.due(state, self._limit(live))

    def ending(self, live: Live, state: graph.State) -> Ending | None:
        """Completed by a goodbye, truncated at the turn limit."""
        status = graph.ending(state, self._limit(live))
        return Ending(episode_id=live.episode.id, status=status) if status else None

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
