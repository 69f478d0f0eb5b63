"""Who sits in ClarQ's seats under which name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simulator.clarq.graph import PROVIDER, SEEKER, ProviderAgent
from simulator.clarq.players.experts_model import ModelExperts
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.seeker_model import ModelSeeker
from simulator.clarq.players.seeker_offline import OfflineSeeker
from simulator.clarq.seeker.planning import MANNERS
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.seats import Seat


def seat_for(seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]) -> Seat:
    """The seat called `name`.

    ``offline/experts`` provides; ``offline/seeker``, ``offline/seeker:hasty`` and so on seek; every other
    ``provider/model`` is a language model, which seeks in the mode ``options["mode"]`` (``completion`` or
    ``chat``, spec section 4) and provides through prompted experts.

    Raises:
        InputError: if an offline name means nothing in that seat, or the mode is unknown.
        ModelError: if the model cannot be loaded.
    """
    if name.startswith("offline/") and not name.startswith("offline/script"):
        return _offline(seat, name)
    if seat == SEEKER:
        return ModelSeeker(models(name), mode=options.get("mode", "completion"))
    return ProviderAgent(ModelExperts(models(name)), "model")


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
