"""AmbiBench's part of `askback check` and `askback data add`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from simulator import datasets
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.data import item_files, setting_of
from simulator.ambibench.files import Found, read_file
from simulator.ambibench.rows import BENCHMARK as BENCHMARK
from simulator.ambibench.setting_rules import setting_findings
from simulator.ambibench.statistics import balance_findings
from simulator.datasets import Added
from simulator.duplicates import CODE
from simulator.errors import InputError
from simulator.registry import Checker
from trees.faults import Fault

KIND: Final = "AmbiBench items (.jsonl, .json or .txt whose prompts say so)"


def find_items(path: Path) -> tuple[Path, ...]:
    """The files of items in a folder and the folders below; a file itself if it is one."""
    return item_files(path)


def check_items(files: Sequence[Path]) -> tuple[Fault, ...]:
    """All faults of such files: what cannot be read, what a setting does not allow, and what is not balanced.

    An error is an item that contradicts itself or its setting; a warning deserves a look.
    """
    faults: list[Fault] = []
    places: dict[str, Path] = {}
    for file in files:
        try:
            found, unread = read_file(file)
        except InputError as error:
            faults.append(Fault(str(file), "", 0, "format", str(error).removeprefix(f"{file}: ")))
            continue
        faults += [*unread, *_faults(file, found)]
        for one in found:
            first = places.setdefault(one.item.id, file)
            if first != file:
                message = f"id: an item of {first} has the same"
                faults.append(Fault(str(file), one.item.id, one.line, "id", message, "warning"))
    return tuple(faults)


def checker() -> Checker:
    """What `askback check` does with AmbiBench's items."""
    return Checker(KIND, find_items, check_items)


def add_ambibench(path: Path, name: str, partial: bool) -> None:
    """Register items and say what they hold; any number of them will do.

    Raises:
        InputError: if there are none, or one is faulty.
    """
    added = register(path, name)
    dataset = added.dataset
    holds = ", ".join(f"{key} {value}" for key, value in dataset.details.items())
    said = f"Registered as {name!r} in {dataset.folder}" if added.changed else f"{name!r} has not changed"
    Console().print(f"{said}: {holds}.", highlight=False, markup=False, soft_wrap=True)


def register(path: str | Path, name: str = BENCHMARK) -> Added:
    """Register a file of items, a folder of such files, or a zip of one.

    Args:
        path: of it.
        name: what ``--data`` is to call it.

    Raises:
        InputError: if there are none, or one is faulty.
    """
    path = Path(path).expanduser().absolute()
    single = path if path.suffix != ".zip" and path.is_file() else None

    def select(folder: Path) -> Mapping[str, Path]:
        files = item_files(folder) if single is None else item_files(single)
        if not files:
            raise InputError(f"{path}: holds no file of AmbiBench items (.jsonl, .json, .txt)")
        return {file.relative_to(folder).as_posix(): file for file in files}

    def check(copy: Path) -> Mapping[str, int]:
        files = item_files(copy)
        left_out = ("id", "ambiguous")
        errors = [one for one in check_items(files) if one.severity == "error" or one.code in left_out]
        if errors:
            first = errors[0]
            where = Path(first.file).relative_to(copy).as_posix() + (f":{first.line}" if first.line else "")
            raise InputError(
                f"{path}: {len(errors)} faults, the first in {where}: {first.message}; "
                f"`askback check {path}` lists them all"
            )
        read = [read_file(file) for file in files]
        held = [one.item for found, _ in read for one in found]
        twice = sum(fault.code == CODE for _, faults in read for fault in faults)
        counted: dict[str, int] = {"items": len(held), **Counter(map(setting_of, held))}
        return {**counted, "told twice": twice} if twice else counted

    return datasets.add(name, BENCHMARK, path if single is None else path.parent, select, check)


def _faults(file: Path, found: Sequence[Found]) -> Iterator[Fault]:
    for item, line in found:
        for severity, message in setting_findings(item):
            yield Fault(str(file), item.id, line, "setting", message, severity)
    prompts = [one.item for one in found if not isinstance(one.item, AwsPrompt)]
    for message in balance_findings(prompts):
        yield Fault(str(file), "", 0, "balance", message, "warning")
