"""How models are reached, as a command line says it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from simulator.errors import InputError
from simulator.home import home
from simulator.models import Budget, Decoding, LogRecordings, ModelOptions
from simulator.models.prices import read_prices

TIMEOUT: Final = ModelOptions().timeout
"""Seconds that a server may take for one answer, unless a command says otherwise."""


def model_options(
    log: Path,
    *,
    base_url: str | None = None,
    cache: bool = True,
    budget: float | None = None,
    prices: Path | None = None,
    together: int = 1,
    decoding: Decoding | None = None,
    extra: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> ModelOptions:
    """Return how models are reached, as the command line says it; ``replay/<run>`` reads the same log.

    Args:
        log: the log's file.
        base_url: an OpenAI-compatible server.
        cache: whether repeated requests are answered from the cache in the Askback folder.
        budget: US dollars.
        prices: a price table.
        together: answers that a model on this machine writes at a time.
        decoding: options of all texts.
        extra: the server's own parameters, sent with every request.
        timeout: seconds for one answer; None for `TIMEOUT`.

    Raises:
        InputError: if the price table is missing or wrong, or the time-out is not above 0.
    """
    if timeout is not None and not 0 < timeout < float("inf"):
        raise InputError(f"--timeout {timeout}: must be a number of seconds above 0")
    if prices is not None:
        read_prices(prices)  # a mistake in it should not wait for the first model
    return ModelOptions(
        base_url=base_url,
        cache_path=home() / "cache.sqlite" if cache else None,
        budget=None if budget is None else Budget(budget),
        prices_path=prices,
        recordings=LogRecordings(log),
        together=together,
        decoding=decoding or Decoding(),
        extra=dict(extra or {}),
        timeout=TIMEOUT if timeout is None else timeout,
    )
