"""Episode files in the published format: read, written, and written again exactly (spec 10.1 to 10.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.errors import InputError
from simulator.field_faults import field_faults
from simulator.handmethat.actions import Action
from simulator.handmethat.files.faults import Faults
from simulator.handmethat.files.layout import apply_layout, find_layout
from simulator.handmethat.files.names import parse_name
from simulator.handmethat.files.reading import OWN, ActionRecord, Reader, Triple
from simulator.handmethat.files.records import Record, read_household, unchanged, write_records
from simulator.handmethat.meanings.model import Grounding
from simulator.handmethat.task import LEVELS, Level, Task
from simulator.handmethat.world import HUMAN_NAME

# The keys of `Task.extra` and of a file that are Askback's own.
LAYOUT: Final = "$layout"
OFFICIAL: Final = "official"


class _Own(BaseModel):
    """What the published format has no place for."""

    model_config = ConfigDict(strict=True)

    seed: int
    profile: str
    listener: list[list[Any]] = []


class _EpisodeFile(BaseModel):
    """The keys of an episode file; others are left alone."""

    model_config = ConfigDict(strict=True, extra="ignore")

    goal_idx: int | None = None
    task_idx: int | None = None
    level: int | None = None
    initial_object_dict: dict[str, Record]
    current_object_dict: dict[str, Record]
    goal: str = Field(alias="_goal")
    subgoal: str | None = Field(None, alias="_subgoal")
    action_list: list[ActionRecord]
    possible_solution: list[ActionRecord] = Field(alias="_possible_solution")
    meaning: Triple = Field(alias="_meaning")
    utterance: Triple
    rsa_meaning: Triple = Field(alias="_rsa_meaning")
    in_meaning: list[Triple] = Field(alias="_objects_in_meaning")
    in_utterance: list[Triple] = Field(alias="_objects_in_utterance")
    useful: list[Triple] = Field(alias="_useful_objects")
    in_rsa_meaning: list[Triple] = Field(alias="_objects_in_rsa_meaning")
    demo_actions: list[str] | None = None
    demo_observations_fully: list[str] | None = None
    demo_observations_partially: list[str] | None = None
    task_description: str | None = None
    own: _Own | None = Field(None, alias=OWN)


@dataclass(frozen=True)
class Checked:
    """An episode file after reading: the task, or None if it is unusable, and what is wrong with it."""

    task: Task | None
    faults: Faults


def read_file(path: Path, *, replay: bool = False, whole: bool = True) -> Task:
    """Return the task of an episode file.

    Args:
        path: the file; its name tells the level where the file does not.
        replay: make the current state by performing the actions on the first one, instead of taking the
            file's, which keeps what the human has undone (stale states).
        whole: keep what is needed to write the file again to the letter; it is faster without.

    Raises:
        InputError: if it cannot be read or is faulty; the message names file, key and way out.
    """
    checked = check_file(path, replay=replay, whole=whole)
    checked.faults.raise_first()
    assert checked.task is not None
    return checked.task


def check_file(path: Path, *, replay: bool = False, whole: bool = True) -> Checked:
    """Read an episode file and gather everything that is wrong with it; see `read_file`."""
    faults = Faults(path, path.stem)
    try:
        data = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except OSError as error:
        faults.add("", f"cannot be read ({error.strerror})", code="format")
    except (ValueError, RecursionError) as error:
        faults.add("", f"is not JSON: {error}", code="format")
    else:
        return _check(data, faults, replay, whole)
    return Checked(None, faults)


def task_from_json(data: Any, name: str, *, replay: bool = False) -> Task:
    """Return the task out of an episode file's content; `name` is the file's, without ``.json``.

    Raises:
        InputError: if it is faulty.
    """
    checked = _check(data, Faults(None, name), replay)
    checked.faults.raise_first()
    assert checked.task is not None
    return checked.task


def task_to_json(task: Task) -> dict[str, Any]:
    """Return the content of the task's episode file: what was read, if it was read from one."""
    made = _plain(task)
    made |= {key: value for key, value in task.extra.items() if key != LAYOUT}
    layout = task.extra.get(LAYOUT)
    return cast(dict[str, Any], apply_layout(made, cast("dict[str, Any] | None", layout)))


def write_file(task: Task, folder: Path) -> Path:
    """Write the task's file into `folder`; the path.

    Raises:
        InputError: if it cannot be written.
    """
    path = folder / f"{task.id}.json"
    try:
        path.write_bytes(dump(task_to_json(task)))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    return path


