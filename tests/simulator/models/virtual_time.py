"""An event loop whose clock jumps to the next timer: seconds of waiting take no time, and are exact."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits, and nothing will happen any more"
            self.now += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Return what `main` does on such a loop."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)
