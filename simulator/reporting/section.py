"""What a report is made of."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from logs.query import ModelUsage
from simulator.figures import Figure, Table
from trees.faults import Fault

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")
_NAMED: Final = 4  # files that a remark names


class Drawing(Protocol):
    """A picture that no `Figure` describes, such as a Venn diagram: it draws itself."""

    @property
    def name(self) -> str:
        """Fit for a file name."""

    @property
    def title(self) -> str:
        """Return what it shows."""

    @property
    def caption(self) -> str:
        """Return how to read it."""

    def svg(self) -> str:
        """Return it as an SVG element for a page."""

    def save(self, path: Path) -> Path:
        """Write it as ``.svg``, ``.png`` or ``.csv``, by the path's suffix."""

    def plain(self) -> Mapping[str, Any]:
        """Return its numbers as plain values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Tables and figures that belong together, with remarks on how to read them.

    Attributes:
        name: of its files; lower case letters, digits, ``_`` and ``-`` (`slug`).
        tables: in order; their titles become captions.
        exact: further tables, which are written and not shown.
        figures: in order.
        text: that stands below the tables, line by line as it is.
        data: for programs, what no table holds: more digits, what is behind a number.
    """

    name: str
    title: str
    tables: Sequence[Table] = ()
    exact: Sequence[Table] = ()
    figures: Sequence[Figure | Drawing] = ()
    text: str = ""
    remarks: Sequence[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"a section is named by lower case letters, digits, '_' and '-', not {self.name!r}"
            )

    def named_tables(self) -> Iterator[tuple[str, Table]]:
        """Yield each table with the name of its files: the section's, and its own name or number."""
        tables = (*self.tables, *self.exact)
        for number, table in enumerate(tables, start=1):
            own = table.name or (str(number) if len(tables) > 1 else "")
            yield "-".join(filter(None, (self.name, own))), table


@dataclass(slots=True)
class Problems:
    """The faults of the files that a report was asked of.

    Attributes:
        faults: of rows that were left out; warnings among them.
        unreadable: files that could not be read at all, with the reason.
        passed_over: files in folders that are none of the benchmark's.
        unexpected: what else makes the command end with status 1, a sentence each.
    """

    faults: list[Fault | str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    passed_over: list[Path] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEndings:
    """The endings of the runs' episodes.

    Attributes:
        statuses: how many ended how; ``open`` for those that have not, ``erased`` for those of people who
            have withdrawn, which count nowhere else.
        failures: why episodes failed -> how many did, the most frequent first.
        aborted: why seats failed -> how many episodes that aborted; they count as unsuccessful.
        excluded: whether these are left out instead.
        uncounted: those of them that are in none of the figures.
        left: why people left episodes -> how many they left.
    """

    statuses: Mapping[str, int]
    failures: Mapping[str, int]
    aborted: Mapping[str, int] = field(default_factory=dict)
    excluded: bool = False
    uncounted: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)
    usage: Sequence[ModelUsage] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Sections under one heading.

    Attributes:
        sections: in order; each has a name of its own.
        endings: of their episodes; None where no run is reported.
        problems: with the files that are reported.
    """

    title: str
    sections: Sequence[Section]
    warnings: Sequence[str] = ()
    runs: Sequence[str] = ()
    endings: RunEndings | None = None
    problems: Problems = field(default_factory=Problems)

    def __post_init__(self) -> None:
        names = [section.name for section in self.sections]
        if len(set(names)) < len(names):
            raise ValueError(f"two sections of a report have one name: {', '.join(names)}")

    def section(self, name: str) -> Section:
        """Return the section called `name`.

        Raises:
            KeyError: if there is none.
        """
        return {section.name: section for section in self.sections}[name]


def numbered(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Return sections of which each has a name of its own: the second of a name gets a number, and so on."""
    seen: Counter[str] = Counter()
    apart = []
    for section in sections:
        seen[section.name] += 1
        count = seen[section.name]
        apart.append(section if count == 1 else replace(section, name=f"{section.name}-{count}"))
    return tuple(apart)


def slug(text: str) -> str:
    """Return a text as a section can be named: what else is in it becomes hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"


def file_section(
    kind: str, name: str, *, files: Sequence[str], rows: int, left_out: int = 0, **parts: Any
) -> Section:
    """Return the section on what files hold."""
    named = ", ".join(files) if len(files) <= _NAMED else f"{len(files)} files"
    source = f" of {named}" if files else ""
    faulty = f", {left_out} left out as faulty" if left_out else ""
    parts["remarks"] = (f"{rows} rows{source}{faulty}", *parts.get("remarks", ()))
    parts["data"] = {"files": list(files), "rows": rows, "left_out": left_out, **parts.get("data", {})}
    return Section(name=re.sub(r"[^a-z0-9_]+", "-", f"{kind}-{name}".lower()), **parts)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: records as objects, infinity as ``inf``, what is no number as null.

    An object that has a method ``plain`` says itself what it is in JSON.
    """
    if callable(own := getattr(value, "plain", None)) and not isinstance(value, type):
        return plain(own())
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
