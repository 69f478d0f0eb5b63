"""A server on 127.0.0.1 that speaks both dialects and can fail in every way; fakes at the backend seam."""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from simulator.models import Capabilities, Completion, Identity, Message, Request, Unavailable
from simulator.models.anthropic_backend import AnthropicModel
from simulator.models.openai_backend import OpenAIModel

sys.path.insert(0, str(Path(__file__).parent))  # tiny_models

Behaviour = Callable[["Handler"], None]


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.asked = Asked(self.path, headers, body)
        self.server.next_behaviour(self.asked)(self)

    def do_GET(self) -> None:
        self.send_json({"object": "list", "data": []})  # the models, as a sign of life

    @property
    def is_anthropic(self) -> bool:
        return self.path.endswith("/messages")

    def send(
        self, content: bytes, *, status: int = 200, kind: str = "application/json", length: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content) if length is None else length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def send_json(self, content: Any, **more: Any) -> None:
        self.send(json.dumps(content).encode(), **more)

    def log_message(self, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Does what `queue` says, request by request; when that is empty, what `always` says."""

    daemon_threads = True
    request_queue_size = 128
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[Asked] = []
        self.queue: list[Behaviour] = []
        self.always: Behaviour = Says().good()
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def base_url(self, provider: str) -> str:
        return self.url + ("/v1" if provider == "openai" else "")

    def next_behaviour(self, asked: Asked) -> Behaviour:
        with self._lock:
            self.requests.append(asked)
            return self.queue.pop(0) if self.queue else self.always

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that hang up are part of the tests


class Says:
    """Behaviours of the server."""

    def good(
        self, text: str = "hello", *, logprobs: list[Any] | None = None, end: str = "",
        thought: dict[str, str] | None = None,
    ) -> Behaviour:  # fmt: skip
        def behave(handler: Handler) -> None:
            answer = _anthropic(text, end) if handler.is_anthropic else _openai(text, end, logprobs)
            if thought:
                answer["choices"][0]["message"] |= thought
            handler.send_json(answer)

        return behave

    def refusal(self, why: str = "that would be unsafe") -> Behaviour:
        def behave(handler: Handler) -> None:
            if handler.is_anthropic:
                answer = _anthropic("", "refusal")
                answer["stop_details"] = {"type": "refusal", "category": None, "explanation": why}
            else:
                answer = _openai(None, "stop")
                answer["choices"][0]["message"]["refusal"] = why
            handler.send_json(answer)

        return behave

    def status(self, status: int, *, headers: dict[str, str] | None = None, code: str = "oops") -> Behaviour:
        error = {"type": code, "code": code, "message": "the server's own words"}

        def behave(handler: Handler) -> None:
            handler.send_json({"type": "error", "error": error}, status=status, headers=headers)

        return behave

    def raw(self, content: bytes, **more: Any) -> Behaviour:
        return lambda handler: handler.send(content, **more)

    def slow(self) -> Behaviour:
        return lambda handler: handler.server.stopping.wait(20) and None

    def dripping(self) -> Behaviour:
        """Sends a byte now and then, so that no single read takes long."""

        def behave(handler: Handler) -> None:
            handler.send(b"{", length=10_000)
            while not handler.server.stopping.wait(0.02):
                handler.wfile.write(b" ")

        return behave

    def dropped(self) -> Behaviour:
        def behave(handler: Handler) -> None:
            handler.close_connection = True

        return behave

    def truncated(self) -> Behaviour:
        def behave(handler: Handler) -> None:
            handler.send(b'{"id": "x", "choi', length=10_000)
            handler.close_connection = True

        return behave


def _openai(text: str | None, end: str, logprobs: list[Any] | None = None) -> dict[str, Any]:
    choice = {
        "index": 0,
        "finish_reason": end or "stop",
        "message": {"role": "assistant", "content": text},
        "logprobs": None if logprobs is None else {"content": logprobs},
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
        "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 4}},
    }  # fmt: skip


def _anthropic(text: str, end: str) -> dict[str, Any]:
    return {
        "id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "thinking", "thinking": "…", "signature": "s"}, {"type": "text", "text": text}],
        "stop_reason": end or "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 7, "cache_read_input_tokens": 4},
    }  # fmt: skip


@contextmanager
def _serving() -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.stopping.set()
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with _serving() as running:
        yield running


@pytest.fixture
def servers(server: Server) -> Iterator[tuple[Server, Server]]:
    with _serving() as other:
        yield server, other


@pytest.fixture
async def make(server: Server) -> AsyncIterator[Callable[..., Any]]:
    """Makes a backend that talks to `server`; closes it afterwards."""
    made: list[Any] = []

    def backend(provider: str, name: str = "some-model", **options: Any) -> Any:
        kind = {"openai": OpenAIModel, "anthropic": AnthropicModel}[provider]
        options = {"api_key": "secret", "timeout": 5.0, "base_url": server.base_url(provider), **options}
        made.append(kind(name, **options))
        return made[-1]

    yield backend
    for each in made:
        await each.close()


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def says() -> Says:
    return Says()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the developer's environment reaches a test."""
    for provider in ("OPENAI", "ANTHROPIC"):
        for variable in ("API_KEY", "BASE_URL", "AUTH_TOKEN", "CUSTOM_HEADERS"):
            monkeypatch.delenv(f"{provider}_{variable}", raising=False)
    monkeypatch.delenv("ASKBACK_PRICES", raising=False)


@pytest.fixture
def ask() -> Callable[..., Request]:
    def make(*texts: str, **fields: Any) -> Request:
        contents = texts or ("Which colour?",)
        roles = ["user" if number % 2 == 0 else "assistant" for number in range(len(contents))]
        return Request(messages=tuple(map(Message, roles, contents)), **fields)  # type: ignore[arg-type]

    return make


@dataclass
class Fake:
    """A backend that gives prepared answers, one after the other; the last one for ever."""

    answers: list[Completion | BaseException]
    identity: Identity = field(default_factory=lambda: Identity("fake", "model"))
    capabilities: Capabilities = field(default_factory=Capabilities)
    ignored: frozenset[str] = frozenset()
    requests: list[Request] = field(default_factory=list)
    closed: bool = False

    @property
    def name(self) -> str:
        return self.identity.name

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def fake() -> Callable[..., Fake]:
    def make(*answers: Completion | BaseException | str, **fields: Any) -> Fake:
        made = [Completion(text=each) if isinstance(each, str) else each for each in answers]
        return Fake(made or [Completion(text="hello")], **fields)

    return make


class Stubborn(Fake):
    """A backend that is long in answering, and makes an error of its own of a cancellation."""

    def __init__(self) -> None:
        super().__init__([])
        self.under_way = asyncio.Event()

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        self.under_way.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise Unavailable("while giving up") from None
        raise AssertionError("nobody has cancelled it")


@pytest.fixture
def stubborn() -> Stubborn:
    return Stubborn()


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()
