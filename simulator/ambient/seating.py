"""Who sits in AmbiEnt's seat under which name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simulator.ambient.players.inference import PREFIX, load_annotator, load_scorer
from simulator.ambient.players.model import ModelAnnotator
from simulator.ambient.players.offline import PLAYERS, OfflineAnnotator
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.seats import Seat

SEATED: Final = f"{', '.join(PLAYERS)}, provider/model, {PREFIX}FOLDER or script:FILE"


def seat_for(seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]) -> Seat:
    """The seat called `name`: a built-in player, a model of inference in a folder, else a language model.

    Args:
        seat: the annotator's.
        name: who is to sit there.
        models: loads a language model.
        options: of the episode; ``nli`` is the folder of the model that scores paraphrases.

    Raises:
        InputError: if an offline name means nothing here, or a folder holds no such model.
        ModelError: if a model cannot be loaded.
    """
    if name in PLAYERS:
        return OfflineAnnotator(name, PLAYERS[name])
    if name.startswith("offline/") and not name.startswith("offline/script"):
        raise InputError(f"Nobody called {name!r} can sit in the {seat}'s seat; known are {SEATED}.")
    if name.startswith(PREFIX):
        return load_annotator(name)
    folder = str(options.get("nli", ""))
    return ModelAnnotator(models(name), load_scorer(folder) if folder else None)
