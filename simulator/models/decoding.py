"""Decoding options of a run, and several samples for one request.

The options of a run override those of each request. Several samples are drawn in one call if the backend
supports it, else call by call.

A request for log-probabilities (``top_logprobs``) keeps its own options, because a benchmark defines those
numbers at one temperature. A request for a single token keeps its length.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final

from simulator.errors import InputError
from simulator.models.answers import cut_at_stops
from simulator.models.base import ChatModel, Completion, Request, Usage
from simulator.models.errors import BadRequest, Malformed, NotRecorded, TooFewSamples, Unsupported
from simulator.models.layers import Backend, Layer, amend
from simulator.seeds import derive_seed

# Parameters with a dedicated option; `_OWN` are those that Askback sets for each request.
_OPTIONS: Final = {
    "temperature": "--temperature",
    "top_p": "--top-p",
    "max_tokens": "--max-tokens",
    "max_completion_tokens": "--max-tokens",
    "seed": "--seed",
    "model": "the model's name",
}
_OWN: Final = frozenset(
    {"messages", "prompt", "system", "stream", "n", "stop", "stop_sequences", "echo", "logprobs"}
    | {"top_logprobs", "response_format", "output_config", "tools", "tool_choice"}
)
_SECRET: Final = re.compile(
    r"(?:api|access|auth|bearer)[-_]?(?:key|token)|secret|password|authorization", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """Decoding options for all texts of a run; None keeps each request's own.

    Attributes:
        temperature: 0 for greedy decoding.
        top_p: probability mass to sample from.
        seed: the run's seed; requests that are greedy by themselves derive theirs from it.

    Raises:
        InputError: if a value is out of range; names the option.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.temperature is not None and not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise InputError(f"--temperature {self.temperature}: must be 0 or more")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InputError(f"--top-p {self.top_p}: must be above 0 and at most 1")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InputError(f"--max-tokens {self.max_tokens}: must be 1 or more")

    @property
    def chosen(self) -> dict[str, float]:
        """Return the options that are set, by name."""
        values = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens}
        return {name: value for name, value in values.items() if value is not None}

    def apply(self, request: Request) -> Request:
        """Return `request` with these options; applying them twice changes nothing more.

        Raises:
            Unsupported: if several samples are requested and the temperature is 0.
        """
        if request.top_logprobs is not None:
            return request
        chosen: dict[str, Any] = self.chosen
        if request.max_tokens == 1:
            chosen.pop("max_tokens", None)
        temperature = chosen.get("temperature", request.temperature)
        if request.samples > 1 and temperature <= 0:
            raise Unsupported(
                f"this run draws {request.samples} different answers to one prompt, which is impossible at "
                "temperature 0; omit --temperature, or choose one above 0"
            )
        if temperature > 0 >= request.temperature:
            # Greedy requests share one seed; when sampled, runs and repeats must differ.
            chosen["seed"] = derive_seed(self.seed, "decoding", request.seed or 0, request.repeat)
        return replace(request, **chosen)


THOUGHTS: Final = 4096
"""Token limit for models that reason before they answer; their reasoning counts towards the limit."""


class Decoded(Layer):
    """Applies a run's decoding options; it wraps the layer that logs, so the log has what was sent.

    Token limits and stop sequences are meant for answers, but servers also apply them to reasoning. If that
    left no answer, the model is asked again with as many tokens as the run's option allows, or else
    `THOUGHTS`, and without stop sequences, which are then applied here.
    """

    def __init__(self, inner: Backend, decoding: Decoding) -> None:
        """Wrap `inner`.

        Raises:
            Unsupported: if the model does not take one of the options.
        """
        super().__init__(inner)
        self.decoding = decoding
        if refused := sorted(decoding.chosen.keys() & inner.ignored):
            option = refused[0].replace("_", "-")
            raise Unsupported(f"{inner.name} takes no {refused[0]}; omit --{option}")

    async def complete(self, request: Request) -> Completion:
        """Answer `request` with the run's decoding options."""
        sent = self.decoding.apply(request)
        most = max(sent.max_tokens, self.decoding.max_tokens or THOUGHTS)
        unlimited = replace(sent, max_tokens=most, stop=())
        answer: Completion | None = None
        try:
            answer = await self.inner.complete(sent)
            signs = (answer.thought != "", not answer.text, answer.finish_reason == "length")
            if sent.plain or sum(signs) < 2 or unlimited == sent:
                return answer
        except (Malformed, NotRecorded) as error:  # a replayed run has no answer to such a request
            if error.text or sent.schema is None or unlimited == sent:
                raise
        try:
            again = await self.inner.complete(unlimited)
        except (BadRequest, NotRecorded):  # a small context, or a run logged before this was asked
            if answer is None:
                raise
            return answer
        text, *samples = (cut_at_stops(each, sent.stop) for each in (again.text, *again.samples))
        return amend(again, text=text, samples=tuple(samples))


