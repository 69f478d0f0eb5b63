"""Request keys: identical requests share the key by which answers are cached, coalesced and replayed."""

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
    """The identity of a model: its part of every request key.

    Attributes:
        provider: ``openai``, ``anthropic``, ``offline``, …
        model: the model's name without the provider.
        base_url: the server's URL; empty for backends without one.
        extra: body parameters sent with every request (``reasoning_effort``, …).
        digest: sha256 (hex) of the other fields.
    """

    provider: str
    model: str
    base_url: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    digest: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        content = [self.provider, self.model, self.base_url, dict(self.extra)]
        object.__setattr__(self, "digest", _sha256(_canonical(content)))

    @property
    def name(self) -> str:
        """Return ``provider/model``."""
        return f"{self.provider}/{self.model}"


def parameters(request: Request) -> dict[str, Any]:
    """Return the parameters of a request besides messages and schema, as plain JSON."""
    return _parameters(*_parameter_values(request))


_parameter_values = attrgetter(
    "temperature", "max_tokens", "seed", "stop", "top_logprobs", "top_p", "samples", "plain"
)


@lru_cache(maxsize=256, typed=True)  # typed: 0 and 0.0 are different texts
def _parameters_text(repeat: int, *values: Any) -> bytes:
    return _canonical([_parameters(*values), repeat]).encode()


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
    usual = {
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed,
        "stop": list(stop),
        "top_logprobs": top_logprobs,
    }
    # `shared` is not part of the key: it changes how a prompt is read, not its content. It can change the
    # last bits of a local model's numbers, but so can device, threads and library version, which are not in
    # the key either; and a prompt always has the same `shared`.
    # The other parameters are omitted at their defaults, which preserves the keys of older answers.
    rare: dict[str, Any] = {"top_p": top_p} if top_p != 1 else {}
    rare |= {"samples": samples} if samples != 1 else {}
    return usual | rare | ({"plain": True} if plain else {})


def messages(request: Request) -> list[dict[str, str]]:
    """Return the messages as plain JSON."""
    return [{"role": message.role, "content": message.content} for message in request.messages]


def cached_by_type(convert: Callable[[Any], T]) -> Callable[[Any], T]:
    """Make a function of JSON schemas also take pydantic types, and cache its results for these."""
    of_type = lru_cache(maxsize=256)(lambda schema: convert(schema.model_json_schema()))

    @wraps(convert)
    def convert_once(schema: Any) -> T:
        return of_type(schema) if isinstance(schema, type) else convert(schema)

    return convert_once


@cached_by_type
def json_schema(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a request's schema (or None) as a plain JSON schema (cached: do not modify it)."""
    return schema


_schema_text = cached_by_type(_canonical)


def content(request: Request | ScoreRequest) -> dict[str, Any]:
    """Return a request's content as plain JSON: messages, parameters, schema, repeat index.

    For a text to score: text, offsets, ``top`` and continuations, if any.
    """
    if isinstance(request, ScoreRequest):
        score: dict[str, Any] = {"text": request.text, "offsets": list(request.offsets), "top": request.top}
        return score | ({"continuations": list(request.continuations)} if request.continuations else {})
    return {
        "messages": messages(request),
        "parameters": parameters(request),
        "schema": json_schema(request.schema),
        "repeat": request.repeat,
    }


def content_key(request: Request | ScoreRequest) -> str:
    """Return the sha256 (hex) of a request's content, whichever model is asked.

    The hash covers role, length in bytes and content (UTF-8) of each message, then the canonical JSON (keys
    sorted, no blanks) of parameters and repeat index, then that of the schema. Converting the messages to
    JSON would take three times as long as everything else. For a text to score, the hash covers ``score`` and
    its canonical `content`.
    """
    if isinstance(request, ScoreRequest):
        return _sha256("score " + _canonical(content(request)))
    digest = sha256()
    for message in request.messages:
        encoded = message.content.encode("utf-8", "surrogatepass")
        digest.update(f"{message.role} {len(encoded)} ".encode())
        digest.update(encoded)
    digest.update(_parameters_text(request.repeat, *_parameter_values(request)))
    digest.update(_schema_text(request.schema).encode())
    return digest.hexdigest()


def request_key(identity: Identity, request: Request | ScoreRequest) -> str:
    """Return the sha256 (hex) of model and request; one answer serves all requests with the same key."""
    return combined_key(identity, content_key(request))


def combined_key(identity: Identity, content_key: str) -> str:
    """Return `request_key` from an already computed `content_key`."""
    return _sha256(identity.digest + content_key)


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
