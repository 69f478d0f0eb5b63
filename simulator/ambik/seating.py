"""Who sits in AmbiK's seats under which name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simulator.ambik.methods.kit import NOTHING, background_of
from simulator.ambik.players.annotating import ModelAnnotator
from simulator.ambik.players.robots import ROBOTS, MethodRobot, OfflineRobot
from simulator.ambik.players.user import ITEM, ItemUser, ModelUser
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, Options
from simulator.errors import InputError
from simulator.models import ChatModel
from simulator.seats import Seat

ROBOTS_SEATED: Final = f"{', '.join(ROBOTS)}, provider/model (with a method) or script:FILE"
USERS_SEATED: Final = f"{ITEM}, provider/model or script:FILE"
SEATED: Final[Mapping[str, str]] = {
    ROBOT: ROBOTS_SEATED,
    USER: USERS_SEATED,
    ANNOTATOR: "provider/model or script:FILE",
}
_KNOWING: Final = ("lap", "lofreecp")
"""Methods that need to know of the data as a whole."""


def seat_for(seat: str, name: str, models: Callable[[str], ChatModel], options: Mapping[str, Any]) -> Seat:
    """Return the seat called `name`: a built-in player, else a language model.

    Raises:
        InputError: if an offline name means nothing in that seat, or a model has no method.
        ModelError: if a model cannot be loaded.
    """
    rules = Options.read(options)
    if seat == ROBOT and name in ROBOTS:
        return OfflineRobot(name)
    if seat == USER and name == ITEM:
        return ItemUser()
    if name.startswith("offline/") and not name.startswith("offline/script"):
        raise InputError(f"Nobody called {name!r} can sit in the {seat}'s seat; known are {SEATED[seat]}.")
    if seat == ANNOTATOR:
        return ModelAnnotator(models(name))
    if seat == USER:
        return ModelUser(models(name))
    if not rules.method:
        raise InputError(f"{name} is a model; say which method it plays, with --method.")
    known = (
        background_of(rules.data, rules.dataset, rules.similarity) if rules.method in _KNOWING else NOTHING
    )
    return MethodRobot(models(name), models(rules.chooser) if rules.chooser else None, known)
