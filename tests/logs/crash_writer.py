"""Forks children that write turns and say which are acknowledged, until somebody kills them.

Run by test_crash.py: each line on stdin starts a child (after the one before is gone), whose process id
and acknowledgments (``episode number``) come out on stdout.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from logs import LogReader, LogWriter
from logs.rows import Turn

EPISODES = 5


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def play(writer: LogWriter, path: Path, episode: int) -> None:
    with LogReader(path) as reader:
        number = len(reader.turns(f"e{episode}"))
    # A client that was cut off does not know whether its last submission arrived: it sends it again.
    number = max(0, number - 1)
    while True:
        turn = Turn(
            episode_id=f"e{episode}",
            number=number,
            seat="seeker",
            text=f"{episode}/{number} " + "x" * (number * 7 % 900),
            key=f"key-{number}" if episode % 2 else None,
        )
        await writer.write(turn)
        say(f"{episode} {number}")
        number += 1


async def child(path: Path, durable: bool) -> None:
    async with LogWriter(path, durable=durable, group_seconds=0.002) as writer:
        await asyncio.gather(*(play(writer, path, episode) for episode in range(EPISODES)))


def main() -> None:
    path, durable = Path(sys.argv[1]), sys.argv[2] == "durable"
    for _ in sys.stdin:
        process = os.fork()
        if process == 0:
            try:
                asyncio.run(child(path, durable))
            finally:
                os._exit(1)
        say(f"pid {process}")
        os.waitpid(process, 0)
        say("gone")


if __name__ == "__main__":
    main()
