"""The cost of calls: an editable price table, a hard budget, and the layer that guards it.

The built-in table is ``prices.yaml`` next to this file; the user's own file (``$ASKBACK_PRICES`` or
`prices_path`) extends and overrides it. The cost of a model without a price is None: unknown, not zero.
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
from simulator.models.layers import AnswerT, Backend, Layer, Send, amend
from trees import bounded

PRICES_VARIABLE = "ASKBACK_PRICES"
_BUILT_IN = Path(__file__).with_name("prices.yaml")
_SNAPSHOT = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(Fields, extra="forbid"):
    """US dollars per million tokens.

    Attributes:
        input: price of prompt tokens.
        output: price of answer tokens, hidden reasoning included.
        cached_input: price of prompt tokens that the server had cached; None if they cost the same.
        up_to: longest prompt, in tokens, that the price applies to; the price is unknown beyond it.
        as_of: the day the price was looked up, ISO 8601.
    """

    input: Dollars
    output: Dollars
    cached_input: Dollars | None = None
    up_to: Annotated[int | None, Field(ge=0)] = None
    as_of: Annotated[str, BeforeValidator(str)] = ""

    @property
    def free(self) -> bool:
        """Return True if nothing is ever charged."""
        return self.input == self.output == 0

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of `usage` in US dollars; None if it is unknown."""
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
    """Return the price of ``provider/model``, or of its undated name if only that is listed.

    Args:
        model: its name; prices are listed under names or patterns (``local/*``).
        path: the user's file; by default ``$ASKBACK_PRICES``, if set.
        built_in: False to omit the built-in prices of paid APIs (for other servers, where a model of the
            same name may cost something else); free local backends stay.

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


# Generous bounds of the tokens that a provider's chat format adds per message and per request.
_PER_MESSAGE = 16
_PER_REQUEST = 512
# Seconds after which a process checks again whether another has settled a call.
_LOOK_AGAIN = 0.05


class Budget:
    """A spending limit shared by several models, which is never exceeded.

    A call reserves the most it could cost, and afterwards settles what it did cost. A call that does not
    fit next to other reservations waits for them; one that does not fit into what is left unspent raises
    `BudgetExceeded`. For one event loop at a time.
    """

    def __init__(self, limit: float, *, spent: float = 0.0) -> None:
        """Make a budget of `limit` US dollars, of which `spent` are already spent (in a resumed run)."""
        self.limit = limit
        self.spent = spent
        self.reserved = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def reserve(self, amount: float) -> None:
        """Reserve `amount`, waiting for other calls to settle if necessary.

        Raises:
            BudgetExceeded: if `amount` is more than what is left unspent.
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
                f"the next call may cost up to {amount:.4f} USD, but of the budget of {self.limit:.2f} USD "
                f"only {max(0.0, self.limit - self.spent):.4f} USD are left; raise the budget to continue"
            )

    def settle(self, reserved: float, cost: float) -> None:
        """Replace the reservation of a call with its actual cost."""
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
    """A budget that several processes keep in shared memory."""

    def __init__(self, limit: float, purse: Any) -> None:
        """Guard `limit` with `purse`, a `multiprocessing.Array` of (spent, reserved) US dollars."""
        super().__init__(limit)
        self._purse = purse

    async def reserve(self, amount: float) -> None:
        """Reserve `amount`, waiting for calls of any process to settle if necessary.

        Raises:
            BudgetExceeded: if `amount` is more than what is left unspent.
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
        """Replace the reservation of a call with its actual cost."""
        with self._purse.get_lock():
            self._purse[0] += cost
            self._purse[1] -= reserved


def most_tokens(request: Request | ScoreRequest) -> Usage:
    """Return an upper bound of a call's usage: a token is at least one byte of the text sent."""
    if isinstance(request, ScoreRequest):
        texts = [request.text + after for after in request.continuations] or [request.text]
        # Some servers always generate a token.
        return Usage(sum(len(text.encode()) + _PER_REQUEST for text in texts), len(texts))
    text = sum(len(message.content.encode()) + _PER_MESSAGE for message in request.messages)
    schema = json_schema(request.schema)
    read = text + _PER_REQUEST + (len(repr(schema).encode()) if schema else 0)
    return Usage(read, request.max_tokens * request.samples)


class Metered(Layer):
    """Prices answers and failures; with a budget, blocks calls that could exceed it."""

    def __init__(self, inner: Backend, price: Price | None, budget: Budget | None = None) -> None:
        """Wrap `inner`.

        Raises:
            BudgetExceeded: if there is a budget but no price.
        """
        super().__init__(inner)
        if budget is not None and price is None:
            raise BudgetExceeded(
                f"{inner.name} has no price, so a budget cannot be enforced; "
                "add it to a price file (see $ASKBACK_PRICES) or run without a budget"
            )
        self.price = price
        self.budget = None if price is not None and price.free else budget

    async def intercept(self, request: Request | ScoreRequest, send: Send[AnswerT]) -> AnswerT:
        """Return the answer with its cost."""
        if self.budget is None or self.price is None:
            return await self._price_answer(send)
        most = self._highest_cost(request)
        await self.budget.reserve(most)
        cost = most  # a call that fails unexpectedly may have been billed
        try:
            answer = await self._price_answer(send)
            cost = most if answer.cost is None else answer.cost
        except ModelError as error:
            cost = most if error.cost is None else error.cost
            raise
        finally:
            self.budget.settle(most, cost)
        return answer

    async def _price_answer(self, send: Send[AnswerT]) -> AnswerT:
        try:
            answer = await send()
        except ModelError as error:
            cost = self._cost(error.usage)
            error.cost = error.cost if cost is None else cost
            raise
        cost = self._cost(answer.usage)
        return answer if cost == answer.cost else amend(answer, cost=cost)

    def _cost(self, usage: Usage) -> float | None:
        return None if self.price is None else self.price.cost(usage)

    def _highest_cost(self, request: Request | ScoreRequest) -> float:
        usage = most_tokens(request)
        cost = self.price.cost(usage) if self.price else None
        if cost is None:
            raise BudgetExceeded(
                f"the prompt may have {usage.input_tokens} tokens, beyond the known price of {self.name}, "
                "so a budget cannot be enforced; run without one, or add the price to a price file"
            )
        return cost
