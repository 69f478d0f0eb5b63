"""Check episode files: whether they can be read, and whether their contents are consistent.

An inconsistent episode can still be played, so inconsistencies are warnings, not errors.
States of published files may be stale (spec 10.2), so descriptions are tested against the replayed story.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer
from rich.console import Console

from simulator import datasets
from simulator.benchmark import Checker
from simulator.datasets import Added, Limits
from simulator.errors import InputError
from simulator.handmethat.actions import carry_out
from simulator.handmethat.data import (
    SUFFIX,
    episode_files,
    episode_folder,
    find_split,
    load_tasks,
    parts_of,
    write_packed,
)
from simulator.handmethat.env.game import Game
from simulator.handmethat.files.episode import check_file
from simulator.handmethat.files.split import (
    FOLDER,
    SPLIT_FILE,
    merge_splits,
    parse_name,
    read_split,
    write_split,
)
from simulator.handmethat.goals.formula import parse_goal, to_formula
from simulator.handmethat.goals.model import goal_holds
from simulator.handmethat.goals.templates import templates
from simulator.handmethat.items import BENCHMARK, LEVELS, Task
from simulator.handmethat.meanings.model import Grounding, Meaning, matching
from simulator.handmethat.world import State, entities
from simulator.runner.run_summary import say
from simulator.tables.registering import refuse_faulty
from trees.faults import Fault


@dataclass(frozen=True)
class CheckedFiles:
    """The result of checking episode files."""

    tasks: tuple[Task, ...]
    faults: tuple[Fault, ...]


Doubt = tuple[str, str]
"""An inconsistency of an episode: its code (``goal``, ``meaning``, ``level``, ``story``, ``demo``, ``name``)
and a message that begins with the key in the file."""


def check_folder(path: Path) -> CheckedFiles:
    """Read all episode files in a folder (or one file) and the split file, and collect all faults."""
    files = [path] if path.is_file() else episode_files(episode_folder(path))
    split_file = None if path.is_file() else find_split(path)
    return check_files(files if split_file is None else [*files, split_file])


def check_files(files: Sequence[Path]) -> CheckedFiles:
    """Read episode files, and compare the split files among them with the episode files next to them."""
    tasks: list[Task] = []
    faults: list[Fault] = []
    for file in files:
        if file.name == SPLIT_FILE:
            names = {episode_file.name for episode_file in episode_files(episode_folder(file.parent))}
            faults += _split_faults(file, names)
            continue
        task, errors = check_file(file)
        faults += errors
        if task is not None:
            tasks.append(task)
            faults += (
                Fault(str(file), task.id, 0, code, message, "warning")
                for code, message in (*_name_doubts(file, task), *_goal_doubts(task), *doubts(task))
            )
    return CheckedFiles(tuple(tasks), tuple(faults))


def doubts(task: Task) -> Iterator[Doubt]:
    """Yield the inconsistencies of a task, in the order of the file's keys."""
    count = len(templates())
    if task.goal_index is not None and not 0 <= task.goal_index < count:
        yield ("goal", f"goal_idx: there is no template {task.goal_index}; use 0 to {count - 1}")
    if (level := _level(task)) != task.level:
        yield ("level", f"level: {task.level}, but according to the sets of objects it is {level}")
    state, fault = carry_out(task.world, task.initial, task.actions)
    if fault is not None:
        yield ("story", f"action_list.{fault}")
        state = task.current
    elif state.place != task.current.place:
        yield ("story", "current_object_dict: things are not where action_list leaves them")
    yield from _meaning_doubts(task, state)
    yield from _demo_doubts(task)


def _level(task: Task) -> int:
    sets = (task.in_meaning, task.in_utterance, task.in_heard, task.useful)
    meant, uttered, heard, useful = map(frozenset, sets)
    if meant == uttered:
        return 1
    if meant == uttered & useful:
        return 2
    # The paper compares with A(r), the published program with the useful part of it.
    return 3 if meant in (heard, heard & useful) else 4


