"""The split file of the published data: which file is of which level, quest, goal and part (spec 10.4).

It is a list of objects, each from a group's name to file names. Three shapes are known: v1
(levels, quests, parts), the first generator's (quests, levels, goals), and v2 (quests, levels, goals, parts).
The first and the last are written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from simulator.errors import InputError
from simulator.handmethat.files.names import Style, parse_name
from simulator.handmethat.meanings.model import QUESTS

FOLDER: Final = "HandMeThat_with_expert_demonstration"
SPLIT_FILE: Final = "HandMeThat_data_info.json"
Part = Literal["train", "validate", "test"]
PARTS: Final[tuple[Part, ...]] = ("train", "validate", "test")
Group = Mapping[str, tuple[str, ...]]
_LEVELS: Final = tuple(f"level{level}" for level in (1, 2, 3, 4))


@dataclass(frozen=True, slots=True)
class Split:
    """The groups of a data set: group -> file names, in the order of the file.

    Attributes:
        levels: ``level1`` to ``level4``.
        quests: the quest types.
        goals: numbers of goal templates, as words; empty in v1's shape.
        parts: ``train``, ``validate``, ``test``; empty in the first generator's shape.
    """

    levels: Group = field(default_factory=dict)
    quests: Group = field(default_factory=dict)
    goals: Group = field(default_factory=dict)
    parts: Group = field(default_factory=dict)

    def part(self, name: str) -> tuple[str, ...]:
        """Return the files of a part.

        Raises:
            InputError: if there is no such part.
        """
        if name not in self.parts:
            known = ", ".join(self.parts) or "none: the split file has no parts"
            raise InputError(f"split {name!r}: must be one of {known}")
        return self.parts[name]


def read_split(path: Path) -> Split:
    """Read a split file of any shape.

    Raises:
        InputError: if it cannot be read; the message names the file, the place and the way out.
    """
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    if not isinstance(data, list) or not data:
        raise InputError(f"{path}: must be a list of objects, each from a group to a list of file names")
    groups = [_read_group(path, i, group) for i, group in enumerate(data)]
    found: dict[str, Group] = {}
    for i, group in enumerate(groups):
        kind = _kind(group)
        if kind is None:
            raise InputError(
                f"{path}: element {i} has the groups {', '.join(group) or '(none)'}; expected "
                f"level1 to level4, {', '.join(QUESTS)}, numbers of goals, or {', '.join(PARTS)}"
            )
        if kind in found:
            raise InputError(f"{path}: element {i} lists {kind} a second time; remove one of them")
        found[kind] = group
    return Split(**found)


def make_split(names: Iterable[str], parts: Mapping[str, Part]) -> Split:
    """Return the split of files with published names.

    Args:
        names: file names with ``.json``, in the order in which they are to be listed.
        parts: file name -> part.

    Raises:
        InputError: if a name is not of the published form.
    """
    levels: dict[str, list[str]] = {level: [] for level in _LEVELS}
    quests: dict[str, list[str]] = {quest: [] for quest in QUESTS}
    goals: dict[str, list[str]] = {}
    by_part: dict[str, list[str]] = {part: [] for part in PARTS}
    for name in names:
        said = parse_name(name)
        if said is None:
            raise InputError(
                f"{name!r} is not the name of an episode file (level3_task0_bring_me_goal59.json)"
            )
        # Level 0 of the first generator is filed under 4.
        levels[f"level{said.level or 4}"].append(name)
        quests[said.quest].append(name)
        goals.setdefault(str(said.goal), []).append(name)
        by_part[parts[name]].append(name)
    in_order = {goal: goals[goal] for goal in sorted(goals, key=int)}
    return Split(*(_freeze(groups) for groups in (levels, quests, in_order, by_part)))


def merge_splits(paths: Sequence[Path]) -> Split:
    """Return one split out of several files': every group with the files that any of them lists.

    Raises:
        InputError: if one cannot be read, or a file is in different parts.
    """
    read = [read_split(path) for path in paths]
    merged = Split(*(_merged([getattr(split, kind) for split in read]) for kind in Split.__slots__))
    place: dict[str, str] = {}
    for part, names in merged.parts.items():
        for name in names:
            if place.setdefault(name, part) != part:
                raise InputError(
                    f"{', '.join(map(str, paths))}: {name} is in {place[name]} and in {part}; "
                    "remove one of them"
                )
    return merged


def _merged(groups: Sequence[Group]) -> Group:
    names = dict.fromkeys(name for group in groups for name in group)
    return {
        name: tuple(dict.fromkeys(file for group in groups for file in group.get(name, ()))) for name in names
    }


def split_to_json(split: Split, style: Style = "v2") -> list[dict[str, list[str]]]:
    """Return the split file's content in v1's shape or v2's; in the first generator's without parts."""
    if style == "v1" and split.parts:
        groups = [split.levels, split.quests, split.parts]
    else:
        groups = [split.quests, split.levels, split.goals, *([split.parts] if split.parts else [])]
    return [{name: list(files) for name, files in group.items()} for group in groups]


def write_split(split: Split, path: Path, style: Style = "v2") -> None:
    """Write the split file in the shape of a version.

    Raises:
        InputError: if it cannot be written.
    """
    try:
        path.write_text(json.dumps(split_to_json(split, style), indent=1), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


def _read_group(path: Path, i: int, group: Any) -> Group:
    if not isinstance(group, dict):
        raise InputError(f"{path}: element {i} must be an object from a group to a list of file names")
    for name, files in group.items():
        if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
            raise InputError(f"{path}: element {i}, group {name!r} must be a list of file names")
    return _freeze(group)


def _kind(group: Group) -> str | None:
    names = set(group)
    known: dict[str, set[str]] = {"levels": {*_LEVELS, "level0"}, "quests": set(QUESTS), "parts": set(PARTS)}
    found = next((kind for kind, words in known.items() if names and names <= words), None)
    if found is None and names and all(name.isascii() and name.isdigit() for name in names):
        return "goals"
    return found


def _freeze(groups: Mapping[str, list[str]]) -> Group:
    return {name: tuple(files) for name, files in groups.items()}