def as_sent(model: ChatModel, request: Request) -> Request:
    """Return `request` as `model` will send it, to log how an answer was decoded."""
    decoding: Decoding | None = getattr(model, "decoding", None)
    return request if decoding is None else decoding.apply(request)


def decoding_values(request: Request) -> dict[str, Any]:
    """Return a request's decoding parameters as turns log them; `top_p` only if it is not 1."""
    rare = {"top_p": request.top_p} if request.top_p != 1 else {}
    return {
        "temperature": request.temperature,
        **rare,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
    }


def read_settings(pairs: Sequence[str], reasoning_effort: str | None = None) -> dict[str, Any]:
    """Return the server's own parameters from ``key=value`` pairs; values are read as JSON, else as text.

    Raises:
        InputError: if a pair has no key, or a key is given twice, is set elsewhere or looks like a secret.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise InputError(f"--set {pair!r}: write key=value, such as top_k=20 or min_p=0.05")
        if key in _OPTIONS:
            raise InputError(f"--set {key}: use {_OPTIONS[key]} instead")
        if key in _OWN:
            raise InputError(f"--set {key}: is set for each request and cannot be set for a run")
        if _SECRET.search(key):
            raise InputError(f"--set {key}: looks like a secret, and the log keeps it; use OPENAI_API_KEY")
        if key in settings:
            raise InputError(f"--set {key}: is given twice")
        settings[key] = _value(value)
    if reasoning_effort is not None:
        if "reasoning_effort" in settings:
            raise InputError("--set reasoning_effort: is given twice, with --reasoning-effort")
        settings["reasoning_effort"] = reasoning_effort
    return settings


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text


def _not_json(constant: str) -> Any:
    raise ValueError(constant)


# --- several samples ---------------------------------------------------------------------------------


async def sample(model: ChatModel, request: Request) -> Completion:
    """Return `request.samples` answers, drawn in one call if the model can, else one by one."""
    if request.samples == 1:
        answer = await model.complete(request)
        return replace(answer, samples=(answer.text,))
    if model.capabilities.samples:
        try:
            return await model.complete(request)
        except TooFewSamples:
            draw_singly(model)
    return merge_answers(await asyncio.gather(*(model.complete(single) for single in split_samples(request))))


def draw_singly(model: ChatModel) -> None:
    """Have `sample` ask `model` for one answer at a time from now on, if the model can remember that."""
    if callable(remember := getattr(model, "draw_singly", None)):
        remember()


def split_samples(request: Request) -> tuple[Request, ...]:
    """Split a request for several samples into requests for one, each with its own seed and repeat index."""
    return tuple(
        replace(
            request,
            samples=1,
            seed=None if request.seed is None else derive_seed(request.seed, "sample", number),
            repeat=request.repeat * request.samples + number,
        )
        for number in range(request.samples)
    )


def merge_answers(answers: list[Completion]) -> Completion:
    """Merge answers to single requests into one answer; the cost is None if any cost is unknown."""
    costs = [answer.cost for answer in answers if answer.cost is not None]
    return replace(
        answers[0],
        samples=tuple(answer.text for answer in answers),
        usage=reduce(Usage.__add__, (answer.usage for answer in answers)),
        cost=sum(costs) if len(costs) == len(answers) else None,
        seconds=max(answer.seconds for answer in answers),
        cached=all(answer.cached for answer in answers),
        attempts=sum(answer.attempts for answer in answers),
    )


def drawn_samples(name: str, request: Request, texts: Sequence[str | None]) -> tuple[str, ...]:
    """Return the samples of a server's answer; empty if only one was requested.

    Raises:
        TooFewSamples: if there are fewer than requested.
    """
    require_samples(name, request.samples, len(texts))
    return tuple(text or "" for text in texts) if request.samples > 1 else ()


def require_samples(name: str, count: int, drawn: int) -> None:
    """Check that a server drew as many samples as requested.

    Raises:
        TooFewSamples: if it did not.
    """
    if drawn < count:
        raise TooFewSamples(f"{name} was asked for {count} samples and returned {drawn}; use another server")