def _meaning_doubts(task: Task, state: State) -> Iterator[Doubt]:
    if not task.in_meaning:
        yield ("meaning", "_objects_in_meaning: is empty, so success is impossible")
    sets: tuple[tuple[str, str, Meaning, Sequence[Grounding]], ...] = (
        ("_objects_in_meaning", "_meaning", task.meaning, task.in_meaning),
        ("_objects_in_utterance", "utterance", task.utterance, task.in_utterance),
        ("_objects_in_rsa_meaning", "_rsa_meaning", task.heard, task.in_heard),
    )
    for key, name, meaning, groundings in sets:
        things = set(entities(matching(task.world, state, meaning.description)))
        if meaning.quest != task.meaning.quest:
            yield ("meaning", f"{name}: is about {meaning.quest}, _meaning about {task.meaning.quest}")
        elif things != {entity for entity, _ in groundings}:
            yield ("meaning", f"{key}: is not the set of objects that match {name}")
        elif meaning.argument and {argument for _, argument in groundings} - {meaning.argument}:
            yield ("meaning", f"{key}: has other arguments than {meaning.argument}, the one of {name}")


def _demo_doubts(task: Task) -> Iterator[Doubt]:
    game = Game(task, text=False, limit=len(task.demo) + 1)
    state = game.start()
    for i, command in enumerate(task.demo):
        if state.done:
            yield ("demo", f"demo_actions.{i}: the episode is over before this command")
            return
        state = game.act(state, command).game
    if task.demo and not state.success:
        yield ("demo", "demo_actions: do not succeed")


def _name_doubts(file: Path, task: Task) -> Iterator[Doubt]:
    name = parse_name(file.name)
    if name is not None and name.stratum.level != task.level:
        message = f"level: {task.level} in the file, {name.level} in its name; the file's level is used"
        yield ("name", message)


def _goal_doubts(task: Task) -> Iterator[Doubt]:
    """Yield faults of the goal, which does not affect the episode."""
    try:
        goal = parse_goal(task.goal)
        to_formula(goal, task.world)
        reached = goal_holds(task.world, task.current, goal)
    except InputError as error:
        yield ("goal", f"_goal: {error}")
    else:
        if reached:
            yield ("goal", "_goal: holds already when the human asks")


def _split_faults(path: Path, files: Collection[str]) -> Iterator[Fault]:
    try:
        split = read_split(path)
    except InputError as error:
        yield Fault(str(path), "", 0, "split", str(error).removeprefix(f"{path}: "))
        return
    listed = {name for groups in (split.levels, split.quests) for names in groups.values() for name in names}
    for problem, names in (
        ("lists {} files that do not exist", sorted(listed - set(files))),
        ("does not list {} existing files", sorted(set(files) - listed)),
    ):
        if names:
            message = f"{problem.format(len(names))}, such as {names[0]}"
            yield Fault(str(path), "", 0, "split", message, "warning")


# ---- HandMeThat's part of `askback check` and `askback data add`; `askback pack handmethat`


KIND: Final = "HandMeThat episodes (level…_task….json or task-….json) and their split file"
# Numbers of episodes in the first and the second published version (spec 10.3).
PUBLISHED: Final = (10_000, 116_146)
LIMITS: Final = Limits(files=200_000, bytes=100_000_000_000)
_MARK: Final = b'"initial_object_dict"'
_HEAD: Final = 4096


def find_episodes(path: Path) -> tuple[Path, ...]:
    """Return the episode and split files in a folder and its subfolders, or `path` itself if it is one."""
    if path.is_file():
        return (path,) if _is_episode(path) else ()
    files = path.rglob("*.json") if path.is_dir() else ()
    return tuple(sorted(file for file in files if _has_name(file) and file.is_file()))


