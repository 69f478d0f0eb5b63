"""AmbiEnt's part of `askback check` and `askback data add`."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console

from simulator import datasets
from simulator.ambient.checking import KIND
from simulator.ambient.checking import check_files as check_files
from simulator.ambient.checking import find_files as find_files
from simulator.ambient.data import load_examples
from simulator.ambient.examples import Example
from simulator.ambient.files.kinds import DATASET, files_of, kind_of
from simulator.ambient.prepare import tells_apart
from simulator.ambient.published import differences
from simulator.ambient.rows import BENCHMARK as BENCHMARK
from simulator.ambient.statistics import statistics
from simulator.datasets import Added
from simulator.errors import InputError
from simulator.jsonlines import without_lines
from simulator.registry import Checker
from trees.faults import Fault

PUBLISHED_FILES: Final = ("ambient_full.jsonl", "dev.jsonl", "test.jsonl")
"""A folder with one of them is taken for the published dataset, and must be all of it."""
_NAMED: Final = 5


def checker() -> Checker:
    """What `askback check` does with AmbiEnt's files."""
    return Checker(KIND, find_files, check_files)


def add_ambient(path: Path, name: str, partial: bool) -> None:
    """Register examples, with the files beside them, and say what they hold.

    Raises:
        InputError: if there are none, rows are faulty, or a published file is not whole.
    """
    added = register(path, name, partial=partial)
    dataset = added.dataset
    holds = ", ".join(f"{key} {value}" for key, value in dataset.details.items())
    said = f"Registered as {name!r} in {dataset.folder}" if added.changed else f"{name!r} has not changed"
    Console().print(f"{said}: {holds}.", highlight=False, markup=False, soft_wrap=True)


def register(path: str | Path, name: str = BENCHMARK, *, partial: bool = False) -> Added:
    """Register a file of examples, a folder with such files, or a zip of one.

    Args:
        path: of it.
        name: what ``--data`` is to call it.
        partial: leave out faulty rows, and accept a part of the published dataset.

    Raises:
        InputError: if there are none, rows are faulty, or a published file is not whole.
    """
    path = Path(path).expanduser().absolute()
    single = path if path.suffix != ".zip" and path.is_file() else None
    left_out: dict[str, int] = {}

    def select(folder: Path, good: Path) -> Mapping[str, Path]:
        files = find_files(folder if single is None else single)
        faults = _errors(files)
        if faults and not partial:
            raise InputError(_refusal(path, folder, faults))
        chosen = {file.relative_to(folder).as_posix(): file for file in files}
        if faults:
            chosen, dropped = _good_rows(chosen, good)
            left_out.update(dropped)
        if not any(kind_of(file) is DATASET for file in chosen.values()):
            raise InputError(f"{path}: no good example of AmbiEnt (.jsonl with id, premise, hypothesis, …)")
        return chosen

    def check(copy: Path) -> Mapping[str, int]:
        examples = load_examples(copy)
        found = statistics(examples)
        named = single is None and any(file.name in PUBLISHED_FILES for file in files_of(copy))
        wrong = differences(found) if named else ()
        if wrong and not partial:
            raise InputError(
                f"{path}: not the published data: {'; '.join(wrong)} (to take them all the same: --partial)"
            )
        rows = {"examples": found.examples, "dev": found.dev, "test": found.test}
        rows["ambiguous"] = round(found.ambiguous.value * found.ambiguous.n) if found.ambiguous else 0
        rows |= _distractors(examples)
        others = Counter(kind.title for kind in files_of(copy).values() if kind.name != DATASET.name)
        rows |= {f"files of {title}": count for title, count in sorted(others.items())}
        return {key: count for key, count in {**rows, **left_out}.items() if count}

    source = path if single is None else path.parent
    with TemporaryDirectory() as good:
        return datasets.add(name, BENCHMARK, source, lambda folder: select(folder, Path(good)), check)


def _distractors(examples: Sequence[Example]) -> dict[str, int]:
    """How many examples for crowdworkers have a distractor, and for how many it is a reading."""
    held = [(one, one.sides[0]) for one in examples if one.xor and one.sides[0] in one.distractors]
    repeated = sum(not tells_apart(one, side, one.distractors[side]) for one, side in held)
    return {"examples with a distractor": len(held), "of them the sentence or a reading": repeated}


def _errors(files: Sequence[Path]) -> list[Fault]:
    return [fault for fault in check_files(files, one_dataset=True) if fault.severity == "error"]


def _refusal(path: Path, folder: Path, faults: Sequence[Fault]) -> str:
    lines = [f"{path}: {len(faults)} faults (to leave such rows out: --partial)"]
    for fault in faults[:_NAMED]:
        where = Path(fault.file).relative_to(folder).as_posix() + (f":{fault.line}" if fault.line else "")
        row = f"row {fault.task}: " if fault.task else ""
        lines.append(f"  {where}: {row}{fault.message}")
    if len(faults) > _NAMED:
        lines.append("  … `askback check` on the folder lists them all")
    return "\n".join(lines)


def _good_rows(files: Mapping[str, Path], folder: Path) -> tuple[dict[str, Path], dict[str, int]]:
    """Copies of files without their faulty rows, and how much was left out.

    A row that is faulty in one file is missing where another speaks of it, so that several rounds may be
    needed. A file with a fault that is not in a row is left out whole.
    """
    copies = {name: folder / name for name in files}
    for name, file in files.items():
        copies[name].parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copies[name])
    rows = 0
    while faults := _errors(tuple(copies.values())):
        lines: defaultdict[str, set[int]] = defaultdict(set)
        for fault in faults:
            lines[fault.file].add(fault.line)
        for name, copy in tuple(copies.items()):
            bad = lines[str(copy)]
            # Only of JSON lines is every line a row.
            whole = 0 in bad or (bad and copy.suffix != ".jsonl")
            rows += 0 if whole else len(bad)
            if whole or (bad and not without_lines(copy, bad)):
                del copies[name]
    return copies, {"rows left out": rows, "files left out": len(files) - len(copies)}
