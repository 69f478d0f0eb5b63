"""AmbiK's episode machine for the runner, and the players by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from logs.rows import Ending, Judgment, Turn
from simulator.ambik import graph, items, show
from simulator.ambik.annotation.annotators import FIRST_CANDIDATE, FirstCandidate, ModelAnnotator
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.items import Item
from simulator.ambik.methods import NOTHING, background_of
from simulator.ambik.players import ITEM, ROBOTS, ItemUser, MethodRobot, ModelUser, OfflineRobot
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options, RobotKnows, seats_of
from simulator.ambik.score import score_rows
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.runner.machines import ActiveEpisode, EpisodeMachine, SeatPage, Take, refuse_unknown
from simulator.seats import Reply, Seat

_STEPS_PER_QUESTION = 5
_OTHER_STEPS = 8
_NEED_BACKGROUND: Final = ("lap", "lofreecp")
"""Methods that use statistics of the entire data set."""


def seat_for(seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]) -> Seat:
    """Return the player called `name` for a seat: a built-in player, otherwise a language model.

    Raises:
        InputError: if an offline name is unknown in that seat, or a model has no method.
        ModelError: if a model cannot be loaded.
    """
    rules = Options.read(options)
    if seat == ROBOT and name in ROBOTS:
        return OfflineRobot(name)
    if seat == USER and name == ITEM:
        return ItemUser()
    if seat == ANNOTATOR and name == FIRST_CANDIDATE:
        return FirstCandidate()
    refuse_unknown(seat, name, BENCHMARK.seat(seat).known)
    if seat == ANNOTATOR:
        return ModelAnnotator(models(name))
    if seat == USER:
        return ModelUser(models(name))
    if not rules.method:
        raise InputError(f"{name} is a model; choose the method that it plays with --method.")
    background = NOTHING
    if rules.method in _NEED_BACKGROUND:
        background = background_of(rules.data, rules.dataset, rules.similarity)
    return MethodRobot(models(name), models(rules.chooser) if rules.chooser else None, background)


class AmbikMachine(EpisodeMachine[graph.Context, graph.State]):
    """AmbiK's `simulator.runner.machines.EpisodeMachine`. Its items are `items.Item`: tasks and drafts."""

    name = items.BENCHMARK
    seats: tuple[str, ...] = (ROBOT, USER, ANNOTATOR)
    item_row = staticmethod(items.item_row)
    read_item = staticmethod(items.item_from_row)
    seat_for = staticmethod(seat_for)
    episode_seats = staticmethod(seats_of)
    build_graph = staticmethod(graph.build_graph)
    rebuild = staticmethod(graph.rebuild)
    make_context = staticmethod(graph.Context)
    compute_scores = staticmethod(score_rows)

    def steps(self, context: graph.Context) -> int:
        """Return the most graph steps of an episode: those of every allowed question, and those to act."""
        return _STEPS_PER_QUESTION * context.rules.questions + _OTHER_STEPS

    def take(self, seat: str) -> Take[graph.Context, graph.State]:
        """Return a function that makes a turn of a reply by `seat`."""
        return lambda context, state, reply: graph.take(context, state, seat, reply)

    def seat_due(self, context: graph.Context, state: graph.State) -> str | None:
        """Return the seat that is to move."""
        move = graph.due(context, state)
        return move.seat if move else None

    def status(self, context: graph.Context, state: graph.State) -> Literal["completed"] | None:
        """Return completed once the robot acts, asks without an answer, or the form is filled in."""
        return "completed" if graph.due(context, state) is None else None

    def view(
        self, live: ActiveEpisode, state: graph.State, seat: str, ending: Ending | None, warning: str | None
    ) -> SeatPage:
        """Return the page of a person in `seat`."""
        return show.seat_page(self.context(live), state, seat, ending, warning)

    def form_reply(self, reply: Reply, knows: Any) -> Reply:
        """See `EpisodeMachine.form_reply`: a page offers actions, so only those stay marked."""
        if not isinstance(knows, RobotKnows) or not (offered := knows.item.options):
            return reply
        move = reply.move or {}
        marked = [action for action in move["marked"] if action in offered]
        return replace(reply, move={**move, "marked": marked or list(offered[:2])})

    def replay(
        self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]
    ) -> tuple[Item, Sequence[Turn]]:
        """Return the item and the turns of an ended episode, for `show.reveal`."""
        return item, turns


MACHINE = AmbikMachine()
