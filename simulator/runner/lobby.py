"""The players offered to a person for the other seat, and models loaded in the background.

Built-in players, another person and models with a key are offered. Loading one does not block the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any, Final, TypeVar

from simulator.errors import AskbackError, InputError
from simulator.models import ChatModel, Needs, TimedOut, run_preflight
from simulator.models.load import bare_name
from simulator.models.preflight import REMOTE
from simulator.runner.build import build_seats
from simulator.runner.machines import AnyMachine
from simulator.seats import Seat

# The models offered in menus, and the environment variable with each one's key.
MODELS: Final[Mapping[str, str]] = {
    "openai/gpt-4o": "OPENAI_API_KEY",
    "openai/gpt-4o-mini": "OPENAI_API_KEY",
    "anthropic/claude-sonnet-4-5": "ANTHROPIC_API_KEY",
}
T = TypeVar("T")
PERSON: Final = "person"


@dataclass(frozen=True, slots=True)
class Opponent:
    """A player for the seat opposite a person.

    Attributes:
        available: False if the environment variable `requires` is not set.
    """

    name: str
    available: bool
    requires: str = ""

    @property
    def label(self) -> str:
        """Return the name without provider and server, for menus."""
        return bare_name(self.name).partition("/")[2] or self.name


def player_menu(
    offline: Iterable[str], env: Mapping[str, str], models: Iterable[str] | None = None
) -> tuple[Opponent, ...]:
    """Return the built-in players, a second person and the models, in this order.

    `offline`: names of the built-in players for the seat. `env`: searched for models' keys. `models`: those
    chosen when the app was started; None for the default ones.
    """
    if models is None:
        offered = [Opponent(name, bool(env.get(key)), key) for name, key in MODELS.items()]
    else:
        offered = [Opponent(name, True) for name in models]
    return (*(Opponent(name, True) for name in offline), Opponent(PERSON, True), *offered)


def require_choice(field: str, value: T, allowed: Collection[T]) -> T:
    """Return a choice submitted by a browser.

    Raises:
        InputError: if it is not one of those `allowed`.
    """
    if value not in allowed:
        known = ", ".join(map(str, allowed))
        raise InputError(f"{field} {value!r}: must be one of {known}.", code="no_choice", value=value)
    return value


def require_offered(name: str, seat: str, offered: Iterable[Opponent]) -> None:
    """Refuse players that were not offered: names from a browser must not reach files or other servers.

    Raises:
        InputError: if `name` is not an available player in `offered`.
    """
    if name not in {opponent.name for opponent in offered if opponent.available}:
        raise InputError(
            f"{name!r} cannot sit in the {seat}'s seat here; choose a player from the list.",
            code="not_offered",
            who=name,
        )


_FRESH: Final = 60.0  # seconds after an answer in which a model is not checked again
_PATIENCE: Final = 30.0  # seconds that a person who wants to take part waits for a model


class Loading:
    """Builds seats whose models are loaded in a thread, each once, however many people wait for it.

    Loading weights and their libraries takes seconds, on a busy machine minutes.
    """

    def __init__(self, load: Callable[[str], ChatModel]) -> None:
        self._load = load
        self._loaded: dict[str, ChatModel] = {}
        self._tasks: dict[str, asyncio.Task[ChatModel]] = {}
        self._answered_at: dict[str, float] = {}

    async def seats(
        self, machine: AnyMachine, names: Mapping[str, str], options: Mapping[str, Any]
    ) -> dict[str, Seat]:
        """Return the seats, as `build_seats` does; wait only for models that are not loaded yet.

        Raises:
            InputError: if a seat's name is unknown.
            ModelError: if a model cannot be loaded; the next call tries again.
        """
        while True:
            try:
                return build_seats(machine, names, self._loaded_model, options)
            except _NotLoadedError as missing:
                await self._fetch(missing.name)

    async def absent(self, needs: Mapping[str, Needs]) -> AskbackError | None:
        """Return why a server's model in `needs` cannot play now; None if all can.

        A model that has answered recently is not checked again.
        """
        for name, need in needs.items():
            if not name.startswith(REMOTE) or monotonic() - self._answered_at.get(name, -inf) < _FRESH:
                continue
            try:
                async with asyncio.timeout(_PATIENCE):
                    while name not in self._loaded:
                        await self._fetch(name)
                    await run_preflight(self._loaded[name], need, fresh=True)
            except TimeoutError:
                return TimedOut(f"{name}: no answer within {_PATIENCE:g} seconds")
            except AskbackError as error:
                return error
            self._answered_at[name] = monotonic()
        return None

    def _loaded_model(self, name: str) -> ChatModel:
        # Only the machine knows which models a seat needs, so they are found by building the seat.
        if name not in self._loaded:
            raise _NotLoadedError(name)
        return self._loaded[name]

    async def _fetch(self, name: str) -> None:
        task = self._tasks.get(name)
        if task is None:
            task = self._tasks[name] = asyncio.create_task(asyncio.to_thread(self._load, name))
            task.add_done_callback(lambda done: self._finish_task(name, done))
        # A cancelled caller (a closed page) must not cancel the load for the others who wait for it.
        await asyncio.shield(task)

    def _finish_task(self, name: str, task: asyncio.Task[ChatModel]) -> None:
        del self._tasks[name]
        if not task.cancelled() and task.exception() is None:
            self._loaded[name] = task.result()


class _NotLoadedError(Exception):
    """A model that is not loaded yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
