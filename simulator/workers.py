"""The same for many values, so many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


async def each(values: Iterator[T], do: Callable[[T], Awaitable[None]], concurrency: int) -> None:
    """Do something with all values, so many at a time; the first error stops it all.

    Raises:
        BaseException: whatever `do` raised.
    """

    async def work() -> None:
        for value in values:
            await do(value)

    tasks = [asyncio.create_task(work()) for _ in range(concurrency)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
