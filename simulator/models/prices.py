"""What a call costs: a table of prices that the user can edit.

The built-in table is ``prices.yaml`` beside this file; a file of the user's own (``$ASKBACK_PRICES`` or
`prices_path`) adds to it and overrides it. A model without a price costs None: unknown, not nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from simulator.errors import InputError
from simulator.models.base import Usage
from trees import bounded

PRICES_VARIABLE = "ASKBACK_PRICES"
_BUILT_IN = Path(__file__).with_name("prices.yaml")
_SNAPSHOT = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")
_FIELDS = frozenset({"input", "output", "cached_input", "up_to", "as_of"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens.

    Attributes:
        input: of the prompt.
        output: of the answer, hidden reasoning included.
        cached_input: of prompt tokens that the server had cached; None if they cost the same.
        up_to: the price holds for prompts of at most this many tokens; beyond it is unknown.
        as_of: the day it was looked up, ISO 8601.
    """

    input: float
    output: float
    cached_input: float | None = None
    up_to: int | None = None
    as_of: str = ""

    @property
    def free(self) -> bool:
        """Whether nothing is paid for, whatever is used."""
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


class Prices:
    """A price table: names or patterns (``local/*``) to prices."""

    def __init__(self, table: Mapping[str, Price]) -> None:
        self.table = dict(table)

    def find(self, model: str) -> Price | None:
        """Return the price of ``provider/model``, or of the undated name if only that is listed."""
        for name in (model, _SNAPSHOT.sub("", model)):
            if name in self.table:
                return self.table[name]
        patterns = [pattern for pattern in self.table if "*" in pattern and fnmatchcase(model, pattern)]
        return self.table[max(patterns, key=len)] if patterns else None


def load_prices(path: Path | None = None, *, built_in: bool = True) -> Prices:
    """Return the built-in prices with the user's on top.

    Args:
        path: the user's file; by default ``$ASKBACK_PRICES``, or none.
        built_in: False to leave the built-in ones for paid APIs out (for servers of other people, where
            a model of the same name need not cost the same); free local backends stay.

    Raises:
        InputError: if the user's file is missing or wrong; names file and field.
    """
    named = os.environ.get(PRICES_VARIABLE)
    chosen = path or (Path(named) if named else None)
    table = _built_in()
    if not built_in:
        table = {name: price for name, price in table.items() if "*" in name}
    return Prices({**table, **(read_prices(chosen) if chosen else {})})


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
    return {str(name): _price(path, str(name), entry) for name, entry in content.items()}


@lru_cache(maxsize=1)
def _built_in() -> dict[str, Price]:
    return read_prices(_BUILT_IN)


def _price(path: Path, name: str, entry: Any) -> Price:
    where = f"{path}: {name}"
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected 'input' and 'output' in US dollars per million tokens")
    if unknown := sorted(set(entry) - _FIELDS):
        raise InputError(f"{where}: unknown field {unknown[0]!r}; known are {', '.join(sorted(_FIELDS))}")
    numbers = {field: _number(where, field, entry.get(field)) for field in ("input", "output")}
    cached, up_to = entry.get("cached_input"), entry.get("up_to")
    return Price(
        **numbers,
        cached_input=None if cached is None else _number(where, "cached_input", cached),
        up_to=None if up_to is None else int(_number(where, "up_to", up_to)),
        as_of=str(entry.get("as_of", "")),
    )


def _number(where: str, field: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise InputError(f"{where}: {field!r} must be a number of US dollars, at least 0, not {value!r}")
    return float(value)
