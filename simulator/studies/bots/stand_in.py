"""A server that stands in for a study's models under bots: its answers mean nothing, and take a given time.

So a load can be measured with models opposite whose speed is known, without a key and without a cost.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

_SAID: Final = "Could you tell me more about that?"
_LOGPROB: Final = {"token": _SAID, "logprob": -0.1}


class StandIn:
    """Such a server.

    Attributes:
        address: for ``--base-url``.
        asked: how many answers it has given.

    Args:
        seconds: that each answer takes.
        port: on which it listens.
    """

    def __init__(self, seconds: float, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}/v1"
        self.asked = 0
        self._seconds = seconds

    async def answer(self, request: Request) -> JSONResponse:
        """Answer a chat completion, or a completion, when the time is over."""
        body = await request.json()
        await asyncio.sleep(self._seconds)
        self.asked += 1
        return JSONResponse(completion(body))


def completion(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer to a request for a text, or for an object of a schema."""
    form = body.get("response_format")
    text = json.dumps(smallest(form["json_schema"]["schema"])) if form else _SAID
    said: dict[str, Any] = {"text": text}
    if "messages" in body:
        said = {"message": {"role": "assistant", "content": text}}
        if body.get("logprobs"):
            said["logprobs"] = {"content": [{**_LOGPROB, "top_logprobs": [_LOGPROB]}]}
    return {
        "id": "stand-in",
        "object": "chat.completion" if "messages" in body else "text_completion",
        "created": 0,
        "model": body["model"],
        "choices": [
            {"index": number, "finish_reason": "stop", **said} for number in range(body.get("n") or 1)
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def smallest(schema: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> Any:
    """Return a small value of a JSON schema.

    Args:
        schema: of the value.
        known: the definitions that it may refer to; default: its own.
    """
    known = schema.get("$defs", {}) if known is None else known
    if "$ref" in schema:
        return smallest(known[schema["$ref"].rpartition("/")[2]], known)
    if several := schema.get("anyOf") or schema.get("allOf"):
        return smallest(several[0], known)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: smallest(part, known) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [smallest(schema["items"], known)] * schema.get("minItems", 0)
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "null":
            return None
    return _SAID


@contextmanager
def standing_in(seconds: float) -> Iterator[StandIn]:
    """Serve a stand-in on a free port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1024)
        model = StandIn(seconds, listening.getsockname()[1])
        app = Starlette(routes=[Route("/{path:path}", model.answer, methods=["POST"])])
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.should_exit = True
            thread.join()
