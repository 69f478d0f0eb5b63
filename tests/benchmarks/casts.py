"""Seat factories of the benchmarks, in a separate module that worker processes can import."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from logs.relay import RowSink
from simulator.clarq.data import PROVIDER, SEEKER
from simulator.clarq.graph import ProviderAgent
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.models import ModelExperts, ModelSeeker
from simulator.models import ModelOptions, Request, load_model
from simulator.seats import ScriptSeat, Seat, View

NOTHING = "There is no need to worry about that; look at the task once more."


def question(number: int) -> str:
    """A seeker's line; no two are the same, and none ends the dialogue."""
    return f"I have a question, number {number}: where exactly do I have to go with what I carry?"


def answer(request: Request) -> str | dict[str, Any]:
    """A model that always asks, and as the provider hears something vague, which takes two calls."""
    match request.purpose:
        case "seeker":
            return question(request.turn_number or 0)
        case "provider.opening":
            return {"reason": "asks for the task", "relevant": True}
        case "provider.type":
            return {"reason": "a vague request", "type": 6}
    return NOTHING


def _scripts(log: RowSink, latency: float) -> dict[str, Seat]:
    return {SEEKER: _asks(), PROVIDER: ScriptSeat(_says_nothing)}


def _models(log: RowSink, latency: float) -> dict[str, Seat]:
    model = load_model("offline/script", ModelOptions(script=answer, latency=latency, recorder=log.post))
    return {SEEKER: ModelSeeker(model), PROVIDER: ProviderAgent(ModelExperts(model), "model")}


def _offline(log: RowSink, latency: float) -> dict[str, Seat]:
    return {SEEKER: _asks(), PROVIDER: ProviderAgent(OfflineExperts(), "offline")}


def _asks() -> ScriptSeat:
    return ScriptSeat(lambda view: question(view.number))


def _says_nothing(view: View) -> str:
    return NOTHING


CASTS: dict[str, Callable[[RowSink, float], dict[str, Seat]]] = {
    "scripts": _scripts,
    "models": _models,
    "offline": _offline,
}


@dataclass(frozen=True)
class Cast:
    """A crew (see `simulator.runner.build.SeatFactory`).

    Attributes:
        name: ``scripts``, a scripted line in both seats: graph, rules, log; ``models``, a scripted *model*
            in both seats: prompts, structured answers and the steps of the model-driven provider, every
            call logged; ``offline``, a scripted seeker and the built-in experts.
        latency: simulated seconds per answer of a model.
    """

    name: str
    latency: float = 0.0

    @asynccontextmanager
    async def __call__(self, log: RowSink, places: int) -> AsyncIterator[dict[str, Seat]]:
        """The seats."""
        yield CASTS[self.name](log, self.latency)
