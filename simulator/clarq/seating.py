"""Who sits in ClarQ's seats under which name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simulator.clarq.experts import EXPERTS, Experts, MixedExperts, Part, read_experts
from simulator.clarq.graph import PROVIDER, SEEKER, ProviderAgent
from simulator.clarq.players.experts_model import ModelExperts
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.seeker_model import ModelSeeker
from simulator.clarq.players.seeker_offline import OfflineSeeker
from simulator.clarq.seeker.planning import MANNERS
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.seats import Seat

SEEKERS: Final = "offline/seeker[:careful|hasty|verbose], provider/model or script:FILE"
PROVIDERS: Final = "offline/experts, provider/model, experts:type=A,walk=B,respond=C or script:FILE"


def seat_for(seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]) -> Seat:
    """Return the seat called `name`.

    ``offline/experts`` provides; ``offline/seeker``, ``offline/seeker:hasty`` and so on seek; every other
    ``provider/model`` is a language model, which seeks in the mode ``options["mode"]`` (``completion`` or
    ``chat``, spec section 4) in the prompts of ``options["personas"]`` and provides through prompted experts.
    ``experts:type=A,walk=B,respond=C`` gives each expert a model of its own (`experts.MixedExperts`).

    Raises:
        InputError: if an offline name means nothing in that seat, or the mode is unknown.
        ModelError: if the model cannot be loaded.
    """
    if name.startswith("offline/") and not name.startswith("offline/script"):
        return _offline(seat, name)
    if seat == SEEKER:
        return ModelSeeker(
            models(name),
            mode=options.get("mode", "completion"),
            personas=options.get("personas", "default"),
        )
    if name.startswith(EXPERTS):
        return ProviderAgent(MixedExperts(name, _experts_by_part(name, models)), "model")
    return ProviderAgent(ModelExperts(models(name)), "model")


def models_of(name: str) -> tuple[str, ...]:
    """Return the names of the models that a provider called `name` asks.

    Raises:
        InputError: if it names experts that there are not.
    """
    if not name.startswith(EXPERTS):
        return (name,)
    return tuple(dict.fromkeys(read_experts(name).values()))


def _experts_by_part(name: str, models: Callable[[str], ChatModel]) -> dict[Part, Experts]:
    made: dict[str, Experts] = {}
    for model in models_of(name):
        made[model] = OfflineExperts() if model == "offline/experts" else ModelExperts(models(model))
    return {part: made[model] for part, model in read_experts(name).items()}


def _offline(seat: str, name: str) -> Seat:
    if seat == PROVIDER and name == "offline/experts":
        return ProviderAgent(OfflineExperts(), "offline")
    base, _, manner = name.partition(":")
    if seat == SEEKER and base == "offline/seeker" and (manner or "careful") in MANNERS:
        return OfflineSeeker(manner or "careful")
    known = (
        ["offline/experts"]
        if seat == PROVIDER
        else ["offline/seeker", *(f"offline/seeker:{manner}" for manner in MANNERS)]
    )
    raise InputError(
        f"Nobody called {name!r} can sit in the {seat}'s seat; offline there: {', '.join(known)}."
    )
