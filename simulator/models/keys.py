"""Which requests are the same: the key under which an answer is cached, coalesced, logged and replayed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from hashlib import sha256
from operator import attrgetter
from typing import Any, TypeVar

from simulator.models.base import Request, ScoreRequest

T = TypeVar("T")
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of whoever answers: the part of the key that a model adds to every request.

    Attributes:
        provider: ``openai``, ``anthropic``, ``offline``, …
        model: the model's name without the provider.
        base_url: the server; empty for backends without one.
        extra: body parameters sent with every request (``reasoning_effort``, …).
        digest: sha256 (hex) of all that.
    """

    provider: str
    model: str
    base_url: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    digest: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        who = [self.provider, self.model, self.base_url, dict(self.extra)]
        object.__setattr__(self, "digest", _sha256(_canonical(who)))

    @property
    def name(self) -> str:
        """``provider/model``."""
        return f"{self.provider}/{self.model}"


def parameters(request: Request) -> dict[str, Any]:
    """Return what is asked for beside messages and schema, as plain JSON."""
    return _parameters(*_asked_for(request))


_asked_for = attrgetter(
    "temperature", "max_tokens", "seed", "stop", "top_logprobs", "top_p", "samples", "plain"
)


@lru_cache(maxsize=256, typed=True)  # typed: 0 and 0.0 are not the same text
def _parameters_text(repeat: int, *asked_for: Any) -> bytes:
    return _canonical([_parameters(*asked_for), repeat]).encode()


def _parameters(
    temperature: float,
    max_tokens: int,
    seed: int | None,
    stop: Sequence[str],
    top_logprobs: int | None,
    top_p: float,
    samples: int,
    plain: bool,
) -> dict[str, Any]:
    asked = {
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed,
        "stop": list(stop),
        "top_logprobs": top_logprobs,
    }
    # `shared` is no part of it: it changes how a prompt is read and not what it says. A local model's numbers
    # then differ in their last bits, as they do by its device, its threads and the version of its library,
    # which are no part of a key either; and whoever makes a prompt always shares the same of it.
    # Left out at their usual values, the others leave the keys of older answers as they were.
    rare: dict[str, Any] = {"top_p": top_p} if top_p != 1 else {}
    rare |= {"samples": samples} if samples != 1 else {}
    return asked | rare | ({"plain": True} if plain else {})


def messages(request: Request) -> list[dict[str, str]]:
    """Return the messages as plain JSON."""
    return [{"role": message.role, "content": message.content} for message in request.messages]


def cached_by_type(convert: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return what converts pydantic types, too, by their JSON schemas; what comes of these is kept."""
    of_type = lru_cache(maxsize=256)(lambda schema: convert(schema.model_json_schema()))

    @wraps(convert)
    def converted(schema: Any) -> T:
        return of_type(schema) if isinstance(schema, type) else convert(schema)

    return converted


@cached_by_type
def json_schema(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a request's schema (or None) as plain JSON schema (shared: do not change it)."""
    return schema


_schema_text = cached_by_type(_canonical)


def content(request: Request | ScoreRequest) -> dict[str, Any]:
    """Return what is asked, whoever is asked, as plain JSON: messages, parameters, schema, repeat index.

    Of a text to be scored: text, offsets, length of the tables (``top``) and continuations, if any.
    """
    if isinstance(request, ScoreRequest):
        asked: dict[str, Any] = {"text": request.text, "offsets": list(request.offsets), "top": request.top}
        return asked | ({"continuations": list(request.continuations)} if request.continuations else {})
    return {
        "messages": messages(request),
        "parameters": parameters(request),
        "schema": json_schema(request.schema),
        "repeat": request.repeat,
    }


def content_key(request: Request | ScoreRequest) -> str:
    """Return sha256 (hex) of what is asked, whoever is asked.

    It is taken over role, length in bytes and content (UTF-8) of each message, followed by the canonical
    JSON (keys sorted, no blanks) of parameters and repeat index, and that of the schema. The messages are
    not made JSON for it: that would take three times as long as everything else. Of a text to be scored it
    is taken over ``score`` and its canonical `content`.
    """
    if isinstance(request, ScoreRequest):
        return _sha256("score " + _canonical(content(request)))
    asked = sha256()
    for message in request.messages:
        encoded = message.content.encode("utf-8", "surrogatepass")
        asked.update(f"{message.role} {len(encoded)} ".encode())
        asked.update(encoded)
    asked.update(_parameters_text(request.repeat, *_asked_for(request)))
    asked.update(_schema_text(request.schema).encode())
    return asked.hexdigest()


def request_key(identity: Identity, request: Request | ScoreRequest) -> str:
    """Return sha256 (hex) of who is asked and what: equal keys mean that one answer serves both requests."""
    return combined_key(identity, content_key(request))


def combined_key(identity: Identity, content_key: str) -> str:
    """Return `request_key` from an already computed `content_key`."""
    return _sha256(identity.digest + content_key)


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
