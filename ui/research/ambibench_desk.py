"""Reports, figures and files of AmbiBench's runs, made once for each state of the log.

Reading and scoring the trials of several runs takes seconds where they are many, and so does drawing for
print; whoever asks for the same again, or for the next figure of the same runs, does not wait for it.
"""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from logs import LogReader
from simulator.ambibench.reporting.figures import FIGURES, Drawn
from simulator.ambibench.reporting.report import Results, read_results
from simulator.ambibench.reporting.tables import named_tables
from simulator.ambibench.score import MODES, TIES, Mode, Tie
from simulator.errors import InputError
from simulator.figures import Figure, save
from ui.research.address import Address

SUFFIXES: Final = ("png", "svg", "csv")
FORMS: Final = ("csv", "latex")
# A report holds every trial; what is made of it is small.
_KEPT: Final = {"report": 4, "tables": 4, "drawn": 64, "printed": 64}
_GROWING: Final = ("turns", "endings", "judgments")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """What is to be reported.

    Attributes:
        runs: names of runs.
        mode: how tables of probabilities are read; None: as each run says.
        tie: what a tie counts, likewise.
        labels: actors with what they are to be called.
    """

    runs: tuple[str, ...]
    mode: Mode | None = None
    tie: Tie | None = None
    labels: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, at: Address) -> ReportRequest:
        """Return what an address asks for.

        Raises:
            InputError: if a rule is none of those that there are.
        """
        runs = at.runs or ((at.run,) if at.run else ())
        labels = tuple((actor, label.strip()) for actor, label in at.labels if label.strip())
        return cls(runs, _one_of("mode", at.mode, MODES), _one_of("tie", at.tie, TIES), labels)


class Reports:
    """Makes what is asked for, or gives what it has made; may be used from any thread."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader
        self._lock = threading.Lock()
        self._busy: dict[Hashable, threading.Lock] = {}
        self._kept: dict[str, OrderedDict[Hashable, Any]] = {kind: OrderedDict() for kind in _KEPT}

    def report(self, wish: ReportRequest) -> Results:
        """Return the report of some runs.

        Raises:
            InputError: if one is of another benchmark.
            NotInLog: if there is no such run.
        """
        reader = self.reader

        def make() -> Results:
            return read_results(reader, wish.runs, mode=wish.mode, tie=wish.tie, labels=dict(wish.labels))

        return self._once("report", (wish, self._state(wish)), make)

    def drawn(self, wish: ReportRequest, number: str) -> Drawn:
        """Return a figure of the paper, or what it lacks.

        Raises:
            InputError: if there is no such figure, and as `report`.
        """
        if number not in FIGURES:
            raise InputError(
                f"There is no figure {number!r}; there are {', '.join(FIGURES)}.",
                code="no_choice",
                value=number,
            )
        key = (wish, number, self._state(wish))
        return self._once("drawn", key, lambda: FIGURES[number](self.report(wish).frame))

    def printed(self, figure: Figure, suffix: str) -> bytes:
        """Return a figure as a file: ``png``, ``svg`` or ``csv``."""
        if suffix not in SUFFIXES:
            raise InputError(f"Figures are written as {', '.join(SUFFIXES)}.")

        def make() -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                return save(figure, Path(folder) / f"{figure.name}.{suffix}").read_bytes()

        return self._once("printed", (figure, suffix), make)

    def table(self, wish: ReportRequest, name: str, form: str) -> str:
        """Return a table of results as CSV or LaTeX.

        Raises:
            InputError: if there is no such table, and as `report`.
        """
        report = self.report(wish)
        key = (wish, self._state(wish))
        there = self._once("tables", key, lambda: named_tables(report.frame, report.agreements))
        if name not in there or form not in FORMS:
            raise InputError(f"There is no table {name!r} of these runs; there are {', '.join(there)}.")
        table = there[name]
        return table.to_csv() if form == "csv" else table.to_latex()

    def _once(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` makes; asked for twice at once, the second waits for the first."""
        kept = self._kept[kind]
        with self._lock:
            if key in kept:
                kept.move_to_end(key)
                return kept[key]  # type: ignore[no-any-return]
            busy = self._busy.setdefault((kind, key), threading.Lock())
        with busy:
            with self._lock:
                if key in kept:
                    return kept[key]  # type: ignore[no-any-return]
            made = make()
            with self._lock:
                kept[key] = made
                self._busy.pop((kind, key), None)
                while len(kept) > _KEPT[kind]:
                    kept.popitem(last=False)
            return made

    def _state(self, wish: ReportRequest) -> tuple[tuple[int, ...], ...]:
        of_run = "episode_id IN (SELECT id FROM episodes WHERE run_id = :run)"
        counts = ", ".join(f"(SELECT count(*) FROM {name} WHERE {of_run})" for name in _GROWING)
        query = f"SELECT (SELECT count(*) FROM episodes WHERE run_id = :run), {counts}"
        with self.reader.connection() as connection:
            return tuple(tuple(connection.execute(query, {"run": run}).fetchone()) for run in wish.runs)


def _one_of(name: str, value: str, allowed: tuple[T, ...]) -> T | None:
    if not value:
        return None
    for choice in allowed:
        if choice == value:
            return choice
    raise InputError(
        f"{name} {value!r}: must be one of {', '.join(map(str, allowed))}", code="no_choice", value=value
    )
