"""The parts of a report: sections, the endings of its runs, problems with its files."""

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
_MAX_NAMED: Final = 4  # files listed by name in a remark


class Drawing(Protocol):
    """A picture that cannot be described by a `Figure`, such as a Venn diagram, and draws itself."""

    @property
    def name(self) -> str:
        """The stem of its file names."""

    @property
    def title(self) -> str:
        """The title, also its alternative text."""

    @property
    def caption(self) -> str:
        """The caption."""

    def svg(self) -> str:
        """Return the picture as an SVG element for a page."""

    def save(self, path: Path) -> Path:
        """Write the picture as ``.svg``, ``.png`` or ``.csv``, by the path's suffix, and return the path."""

    def plain(self) -> Mapping[str, Any]:
        """Return the numbers in the picture as plain values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Tables and figures that belong together, with remarks on how to read them.

    Attributes:
        name: stem of its file names: lower case letters, digits, ``_`` and ``-`` (`slug`).
        tables: in order; their titles become captions.
        exact: further tables, which are written to files but not shown.
        text: preformatted text below the tables.
        data: details for programs that are in no table, such as exact values and their inputs.
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
                f"the name of a section has lower case letters, digits, '_' and '-' only, not {self.name!r}"
            )

    def named_tables(self) -> Iterator[tuple[str, Table]]:
        """Yield each table with its file stem: the section's name followed by the table's name or number."""
        tables = (*self.tables, *self.exact)
        for number, table in enumerate(tables, start=1):
            suffix = table.name or (str(number) if len(tables) > 1 else "")
            yield "-".join(filter(None, (self.name, suffix))), table


@dataclass(slots=True)
class Problems:
    """Problems met while making a report.

    Attributes:
        faults: faulty rows, which were left out, and warnings.
        unreadable: files that could not be read at all, with the reason.
        passed_over: files in the folders that do not belong to the benchmark.
        unexpected: other failures, one sentence each; they make the command exit with status 1.
    """

    faults: list[Fault | str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    passed_over: list[Path] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEndings:
    """The endings of the episodes of a report's runs.

    Attributes:
        statuses: status -> number of episodes; ``open`` for those not ended, ``erased`` for those of
            participants who withdrew, which are counted nowhere else.
        failures: reason -> number of failed episodes, most frequent first.
        aborted: reason -> number of episodes aborted by a failing seat; they count as unsuccessful.
        excluded: whether aborted episodes are left out instead.
        uncounted: like `aborted`, but only episodes that enter no number of the report.
        left: reason -> number of episodes that people left.
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
    """Sections under one title.

    Attributes:
        sections: in order, with distinct names.
        endings: how the episodes of `runs` ended; None if the report is of files only.
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
            raise ValueError(f"two sections of a report have the same name: {', '.join(names)}")

    def section(self, name: str) -> Section:
        """Return the section called `name`.

        Raises:
            KeyError: if there is no such section.
        """
        return {section.name: section for section in self.sections}[name]


def renumber(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Return sections with distinct names: the second ``NAME`` becomes ``NAME-2``, and so on."""
    counts: Counter[str] = Counter()
    distinct = []
    for section in sections:
        counts[section.name] += 1
        count = counts[section.name]
        distinct.append(section if count == 1 else replace(section, name=f"{section.name}-{count}"))
    return tuple(distinct)


def slug(text: str) -> str:
    """Return a text as the name of a section: lower case, with hyphens for all but letters and digits."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"


def file_section(
    kind: str, name: str, *, files: Sequence[str], rows: int, left_out: int = 0, **parts: Any
) -> Section:
    """Return a section on files, with a remark and data on how many rows were read and left out."""
    named = ", ".join(files) if len(files) <= _MAX_NAMED else f"{len(files)} files"
    source = f" of {named}" if files else ""
    faulty = f", {left_out} left out as faulty" if left_out else ""
    parts["remarks"] = (f"{rows} rows{source}{faulty}", *parts.get("remarks", ()))
    parts["data"] = {"files": list(files), "rows": rows, "left_out": left_out, **parts.get("data", {})}
    return Section(name=re.sub(r"[^a-z0-9_]+", "-", f"{kind}-{name}".lower()), **parts)


def plain_values(value: Any) -> Any:
    """Return a value as plain JSON data: records as objects, infinity as ``inf``, NaN as null.

    An object with a method ``plain`` is replaced by the method's result.
    """
    if callable(method := getattr(value, "plain", None)) and not isinstance(value, type):
        return plain_values(method())
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain_values(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain_values(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain_values(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain_values(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
