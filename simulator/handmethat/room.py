"""HandMeThat as the runner sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from logs.rows import Ending, Item, Judgment, Score, Turn, content_hash
from simulator.handmethat import graph, show
from simulator.handmethat.playing import HUMAN, ROBOT, Options, Play, Posed
from simulator.handmethat.rows import BENCHMARK, item_row, task_from_row
from simulator.handmethat.score import score_episode, score_rows
from simulator.handmethat.seating import seat_for
from simulator.handmethat.views import HumanView, Replay, RobotView
from simulator.runner.rooms import NO_OPTIONS, ActiveEpisode, Room, Take
from trees import Language

_STEPS_PER_MOVE = 2
_OTHER_STEPS = 6


class HandMeThatRoom(Room[graph.Table, graph.State]):
    """See `simulator.runner.rooms.Room`. Its items are `Posed`."""

    name = BENCHMARK
    seats: tuple[str, ...] = (ROBOT, HUMAN)
    seat_for = staticmethod(seat_for)
    build_graph = staticmethod(graph.build_graph)
    rebuild = staticmethod(graph.rebuild)

    def item_row(self, item: Posed) -> Item:
        """Return the task as a row of the log; in another language than English it is another item."""
        row = item_row(item.task)
        if item.language == row.language:
            return row
        data = {**row.data, "language": item.language}
        return replace(row, hash=content_hash(data), language=item.language, data=data)

    def read_item(self, row: Item) -> Posed:
        """Return the task out of its row."""
        return Posed(task_from_row(row), cast(Language, row.language))

    def steps(self, table: graph.Table) -> int:
        """Return the most steps: instruction and last words, and two per move."""
        return _STEPS_PER_MOVE * table.play.options.limit + _OTHER_STEPS

    def take(self, seat: str) -> Take[graph.Table, graph.State]:
        """Return what makes a turn of a reply of `seat`."""
        return graph.robot_turn if seat == ROBOT else graph.answer_turn

    def seat_due(self, table: graph.Table, state: graph.State) -> str | None:
        """Return the seat that is to move."""
        return graph.due(state)

    def status(self, table: graph.Table, state: graph.State) -> Literal["completed", "truncated"] | None:
        """Return completed by success or a stop, truncated at the limit."""
        return graph.ending(state)

    def view(
        self, live: ActiveEpisode, state: graph.State, seat: str, ending: Ending | None, warning: str | None
    ) -> RobotView | HumanView:
        """Return what a person in `seat` may see now."""
        build = show.robot_view if seat == ROBOT else show.human_view
        view = build(self.table(live).play, live.episode.id, state, ending, warning)
        return replace(view, first=live.first, stage="done" if ending else live.stage)

    def replay(self, item: Posed, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay:
        """Return an ended episode, with what was meant."""
        return show.replay(item.task, item.language, turns)

    def score(
        self,
        item: Posed,
        turns: Sequence[Turn],
        judgments: Sequence[Judgment],
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> tuple[Score, ...]:
        """Return success, score, moves and questions."""
        if not turns:
            return ()
        return score_rows(turns[0].episode_id, score_episode(item.task, turns))

    def table(self, live: ActiveEpisode) -> graph.Table:
        """Return the graph's context."""
        options = live.episode.options
        item: Posed = live.item
        return graph.Table(
            episode_id=live.episode.id,
            play=Play(item.task, item.language, Options.read(options)),
            robot=live.seats[ROBOT],
            human=live.seats[HUMAN],
            record=live.record,
            seed=live.episode.seed,
            repeat=live.episode.repeat,
            options=options,
        )


ROOM = HandMeThatRoom()
