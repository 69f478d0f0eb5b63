"""AmbiK's part of `askback check` and `askback data add`."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console

from simulator import datasets
from simulator.ambik.data import read_pairs
from simulator.ambik.files.checking import KIND
from simulator.ambik.files.checking import check_files as check_files
from simulator.ambik.files.checking import find_files as find_files
from simulator.ambik.files.jsonlist import is_lines, read_entries
from simulator.ambik.files.kinds import KNOWNO, LOGPROBS, PAIRS, files_of, is_csv
from simulator.ambik.files.table import read_table
from simulator.ambik.files.versions import part_of
from simulator.ambik.rows import BENCHMARK as BENCHMARK
from simulator.datasets import Added
from simulator.errors import InputError
from simulator.jsonlines import without_lines
from simulator.registry import Checker
from simulator.whole import write_whole
from trees.faults import Fault

_NAMED: Final = 5
_KEPT: Final = (PAIRS, KNOWNO, LOGPROBS)


def checker() -> Checker:
    """What `askback check` does with AmbiK's files."""
    return Checker(KIND, find_files, check_files)


def add_ambik(path: Path, name: str, partial: bool) -> None:
    """Register pairs, KnowNo scenarios and runs, and say what they hold and what is odd about them.

    Raises:
        InputError: if there are none, or rows are faulty.
    """
    added = register(path, name, partial=partial)
    dataset = added.dataset
    holds = ", ".join(f"{key} {value}" for key, value in dataset.details.items())
    said = f"Registered as {name!r} in {dataset.folder}" if added.changed else f"{name!r} has not changed"
    console = Console()
    console.print(f"{said}: {holds}.", highlight=False, markup=False, soft_wrap=True)
    for line in _report(dataset.folder):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def register(path: str | Path, name: str = BENCHMARK, *, partial: bool = False) -> Added:
    """Register a file, a folder with such files, or a zip of one.

    Args:
        path: of it.
        name: what ``--data`` is to call it.
        partial: leave out faulty rows.

    Raises:
        InputError: if there is no pair, scenario or record of a run, or rows are faulty.
    """
    path = Path(path).expanduser().absolute()
    single = path if path.suffix.lower() != ".zip" and path.is_file() else None
    left_out: dict[str, int] = {}

    def select(folder: Path, good: Path) -> Mapping[str, Path]:
        source = folder if single is None else single
        files = [file for file in find_files(source) if files_of(file).get(file, PAIRS) in _KEPT]
        faults = _errors(files)
        if faults and not partial:
            raise InputError(_refusal(path, folder, faults))
        chosen = {file.relative_to(folder).as_posix(): file for file in files}
        if faults:
            chosen, dropped = _good_rows(chosen, good)
            left_out.update(dropped)
        if not chosen:
            raise InputError(
                f"{path}: no good row of AmbiK's pairs (.csv with ambiguous_task, ambiguity_type, …), of "
                "KnowNo scenarios (.csv with intent_object, intent_location, …) or of a run (.json with "
                "top_logprobs, …)"
            )
        return chosen

    def check(copy: Path) -> Mapping[str, int]:
        kinds = files_of(copy)
        rows: Counter[str] = Counter()
        if PAIRS in kinds.values():
            pairs = read_pairs(copy).pairs
            rows["pairs"] = len(pairs)
            rows.update(f"for {part_of(pair)}" for pair in pairs)
        for file, kind in kinds.items():
            if kind is not PAIRS:
                rows[kind.title] += len(kind.read(file).rows)
        return {key: count for key, count in {**rows, **left_out}.items() if count}

    source = path if single is None else path.parent
    with TemporaryDirectory() as good:
        return datasets.add(name, BENCHMARK, source, lambda folder: select(folder, Path(good)), check)


def _report(folder: Path) -> tuple[str, ...]:
    """What was seen and what is odd, by kind; places are told by `askback check`."""
    if PAIRS not in files_of(folder).values():
        return ()
    report = read_pairs(folder).report
    named = (line.removeprefix(f"{folder}/") for line in report.lines())
    return (*named, *(("`askback check` names the rows",) if report.counts else ()))


def _errors(files: Sequence[Path]) -> list[Fault]:
    return [fault for fault in check_files(files, one_set=True) if fault.severity == "error"]


def _refusal(path: Path, folder: Path, faults: Sequence[Fault]) -> str:
    lines = [f"{path}: {len(faults)} fault{'s' * (len(faults) > 1)} (to leave such rows out: --partial)"]
    for fault in faults[:_NAMED]:
        where = Path(fault.file).relative_to(folder).as_posix() + (f":{fault.line}" if fault.line else "")
        row = f"row {fault.task}: " if fault.task else ""
        lines.append(f"  {where}: {row}{fault.message}")
    if len(faults) > _NAMED:
        lines.append("  … `askback check` on the folder lists them all")
    return "\n".join(lines)


def _good_rows(files: Mapping[str, Path], folder: Path) -> tuple[dict[str, Path], dict[str, int]]:
    """Copies of files without their faulty rows, and how much was left out.

    A file with a fault that is not in a row is left out whole, and so is one in which no row is left.
    """
    copies = {name: folder / name for name in files}
    for name, file in files.items():
        copies[name].parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copies[name])
    rows = 0
    # A row that is left out of one file may have been the one that another contradicts.
    while faults := _errors(tuple(copies.values())):
        lines: defaultdict[str, set[int]] = defaultdict(set)
        for fault in faults:
            lines[fault.file].add(fault.line)
        for name, copy in tuple(copies.items()):
            bad = lines[str(copy)]
            whole = 0 in bad
            rows += 0 if whole else len(bad)
            if whole or (bad and not _without(copy, bad)):
                del copies[name]
    return copies, {"rows left out": rows, "files left out": len(files) - len(copies)}


def _without(copy: Path, first: Collection[int]) -> bool:
    """Leave rows out of a file, named by their first lines; whether any is left."""
    if is_csv(copy):
        spans = read_table(copy).spans
        without_lines(copy, {line for one in first for line in range(one, spans.get(one, one) + 1)})
        return len(spans.keys() - set(first)) > 0
    if is_lines(copy):
        return without_lines(copy, first)
    kept = [entry.value for entry in read_entries(copy) if entry.line not in first]
    write_whole(copy, json.dumps(kept, ensure_ascii=False, indent=1))
    return bool(kept)
