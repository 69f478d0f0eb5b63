"""HandMeThat's items: the built-in episodes, registered data, or a file or folder of episode files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from simulator import datasets
from simulator.errors import InputError
from simulator.handmethat.files.consistency import doubts
from simulator.handmethat.files.episode import check_file, read_file
from simulator.handmethat.files.names import Name, parse_name
from simulator.handmethat.files.packed import Packed, is_packed
from simulator.handmethat.files.split import FOLDER, PARTS, SPLIT_FILE, Split, read_split
from simulator.handmethat.generation.builtin import builtin_tasks
from simulator.handmethat.goals.formula import parse_goal, to_formula
from simulator.handmethat.goals.model import goal_holds
from simulator.handmethat.meanings.model import QUESTS
from simulator.handmethat.rows import BENCHMARK
from simulator.handmethat.sample import Sample, Stratum, stratum
from simulator.handmethat.task import LEVELS, Task
from trees.faults import Fault

BUILTIN: Final = "builtin"
T = TypeVar("T", int, str)


class NoEpisodeError(InputError):
    """There are data, and nothing of what was asked for among them."""


@dataclass(frozen=True)
class Checked:
    """What a folder of episode files holds.

    Attributes:
        tasks: the good ones.
        faults: everything that is wrong, with the other files and with the split file.
    """

    tasks: tuple[Task, ...]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Episodes to play, and what they are a sample of.

    Attributes:
        tasks: sorted by level, quest type, goal and number.
        population: of how many they were drawn.
        sample: how; None if they are all that there are.
    """

    tasks: tuple[Task, ...]
    population: int
    sample: Sample | None = None

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def to_json(self) -> dict[str, Any]:
        """Return how they were drawn, for the log; empty if they are all that there are."""
        return {} if self.sample is None else self.sample.to_json(self.population)


