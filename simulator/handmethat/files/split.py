"""The split file of the published data: the level, quest, goal and part of each file (spec 10.4).

It is a list of objects, each from the name of a group to file names. There are three shapes: v1
(levels, quests, parts), the first generator's (quests, levels, goals), and v2 (quests, levels, goals, parts).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from simulator.errors import InputError
from simulator.fields import first_fault
from simulator.handmethat.items import Stratum
from simulator.handmethat.meanings.model import QUESTS, Quest
from simulator.output_files import write_atomically
from trees.faults import json_problem

FOLDER: Final = "HandMeThat_with_expert_demonstration"
SPLIT_FILE: Final = "HandMeThat_data_info.json"
Part = Literal["train", "validate", "test"]
PARTS: Final[tuple[Part, ...]] = ("train", "validate", "test")
Group = Mapping[str, tuple[str, ...]]
_LEVELS: Final = tuple(f"level{level}" for level in (1, 2, 3, 4))
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "levels": frozenset({*_LEVELS, "level0"}),
    "quests": frozenset(QUESTS),
    "parts": frozenset(PARTS),
}
_FILE: Final = TypeAdapter(list[dict[str, tuple[str, ...]]])


@dataclass(frozen=True, slots=True)
class Split:
    """The groups of a data set: group -> file names, in the order of the file.

    Attributes:
        levels: ``level1`` to ``level4``.
        quests: ``bring_me``, ``move_to``, ``change_state``.
        goals: numbers of goal templates, as strings; empty in v1's shape.
        parts: ``train``, ``validate``, ``test``; empty in the first generator's shape.
    """

    levels: Group = field(default_factory=dict)
    quests: Group = field(default_factory=dict)
    goals: Group = field(default_factory=dict)
    parts: Group = field(default_factory=dict)

    def part(self, name: str) -> tuple[str, ...]:
        """Return the files of a part.

        Raises:
            InputError: if the split file does not have the part.
        """
        if name not in self.parts:
            known = ", ".join(self.parts) or "none: the split file has no parts"
            raise InputError(f"split {name!r}: must be one of {known}")
        return self.parts[name]


def read_split(path: Path) -> Split:
    """Read a split file of any shape.

    Raises:
        InputError: if it cannot be read; the message names the file and the place, and says what to do.
    """
    try:
        data = json.loads(path.read_bytes())
        groups = _FILE.validate_python(data)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        fault = first_fault(error, data)
        raise InputError(f"{path}: {fault}; it is a list of objects from a group to file names") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {json_problem(error)}") from error
    if not groups:
        raise InputError(f"{path}: is empty; it is a list of objects from a group to file names")
    by_kind: dict[str, Group] = {}
    for i, group in enumerate(groups):
        kind = _kind(group)
        if kind is None:
            raise InputError(
                f"{path}: element {i} has the groups {', '.join(group) or '(none)'}; expected "
                f"level1 to level4, {', '.join(QUESTS)}, numbers of goals, or {', '.join(PARTS)}"
            )
        if kind in by_kind:
            raise InputError(f"{path}: element {i} lists {kind} a second time; remove one of them")
        by_kind[kind] = group
    return Split(**by_kind)


def make_split(names: Iterable[str], parts: Mapping[str, Part]) -> Split:
    """Return the split of files with published names.

    Raises:
        InputError: if a name is not of the published form.
    """
    levels, quests, by_part = (
        {group: list[str]() for group in groups} for groups in (_LEVELS, QUESTS, PARTS)
    )
    goals: defaultdict[int, list[str]] = defaultdict(list)
    for name in names:
        parsed = parse_name(name)
        if parsed is None:
            raise InputError(
                f"{name!r} is not the name of an episode file (level3_task0_bring_me_goal59.json)"
            )
        levels[f"level{parsed.stratum.level}"].append(name)
        quests[parsed.quest].append(name)
        goals[parsed.goal].append(name)
        by_part[parts[name]].append(name)
    in_order = {str(goal): goals[goal] for goal in sorted(goals)}
    return Split(*(_freeze(groups) for groups in (levels, quests, in_order, by_part)))


def merge_splits(paths: Sequence[Path]) -> Split:
    """Return the union of several split files, group by group.

    Raises:
        InputError: if a file cannot be read, or lists an episode in another part.
    """
    splits = [read_split(path) for path in paths]
    merged = Split(
        *(_merge_groups([getattr(split, kind.name) for split in splits]) for kind in fields(Split))
    )
    place: dict[str, str] = {}
    for part, names in merged.parts.items():
        for name in names:
            if place.setdefault(name, part) != part:
                raise InputError(
                    f"{', '.join(map(str, paths))}: {name} is in {place[name]} and in {part}; "
                    "remove one of them"
                )
    return merged


def write_split(split: Split, path: Path, style: Style = "v2") -> None:
    """Write a split file in the shape of v1 or v2, or of the first generator if there are no parts.

    Raises:
        InputError: if it cannot be written.
    """
    if style == "v1" and split.parts:
        groups = [split.levels, split.quests, split.parts]
    else:
        groups = [split.quests, split.levels, split.goals, *([split.parts] if split.parts else [])]
    write_atomically(path, json.dumps(groups, indent=1))


def _kind(group: Group) -> str | None:
    """Return the kind of groups in an element; None if they are unknown."""
    if group and all(name.isascii() and name.isdigit() for name in group):
        return "goals"
    return next((kind for kind, names in _KINDS.items() if group and names.issuperset(group)), None)


def _merge_groups(groups: Sequence[Group]) -> Group:
    merged: defaultdict[str, list[str]] = defaultdict(list)
    for name, files in (pair for group in groups for pair in group.items()):
        merged[name] += files
    return _freeze({name: dict.fromkeys(files) for name, files in merged.items()})


def _freeze(groups: Mapping[str, Iterable[str]]) -> Group:
    return {name: tuple(files) for name, files in groups.items()}


# ---- names of episode files, in the styles of both versions (spec 10.3)


Style = Literal["v1", "v2"]
_QUESTS: Final = "|".join(QUESTS)
_PATTERNS: Final[dict[Style, re.Pattern[str]]] = {
    "v1": re.compile(rf"level(?P<level>[0-4])_task(?P<number>\d+)_(?P<quest>{_QUESTS})_goal(?P<goal>\d+)"),
    "v2": re.compile(rf"task-(?P<quest>{_QUESTS})-(?P<goal>\d+)-(?P<number>\d+)-(?P<level>[0-4])"),
}


class Name(NamedTuple):
    """The parts of a file's name.

    Attributes:
        level: 1 to 4; 0 for episodes of the first generator without a level.
        goal: number of the goal's template.
        number: running number within the level (v1), or within goal and quest type (v2).
    """

    style: Style
    level: int
    quest: Quest
    goal: int
    number: int

    @property
    def stratum(self) -> Stratum:
        """The stratum for sampling; level 0 counts as 4."""
        return Stratum(self.level or 4, self.quest, self.goal)

    def __str__(self) -> str:
        if self.style == "v1":
            return f"level{self.level}_task{self.number}_{self.quest}_goal{self.goal}"
        return f"task-{self.quest}-{self.goal}-{self.number}-{self.level}"


def parse_name(name: str) -> Name | None:
    """Return the parts of a file's name, with or without ``.json``; None if it is not a published name."""
    stem = name.removesuffix(".json")
    for style, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(stem):
            quest = next(quest for quest in QUESTS if quest == match["quest"])
            return Name(style, int(match["level"]), quest, int(match["goal"]), int(match["number"]))
    return None
