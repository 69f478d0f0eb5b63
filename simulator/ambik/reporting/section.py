"""What is told of one thing: a heading, tables, remarks; for a terminal, and as JSON, CSV and LaTeX files."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from simulator.ambik.cautions import Caution
from simulator.errors import InputError
from simulator.figures import Table
from simulator.stats import Interval
from simulator.whole import write_whole
from trees.faults import Fault

_FAULTS: Final = 50


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


def json_text(value: Any) -> str:
    """JSON as it is printed and written."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=1)


def sections_json(sections: Iterable[Section]) -> dict[str, Any]:
    """Sections by kind, those of files by name below it."""
    found: dict[str, Any] = {}
    for one in sections:
        if one.name:
            found.setdefault(one.kind, {})[one.name] = one.to_json()
        else:
            found[one.kind] = one.to_json()
    return found


def print_section(console: Console, section: Section) -> None:
    """Heading, what it was read from, tables, remarks."""
    console.print(Text(section.title, "bold"), soft_wrap=True)
    if section.rows is not None:
        left = f", {section.left_out} left out as faulty" if section.left_out else ""
        of = f" of {', '.join(section.files)}" if section.files else ""
        _say(console, f"{section.rows} rows{of}{left}", "dim")
    for table in section.tables.values():
        console.print()
        console.print(table.to_text())
    if section.remarks and section.tables:
        console.print()
    for line in section.remarks:
        _say(console, f"· {line}")
    console.print()


def write_out(folder: Path, sections: Iterable[Section]) -> list[Path]:
    """Write ``report.json``, and each table as CSV with every digit and as LaTeX.

    Raises:
        InputError: if a file cannot be written.
    """
    every = tuple(sections)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: is a file; name a folder")
    written = [write_text(folder / "report.json", json_text(sections_json(every)) + "\n")]
    for one in every:
        for name, table in (*one.tables.items(), *one.exact.items()):
            stem = "-".join(map(safe, filter(None, (one.kind, one.name, name))))
            written += [
                write_text(folder / f"{stem}.csv", table.to_csv()),
                write_text(folder / f"{stem}.tex", table.to_latex()),
            ]
    return written


def write_text(path: Path, text: str) -> Path:
    """Write a text; missing folders are made, and the file is there whole or not at all.

    Raises:
        InputError: if it cannot be written.
    """
    return write_whole(path, text.encode())


def safe(name: str) -> str:
    """A name fit for a file."""
    return "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in name).strip("-.") or "run"


def fault_text(one: Fault) -> str:
    """File, line, row and field of a fault."""
    where = f"{one.file}:{one.line}" if one.line else one.file
    return f"{where}: {f'row {one.task}: ' if one.task else ''}{one.message}"


def tell_problems(
    faults: Sequence[Fault],
    unreadable: Sequence[str],
    passed_over: Sequence[Path] = (),
    written: Iterable[object] = (),
) -> None:
    """What is not of the results goes to the other stream, so that those can be read by programs."""
    console = Console(stderr=True)
    for path in written:
        _say(console, f"wrote {path}")
    for path in passed_over:
        _say(console, f"{path}: none of AmbiK's files; passed over", "dim")
    left_out = [one for one in faults if one.severity != "warning"]
    warned = [one for one in faults if one.severity == "warning"]
    for title, some in (("faults; the rows are left out", left_out), ("warnings", warned)):
        if some:
            _say(console, f"{len(some)} {title}:")
        for fault in some[:_FAULTS]:
            _say(console, f"  {fault_text(fault)}", "yellow")
        if len(some) > _FAULTS:
            _say(console, f"  … and {len(some) - _FAULTS} more (--json has them all)", "yellow")
    for reason in unreadable:
        _say(console, reason, "red")


def interval_text(value: Interval | None) -> str:
    """``0.53 [0.48, 0.58]``; a dash for None."""
    return "–" if value is None else f"{value.value:.2f} [{value.low:.2f}, {value.high:.2f}]"


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style), highlight=False, soft_wrap=True)
