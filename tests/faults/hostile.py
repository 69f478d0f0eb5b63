"""A model server on 127.0.0.1 that does its worst: what it does is said request by request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler", dict[str, Any]], None]

MEGABYTES_60 = 60_000_000


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hostile

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        self.server.behaviour()(self, body)

    def send(self, content: bytes, *, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def send_json(self, content: Any, **more: Any) -> None:
        self.send(json.dumps(content).encode(), **more)

    def log_message(self, *args: Any) -> None:
        pass


class Hostile(ThreadingHTTPServer):
    """Answers `first` many requests well, then does what `always` says."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.always: Behaviour = good
        self.first = 0
        self.requests = 0
        self.asked: list[dict[str, Any]] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def turn(self, behaviour: Behaviour, *, first: int = 0) -> None:
        """Behave so from now on, after `first` good answers."""
        with self._lock:
            self.always, self.first, self.requests = behaviour, first, 0

    def behaviour(self) -> Behaviour:
        with self._lock:
            self.requests += 1
            return good if self.requests <= self.first else self.always

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that hang up are part of the tests


@contextmanager
def serving() -> Iterator[Hostile]:
    server = Hostile()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()


def completion(body: dict[str, Any], text: Any = "X", **choice: Any) -> dict[str, Any]:
    """A chat completion with everything that was asked for."""
    logprobs = None
    if body.get("logprobs"):
        top = [{"token": token, "logprob": value} for token, value in (("X", -0.5), ("Y", -1.0))]
        logprobs = {"content": [{"token": "X", "logprob": -0.5, "top_logprobs": top}]}
    made = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
        "logprobs": logprobs,
        **choice,
    }
    count = body.get("n") or 1
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{**made, "index": number} for number in range(count)],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
    }


def good(handler: Handler, body: dict[str, Any]) -> None:
    text = '{"ready": true}' if "response_format" in body else "X"
    handler.send_json(completion(body, text))


def says(change: Callable[[dict[str, Any]], object]) -> Behaviour:
    """A good answer in which `change` has spoilt something."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        answer = completion(body)
        changed = change(answer)
        handler.send_json(answer if changed is None else changed)

    return behave


def set_at(*path: Any, value: Any) -> Behaviour:
    """A good answer with another value somewhere."""

    def change(answer: dict[str, Any]) -> None:
        place: Any = answer
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return says(change)


def raw(content: bytes) -> Behaviour:
    return lambda handler, body: handler.send(content)


def hang(handler: Handler, body: dict[str, Any]) -> None:
    handler.server.stopping.wait(30)


def retry_after_a_day(handler: Handler, body: dict[str, Any]) -> None:
    handler.send_json({"error": {"message": "busy"}}, status=429, retry_after="86400")


def echo_401(handler: Handler, body: dict[str, Any]) -> None:
    """Repeats what it was sent in confidence."""
    heard = f"Incorrect API key: {handler.headers['authorization']} for {handler.path} {handler.headers}"
    handler.send_json({"error": {"message": heard, "code": "invalid_api_key"}}, status=401)


_LOGPROB = ("choices", 0, "logprobs", "content", 0)
_TOO_DEEP = b"[" * 100_000 + b"]" * 100_000

MALFORMED: dict[str, Behaviour] = {
    "NaN": set_at(*_LOGPROB, "logprob", value=float("nan")),
    "NaN beside": set_at(*_LOGPROB, "top_logprobs", 0, "logprob", value=float("nan")),
    "infinite": set_at(*_LOGPROB, "logprob", value=float("inf")),
    "text for a number": set_at(*_LOGPROB, "logprob", value="likely"),
    "no number": set_at(*_LOGPROB, "logprob", value=None),
    "token of no text": set_at(*_LOGPROB, "token", value=7),
    "logprobs a list": set_at("choices", 0, "logprobs", value=[1, 2]),
    "choices an object": set_at("choices", value={"0": {"message": {"content": "X"}}}),
    "choices a text": set_at("choices", value="X"),
    "no choices": set_at("choices", value=[]),
    "choices of nothing": set_at("choices", value=[None]),
    "content a list": set_at("choices", 0, "message", "content", value=[{"type": "text", "text": "X"}]),
    "content a number": set_at("choices", 0, "message", "content", value=7),
    "message a text": set_at("choices", 0, "message", value="X"),
    "end a list": set_at("choices", 0, "finish_reason", value=["stop"]),
    "lone surrogate": set_at("choices", 0, "message", "content", value="\ud800 X"),
    "usage a list": set_at("usage", value=[1, 2]),
    "a list": says(lambda answer: [answer]),
    "a number": says(lambda answer: 7),
    "null": raw(b"null"),
    "nothing": raw(b""),
    "not JSON": raw(b"<html>502</html>"),
    "not UTF-8": raw(b'{"choices": "\xff\xfe"}'),
    "too deep": raw(_TOO_DEEP),
    "60 MB": lambda handler, body: handler.send_json(completion(body, "X" * MEGABYTES_60)),
    "2 MB": lambda handler, body: handler.send_json(completion(body, "X" * 2_000_000)),
}
"""Answers that are none, by what is wrong with them."""
