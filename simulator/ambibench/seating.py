"""Who sits in AmbiBench's seat under which name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simulator.ambibench.players.model import ModelParticipant, ScoringParticipant
from simulator.ambibench.players.offline import PLAYERS, OfflineParticipant
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.runner.rooms import NO_OPTIONS
from simulator.seats import Seat

SEATED: Final = f"{', '.join(PLAYERS)}, provider/model or script:FILE"


def seat_for(
    seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any] = NO_OPTIONS
) -> Seat:
    """Return the seat called `name`: a built-in player, else a language model.

    Raises:
        InputError: if an offline name means nothing here.
        ModelError: if the model cannot be loaded.
    """
    if name in PLAYERS:
        return OfflineParticipant(name, PLAYERS[name])
    if name.startswith("offline/") and not name.startswith("offline/script"):
        raise InputError(f"Nobody called {name!r} can sit in the {seat}'s seat; known are {SEATED}.")
    model = models(name)
    return ScoringParticipant(model) if model.capabilities.scoring else ModelParticipant(model)
