"""Registration of a benchmark's files (`askback data add`), with or without their faulty rows."""

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

_MAX_FAULTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The registration of a benchmark's files.

    Attributes:
        kinds: the kinds to register; all if empty.
        required_kind: the kind that at least one file must be of; None for any kind.
        missing_message: error message if there is no such file.
        count_contents: returns the counts of a copy's contents, by name; counts of 0 are not shown.
        differences: returns how a copy differs from the published data; by default anything is accepted.
        report: returns further remarks on a copy.
    """

    benchmark: str
    tables: Tables
    missing_message: str
    count_contents: Callable[[Path], Mapping[str, int]]
    kinds: tuple[TableSpec[Any], ...] = ()
    required_kind: TableSpec[Any] | None = None
    differences: Callable[[Path], Sequence[str]] = lambda copy: ()
    report: Callable[[Path], Sequence[str]] = lambda copy: ()

    def register(self, path: str | Path, name: str = "", partial: bool = False) -> Added:
        """Register a file, a folder of files, or a zipped folder, as `Benchmark.register` does.

        `partial`: leave out faulty rows, and accept data that differ from the published ones.

        Raises:
            InputError: if there are no such files, rows are faulty, or data differ from the published ones.
        """
        path, source, single = source_of(path)
        omitted: dict[str, int] = {}

        def select(folder: Path, good: Path) -> Mapping[str, Path]:
            files = [
                file
                for file in self.tables.find(single or folder)
                if not self.kinds or (self.tables.kind_of(file) or self.tables.main) in self.kinds
            ]
            faults = self._errors(files)
            if faults and not partial:
                raise InputError(_refusal(path, folder, faults))
            chosen = {file.relative_to(folder).as_posix(): file for file in files}
            if faults:
                chosen, counts = self._good_rows(chosen, good)
                omitted.update(counts)
            kinds = [self.tables.kind_of(file) for file in chosen.values()]
            if not kinds or (self.required_kind is not None and self.required_kind not in kinds):
                raise InputError(f"{path}: {self.missing_message}")
            return chosen

        def check(copy: Path) -> Mapping[str, int]:
            if single is None and not partial:
                refuse_unpublished(path, self.differences(copy))
            rows = {**self.count_contents(copy), **omitted}
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
        """Return copies of files without their faulty rows, and the counts of rows and files left out.

        A file is left out if it has a fault that is not in a row, or no good row.
        """
        copies = {name: folder / name for name in files}
        for name, file in files.items():
            copies[name].parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copies[name])
        rows = 0
        # Without a row, a row of another file may become faulty.
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
    """Return the absolute path, the folder or zip to copy from, and the path again if it is a single file."""
    path = Path(path).expanduser().absolute()
    single = path if path.suffix.lower() != ".zip" and path.is_file() else None
    return path, path if single is None else path.parent, single


def print_added(added: Added) -> None:
    """Print what was registered, and the remarks on it."""
    dataset = added.dataset
    counts = ", ".join(f"{key} {value}" for key, value in dataset.details.items())
    registered = f"Registered as {dataset.name!r} in {dataset.folder}"
    outcome = registered if added.changed else f"{dataset.name!r} has not changed"
    for line in (f"{outcome}: {counts}.", *added.report):
        Console().print(line, highlight=False, markup=False, soft_wrap=True)


def refuse_unpublished(path: str | Path, differences: Sequence[str]) -> None:
    """Raise an error if data differ from the published ones.

    Raises:
        InputError: with the differences, if there are any.
    """
    if differences:
        raise InputError(
            f"{path}: not the published data: {'; '.join(differences)} (--partial accepts them anyway)"
        )


def refuse_faulty(path: str | Path, faults: Sequence[Fault], folder: Path) -> None:
    """Raise an error with the first fault, if there are any.

    Raises:
        InputError: if there is a fault.
    """
    if faults:
        raise InputError(
            f"{path}: {_total(faults)}, the first in {_place(faults[0], folder)}: {faults[0].message}; "
            f"`askback check {path}` lists them all"
        )


def _total(faults: Sequence[Fault]) -> str:
    return f"{len(faults)} fault{'s' * (len(faults) > 1)}"


def _refusal(path: Path, folder: Path, faults: Sequence[Fault]) -> str:
    lines = [f"{path}: {_total(faults)} (--partial leaves such rows out)"]
    for fault in faults[:_MAX_FAULTS]:
        row = f"row {fault.task}: " if fault.task else ""
        lines.append(f"  {_place(fault, folder)}: {row}{fault.message}")
    if len(faults) > _MAX_FAULTS:
        lines.append("  … `askback check` on the folder lists them all")
    return "\n".join(lines)


def _place(fault: Fault, folder: Path) -> str:
    return Path(fault.file).relative_to(folder).as_posix() + (f":{fault.line}" if fault.line else "")


def _leave_out(copy: Path, first: Collection[int]) -> bool:
    """Remove rows, given by their first lines, from a file; return True if any are left."""
    if not is_csv(copy):
        return without_records(copy, first)
    spans = read_table(copy).spans
    without_lines(copy, {line for start in first for line in range(start, spans.get(start, start) + 1)})
    return len(spans.keys() - set(first)) > 0
