"""Servers that speak OpenAI's language, in a process of their own: slow ones, liars, and those that die.

As a script it serves what its argument says (JSON, a list of `Spec`) and prints the addresses, a line each.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Spec:
    """The behaviour of a server.

    Attributes:
        seconds: that it takes for an answer.
        places: answers that it writes at a time; more wait, or are refused (429).
        dies_after: requests after which nobody listens any more, and what is under way breaks off.
        hangs_after: requests after which nothing is answered any more, be it a question or a sign of life.
    """

    seconds: float = 0.1
    places: int = 4
    refuses: bool = False
    dies_after: int | None = None
    hangs_after: int | None = None


SECONDS = 0.5
HEALTHY = 6
PLACES = 4
TROUBLED = (
    Spec(seconds=4 * SECONDS),
    Spec(seconds=SECONDS, places=1, refuses=True),  # and is said to have 16
    Spec(seconds=SECONDS, dies_after=20),
    Spec(seconds=SECONDS, hangs_after=20),
    *[Spec(seconds=SECONDS, places=PLACES)] * HEALTHY,
)
"""Ten servers: a slow one, one that lies about its places, two that die, and six that do what they should."""


def fleet_file(urls: Sequence[str]) -> str:
    """Return the file that names the troubled ones as a fleet."""
    places = [16 if spec.refuses else spec.places for spec in TROUBLED]
    servers = (f"  - {{url: '{url}', capacity: {many}}}" for url, many in zip(urls, places, strict=True))
    return "\n".join(["servers:", *servers])


@contextmanager
def serving(*specs: Spec) -> Iterator[Sequence[str]]:
    """Serve, and yield the addresses."""
    words = [sys.executable, __file__, json.dumps([asdict(spec) for spec in specs])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield [process.stdout.readline().strip() for _ in specs]
        finally:
            process.kill()


class _Server:
    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.asked = self.busy = 0
        self.places = asyncio.Semaphore(spec.places)
        self.writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> str:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().split("\r\n")
                length = next((int(line[15:]) for line in lines if line.startswith("content-length:")), 0)
                body = await reader.readexactly(length)
                status, answer = await self.answer(body)
                content = json.dumps(answer).encode()
                header = f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
                writer.write(f"HTTP/1.1 {status} \r\n{header}".encode() + content)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def answer(self, body: bytes) -> tuple[int, object]:
        spec = self.spec
        if spec.hangs_after is not None and self.asked >= spec.hangs_after:
            await asyncio.sleep(3600)
        if not body:
            return 200, {"object": "list", "data": []}
        self.asked += 1
        if self.asked == spec.dies_after:
            self.server.close()
            for writer in tuple(self.writers):
                writer.transport.abort()
        if spec.refuses and self.busy >= spec.places:
            return 429, {"error": {"message": "too many", "type": "rate_limit"}}
        self.busy += 1
        try:
            async with self.places:
                await asyncio.sleep(spec.seconds)
        finally:
            self.busy -= 1
        message = {"role": "assistant", "content": "I have a question: where exactly do I have to go?"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        common = {"id": "c", "object": "chat.completion", "created": 1, "model": json.loads(body)["model"]}
        return 200, {**common, "choices": [choice], "usage": usage}


async def _main() -> None:
    servers = [_Server(Spec(**spec)) for spec in json.loads(sys.argv[1])]
    for server in servers:
        print(await server.start(), flush=True)
    await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(_main())
