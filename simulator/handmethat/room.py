"""HandMeThat as the runner sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from logs.rows import Ending, Item, Judgment, Score, Setup, Turn, content_hash
from simulator.errors import SeatError
from simulator.handmethat import graph, show
from simulator.handmethat.playing import Options, Play
from simulator.handmethat.rows import BENCHMARK, item_row, task_from_row
from simulator.handmethat.score import score_episode, score_rows
from simulator.handmethat.seating import seat_for
from simulator.handmethat.task import Task
from simulator.handmethat.views import HumanView, Replay, RobotView
from simulator.models import ChatModel
from simulator.runner.rooms import Live
from simulator.seats import Reply, Seat
from trees import Language

# Graph steps: instruction and last words, and a command or a question with its answer per move.
_STEPS_PER_MOVE = 2
_OTHER_STEPS = 6


class Posed(NamedTuple):
    """A task and the language in which it is played: what the runner calls an item."""

    task: Task
    language: Language


class HandMeThatRoom:
    """See `simulator.runner.rooms.Room`. Its items are `Posed`."""

    name = BENCHMARK
    seats: tuple[str, ...] = (graph.ROBOT, graph.HUMAN)

    @cached_property
    def _graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        return graph.build_graph().compile()

    def item_row(self, item: Posed) -> Item:
        """The task as a row of the log; in another language than English it is another item."""
        row = item_row(item.task)
        if item.language == row.language:
            return row
        data = {**row.data, "language": item.language}
        return replace(row, hash=content_hash(data), language=item.language, data=data)

    def read_item(self, row: Item) -> Posed:
        """The task out of its row."""
        return Posed(task_from_row(row), cast(Language, row.language))

    def seat_for(
        self, seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]
    ) -> Seat:
        """See `seating.seat_for`."""
        return seat_for(seat, name, models, options)

    def setup(self, kinds: Mapping[str, str]) -> Setup:
        """First letter the robot's side, second the human's; H a person, L anybody else."""
        letters = ("H" if kinds[seat] == "person" else "L" for seat in self.seats)
        return cast(Setup, "2".join(letters))

    def rebuild(self, turns: Sequence[Turn]) -> graph.State:
        """The episode's state after `turns`."""
        return graph.rebuild(turns)

    async def advance(self, live: Live, state: graph.State) -> graph.State:
        """Play until the episode ends or a person is due."""
        table = self.table(live)
        limit = _STEPS_PER_MOVE * table.play.options.limit + _OTHER_STEPS
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
        take = graph.robot_turn if seat == graph.ROBOT else graph.answer_turn
        return take(self.table(live), state, reply)[0]

    def due(self, live: Live, state: graph.State) -> str | None:
        """The seat that is to move."""
        return graph.due(state)

    def ending(self, live: Live, state: graph.State) -> Ending | None:
        """Completed by success or a stop, truncated at the limit."""
        status = graph.ending(state)
        return Ending(episode_id=live.episode.id, status=status) if status else None

    def view(
        self, live: Live, state: graph.State, seat: str, ending: Ending | None, warning: str | None
    ) -> RobotView | HumanView:
        """What a person in `seat` may see now."""
        build = show.robot_view if seat == graph.ROBOT else show.human_view
        return build(self.table(live), state, ending, warning)

    def replay(self, item: Posed, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay:
        """An ended episode, with what was meant."""
        return show.replay(item.task, item.language, turns)

    def score(self, item: Posed, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> tuple[Score, ...]:
        """Success, score, moves and questions."""
        if not turns:
            return ()
        return score_rows(turns[0].episode_id, score_episode(item.task, turns))

    def table(self, live: Live) -> graph.Table:
        """The graph's context."""
        options = live.episode.options
        item: Posed = live.item
        return graph.Table(
            episode_id=live.episode.id,
            play=Play(item.task, item.language, Options.read(options)),
            robot=live.seats[graph.ROBOT],
            human=live.seats[graph.HUMAN],
            record=live.record,
            seed=live.episode.seed,
            repeat=live.episode.repeat,
            options=options,
        )


ROOM = HandMeThatRoom()
