"""What makes two recordings equal: a clock that ticks, ids that are counted, models that answer by rule."""

from __future__ import annotations

import importlib
import itertools
import json
import random
import re
import secrets
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2

BEGUN = datetime(2026, 1, 5, 9, tzinfo=UTC)
TICK = timedelta(milliseconds=250)
BROKEN = "broken"  # a model of this name cannot do what it is asked
ROOT = Path(__file__).parents[2]
PACKAGES = ("logs", "simulator", "trees", "personas", "ui")


class Clock:
    """Time that passes by a tick whenever somebody asks for it, and when it is told to."""

    def __init__(self) -> None:
        self.passed = timedelta()

    def seconds(self) -> float:
        self.passed += TICK
        return self.passed.total_seconds()

    def moment(self) -> datetime:
        self.passed += TICK
        return BEGUN + self.passed

    def wait(self, **span: float) -> None:
        self.passed += timedelta(**span)


def naming(pattern: str) -> Iterator[str]:
    """Names of the program's modules that import one of the names of a pattern."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if re.search(rf"^from \S+ import .*\b({pattern})\b", path.read_text(encoding="utf-8"), re.M):
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@contextmanager
def steady(answer: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Iterator[Clock]:
    """Fix time, ids and keys of the program, and let `answer` stand for every server of models."""
    clock = Clock()
    counter = itertools.count(1)

    class Ticking(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return clock.moment().astimezone(tz)

    def counted() -> uuid.UUID:
        # Spread over all bits, as real ones are: episodes take the upper ones, draws the remainder.
        return uuid.UUID(int=random.Random(next(counter)).getrandbits(128), version=4)

    def token_hex(size: int = 16) -> str:
        return f"{next(counter):0{2 * size}x}"

    def handle(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        if body["model"] == BROKEN and "ready" not in str(body.get("messages")):
            return httpx2.Response(400, json={"error": {"message": "no such thing", "code": "bad_request"}})
        return httpx2.Response(200, json=answer(request.url.path, body))

    def client(sdk: Any, timeout: float) -> Any:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(handle), timeout=timeout)

    fixed = {"monotonic": clock.seconds, "uuid4": counted, "datetime": Ticking}
    ours = [importlib.import_module(name) for name in naming("|".join(fixed))]
    from simulator.models.record import Recorded
    from simulator.models.retry import Retried

    patches = [
        *(
            mock.patch.dict(layer.__init__.__kwdefaults__, clock=clock.seconds)
            for layer in (Recorded, Retried)
        ),
        mock.patch.object(secrets, "token_hex", token_hex),
        mock.patch("simulator.models.remote.client", client),
        *(
            mock.patch.object(module, name, stand_in)
            for module in ours
            for name, stand_in in fixed.items()
            if callable(vars(module).get(name))
        ),
    ]
    with ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield clock
