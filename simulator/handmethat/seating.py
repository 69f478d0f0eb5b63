"""Who sits in HandMeThat's seats under which name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simulator.errors import InputError
from simulator.handmethat.players.asking import AskingRobot
from simulator.handmethat.players.models import ModelGiver, ModelRobot, OfflineGiver
from simulator.handmethat.players.robots import LEARNED, ExpertRobot, HeuristicRobot, RandomRobot, load_robot
from simulator.handmethat.playing import HUMAN, PARTNER
from simulator.models import ChatModel
from simulator.seats import Seat

ROBOTS: Final = (
    "offline/asker[:K], offline/heuristic[:changes], offline/random, offline/expert, provider/model, "
    "seq2seq:FILE, drrn:FILE or script:FILE"
)
HUMANS: Final = "offline/giver, provider/model or script:FILE"
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
        InputError: if an offline name means nothing in that seat, or a checkpoint cannot be read.
        ModelError: if the model cannot be loaded.
    """
    if name.startswith("offline/") and not name.startswith("offline/script"):
        return _offline(seat, name)
    if seat == HUMAN:
        return ModelGiver(models(name))
    if name.partition(":")[0] in LEARNED:
        return load_robot(name)
    return ModelRobot(models(name))


def _offline(seat: str, name: str) -> Seat:
    if seat == HUMAN and name == OfflineGiver.name:
        return OfflineGiver()
    if seat != HUMAN:
        if name in _ROBOTS:
            return _ROBOTS[name]()
        base, _, many = name.partition(":")
        if base == "offline/asker" and many.isdigit():
            return AskingRobot(int(many))
    known = (
        [OfflineGiver.name]
        if seat == HUMAN
        else [*(one for one in _ROBOTS if one != "offline/asker"), "offline/asker:K"]
    )
    raise InputError(
        f"Nobody called {name!r} can sit in the {seat}'s seat; offline there: {', '.join(known)}."
    )
