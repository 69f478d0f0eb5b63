"""Models for people who play: loaded beside the event loop, so that nobody else waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from math import inf
from time import monotonic
from typing import Any, Final

from simulator.errors import AskbackError
from simulator.models import ChatModel, Needs, TimedOut, run_preflight
from simulator.models.preflight import REMOTE
from simulator.runner.build import build_seats
from simulator.runner.machines import AnyMachine
from simulator.seats import Seat

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
