"""Many values, so many at a time."""

import asyncio

import pytest

from simulator.workers import each


def test_all_are_done_and_never_more_than_so_many_at_a_time():
    running, most, done = 0, 0, []

    async def do(value):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(value)

    asyncio.run(each(iter(range(9)), do, 3))
    assert sorted(done) == list(range(9)) and most == 3


def test_the_first_error_stops_the_others():
    begun, ended = [], []

    async def do(value):
        begun.append(value)
        if value == 1:
            raise ValueError("no")
        await asyncio.sleep(60)
        ended.append(value)

    with pytest.raises(ValueError, match="no"):
        asyncio.run(each(iter(range(9)), do, 3))
    assert begun == [0, 1, 2] and not ended
