"""HandMeThat's `EpisodeMachine`, and the players of its seats by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from logs.rows import Ending, Item, Judgment, Turn, content_hash
from simulator.handmethat import graph, show
from simulator.handmethat.benchmark import BENCHMARK as DECLARED
from simulator.handmethat.items import BENCHMARK, item_row, task_from_row
from simulator.handmethat.players.asking import AskingRobot
from simulator.handmethat.players.models import ModelGiver, ModelRobot, OfflineGiver
from simulator.handmethat.players.robots import LEARNED, ExpertRobot, HeuristicRobot, RandomRobot, load_robot
from simulator.handmethat.playing import HUMAN, PARTNER, ROBOT, Posed
from simulator.handmethat.reveal import Replay, replay
from simulator.handmethat.score import score_episode, score_rows
from simulator.models import ChatModel
from simulator.runner.machines import ActiveEpisode, EpisodeMachine, SeatPage, Take, refuse_unknown
from simulator.seats import Seat
from trees import Language

_ROBOTS: Final[Mapping[str, Callable[[], Seat]]] = {
    "offline/random": RandomRobot,
    "offline/heuristic": HeuristicRobot,
    "offline/heuristic:changes": lambda: HeuristicRobot(changes=True),
    "offline/expert": ExpertRobot,
    "offline/asker": AskingRobot,
    PARTNER: lambda: AskingRobot(2, always=True, name=PARTNER),
}


def seat_for(seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]) -> Seat:
    """Return the seat called `name`.

    ``offline/giver`` is the human; ``offline/random``, ``offline/heuristic[:changes]``, ``offline/expert``,
    ``offline/asker[:K]`` and ``offline/partner`` are robots, ``seq2seq:FILE`` and ``drrn:FILE`` trained ones;
    every other ``provider/model`` is a language model.

    Raises:
        InputError: if an offline name does not exist for that seat, or a checkpoint cannot be read.
        ModelError: if the model cannot be loaded.
    """
    if seat == HUMAN and name == OfflineGiver.name:
        return OfflineGiver()
    if seat != HUMAN and name in _ROBOTS:
        return _ROBOTS[name]()
    base, _, argument = name.partition(":")
    if seat != HUMAN and base == "offline/asker" and argument.isdigit():
        return AskingRobot(int(argument))
    refuse_unknown(seat, name, DECLARED.seat(seat).known)
    if seat == HUMAN:
        return ModelGiver(models(name))
    if base in LEARNED:
        return load_robot(name)
    return ModelRobot(models(name))


class HandMeThatMachine(EpisodeMachine[graph.Context, graph.State]):
    """HandMeThat's machine (see `simulator.runner.machines.EpisodeMachine`); its items are `Posed`."""

    name = BENCHMARK
    seats: tuple[str, ...] = (ROBOT, HUMAN)
    seat_for = staticmethod(seat_for)
    make_context = staticmethod(graph.Context)
    build_graph = staticmethod(graph.build_graph)
    rebuild = staticmethod(graph.rebuild)
    compute_scores = staticmethod(
        lambda id, item, turns, judgments, options: score_rows(id, score_episode(item.task, turns))
    )
    # Two steps per move, and some for the instruction and the closing line.
    steps = staticmethod(lambda context: 2 * context.play.options.limit + 6)
    seat_due = staticmethod(lambda context, state: graph.due(state))
    status = staticmethod(lambda context, state: graph.ending(state))

    def item_row(self, item: Posed) -> Item:
        """Return the task as a row of the log; the row of a Chinese item has a hash of its own."""
        row = item_row(item.task)
        if item.language == row.language:
            return row
        data = {**row.data, "language": item.language}
        return replace(row, hash=content_hash(data), language=item.language, data=data)

    def read_item(self, row: Item) -> Posed:
        """Return the item of a row of the log."""
        return Posed(task_from_row(row), cast(Language, row.language))

    def take(self, seat: str) -> Take[graph.Context, graph.State]:
        """Return the function that converts a reply of `seat` to a turn."""
        return graph.robot_turn if seat == ROBOT else graph.answer_turn

    def view(
        self, live: ActiveEpisode, state: graph.State, seat: str, ending: Ending | None, warning: str | None
    ) -> SeatPage:
        """Return the page for a person in `seat`."""
        context = self.context(live)
        return show.seat_page(context, state, seat, ending, warning, first=live.first, stage=live.stage)

    def replay(self, item: Posed, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Replay:
        """Return a finished episode for its last page."""
        return replay(item.task, item.language, turns)


MACHINE = HandMeThatMachine()
