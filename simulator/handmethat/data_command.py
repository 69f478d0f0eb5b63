"""HandMeThat's part of `askback check` and `askback data add`; `askback pack handmethat`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer
from rich.console import Console

from simulator import datasets
from simulator.benchmark import Checker
from simulator.datasets import Added, Limits
from simulator.errors import InputError
from simulator.handmethat.checking import check_files, check_folder
from simulator.handmethat.data import episode_files, load_tasks, parts_of
from simulator.handmethat.files.names import parse_name
from simulator.handmethat.files.packed import SUFFIX, write_packed
from simulator.handmethat.files.split import FOLDER, SPLIT_FILE, merge_splits, write_split
from simulator.handmethat.items import BENCHMARK
from simulator.handmethat.task import LEVELS
from simulator.runner.run_summary import say
from simulator.tables.registering import refuse_faulty

KIND: Final = "HandMeThat episodes (level…_task….json or task-….json) and their split file"
# Of the first and the second published version (spec 10.3).
PUBLISHED: Final = (10_000, 116_146)
LIMITS: Final = Limits(files=200_000, bytes=100_000_000_000)
_MARK: Final = b'"initial_object_dict"'
_HEAD: Final = 4096


def find_episodes(path: Path) -> tuple[Path, ...]:
    """Return the episode and split files in a folder and the folders below; a file itself if it is one."""
    if path.is_file():
        return (path,) if _is_episode(path) else ()
    files = path.rglob("*.json") if path.is_dir() else ()
    return tuple(sorted(file for file in files if _has_name(file) and file.is_file()))


def checker() -> Checker:
    """Return what `askback check` does with HandMeThat's episodes."""
    return Checker(KIND, find_episodes, lambda files: check_files(files).faults)


def register(path: str | Path, name: str = BENCHMARK, partial: bool = False) -> Added:
    """Register the published episodes in a folder and the folders below, or in a zip of one.

    `path`: holds episodes, in ``HandMeThat_with_expert_demonstration/`` or any folders; all are taken.
    `partial`: accept a number of episodes other than the published ones.

    Raises:
        InputError: if there are none, one is faulty, they are not all of a published version, or two sets
            among them have different episodes of one name.
    """
    folders: list[Path] = []

    def check(copy: Path) -> Mapping[str, int]:
        checked = check_folder(copy)
        refuse_faulty(path, [fault for fault in checked.faults if fault.severity == "error"], copy)
        count = len(checked.tasks)
        if count not in PUBLISHED and not partial:
            versions = " or ".join(str(number) for number in PUBLISHED)
            raise InputError(
                f"{path}: {count} episodes; {versions} were published (to take them all the same: --partial)"
            )
        levels = {f"level {level}": sum(task.level == level for task in checked.tasks) for level in LEVELS}
        return {"episodes": count, **levels, **({"folders": len(folders)} if len(folders) > 1 else {})}

    with TemporaryDirectory() as made:

        def select(folder: Path) -> Mapping[str, Path]:
            sets = _sets(folder)
            folders.extend(sets)
            return {**_all_of(folder, sets), **_split_of(sets, Path(made))}

        return datasets.add(name, BENCHMARK, path, select, check, limits=LIMITS)


def _sets(folder: Path) -> dict[Path, list[Path]]:
    """Return the folders with episodes in them, `folder` itself or below, and their episode files."""
    homes = [folder, *sorted(path for path in folder.rglob("*") if path.is_dir())]
    by_home = {home: [file for file in episode_files(home) if _is_episode(file)] for home in homes}
    sets = {home: files for home, files in by_home.items() if files}
    if not sets:
        raise InputError(
            f"{folder}: no folder {FOLDER} or another with files like level3_task0_bring_me_goal59.json in it"
        )
    return sets


def _all_of(folder: Path, sets: Mapping[Path, Sequence[Path]]) -> dict[str, Path]:
    """Return the files of all sets by their place in the copy; the same episode twice is one.

    Raises:
        InputError: if different episodes have one name: then somebody must choose.
    """
    files: dict[str, Path] = {}
    for file in (file for files in sets.values() for file in files):
        other = files.setdefault(f"{FOLDER}/{file.name}", file)
        if other is not file and other.read_bytes() != file.read_bytes():
            listed = ", ".join(f"{home.relative_to(folder)} ({len(files)})" for home, files in sets.items())
            raise InputError(
                f"{folder}: {len(sets)} sets of episodes, and {file.name} is another one in "
                f"{other.parent.relative_to(folder)} than in {file.parent.relative_to(folder)}; add them one "
                f"by one, each with its own --name. The sets: {listed}"
            )
    return files


def _split_of(sets: Mapping[Path, Sequence[Path]], made: Path) -> dict[str, Path]:
    """Return the split file of the sets, or one made of theirs; nothing if none has one."""
    places = dict.fromkeys(place / SPLIT_FILE for home in sets for place in (home, home.parent))
    splits = [file for file in places if file.is_file()]
    if len(splits) > 1:
        merged = made / SPLIT_FILE
        write_split(merge_splits(splits), merged)
        splits = [merged]
    return {SPLIT_FILE: splits[0]} if splits else {}


def _has_name(file: Path) -> bool:
    return file.name == SPLIT_FILE or parse_name(file.name) is not None


def _is_episode(file: Path) -> bool:
    if _has_name(file):
        return True
    if file.suffix != ".json":
        return False
    with file.open("rb") as opened:
        return _MARK in opened.read(_HEAD)


def pack_handmethat(
    data: Annotated[str, typer.Argument(help="builtin, the name of added data, or a path")],
    out: Annotated[Path, typer.Option(help=f"the file to write; its name ends in {SUFFIX}")],
) -> None:
    """Put episodes into one file from which each is read at once: for training in environments."""
    if out.suffix != SUFFIX:
        raise InputError(f"--out {out}: its name must end in {SUFFIX}")
    count = write_packed(load_tasks(data), parts_of(data), out)
    say(Console(), f"{count} episodes are in {out} ({out.stat().st_size / 1e6:.1f} MB).")