def checker() -> Checker:
    """Return the checker of HandMeThat's episodes for `askback check`."""
    return Checker(KIND, find_episodes, lambda files: check_files(files).faults)


def register(path: str | Path, name: str = BENCHMARK, partial: bool = False) -> Added:
    """Register the published episodes in a folder and its subfolders, or in a zip file of one.

    `path`: contains episodes in ``HandMeThat_with_expert_demonstration/`` or other folders; all are added.
    `partial`: accept a number of episodes other than the published ones.

    Raises:
        InputError: if there are no episodes, one is faulty, their number is not that of a published version,
            or two folders have different episodes with the same name.
    """
    folders: list[Path] = []

    def check(copy: Path) -> Mapping[str, int]:
        checked = check_folder(copy)
        refuse_faulty(path, [fault for fault in checked.faults if fault.severity == "error"], copy)
        count = len(checked.tasks)
        if count not in PUBLISHED and not partial:
            versions = " or ".join(str(number) for number in PUBLISHED)
            raise InputError(
                f"{path}: has {count} episodes, but {versions} were published; --partial adds them anyway"
            )
        levels = {f"level {level}": sum(task.level == level for task in checked.tasks) for level in LEVELS}
        return {"episodes": count, **levels, **({"folders": len(folders)} if len(folders) > 1 else {})}

    with TemporaryDirectory() as temporary:

        def select(folder: Path) -> Mapping[str, Path]:
            sets = _sets(folder)
            folders.extend(sets)
            return {**_merge_episodes(folder, sets), **_merge_splits(sets, Path(temporary))}

        return datasets.add(name, BENCHMARK, path, select, check, limits=LIMITS)


def _sets(folder: Path) -> dict[Path, list[Path]]:
    """Return the folders with episodes in them, `folder` itself or below, and their episode files."""
    homes = [folder, *sorted(path for path in folder.rglob("*") if path.is_dir())]
    by_home = {home: [file for file in episode_files(home) if _is_episode(file)] for home in homes}
    sets = {home: files for home, files in by_home.items() if files}
    if not sets:
        raise InputError(
            f"{folder}: contains no episodes, in a folder {FOLDER} or elsewhere; their names are like "
            "level3_task0_bring_me_goal59.json"
        )
    return sets


def _merge_episodes(folder: Path, sets: Mapping[Path, Sequence[Path]]) -> dict[str, Path]:
    """Return the files of all sets by their path in the copy, without duplicates.

    Raises:
        InputError: if different episodes have the same name.
    """
    files: dict[str, Path] = {}
    for file in (file for files in sets.values() for file in files):
        other = files.setdefault(f"{FOLDER}/{file.name}", file)
        if other is not file and other.read_bytes() != file.read_bytes():
            listed = ", ".join(f"{home.relative_to(folder)} ({len(files)})" for home, files in sets.items())
            raise InputError(
                f"{folder}: has {len(sets)} sets of episodes, and {file.name} in "
                f"{other.parent.relative_to(folder)} differs from that in {file.parent.relative_to(folder)}; "
                f"add each set separately, with its own --name. The sets: {listed}"
            )
    return files


def _merge_splits(sets: Mapping[Path, Sequence[Path]], temporary: Path) -> dict[str, Path]:
    paths = dict.fromkeys(folder / SPLIT_FILE for home in sets for folder in (home, home.parent))
    splits = [path for path in paths if path.is_file()]
    if len(splits) > 1:
        merged = temporary / SPLIT_FILE
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
    out: Annotated[Path, typer.Option(help=f"file to write; its name must end in {SUFFIX}")],
) -> None:
    """Pack episodes into one file with random access, for training in environments."""
    if out.suffix != SUFFIX:
        raise InputError(f"--out {out}: the name must end in {SUFFIX}")
    count = write_packed(load_tasks(data), parts_of(data), out)
    say(Console(), f"{count} episodes are in {out} ({out.stat().st_size / 1e6:.1f} MB).")
