"""Who is offered to a person for the seat opposite, and models for it, loaded beside the event loop.

Built-in players, another person and models with a key are offered; nobody else waits while a model is loaded.
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

# The models offered in the menus, and the environment variable that each needs.
MODELS: Final[Mapping[str, str]] = {
    "openai/gpt-4o": "OPENAI_API_KEY",
    "openai/gpt-4o-mini": "OPENAI_API_KEY",
    "anthropic/claude-sonnet-4-5": "ANTHROPIC_API_KEY",
}
T = TypeVar("T")
PERSON: Final = "person"


@dataclass(frozen=True, slots=True)
class Opponent:
    """Somebody who can sit opposite a person.

    Attributes:
        available: False if `requires`, an environment variable, is not set.
    """

    name: str
    available: bool
    requires: str = ""

    @property
    def label(self) -> str:
        """The name without provider and server, for people."""
        return bare_name(self.name).partition("/")[2] or self.name


def menu(
    offline: Iterable[str], env: Mapping[str, str], models: Iterable[str] | None = None
) -> tuple[Opponent, ...]:
    """Return the built-in players named `offline`, a second person, and models, in this order.

    Args:
        offline: names of the built-in players for the seat.
        env: the environment, in which models' keys are looked up.
        models: those that whoever started the app has chosen; None for the usual ones.
    """
    if models is None:
        offered = [Opponent(name, bool(env.get(key)), key) for name, key in MODELS.items()]
    else:
        offered = [Opponent(name, True) for name in models]
    return (*(Opponent(name, True) for name in offline), Opponent(PERSON, True), *offered)


def require_choice(field: str, value: T, allowed: Collection[T]) -> T:
    """Return a choice that came from a browser.

    Raises:
        InputError: if it is not among those `allowed`.
    """
    if value not in allowed:
        known = ", ".join(map(str, allowed))
        raise InputError(f"{field} {value!r}: must be one of {known}.", code="no_choice", value=value)
    return value


def require_offered(name: str, seat: str, offered: Iterable[Opponent]) -> None:
    """Refuse who was not offered: names come from a browser, and must not reach files or other servers.

    Raises:
        InputError: if `name` is not among those in `offered` who are available.
    """
    if name not in {opponent.name for opponent in offered if opponent.available}:
        raise InputError(
            f"{name!r} cannot sit in the {seat}'s seat here; pick somebody from the list.",
            code="not_offered",
            who=name,
        )


_FRESH: Final = 60.0  # seconds for which an answer says that a model is there
_PATIENCE: Final = 30.0  # seconds that somebody who wants to take part is kept waiting


class Loading:
    """Seats whose models are loaded in a thread, each once, however many people wait for it.

    Weights and the libraries that read them take seconds, on a busy machine minutes.
    """

    def __init__(self, load: Callable[[str], ChatModel]) -> None:
        self._load = load
        self._there: dict[str, ChatModel] = {}
        self._under_way: dict[str, asyncio.Task[ChatModel]] = {}
        self._answered: dict[str, float] = {}

    async def seats(
        self, machine: AnyMachine, names: Mapping[str, str], options: Mapping[str, Any]
    ) -> dict[str, Seat]:
        """Return what `build_seats` does; wait only if a model is not there yet.

        Raises:
            InputError: if a name means nothing in its seat.
            ModelError: if a model cannot be loaded; the next call tries again.
        """
        while True:
            try:
                return build_seats(machine, names, self._at_hand, options)
            except _NotThereError as missing:
                await self._fetch(missing.name)

    async def absent(self, needs: Mapping[str, Needs]) -> AskbackError | None:
        """Return why one of the servers' models in `needs` cannot play now; None if all of them can.

        One that has answered a moment ago is not asked again.
        """
        for name, need in needs.items():
            if not name.startswith(REMOTE) or monotonic() - self._answered.get(name, -inf) < _FRESH:
                continue
            try:
                async with asyncio.timeout(_PATIENCE):
                    while name not in self._there:
                        await self._fetch(name)
                    await run_preflight(self._there[name], need, fresh=True)
            except TimeoutError:
                return TimedOut(f"{name}: no answer within {_PATIENCE:g} seconds")
            except AskbackError as error:
                return error
            self._answered[name] = monotonic()
        return None

    def _at_hand(self, name: str) -> ChatModel:
        # Which models a seat needs is the machine's business, so it is found out by building the seat.
        if name not in self._there:
            raise _NotThereError(name)
        return self._there[name]

    async def _fetch(self, name: str) -> None:
        task = self._under_way.get(name)
        if task is None:
            task = self._under_way[name] = asyncio.create_task(asyncio.to_thread(self._load, name))
            task.add_done_callback(lambda done: self._forget_task(name, done))
        # Who gives up (a page that is closed) does not take the model from those who wait with them.
        await asyncio.shield(task)

    def _forget_task(self, name: str, task: asyncio.Task[ChatModel]) -> None:
        del self._under_way[name]
        if not task.cancelled() and task.exception() is None:
            self._there[name] = task.result()


class _NotThereError(Exception):
    """A model is not there yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
