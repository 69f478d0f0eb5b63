"""Read and write episode files in the published format, and report their faults (spec 10)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator.fields import field_faults
from simulator.handmethat.actions import Action
from simulator.handmethat.files.records import (
    OWN,
    ActionRecord,
    Faults,
    Reader,
    Record,
    Triple,
    read_household,
)
from simulator.handmethat.files.split import parse_name
from simulator.handmethat.hierarchy import STATES, Kind, hierarchy
from simulator.handmethat.items import LEVELS, Level, Task
from simulator.handmethat.meanings.model import Grounding
from simulator.handmethat.world import HUMAN_NAME, NOTHING, State, World
from trees.faults import json_problem


class _Own(BaseModel):
    """The fields that are not in the published format."""

    model_config = ConfigDict(strict=True)

    seed: int
    profile: str
    listener: list[list[Any]] = []


class _EpisodeFile(BaseModel):
    """The keys of an episode file; others are ignored."""

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


def read_file(path: Path) -> Task:
    """Return the task of an episode file; the file's name gives the level if the content does not.

    Raises:
        InputError: if the file is faulty; the message names the file and the key, and says what to do.
    """
    task, faults = check_file(path)
    faults.raise_first()
    assert task is not None
    return task


def check_file(path: Path) -> tuple[Task | None, Faults]:
    """Return the task of an episode file, or None, and all faults of the file."""
    faults, data = Faults(path), None
    try:
        data = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
        content = _validate_file(data)
    except OSError as error:
        faults.add("", f"cannot be read ({error.strerror})", code="format")
    except ValidationError as error:
        for fault in field_faults(error, data):
            faults.add(fault.field, f"{fault.problem} (see the published format)", code="format")
    except (ValueError, RecursionError) as error:
        faults.add("", json_problem(error), code="format")
    else:
        return _read(content, faults), faults
    return None, faults


def _validate_file(data: Any) -> _EpisodeFile:
    """Return the content of a file, sharing the record of an entity that is the same in both states."""
    first, later = (
        data.get(key) if isinstance(data, dict) else None
        for key in ("initial_object_dict", "current_object_dict")
    )
    if not isinstance(first, dict) or not isinstance(later, dict):
        return _EpisodeFile.model_validate(data)
    # Validate changed records only: nearly all are the same. Unlike ==, repr distinguishes True and 1.
    changed = {name: record for name, record in later.items() if repr(record) != repr(first.get(name))}
    content = _EpisodeFile.model_validate({**data, "current_object_dict": changed})
    records = {**content.initial_object_dict, **content.current_object_dict}
    return content.model_copy(update={"current_object_dict": {name: records[name] for name in later}})


def _read(content: _EpisodeFile, faults: Faults) -> Task | None:
    level = _read_level(content, faults)
    household = read_household(content.initial_object_dict, content.current_object_dict, faults)
    if household is None or level is None:
        return None
    world, initial, current = household
    read, own = Reader(world, faults), content.own
    actions = read.actions("action_list", content.action_list)
    solution = read.actions("_possible_solution", content.possible_solution)
    meaning = read.meaning("_meaning", content.meaning)
    utterance = read.meaning("utterance", content.utterance, spoken=True)
    heard = read.meaning("_rsa_meaning", content.rsa_meaning)
    listener = read.listener(own.listener) if own else ()
    in_meaning, in_utterance, useful = (
        read.groundings(key, pairs, meaning.quest)
        for key, pairs in (
            ("_objects_in_meaning", content.in_meaning),
            ("_objects_in_utterance", content.in_utterance),
            ("_useful_objects", content.useful),
        )
    )
    in_heard = read.groundings("_objects_in_rsa_meaning", content.in_rsa_meaning, heard.quest)
    if faults.errors:
        return None
    moves = (action.args[1] for action in reversed(actions) if action.name == "human-move")
    return Task(
        id=faults.file.stem,
        level=level,
        goal_index=content.goal_idx,
        task_index=content.task_idx,
        world=world,
        initial=initial,
        current=current._replace(at=next(moves, initial.at), waiting=True),
        goal=content.goal,
        subgoal=content.subgoal,
        actions=actions,
        solution=solution,
        meaning=meaning,
        utterance=utterance,
        heard=heard,
        in_meaning=in_meaning,
        in_utterance=in_utterance,
        useful=useful,
        in_heard=in_heard,
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
        name = parse_name(faults.file.stem)
        if name is None:
            faults.add("level", "is missing; add it, or give the file a published name (level3_task0_…)")
            return None
        level = name.level
    # The first generator wrote 0 for episodes of no level, and its splitter counted them as level 4.
    for valid in LEVELS:
        if valid == (level or 4):
            return valid
    faults.add("level", f"{level}: must be 1, 2, 3 or 4")
    return None


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON value")


# ---- the text of an episode file in the published format (spec 10.1, 10.2)
#
# Most of a file is the records of the household, and most records recur in other households: their text is
# cached.


OFFICIAL: Final = "official"
"""The profile of published episodes."""


def file_text(task: Task) -> str:
    """Return the text of the task's episode file."""
    names = task.world.names

    def records(actions: Sequence[Action]) -> list[dict[str, Any]]:
        return [
            {"name": name, "arguments": [HUMAN_NAME, *(names[entity] for entity in args)]}
            for name, args in actions
        ]

    def groundings(pairs: Sequence[Grounding]) -> list[list[str | None]]:
        return [[names[entity], argument] for entity, argument in pairs]

    head = {"goal_idx": task.goal_index, "task_idx": task.task_index, "level": task.level}
    rest: dict[str, Any] = {
        "_goal": task.goal,
        "_subgoal": task.subgoal,
        "action_list": records(task.actions),
        "_possible_solution": records(task.solution),
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
    initial, current = (_records(task.world, state) for state in (task.initial, task.current))
    states = f'"initial_object_dict": {initial}, "current_object_dict": {current}'
    return f"{_dumps(head)[:-1]}, {states}, {_dumps(rest)[1:]}"


def _records(world: World, state: State) -> str:
    count, kinds = len(world), hierarchy().kinds
    # Digits of the bit sets, first entity first.
    flags = {name: f"{getattr(state, name):0{count}b}"[::-1] for name in STATES}
    texts = []
    for i, (name, kind) in enumerate(zip(world.names, world.kinds, strict=True)):
        values = "".join([flags[key][i] for key in kind.states])
        container = state.container(i)
        relation, place = (
            ("", "") if container == NOTHING else (world.relation(container), world.names[container])
        )
        details = values, world.colors[i], world.sizes[i], relation, place
        in_table = kinds.get(kind.name) is kind
        text = _cached_record(kind.name, *details) if in_table else _record(kind, *details)
        texts.append(f'"{name}": {text}')
    return "{" + ", ".join(texts) + "}"


@lru_cache(maxsize=1 << 16)
def _cached_record(kind: str, *details: Any) -> str:
    return _record(hierarchy().kinds[kind], *details)


def _record(kind: Kind, values: str, color: str | None, size: str | None, relation: str, place: str) -> str:
    """Return the text of an entity's record; `values`: the digits of its states."""
    states: dict[str, Any] = {key: value == "1" for key, value in zip(kind.states, values, strict=True)}
    states |= {key: value for key, value in (("color", color), ("size", size)) if value is not None}
    record: dict[str, Any] = {
        "class": kind.cls,
        "subclass": kind.subclass,
        "type": kind.name,
        "ability": kind.abilities,
        "states": states,
    }
    return _dumps({**record, relation: place} if relation else record)


def _dumps(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)
