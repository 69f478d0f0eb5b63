"""What a call costs: a table of prices that the user can edit.

The built-in table is ``prices.yaml`` beside this file; a file of the user's own (``$ASKBACK_PRICES`` or
`prices_path`) adds to it and overrides it. A model without a price costs None: unknown, not nothing.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BeforeValidator, Field

from simulator.errors import InputError
from simulator.fields import Fields
from simulator.models.base import Usage
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
