"""Numbers of files that are fractions or probabilities (spec 10, 11)."""

from __future__ import annotations

from simulator.jsonlines import Row


def share(row: Row, name: str, *, slack: float = 0.0) -> float:
    """Return a number from 0 to 1; `slack` above is taken as it is.

    Raises:
        FieldError: if it is no such number.
    """
    value = row.number(name)
    if not 0 <= value <= 1 + slack:
        raise row.wrong(name, f"is {value}, not a fraction from 0 to 1")
    return value
