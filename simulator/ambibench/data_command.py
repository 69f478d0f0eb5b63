"""AmbiBench's part of `askback check` and `askback data add`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from simulator import datasets
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.data import item_files
from simulator.ambibench.files import Found, read_file
from simulator.ambibench.rows import BENCHMARK
from simulator.ambibench.setting_rules import setting_findings
from simulator.ambibench.statistics import balance_findings
from simulator.ambibench.trials import setting_of
from simulator.benchmark import Checker
from simulator.datasets import Added
from simulator.duplicates import CODE
from simulator.errors import InputError
from simulator.tables.registering import refuse_faulty, say_added, source_of
from trees.faults import Fault

_LEFT_OUT: Final = ("id", "ambiguous")
"""Warnings on items that would be missing."""
KIND: Final = "AmbiBench items (.jsonl, .json or .txt whose prompts say so)"


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
    """Return what `askback check` does with AmbiBench's items."""
    return Checker(KIND, item_files, check_items, greedy=True)


def add_ambibench(path: Path, name: str, partial: bool) -> None:
    """Register items and say what they hold; any number of them will do.

    Raises:
        InputError: if there are none, or one is faulty.
    """
    say_added(register(path, name))


def register(path: str | Path, name: str = BENCHMARK) -> Added:
    """Register a file of items, a folder of such files, or a zip of one.

    Args:
        path: of it.
        name: what ``--data`` is to call it.

    Raises:
        InputError: if there are none, or one is faulty.
    """
    path, source, single = source_of(path)

    def select(folder: Path) -> Mapping[str, Path]:
        files = item_files(single or folder)
        if not files:
            raise InputError(f"{path}: holds no file of AmbiBench items (.jsonl, .json, .txt)")
        return {file.relative_to(folder).as_posix(): file for file in files}

    def check(copy: Path) -> Mapping[str, int]:
        files = item_files(copy)
        faults = check_items(files)
        refuse_faulty(
            path, [fault for fault in faults if fault.severity == "error" or fault.code in _LEFT_OUT], copy
        )
        read = [read_file(file) for file in files]
        held = [one.item for found, _ in read for one in found]
        twice = sum(fault.code == CODE for _, faults in read for fault in faults)
        counted: dict[str, int] = {"items": len(held), **Counter(map(setting_of, held))}
        return {**counted, "told twice": twice} if twice else counted

    return datasets.add(name, BENCHMARK, source, select, check)


def _faults(file: Path, founds: Sequence[Found]) -> Iterator[Fault]:
    for item, line in founds:
        for severity, message in setting_findings(item):
            yield Fault(str(file), item.id, line, "setting", message, severity)
    prompts = [one.item for one in founds if not isinstance(one.item, AwsPrompt)]
    for message in balance_findings(prompts):
        yield Fault(str(file), "", 0, "balance", message, "warning")
