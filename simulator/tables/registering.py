"""`askback data add`: files of all kinds of a benchmark, registered whole, or without their faulty rows."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console

from simulator import datasets
from simulator.datasets import Added
from simulator.errors import InputError
from simulator.jsonlines import without_lines
from simulator.tables.cells import read_table
from simulator.tables.records import without_records
from simulator.tables.spec import Tables, TableSpec, is_csv
from trees.faults import Fault

_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The registration of a benchmark's files.

    Attributes:
        kept: the kinds that are registered; all if empty.
        needed: the kind of which there must be a file; None if any will do.
        nothing: what is said where there is none.
        holds: what a copy holds, by name; numbers that are 0 are not told.
        differences: in what a copy is not as published; nothing if it need not be.
        report: what is told of a copy beside that.
    """

    benchmark: str
    tables: Tables
    nothing: str
    holds: Callable[[Path], Mapping[str, int]]
    kept: tuple[TableSpec[Any], ...] = ()
    needed: TableSpec[Any] | None = None
    differences: Callable[[Path], Sequence[str]] = lambda copy: ()
    report: Callable[[Path], Sequence[str]] = lambda copy: ()

    def register(self, path: str | Path, name: str = "", partial: bool = False) -> Added:
        """Register a file, a folder with such files, or a zip of one; `Benchmark.register`.

        `partial`: leave out faulty rows, and accept what is not as published.

        Raises:
            InputError: if nothing is there, rows are faulty, or data are not as published.
        """
        path, source, single = source_of(path)
        left_out: dict[str, int] = {}

        def select(folder: Path, good: Path) -> Mapping[str, Path]:
            files = [
                file
                for file in self.tables.find(single or folder)
                if not self.kept or (self.tables.kind_of(file) or self.tables.main) in self.kept
            ]
            faults = self._errors(files)
            if faults and not partial:
                raise InputError(_refusal(path, folder, faults))
            chosen = {file.relative_to(folder).as_posix(): file for file in files}
            if faults:
                chosen, dropped = self._good_rows(chosen, good)
                left_out.update(dropped)
            kinds = [self.tables.kind_of(file) for file in chosen.values()]
            if not kinds or (self.needed is not None and self.needed not in kinds):
                raise InputError(f"{path}: {self.nothing}")
            return chosen

        def check(copy: Path) -> Mapping[str, int]:
            if single is None and not partial:
                refuse_unpublished(path, self.differences(copy))
            rows = {**self.holds(copy), **left_out}
            return {title: count for title, count in rows.items() if count}

        with TemporaryDirectory() as good:
            added = datasets.add(
                name or self.benchmark,
                self.benchmark,
                source,
                lambda folder: select(folder, Path(good)),
                check,
            )
        return replace(added, report=self.report(added.dataset.folder))

    def _errors(self, files: Sequence[Path]) -> list[Fault]:
        return [fault for fault in self.tables.check(files, one_set=True) if fault.severity == "error"]

    def _good_rows(self, files: Mapping[str, Path], folder: Path) -> tuple[dict[str, Path], dict[str, int]]:
        """Return copies of files without their faulty rows, and how much was left out.

        A file with a fault that is not in a row is left out whole, and so is one in which no row is left.
        """
        copies = {name: folder / name for name in files}
        for name, file in files.items():
            copies[name].parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copies[name])
        rows = 0
        # A row that is left out of one file may have been the one that another contradicts.
        while faults := self._errors(tuple(copies.values())):
            lines: defaultdict[str, set[int]] = defaultdict(set)
            for fault in faults:
                lines[fault.file].add(fault.line)
            for name, copy in tuple(copies.items()):
                bad = lines[str(copy)]
                rows += 0 if 0 in bad else len(bad)
                if 0 in bad or (bad and not _leave_out(copy, bad)):
                    del copies[name]
        return copies, {"rows left out": rows, "files left out": len(files) - len(copies)}


def source_of(path: str | Path) -> tuple[Path, Path, Path | None]:
    """Return a path in full, the folder or zip to take files from, and the file if it is one."""
    path = Path(path).expanduser().absolute()
    single = path if path.suffix.lower() != ".zip" and path.is_file() else None
    return path, path if single is None else path.parent, single


def say_added(added: Added) -> None:
    """Print what was registered, and what is to be told of it."""
    dataset = added.dataset
    holds = ", ".join(f"{key} {value}" for key, value in dataset.details.items())
    registered = f"Registered as {dataset.name!r} in {dataset.folder}"
    outcome = registered if added.changed else f"{dataset.name!r} has not changed"
    for line in (f"{outcome}: {holds}.", *added.report):
        Console().print(line, highlight=False, markup=False, soft_wrap=True)


def refuse_unpublished(path: str | Path, differences: Sequence[str]) -> None:
    """Raise an error that tells in what data are not the published ones, if they differ.

    Raises:
        InputError: if there is a difference.
    """
    if differences:
        raise InputError(
            f"{path}: not the published data: {'; '.join(differences)} (to take them all the same: --partial)"
        )


def refuse_faulty(path: str | Path, faults: Sequence[Fault], folder: Path) -> None:
    """Raise an error that tells the first of some faults, if there are any.

    Raises:
        InputError: if there is a fault.
    """
    if faults:
        raise InputError(
            f"{path}: {len(faults)} faults, the first in {_place(faults[0], folder)}: {faults[0].message}; "
            f"`askback check {path}` lists them all"
        )


def _refusal(path: Path, folder: Path, faults: Sequence[Fault]) -> str:
    lines = [f"{path}: {len(faults)} fault{'s' * (len(faults) > 1)} (to leave such rows out: --partial)"]
    for fault in faults[:_NAMED]:
        row = f"row {fault.task}: " if fault.task else ""
        lines.append(f"  {_place(fault, folder)}: {row}{fault.message}")
    if len(faults) > _NAMED:
        lines.append("  … `askback check` on the folder lists them all")
    return "\n".join(lines)


def _place(fault: Fault, folder: Path) -> str:
    return Path(fault.file).relative_to(folder).as_posix() + (f":{fault.line}" if fault.line else "")


def _leave_out(copy: Path, first: Collection[int]) -> bool:
    """Leave rows out of a file, named by their first lines; return True if any is left."""
    if not is_csv(copy):
        return without_records(copy, first)
    spans = read_table(copy).spans
    without_lines(copy, {line for start in first for line in range(start, spans.get(start, start) + 1)})
    return len(spans.keys() - set(first)) > 0