def load_tasks(
    data: str | Path = BUILTIN,
    *,
    levels: Iterable[int] | None = None,
    quests: Iterable[str] | None = None,
    goals: Iterable[int] | None = None,
    split: str | None = None,
    limit: int | None = None,
    replay: bool = False,
) -> tuple[Task, ...]:
    """Return the episodes to play, sorted by level, quest type, goal and number.

    Args:
        data: ``builtin``, the name of registered data (``handmethat``), or an episode file, a folder of
            them, or the folder above that also holds the split file.
        levels: those wanted; all if None.
        quests: those wanted; all if None.
        goals: numbers of the templates wanted; all if None.
        split: ``train``, ``validate`` or ``test``, as the split file beside the folder says.
        limit: the first so many only, for a look; `draw_tasks` draws samples.
        replay: current states by performing the human's actions, instead of the file's (stale states).

    Raises:
        NoEpisodeError: if nothing is left to play.
        InputError: if the data do not exist, or a file is faulty.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit {limit}: must be 1 or more")
    wanted = _wanted(levels, quests, goals)
    return _some(tuple(islice(_read(_pool(data, split, wanted), wanted, replay), limit)), data)


def draw_tasks(
    data: str | Path = BUILTIN,
    sample: Sample | None = None,
    *,
    levels: Iterable[int] | None = None,
    quests: Iterable[str] | None = None,
    goals: Iterable[int] | None = None,
    split: str | None = None,
    replay: bool = False,
) -> Drawn:
    """A sample of the episodes of `load_tasks`, which tells the arguments; all of them if `sample` is None.

    Of files with published names only those drawn are read.

    Raises:
        NoEpisodeError: if nothing is left to play.
        InputError: if the data do not exist, or a file is faulty.
    """
    wanted = _wanted(levels, quests, goals)
    pool = _pool(data, split, wanted)
    names = [parse_name(one.name) if isinstance(one, Path) else None for one in pool]
    if sample is not None and all(names):
        strata = [Stratum(name.level or 4, name.quest, name.goal) for name in names if name is not None]
        drawn = sample.draw(strata)
        tasks = tuple(_read([pool[i] for i in drawn], wanted, replay))
        if [_as_named(task) for task in tasks] == [strata[i][:2] for i in drawn]:
            return Drawn(tasks=_some(tasks, data), population=len(pool), sample=sample)
    # All are wanted, or names say nothing, or something else than their files: the files are believed.
    tasks = _some(tuple(_read(pool, wanted, replay)), data)
    if sample is None:
        return Drawn(tasks=tasks, population=len(tasks))
    drawn = sample.draw([stratum(task) for task in tasks])
    return Drawn(tasks=tuple(tasks[i] for i in drawn), population=len(tasks), sample=sample)


def _wanted(
    levels: Iterable[int] | None, quests: Iterable[str] | None, goals: Iterable[int] | None
) -> _Wanted:
    return _Wanted(
        levels=_chosen("level", levels, LEVELS),
        quests=_chosen("quest", quests, QUESTS),
        goals=None if goals is None else frozenset(goals),
    )


def parts_of(data: str | Path) -> dict[str, str]:
    """Return id of an episode -> its part, as the split file of `data` says; empty without one.

    Raises:
        InputError: if the data do not exist, or the split file is faulty.
    """
    found = None if data == BUILTIN else _split_file(_place(data))
    if found is None:
        return {}
    split = read_split(found)
    return {name.removesuffix(".json"): part for part in PARTS for name in split.parts.get(part, ())}


def _pool(data: str | Path, split: str | None, wanted: _Wanted) -> Sequence[Task | Path]:
    """Return the built-in or packed episodes, or the files that may be wanted, in order."""
    if split is not None and split not in PARTS:
        raise InputError(f"split {split!r}: must be one of {', '.join(PARTS)}")
    if data != BUILTIN:
        place = _place(data)
        return tuple(Packed(place, split)) if is_packed(place) else _files(place, split, wanted)
    if split is not None:
        raise InputError(f"split {split!r}: the built-in episodes have no split; leave it out")
    return builtin_tasks()


def _read(pool: Iterable[Task | Path], wanted: _Wanted, replay: bool) -> Iterator[Task]:
    tasks = (one if isinstance(one, Task) else read_file(one, replay=replay) for one in pool)
    return (task for task in tasks if wanted.task(task))


def _some(tasks: tuple[Task, ...], data: str | Path) -> tuple[Task, ...]:
    if not tasks:
        raise NoEpisodeError(
            f"data {str(data)!r} hold no episode of the levels, quests, goals, split asked for",
            code="no_episodes",
            data=str(data),
        )
    return tasks


def _as_named(task: Task) -> tuple[int, str]:
    """Return what a name tells of a file rightly, if it does; the file need not say its template."""
    return task.level, task.meaning.quest


def check_folder(path: Path) -> Checked:
    """Read every episode file in a folder (or one file) and its split file; tell all that is wrong."""
    files = [path] if path.is_file() else episode_files(_episode_folder(path))
    split_file = None if path.is_file() else _split_file(path)
    return check_files(files if split_file is None else [*files, split_file])


def check_files(files: Sequence[Path]) -> Checked:
    """Read episode files, and compare the split files among them with what lies beside them."""
    tasks: list[Task] = []
    faults: list[Fault] = []
    for file in files:
        if file.name == SPLIT_FILE:
            beside = {episode_file.name for episode_file in episode_files(_episode_folder(file.parent))}
            faults += _split_faults(file, beside)
            continue
        checked = check_file(file, whole=False)
        faults += checked.faults
        if checked.task is not None:
            tasks.append(checked.task)
            faults += [*_level_fault(file, checked.task), *_goal_fault(file, checked.task)]
            faults += [
                Fault(str(file), checked.task.id, 0, code, message, "warning")
                for code, message in doubts(checked.task)
            ]
    return Checked(tuple(tasks), tuple(faults))


def episode_files(folder: Path) -> list[Path]:
    """Return the episode files of a folder, in the order in which they are loaded."""
    files = (file for file in folder.glob("*.json") if file.name != SPLIT_FILE)
    return sorted((file for file in files if file.is_file()), key=_order)


@dataclass(frozen=True)
class _Wanted:
    levels: frozenset[int] | None
    quests: frozenset[str] | None
    goals: frozenset[int] | None

    def task(self, task: Task) -> bool:
        return self._fits(task.level, task.meaning.quest, task.goal_index)

    def name(self, name: Name | None) -> bool:
        """Return True if a file may be wanted, as far as its name says."""
        return name is None or self._fits(name.level or 4, name.quest, name.goal)

    def _fits(self, level: int, quest: str, goal: int | None) -> bool:
        pairs = ((level, self.levels), (quest, self.quests), (goal, self.goals))
        return all(allowed is None or value in allowed for value, allowed in pairs)


def _files(path: Path, split: str | None, wanted: _Wanted) -> Sequence[Path]:
    files: Sequence[Path] = [path] if path.is_file() else episode_files(_episode_folder(path))
    if split is not None:
        split_file = _split_file(path)
        if split_file is None:
            raise InputError(f"{path}: there is no {SPLIT_FILE} here or one folder up that tells the split")
        names = set(read_split(split_file).part(split))
        files = [file for file in files if file.name in names]
    return [file for file in files if wanted.name(parse_name(file.name))]


def _place(data: str | Path) -> Path:
    return datasets.locate(data, BENCHMARK, BUILTIN, "HandMeThat episodes", f"{FOLDER}/").path


def _episode_folder(path: Path) -> Path:
    """Return the folder of the episode files: `path`, or the published folder in it."""
    inner = path / FOLDER
    return inner if inner.is_dir() else path


def _split_file(path: Path) -> Path | None:
    homes = [path.parent] if path.is_file() else [path, path.parent]
    return next((home / SPLIT_FILE for home in homes if (home / SPLIT_FILE).is_file()), None)


def _order(file: Path) -> tuple[object, ...]:
    name = parse_name(file.name)
    if name is None:
        return (1, file.name)
    return (0, name.level or 4, QUESTS.index(name.quest), name.goal, name.number, name.style)


def _chosen(what: str, some: Iterable[T] | None, allowed: Collection[object]) -> frozenset[T] | None:
    if some is None:
        return None
    found = frozenset(some)
    for one in found:
        if one not in allowed:
            raise InputError(f"{what} {one!r}: must be one of {', '.join(map(str, allowed))}")
    return found


def _level_fault(file: Path, task: Task) -> list[Fault]:
    name = parse_name(file.name)
    if name is None or (name.level or 4) == task.level:
        return []
    message = f"level: the file says {task.level}, its name {name.level}; the file is believed"
    return [Fault(str(file), task.id, 0, "name", message, "warning")]


def _goal_fault(file: Path, task: Task) -> list[Fault]:
    """Return a warning about a strange goal; nothing that is played depends on it."""
    try:
        goal = parse_goal(task.goal)
        to_formula(goal, task.world)
        reached = goal_holds(task.world, task.current, goal)
    except InputError as error:
        return [Fault(str(file), task.id, 0, "goal", f"_goal: {error}", "warning")]
    if not reached:
        return []
    return [Fault(str(file), task.id, 0, "goal", "_goal: holds already when the human asks", "warning")]


def _split_faults(path: Path, files: Collection[str]) -> list[Fault]:
    try:
        split: Split = read_split(path)
    except InputError as error:
        return [Fault(str(path), "", 0, "split", str(error).removeprefix(f"{path}: "))]
    listed = {name for group in (split.levels, split.quests) for some in group.values() for name in some}
    missing, unlisted = sorted(listed - set(files)), sorted(set(files) - listed)
    faults = []
    if missing:
        message = f"lists {len(missing)} files that are not there, {missing[0]} among them"
        faults.append(Fault(str(path), "", 0, "split", message, "warning"))
    if unlisted:
        message = f"does not list {len(unlisted)} files that are there, {unlisted[0]} among them"
        faults.append(Fault(str(path), "", 0, "split", message, "warning"))
    return faults
