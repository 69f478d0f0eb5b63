"""Rows of the table to which every benchmark adds its measurements."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rich.console import Console
from rich.table import Table

from simulator.runner.options import tune_collector


@dataclass(frozen=True, kw_only=True)
class Row:
    """A piece of work, what it takes us, and what it takes somebody else in the same run.

    Attributes:
        ours: in `unit`.
        peer: who else did it, or what is the least that it can take.
        theirs: in `unit`; None where there is nobody.
        goal: of `ours`, or of the ratio where `goal_of` says so; None where there is none.
        more: whether more is better (a share of right answers, a rate); less otherwise.
        remark: whatever else belongs to the figure.
    """

    work: str
    ours: float
    unit: str
    peer: str = ""
    theirs: float | None = None
    goal: float | None = None
    goal_of: Literal["ours", "ratio"] = "ours"
    more: bool = False
    remark: str = ""

    @property
    def ratio(self) -> float | None:
        """Return ours by theirs."""
        return self.ours / self.theirs if self.theirs else None

    @property
    def met(self) -> bool | None:
        """Return whether the goal is reached; None where there is none."""
        value = self.ours if self.goal_of == "ours" else self.ratio
        if self.goal is None or value is None:
            return None
        return value >= self.goal if self.more else value <= self.goal


def best(work: Callable[[], object], rounds: int = 3) -> float:
    """Return seconds of CPU of the fastest of a few rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


_TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A process's parent, and its CPU in milliseconds."""

    parent: int
    cpu: float

    @classmethod
    def read(cls, id: int | str) -> Process:
        """Read Linux's figures of a process.

        Raises:
            OSError: if it has ended.
        """
        fields = Path(f"/proc/{id}/stat").read_text().rpartition(")")[2].split()
        return cls(int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS * 1e3)


def machine() -> dict[str, Any]:
    """Return what the figures were measured on, and when."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": _processor(),
        "cores": cores,
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


COLUMNS = ("work", "peer or floor", "theirs", "ours", "ratio", "goal", "kept")


def cells(row: Row) -> tuple[str, ...]:
    """Return a row as text, in the order of `COLUMNS`."""
    sign = "≥" if row.more else "≤"
    prefix = "ratio " if row.goal_of == "ratio" else ""
    unit = "" if row.goal_of == "ratio" else f" {row.unit}".rstrip()
    return (
        row.work,
        row.peer,
        "" if row.theirs is None else f"{_number(row.theirs)} {row.unit}".rstrip(),
        f"{_number(row.ours)} {row.unit}".rstrip() + (f" ({row.remark})" if row.remark else ""),
        "" if row.ratio is None else _number(row.ratio),
        "" if row.goal is None else f"{prefix}{sign} {row.goal:g}{unit}",
        {None: "", True: "yes", False: "NO"}[row.met],
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(rows: Iterable[Row]) -> Table:
    """Return rows as a table for the terminal."""
    made = Table(*COLUMNS)
    for row in rows:
        made.add_row(*(cell.replace("[", "\\[") for cell in cells(row)))
    return made


def markdown(rows: Iterable[Row]) -> str:
    """Return rows as a table of a page."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_json(rows: Iterable[Row]) -> str:
    """Return machine and rows as JSON, ratios included."""
    listed = [{**asdict(row), "ratio": row.ratio, "kept": row.met} for row in rows]
    return json.dumps({"machine": machine(), "rows": listed}, ensure_ascii=False, indent=1)


def main(rows: Callable[[], Iterable[Row]]) -> None:
    """Measure and print one benchmark by itself; the exit status is 1 if a goal is missed."""
    tune_collector()  # as the commands do
    measured: Sequence[Row] = tuple(rows())
    Console(width=None if sys.stdout.isatty() else 160).print(table(measured))
    sys.exit(int(any(row.met is False for row in measured)))
