"""The cost of calls: a table of prices that the user can edit, a hard budget, and the layer that guards it.

The built-in table is ``prices.yaml`` beside this file; a file of the user's own (``$ASKBACK_PRICES`` or
`prices_path`) adds to it and overrides it. A model without a price costs None: unknown, not nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import deque
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, Field

from simulator.errors import InputError
from simulator.fields import Fields
from simulator.models.base import Request, ScoreRequest, Usage
from simulator.models.errors import BudgetExceeded, ModelError
from simulator.models.keys import json_schema
from simulator.models.layers import AnswerT, Backend, Layer, Send, amended
from trees import bounded

PRICES_VARIABLE = "ASKBACK_PRICES"
_BUILT_IN = Path(__file__).with_name("prices.yaml")
_SNAPSHOT = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(Fields, extra="forbid"):
    """US dollars per million tokens.

    Attributes:
        output: of the answer, hidden reasoning included.
        cached_input: of prompt tokens that the server had cached; None if they cost the same.
        up_to: the price holds for prompts of at most this many tokens; beyond it is unknown.
        as_of: the day it was looked up, ISO 8601.
    """

    input: Dollars
    output: Dollars
    cached_input: Dollars | None = None
    up_to: Annotated[int | None, Field(ge=0)] = None
    as_of: Annotated[str, BeforeValidator(str)] = ""

    @property
    def free(self) -> bool:
        """Return True if nothing is paid for, whatever is used."""
        return self.input == self.output == 0

    def cost(self, usage: Usage) -> float | None:
        """Return US dollars for `usage`; None if it cannot be known."""
        if self.free:
            return 0.0
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        if self.up_to is not None and usage.input_tokens > self.up_to:
            return None
        cached = usage.cached_input_tokens or 0
        cached_price = self.input if self.cached_input is None else self.cached_input
        fresh = usage.input_tokens - cached
        return (fresh * self.input + cached * cached_price + usage.output_tokens * self.output) / 1e6


def find_price(model: str, path: Path | None = None, *, built_in: bool = True) -> Price | None:
    """Return the price of ``provider/model``, or of the undated name if only that is listed.

    Args:
        model: its name; prices are listed by such names or by patterns (``local/*``).
        path: the user's file; by default ``$ASKBACK_PRICES``, or none.
        built_in: False to leave the built-in ones for paid APIs out (for servers of other people, where
            a model of the same name need not cost the same); free local backends stay.

    Raises:
        InputError: if the user's file is missing or wrong; names file and field.
    """
    named = os.environ.get(PRICES_VARIABLE)
    chosen = path or (Path(named) if named else None)
    table = {name: price for name, price in _built_in().items() if built_in or "*" in name}
    table |= read_prices(chosen) if chosen else {}
    for name in (model, _SNAPSHOT.sub("", model)):
        if name in table:
            return table[name]
    patterns = [pattern for pattern in table if "*" in pattern and fnmatchcase(model, pattern)]
    return table[max(patterns, key=len)] if patterns else None


def read_prices(path: Path) -> dict[str, Price]:
    """Read a price file.

    Raises:
        InputError: if it is missing or wrong; names file and field.
    """
    try:
        content = bounded.load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise InputError(f"cannot read the price table {path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"the price table {path} is not YAML: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: expected a mapping from model names to prices")
    for name, entry in content.items():
        if not isinstance(entry, dict):
            raise InputError(
                f"{path}: {name}: expected 'input' and 'output' in US dollars per million tokens"
            )
    return {str(name): Price.parse(entry, f"{path}: {name}: ") for name, entry in content.items()}


@lru_cache(maxsize=1)
def _built_in() -> dict[str, Price]:
    return read_prices(_BUILT_IN)


# Tokens a provider may add per message and per request for its chat format; generous.
_PER_MESSAGE = 16
_PER_REQUEST = 512
# Seconds after which a process looks again whether another has booked a call.
_LOOK_AGAIN = 0.05


class Budget:
    """Money that all models it is given to share; what it guards is never overspent.

    Before a call, the most it could cost is set aside; afterwards what it did cost is booked. A call that
    does not fit beside what others have set aside waits for them; one that does not fit even beside what
    is already spent raises `BudgetExceeded`. One event loop at a time.
    """

    def __init__(self, limit: float, *, spent: float = 0.0) -> None:
        """Make a budget of `limit` US dollars, of which `spent` are gone already (a resumed run)."""
        self.limit = limit
        self.spent = spent
        self.reserved = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def reserve(self, amount: float) -> None:
        """Set `amount` aside, waiting for other calls to be booked if need be.

        Raises:
            BudgetExceeded: if `amount` is more than what is not spent yet.
        """
        while True:
            self._require(amount)
            if self.spent + self.reserved + amount <= self.limit:
                self.reserved += amount
                return
            await self._wait()

    def _require(self, amount: float) -> None:
        if self.spent + amount > self.limit:
            raise BudgetExceeded(
                f"the next call may cost up to {amount:.4f} USD, and of the budget of {self.limit:.2f} "
                f"USD only {max(0.0, self.limit - self.spent):.4f} are left; raise the budget to go on"
            )

    def settle(self, reserved: float, cost: float) -> None:
        """Book `cost` for a call for which `reserved` was set aside."""
        self.reserved -= reserved
        self.spent += cost
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter


class SharedBudget(Budget):
    """A budget that several processes keep in memory that they share."""

    def __init__(self, limit: float, purse: Any) -> None:
        """Keep `limit` by `purse`, a `multiprocessing.Array` of what is spent and what is reserved."""
        super().__init__(limit)
        self._purse = purse

    async def reserve(self, amount: float) -> None:
        """Set `amount` aside, waiting for calls of any process to be booked if need be.

        Raises:
            BudgetExceeded: if `amount` is more than what is not spent yet.
        """
        while True:
            with self._purse.get_lock():
                self.spent, reserved = self._purse[:]
                self._require(amount)
                if self.spent + reserved + amount <= self.limit:
                    self._purse[1] += amount
                    return
            await asyncio.sleep(_LOOK_AGAIN)

    def settle(self, reserved: float, cost: float) -> None:
        """Book `cost` for a call for which `reserved` was set aside."""
        with self._purse.get_lock():
            self._purse[0] += cost
            self._purse[1] -= reserved


def most_tokens(request: Request | ScoreRequest) -> Usage:
    """Return what no call can exceed: a token is at least one byte of the text that is sent."""
    if isinstance(request, ScoreRequest):
        texts = [request.text + after for after in request.continuations] or [request.text]
        # Some servers insist on writing a token.
        return Usage(sum(len(text.encode()) + _PER_REQUEST for text in texts), len(texts))
    text = sum(len(message.content.encode()) + _PER_MESSAGE for message in request.messages)
    schema = json_schema(request.schema)
    read = text + _PER_REQUEST + (len(repr(schema).encode()) if schema else 0)
    return Usage(read, request.max_tokens * request.samples)


class Metered(Layer):
    """Prices answers and failures; with a budget, lets no call through that could exceed it."""

    def __init__(self, inner: Backend, price: Price | None, budget: Budget | None = None) -> None:
        """Wrap `inner`.

        Raises:
            BudgetExceeded: if there is a budget and no price to hold it against.
        """
        super().__init__(inner)
        if budget is not None and price is None:
            raise BudgetExceeded(
                f"{inner.name} has no price, so a budget cannot be kept; "
                "add it to a price file (see $ASKBACK_PRICES) or run without a budget"
            )
        self.price = price
        self.budget = None if price is not None and price.free else budget

    async def around(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Return the answer with what it cost."""
        if self.budget is None or self.price is None:
            return await self._price_answer(send)
        most = self._highest_cost(request)
        await self.budget.reserve(most)
        cost = most  # a call that breaks off in an unforeseen way may have been billed
        try:
            answer = await self._price_answer(send)
            cost = most if answer.cost is None else answer.cost
        except ModelError as error:
            cost = _cost_of_failure(error, most)
            raise
        finally:
            self.budget.settle(most, cost)
        return answer

    async def _price_answer(self, send: Send[AnswerT]) -> AnswerT:
        try:
            answer = await send()
        except ModelError as error:
            error.cost = self._cost(error.usage)
            raise
        cost = self._cost(answer.usage)
        return answer if cost == answer.cost else amended(answer, cost=cost)

    def _cost(self, usage: Usage) -> float | None:
        return None if self.price is None else self.price.cost(usage)

    def _highest_cost(self, request: Request | ScoreRequest) -> float:
        usage = most_tokens(request)
        cost = self.price.cost(usage) if self.price else None
        if cost is None:
            raise BudgetExceeded(
                f"the prompt may have {usage.input_tokens} tokens, more than the price of {self.name} holds "
                "for, so a budget cannot be kept; run without one or add the price to a price file"
            )
        return cost


def _cost_of_failure(error: ModelError, most: float) -> float:
    """Return what a failed call is held to have cost: nothing if it surely was not billed."""
    if error.cost is not None:
        return error.cost
    return most if error.maybe_billed else 0.0
