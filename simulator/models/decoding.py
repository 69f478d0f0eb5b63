"""How texts are drawn: decoding options of a whole run, and several answers to one request.

The options replace what each request says of how its text is drawn. Several answers are drawn in one call
where a backend can do that, else call by call.

A request that reads probabilities (``top_logprobs``) keeps its own options: a benchmark defines those numbers
at one temperature. One that writes a single token keeps its length.
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
from simulator.models.base import ChatModel, Completion, Request, Usage
from simulator.models.errors import TooFewSamples, Unsupported
from simulator.models.layers import Backend, Layer
from simulator.seeds import derive_seed

# Parameters that have an option of their own, or that Askback decides request by request.
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
    """Decoding options that hold for all texts of a run; None leaves a request's own.

    Attributes:
        temperature: 0 for the likeliest text.
        top_p: probability mass that is drawn from.
        seed: the run's; sampled requests that would be greedy get seeds descended from it.

    Raises:
        InputError: if a value is out of its range; names the option.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.temperature is not None and not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise InputError(f"--temperature {self.temperature}: must be 0 or more")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InputError(f"--top-p {self.top_p}: must be above 0; the maximum is 1")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InputError(f"--max-tokens {self.max_tokens}: must be 1 or more")

    @property
    def chosen(self) -> dict[str, float]:
        """The options that were chosen, by name."""
        values = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens}
        return {name: value for name, value in values.items() if value is not None}

    def apply(self, request: Request) -> Request:
        """Return `request` with these options; a request that has them already comes back the same.

        Raises:
            Unsupported: if several samples are asked for and the temperature is 0.
        """
        if request.top_logprobs is not None:
            return request
        chosen: dict[str, Any] = self.chosen
        if request.max_tokens == 1:
            chosen.pop("max_tokens", None)
        temperature = chosen.get("temperature", request.temperature)
        if request.samples > 1 and temperature <= 0:
            raise Unsupported(
                f"{request.samples} different answers to one prompt are drawn here, which a temperature of 0 "
                "cannot give; leave --temperature out, or choose one above 0"
            )
        if temperature > 0 >= request.temperature:
            # Greedy requests share one seed; once they are sampled, runs and repeats must differ.
            chosen["seed"] = derive_seed(self.seed, "decoding", request.seed or 0, request.repeat)
        return replace(request, **chosen)


class Decoded(Layer):
    """Asks with a run's decoding options; the layer that logs is within, so the log has what was sent."""

    def __init__(self, inner: Backend, decoding: Decoding) -> None:
        """Wrap `inner`.

        Raises:
            Unsupported: if the model takes no such option.
        """
        super().__init__(inner)
        self.decoding = decoding
        if refused := sorted(decoding.chosen.keys() & inner.ignored):
            option = refused[0].replace("_", "-")
            raise Unsupported(f"{inner.name} takes no {refused[0]}; leave --{option} out")

    async def complete(self, request: Request) -> Completion:
        """Answer `request`, decoded as the run wants it."""
        return await self.inner.complete(self.decoding.apply(request))


def as_sent(model: ChatModel, request: Request) -> Request:
    """Return `request` as `model` will send it, for whoever logs how an answer was decoded."""
    decoding: Decoding | None = getattr(model, "decoding", None)
    return request if decoding is None else decoding.apply(request)


def drawn(request: Request) -> dict[str, Any]:
    """Return how a request's text is drawn, as turns log it; `top_p` where it is not the usual 1."""
    rare = {"top_p": request.top_p} if request.top_p != 1 else {}
    return {
        "temperature": request.temperature,
        **rare,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
    }


def read_settings(pairs: Sequence[str], reasoning_effort: str | None = None) -> dict[str, Any]:
    """Return the server's own parameters out of ``key=value`` pairs; values are JSON, else text.

    Raises:
        InputError: if a pair is none, a key is given twice, has an option of its own or holds a secret.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise InputError(f"--set {pair!r}: write key=value, such as top_k=20 or min_p=0.05")
        if key in _OPTIONS:
            raise InputError(f"--set {key}: is said with {_OPTIONS[key]}")
        if key in _OWN:
            raise InputError(f"--set {key}: each request has its own; it cannot be set for a run")
        if _SECRET.search(key):
            raise InputError(f"--set {key}: looks like a secret, and the log keeps it; see OPENAI_API_KEY")
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


# --- several answers ---------------------------------------------------------------------------------


async def sample(model: ChatModel, request: Request) -> Completion:
    """Return `request.samples` answers; a model that cannot draw them at once is asked so many times.

    Raises:
        ModelError: see `simulator.models.errors`.
    """
    if request.samples == 1:
        answer = await model.complete(request)
        return replace(answer, samples=(answer.text,))
    if model.capabilities.samples:
        try:
            return await model.complete(request)
        except TooFewSamples:
            draw_singly(model)
    return together(await asyncio.gather(*(model.complete(single) for single in singles(request))))


def draw_singly(model: ChatModel) -> None:
    """Have `sample` ask `model` for one answer at a time from now on, if it can keep that in mind."""
    if callable(remember := getattr(model, "draw_singly", None)):
        remember()


def singles(request: Request) -> tuple[Request, ...]:
    """Return a request for several samples as requests for one, with their own seeds and repeat indices."""
    return tuple(
        replace(
            request,
            samples=1,
            seed=None if request.seed is None else derive_seed(request.seed, "sample", number),
            repeat=request.repeat * request.samples + number,
        )
        for number in range(request.samples)
    )


def together(answers: list[Completion]) -> Completion:
    """Return answers to one request each as one; what is not known of one of them is not known of all."""
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
    """Return the samples among a server's answers; none where one alone was asked for.

    Raises:
        TooFewSamples: if it drew fewer than were asked for.
    """
    require_samples(name, request.samples, len(texts))
    return tuple(text or "" for text in texts) if request.samples > 1 else ()


def require_samples(name: str, asked: int, drawn: int) -> None:
    """Make sure that a server drew as many as were asked for.

    Raises:
        TooFewSamples: if it did not.
    """
    if drawn < asked:
        raise TooFewSamples(f"{name} was asked for {asked} samples and gave {drawn}; take another server")
