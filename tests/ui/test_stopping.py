"""The server stops when it is told to, though a browser still reads the stream of an open page."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from ui import command


@pytest.fixture
def handlers() -> Iterator[None]:
    """Leave signals and the collector as they were."""
    before, threshold = signal.getsignal(signal.SIGTERM), gc.get_threshold()
    yield
    signal.signal(signal.SIGTERM, before)
    gc.set_threshold(*threshold)
    gc.unfreeze()


def connect(port: int) -> socket.socket:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.05)
    raise TimeoutError("the server does not start")


def test_a_terminated_server_ends_streams_and_cleans_up(
    handlers: None, capfd: pytest.CaptureFixture[str]
) -> None:
    server = FastAPI()

    @server.get("/stream")
    async def stream() -> StreamingResponse:
        async def endless() -> AsyncIterator[bytes]:
            yield b"."
            await asyncio.sleep(600)

        return StreamingResponse(endless())

    def read_and_terminate() -> None:
        try:
            browser = connect(port)
            browser.sendall(b"GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert browser.recv(4096)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
        with browser:
            while browser.recv(4096):
                pass

    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    reader = threading.Thread(target=read_and_terminate)
    # Not the signal's own end of the process, which would run no finally.
    with pytest.raises(SystemExit) as end:
        reader.start()
        command._serve(server, "127.0.0.1", port)
    assert not end.value.code
    reader.join(timeout=60)
    assert "".join(capfd.readouterr()) == ""
