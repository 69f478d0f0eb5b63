"""HandMeThat's part of `askback check` and `askback data add`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from simulator import datasets
from simulator.datasets import Added, Limits
from simulator.errors import InputError
from simulator.handmethat.data import check_files, check_folder, episode_files
from simulator.handmethat.files.names import parse_name
from simulator.handmethat.files.split import FOLDER, SPLIT_FILE
from simulator.handmethat.rows import BENCHMARK as BENCHMARK
from simulator.handmethat.task import LEVELS
from simulator.registry import Checker
from trees.faults import Fault

KIND: Final = "HandMeThat episodes (level…_task….json or task-….json) and their split file"
# Of the first and the second published version (spec 10.3).
PUBLISHED: Final = (10_000, 116_146)
LIMITS: Final = Limits(files=200_000, bytes=100_000_000_000)
# FOLDER may lie in PATH, or one folder deeper (a zip of the folder).
_NESTING: Final = 2
_MARK: Final = b'"initial_object_dict"'
_HEAD: Final = 4096


def find_episodes(path: Path) -> tuple[Path, ...]:
    """The episode and split files in a folder and the folders below; a file itself if it is one."""
    if path.is_file():
        return (path,) if _is_episode(path) else ()
    files = path.rglob("*.json") if path.is_dir() else ()
    return tuple(sorted(file for file in files if _has_name(file) and file.is_file()))


def check_episodes(files: Sequence[Path]) -> tuple[Fault, ...]:
    """All faults of such files."""
    return check_files(files).faults


def checker() -> Checker:
    """What `askback check` does with HandMeThat's episodes."""
    return Checker(KIND, find_episodes, check_episodes)


def add_handmethat(path: Path, name: str, partial: bool) -> None:
    """Register published episodes and say what they hold.

    Raises:
        InputError: if there are none, one is faulty, or they are not all of a published version.
    """
    added = register(path, name, partial=partial)
    dataset = added.dataset
    holds = ", ".join(f"{key} {value}" for key, value in dataset.details.items())
    said = f"Registered as {name!r} in {dataset.folder}" if added.changed else f"{name!r} has not changed"
    Console().print(f"{said}: {holds}.", highlight=False, markup=False, soft_wrap=True)


def register(path: str | Path, name: str = BENCHMARK, *, partial: bool = False) -> Added:
    """Register a folder of published episodes, or a zip of one.

    Args:
        path: holds ``HandMeThat_with_expert_demonstration/``, is it, or is one folder above.
        name: what ``--data`` is to call it.
        partial: accept a number of episodes other than the published ones.

    Raises:
        InputError: if there are none, one is faulty, or they are not all of a published version.
    """

    def check(copy: Path) -> Mapping[str, int]:
        checked = check_folder(copy)
        errors = [fault for fault in checked.faults if fault.severity == "error"]
        if errors:
            file = Path(errors[0].file).name
            raise InputError(
                f"{path}: {len(errors)} faults, the first in {file}: {errors[0].message}; "
                f"`askback check {path}` lists them all"
            )
        count = len(checked.tasks)
        if count not in PUBLISHED and not partial:
            versions = " or ".join(str(number) for number in PUBLISHED)
            raise InputError(
                f"{path}: {count} episodes; {versions} were published (to take them all the same: --partial)"
            )
        levels = {f"level {level}": sum(task.level == level for task in checked.tasks) for level in LEVELS}
        return {"episodes": count, **levels}

    return datasets.add(name, BENCHMARK, path, _published_files, check, limits=LIMITS)


def _published_files(folder: Path) -> Mapping[str, Path]:
    for home in _homes(folder):
        files = {f"{FOLDER}/{file.name}": file for file in episode_files(home) if parse_name(file.name)}
        if files:
            homes = (home, home.parent)
            split = next((one / SPLIT_FILE for one in homes if (one / SPLIT_FILE).is_file()), None)
            return files if split is None else {**files, SPLIT_FILE: split}
    raise InputError(f"{folder}: no folder {FOLDER} with files like level3_task0_bring_me_goal59.json in it")


def _homes(folder: Path) -> list[Path]:
    """Where episodes may lie, the likeliest first."""
    layer, found = [folder], [folder]
    for _ in range(_NESTING):
        layer = [child for parent in layer for child in sorted(parent.iterdir()) if child.is_dir()]
        found += layer
    return sorted(found, key=lambda home: home.name != FOLDER)


def _has_name(file: Path) -> bool:
    return file.name == SPLIT_FILE or parse_name(file.name) is not None


def _is_episode(file: Path) -> bool:
    if _has_name(file):
        return True
    if file.suffix != ".json":
        return False
    with file.open("rb") as opened:
        return _MARK in opened.read(_HEAD)
