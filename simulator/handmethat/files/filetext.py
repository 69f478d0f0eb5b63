"""The text of an episode file in the published format (spec 10.1, 10.2).

Most of a file is the records of the household, and most records are those of other households too: their
text is made once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from simulator.errors import InputError
from simulator.handmethat.actions import Action
from simulator.handmethat.files.reading import OWN
from simulator.handmethat.hierarchy import STATES, Kind, hierarchy
from simulator.handmethat.meanings.model import Grounding
from simulator.handmethat.task import Task
from simulator.handmethat.world import HUMAN_NAME, NOTHING, State, World

OFFICIAL: Final = "official"
"""The profile of published episodes."""


def write_file(task: Task, folder: Path) -> Path:
    """Write the task's file into `folder` and return its path.

    Raises:
        InputError: if it cannot be written.
    """
    path = folder / f"{task.id}.json"
    try:
        path.write_text(file_text(task), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    return path


def file_text(task: Task) -> str:
    """Return the text of the task's episode file."""
    names = task.world.names

    def actions(done: Sequence[Action]) -> list[dict[str, Any]]:
        return [
            {"name": name, "arguments": [HUMAN_NAME, *(names[entity] for entity in args)]}
            for name, args in done
        ]

    def groundings(pairs: Sequence[Grounding]) -> list[list[str | None]]:
        return [[names[entity], argument] for entity, argument in pairs]

    head = {"goal_idx": task.goal_index, "task_idx": task.task_index, "level": task.level}
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
    initial, current = (_records(task.world, state) for state in (task.initial, task.current))
    both = f'"initial_object_dict": {initial}, "current_object_dict": {current}'
    return f"{_dumps(head)[:-1]}, {both}, {_dumps(rest)[1:]}"


def _records(world: World, state: State) -> str:
    count, known = len(world), hierarchy().kinds
    # Digits of the bit sets, the first entity first.
    flags = {name: f"{getattr(state, name):0{count}b}"[::-1] for name in STATES}
    texts = []
    for i, (name, kind) in enumerate(zip(world.names, world.kinds, strict=True)):
        values = "".join([flags[key][i] for key in kind.states])
        container = state.container(i)
        relation, place = (
            ("", "") if container == NOTHING else (world.relation(container), world.names[container])
        )
        details = values, world.colors[i], world.sizes[i], relation, place
        ours = known.get(kind.name) is kind
        text = _known_record(kind.name, *details) if ours else _record(kind, *details)
        texts.append(f'"{name}": {text}')
    return "{" + ", ".join(texts) + "}"


@lru_cache(maxsize=1 << 16)
def _known_record(kind: str, *details: Any) -> str:
    return _record(hierarchy().kinds[kind], *details)


def _record(kind: Kind, values: str, color: str | None, size: str | None, relation: str, place: str) -> str:
    """Return the text of an entity; `values` are the digits of its states."""
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