def dump(data: Any) -> bytes:
    """JSON as the files hold it: one line."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False).encode()


def _check(data: Any, faults: Faults, replay: bool, whole: bool = True) -> Checked:
    try:
        content = _validated(data)
    except ValidationError as error:
        for fault in field_faults(error, data):
            faults.add(fault.field, f"{fault.problem} (see the published format)", code="format")
        return Checked(None, faults)
    task = _read(content, faults, replay)
    if task is None or faults.errors:
        return Checked(None, faults)
    return Checked(_with_rest(task, data, content, replay) if whole else task, faults)


def _validated(data: Any) -> _EpisodeFile:
    """Return the keys of a file, with one record for an entity that is the same in both states."""
    first, later = (
        data.get(key) if isinstance(data, dict) else None
        for key in ("initial_object_dict", "current_object_dict")
    )
    if not isinstance(first, dict) or not isinstance(later, dict):
        return _EpisodeFile.model_validate(data)
    same = unchanged(first, later)
    changed = {name: record for name, record in later.items() if name not in same}
    content = _EpisodeFile.model_validate({**data, "current_object_dict": changed})
    records = {
        name: (content.initial_object_dict if name in same else content.current_object_dict)[name]
        for name in later
    }
    return content.model_copy(update={"current_object_dict": records})


def _read(content: _EpisodeFile, faults: Faults, replay: bool) -> Task | None:
    level = _read_level(content, faults)
    household = read_household(content.initial_object_dict, content.current_object_dict, faults)
    if household is None or level is None:
        return None
    world, initial, current = household
    read = Reader(world, faults)
    actions = read.actions("action_list", content.action_list)
    solution = read.actions("_possible_solution", content.possible_solution)
    meaning = read.meaning("_meaning", content.meaning)
    utterance = read.meaning("utterance", content.utterance, spoken=True)
    heard = read.meaning("_rsa_meaning", content.rsa_meaning)
    own = content.own
    listener = read.listener(own.listener) if own else ()
    quest = meaning.quest
    sets = [
        read.groundings("_objects_in_meaning", content.in_meaning, quest),
        read.groundings("_objects_in_utterance", content.in_utterance, quest),
        read.groundings("_useful_objects", content.useful, quest),
        read.groundings("_objects_in_rsa_meaning", content.in_rsa_meaning, heard.quest),
    ]
    replayed = read.replay(initial, actions) if replay and not faults.errors else None
    if faults.errors:
        return None
    at = next((action.args[1] for action in reversed(actions) if action.name == "human-move"), initial.at)
    return Task(
        id=faults.task,
        level=level,
        goal_index=content.goal_idx,
        task_index=content.task_idx,
        world=world,
        initial=initial,
        current=(replayed or current._replace(at=at))._replace(waiting=True),
        goal=content.goal,
        subgoal=content.subgoal,
        actions=actions,
        solution=solution,
        meaning=meaning,
        utterance=utterance,
        heard=heard,
        in_meaning=sets[0],
        in_utterance=sets[1],
        useful=sets[2],
        in_heard=sets[3],
        demo=tuple(content.demo_actions or ()),
        demo_full=tuple(content.demo_observations_fully or ()),
        demo_partial=tuple(content.demo_observations_partially or ()),
        description=content.task_description,
        seed=own.seed if own else 0,
        profile=own.profile if own else OFFICIAL,
        listener=listener,
    )


def _read_level(content: _EpisodeFile, faults: Faults) -> Level | None:
    level = content.level
    if level is None:
        name = parse_name(faults.task)
        if name is None:
            faults.add("level", "is missing; add it, or name the file as published (level3_task0_…)")
            return None
        level = name.level
    # The first generator wrote 0 for what fits no other level, and its splitter filed it under 4.
    level = 4 if level == 0 else level
    if level not in LEVELS:
        faults.add("level", f"{level}: must be 1, 2, 3 or 4")
        return None
    return level


def _with_rest(task: Task, data: Mapping[str, Any], content: _EpisodeFile, replay: bool) -> Task:
    """Return the task with whatever of the file it does not hold, and with how the file is laid out."""
    known = {field.alias or name for name, field in _EpisodeFile.model_fields.items()}
    extra = {key: value for key, value in data.items() if key not in known and key != LAYOUT}
    as_read = task
    if replay:
        world, records = task.world, content.current_object_dict
        household = read_household(content.initial_object_dict, records, Faults(None, task.id))
        assert household is not None
        as_read = replace(task, world=world, current=household[2])
    layout = find_layout({**_plain(as_read), **extra}, data)
    return replace(task, extra={**extra, LAYOUT: layout} if layout else extra)


def plain_rest(task: Task) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what stands in a task's file before the two dictionaries of records, and what after them."""
    names = task.world.names

    def actions(some: Sequence[Action]) -> list[dict[str, Any]]:
        return [
            {"name": one.name, "arguments": [HUMAN_NAME, *(names[entity] for entity in one.args)]}
            for one in some
        ]

    def groundings(some: Sequence[Grounding]) -> list[list[str | None]]:
        return [[names[entity], argument] for entity, argument in some]

    head: dict[str, Any] = {
        "goal_idx": task.goal_index,
        "task_idx": task.task_index,
        "level": task.level,
    }
    rest: dict[str, Any] = {
        "_goal": task.goal,
        "_subgoal": task.subgoal,
        "action_list": actions(task.actions),
        "_possible_solution": actions(task.solution),
        "_meaning": task.meaning.to_json(),
        "utterance": task.utterance.to_json(),
        "_rsa_meaning": task.heard.to_json(),
        "_objects_in_meaning": groundings(task.in_meaning),
        "_objects_in_utterance": groundings(task.in_utterance),
        "_useful_objects": groundings(task.useful),
        "_objects_in_rsa_meaning": groundings(task.in_heard),
        "demo_actions": list(task.demo),
        "demo_observations_fully": list(task.demo_full),
        "demo_observations_partially": list(task.demo_partial),
        "task_description": task.description,
    }
    if task.profile != OFFICIAL:
        listener = [[meaning.to_json(), chance] for meaning, chance in task.listener]
        rest[OWN] = {"seed": task.seed, "profile": task.profile, "listener": listener}
    return head, rest


def _plain(task: Task) -> dict[str, Any]:
    head, rest = plain_rest(task)
    records = {
        "initial_object_dict": write_records(task.world, task.initial),
        "current_object_dict": write_records(task.world, task.current),
    }
    return {**head, **records, **rest}


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON value")
