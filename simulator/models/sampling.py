"""Several answers to one request: in one call where a backend can draw them at once, else call by call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from simulator.models.base import ChatModel, Completion, Request, Usage
from simulator.models.errors import TooFewSamples
from simulator.seeds import derive_seed


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
