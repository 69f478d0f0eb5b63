"""What is told of one thing: a heading, tables, remarks, and data for JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from simulator.ambik.cautions import Caution
from simulator.figures import Table
from simulator.stats import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What is told of one file, or of several results side by side.

    Attributes:
        kind: of what is told.
        name: the file's, different within a kind; empty where there is one section of a kind.
        title: the heading.
        files: what it was read from.
        rows: that were read; None where rows are no matter.
        left_out: rows that could not be.
        tables: by name.
        exact: further tables by name, which are written and not shown.
        remarks: what else deserves a look, a sentence each.
        data: for JSON, with every digit.
    """

    kind: str
    name: str
    title: str
    files: tuple[str, ...] = ()
    rows: int | None = None
    left_out: int = 0
    tables: Mapping[str, Table] = field(default_factory=dict)
    exact: Mapping[str, Table] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The section as a JSON object."""
        read = {} if self.rows is None else {"rows": self.rows, "left_out": self.left_out}
        head = {"title": self.title, "files": list(self.files), **read}
        told = plain(self.data) if self.name else {"results": plain(self.data)}
        return {**head, **told, "remarks": list(self.remarks)}


def named_apart(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Sections of one kind and name get a number."""
    seen: Counter[tuple[str, str]] = Counter()
    made = []
    for one in sections:
        if not one.name:
            made.append(one)
            continue
        seen[one.kind, one.name] += 1
        count = seen[one.kind, one.name]
        made.append(replace(one, name=f"{one.name} ({count})") if count > 1 else one)
    return tuple(made)


def plain(value: Any) -> Any:
    """A value as JSON can hold it: intervals as objects, cautions as sentences, infinity as ``inf``."""
    if isinstance(value, Caution):
        return str(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(one) for name, one in value._asdict().items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def interval_text(value: Interval | None) -> str:
    """``0.53 [0.48, 0.58]``; a dash for None."""
    return "–" if value is None else f"{value.value:.2f} [{value.low:.2f}, {value.high:.2f}]"
