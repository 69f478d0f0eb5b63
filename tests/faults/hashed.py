"""A scripted model whose answers are drawn from a hash of the prompt, and a crew that tells what is on disk.

An episode that went on from anything but what had been logged would take another course at once.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from logs import LogError, LogWriter
from logs.relay import Inboxes, Outcome, Posted
from logs.rows import Row, Turn
from simulator.models import ModelOptions, Request
from simulator.runner.build import NamedSeatFactory

LATENCY = 0.002
FACTORY = NamedSeatFactory(
    benchmark="clarq", names={"seeker": "offline/script", "provider": "offline/script"}
)


def digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()


def answer(request: Request) -> str | dict[str, Any]:
    """Return the model's answer to `request`."""
    chance = digest(f"{request.purpose} {request.repeat} {request.messages[-1].content}")
    match request.purpose:
        case "seeker":
            bye = request.turn_number and request.turn_number > 6 and chance[0] < 40
            return "Thank you, goodbye!" if bye else f"Tell me more about point {chance.hex()}, will you?"
        case "provider.opening":
            return {"reason": chance.hex(), "relevant": chance[0] > 60}
        case "provider.type":
            return {"reason": chance.hex(), "type": 1 + chance[0] % 6}
        case "provider.repeated":
            return {"reason": chance.hex(), "repeated": chance[0] > 127}
        case "provider.node" | "provider.node_again" | "provider.assumption":
            return {"analysis": chance.hex(), "answers": chance[0] > 160}
    return f"Look at your list once more, at number {chance.hex()}."


@dataclass(frozen=True)
class Announcement:
    """Says that a turn is on disk, to whoever reads stdout and to whom the run asks."""

    turn: Turn
    posted: Posted

    def resolve(self, outcome: Outcome, inboxes: Inboxes) -> None:
        self.posted.resolve(outcome, inboxes)
        if not isinstance(outcome, LogError):
            say(f"turn {self.turn.episode_id} {self.turn.number} {digest(self.turn.text).hex()}")


@dataclass(frozen=True)
class AnnouncingFactory:
    """`FACTORY`, which writes a line to stdout for the process it sits in and for every turn on disk.

    ``crew PID`` and ``turn EPISODE NUMBER DIGEST``. A written line stays, even if its writer is killed
    the moment after.
    """

    @asynccontextmanager
    async def __call__(self, log: LogWriter, places: int) -> AsyncIterator[Any]:
        post = log.post

        def announcing_post(row: Row, posted: Posted | None = None) -> None:
            post(row, Announcement(row, posted or Posted()) if isinstance(row, Turn) else posted)

        log.post = announcing_post  # type: ignore[assignment, method-assign]
        models = ModelOptions(script=answer, latency=LATENCY)
        factory = NamedSeatFactory(benchmark=FACTORY.benchmark, names=FACTORY.names, models=models)
        async with factory(log, places) as seats:
            say(f"crew {os.getpid()}")
            yield seats


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())
