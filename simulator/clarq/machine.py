"""The runner's interface to ClarQ-LLM: its episode machine, and players by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from logs.rows import Ending
from simulator.clarq import graph
from simulator.clarq.benchmark import BENCHMARK
from simulator.clarq.data import PROVIDER, SEEKER, Rules, item_row, read_item
from simulator.clarq.experts import EXPERTS, Experts, MixedExperts, models_of, read_experts
from simulator.clarq.graph import ProviderAgent
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.models import ModelExperts, ModelSeeker
from simulator.clarq.players.seeker_offline import STYLES, OfflineSeeker
from simulator.clarq.score import score_episode, score_rows
from simulator.clarq.show import replay, seat_page
from simulator.models import ChatModel
from simulator.runner.machines import ActiveEpisode, EpisodeMachine, SeatPage, Take, refuse_unknown
from simulator.seats import Seat

_STEPS_PER_TURN: Final = 5


def seat_for(seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]) -> Seat:
    """Return the player called `name` for `seat`.

    ``offline/experts`` provides; ``offline/seeker``, ``offline/seeker:hasty`` and so on seek; any other
    ``provider/model`` is a language model, which seeks in the mode ``options["mode"]`` (``completion`` or
    ``chat``, spec section 4) with the prompts of ``options["personas"]``, or provides through prompted
    experts. ``experts:type=A,walk=B,respond=C`` uses several models (`experts.MixedExperts`).

    Raises:
        InputError: if an offline name is unknown for that seat, or the mode is unknown.
        ModelError: if the model cannot be loaded.
    """
    if seat == PROVIDER and name == "offline/experts":
        return ProviderAgent(OfflineExperts(), "offline")
    base, _, style = name.partition(":")
    if seat == SEEKER and base == "offline/seeker" and (style or "careful") in STYLES:
        return OfflineSeeker(style or "careful")
    refuse_unknown(seat, name, BENCHMARK.seat(seat).known)
    if seat == SEEKER:
        return ModelSeeker(
            models(name),
            mode=options.get("mode", "completion"),
            personas=options.get("personas", "default"),
        )
    if name.startswith(EXPERTS):
        experts: dict[str, Experts] = {
            model: OfflineExperts() if model == "offline/experts" else ModelExperts(models(model))
            for model in models_of(name)
        }
        parts = {part: experts[model] for part, model in read_experts(name).items()}
        return ProviderAgent(MixedExperts(name, parts), "model")
    return ProviderAgent(ModelExperts(models(name)), "model")


class ClarqMachine(EpisodeMachine[graph.Context, graph.State]):
    """The `EpisodeMachine` of ClarQ-LLM."""

    name = "clarq"
    seats: tuple[str, ...] = (SEEKER, PROVIDER)

    item_row = staticmethod(item_row)
    read_item = staticmethod(read_item)
    seat_for = staticmethod(seat_for)
    build_graph = staticmethod(graph.build_graph)
    rebuild = staticmethod(graph.rebuild)
    replay = staticmethod(replay)
    compute_scores = staticmethod(
        lambda id, task, turns, judgments, options: score_rows(id, score_episode(task, turns, judgments))
    )

    def steps(self, context: graph.Context) -> int:
        """Return the maximum number of graph steps in an episode."""
        return _STEPS_PER_TURN * (context.turn_limit + 2)

    def take(self, seat: str) -> Take[graph.Context, graph.State]:
        """Return the function that turns a reply of `seat` into a turn."""
        return graph.seeker_turn if seat == SEEKER else graph.provider_move

    def seat_due(self, context: graph.Context, state: graph.State) -> str | None:
        """Return the seat to move."""
        return graph.seat_due(state, context.turn_limit)

    def status(self, context: graph.Context, state: graph.State) -> Literal["completed", "truncated"] | None:
        """Return completed after a goodbye, truncated at the turn limit."""
        return graph.ending(state, context.turn_limit)

    def view(
        self, live: ActiveEpisode, state: graph.State, seat: str, ending: Ending | None, warning: str | None
    ) -> SeatPage:
        """Return the page of a person in `seat`."""
        return seat_page(self.context(live), state, seat, ending, warning, first=live.first, stage=live.stage)

    def make_context(self, live: ActiveEpisode) -> graph.Context:
        """Return the graph's context."""
        options = live.episode.options
        rules = Rules.read(options)
        return graph.Context(
            episode_id=live.episode.id,
            task=live.item,
            seeker=live.seats[SEEKER],
            provider=live.seats[PROVIDER],
            record=live.record,
            seed=live.episode.seed,
            repeat=live.episode.repeat,
            turn_limit=rules.turn_limit,
            multi=rules.multi,
            options=options,
        )


MACHINE: Final = ClarqMachine()
