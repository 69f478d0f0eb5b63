"""Who sits in AmbiEnt's seat under which name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simulator.ambient.players.offline import PLAYERS, OfflineAnnotator
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.seats import Seat

SEATED: Final = f"{', '.join(PLAYERS)}, provider/model, script:FILE"


def seat_for(seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]) -> Seat:
    """The seat called `name`: a built-in player, a model of inference in a folder, else a language model.

    Raises:
        InputError: if an offline name means nothing here, or the folder holds no such model.
        ModelError: if the model cannot be loaded.
    """
    if name in PLAYERS:
        return OfflineAnnotator(name, PLAYERS[name])
    if name.startswith("offline/") and not name.startswith("offline/script"):
        raise InputError(f"Nobody called {name!r} can sit in the {seat}'s seat; known are {SEATED}.")
    raise InputError(f"{name!r} cannot sit in the {seat}'s seat; known are {SEATED}.")
