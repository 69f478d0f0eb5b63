"""An own episode's file as text, several times as fast as its JSON value would be dumped.

Most of a file is the records of the household, and most records are those of other households too: their
text is made once. The text is that of ``dump(task_to_json(task))``, to the letter.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from simulator.handmethat.files.episode import plain_rest, task_to_json
from simulator.handmethat.hierarchy import STATES, hierarchy
from simulator.handmethat.task import Task
from simulator.handmethat.world import NOTHING, State, World

_BITS: Final = {"0": False, "1": True}


def file_text(task: Task) -> str:
    """Return the text of the task's episode file."""
    known = hierarchy().kinds
    if task.extra or any(known.get(kind.name) is not kind for kind in task.world.kinds):
        return _dumps(task_to_json(task))
    head, rest = plain_rest(task)
    initial, current = (_records(task.world, state) for state in (task.initial, task.current))
    both = f'"initial_object_dict": {initial}, "current_object_dict": {current}'
    return f"{_dumps(head)[:-1]}, {both}, {_dumps(rest)[1:]}"


def _records(world: World, state: State) -> str:
    count = len(world)
    # Digits of the bit sets, the first entity first.
    flags = {name: f"{getattr(state, name):0{count}b}"[::-1] for name in STATES}
    texts = []
    for i, (name, kind) in enumerate(zip(world.names, world.kinds, strict=True)):
        values = "".join([flags[key][i] for key in kind.states])
        container = state.container(i)
        place = "" if container == NOTHING else world.names[container]
        relation = "" if container == NOTHING else world.relation(container)
        text = _record(kind.name, values, world.colors[i], world.sizes[i], relation, place)
        texts.append(f'"{name}": {text}')
    return "{" + ", ".join(texts) + "}"


@lru_cache(maxsize=1 << 16)
def _record(
    kind_name: str, values: str, color: str | None, size: str | None, relation: str, place: str
) -> str:
    kind = hierarchy().kinds[kind_name]
    states: dict[str, Any] = {key: _BITS[value] for key, value in zip(kind.states, values, strict=True)}
    states |= {key: value for key, value in (("color", color), ("size", size)) if value is not None}
    record: dict[str, Any] = {
        "class": kind.cls,
        "subclass": kind.subclass,
        "type": kind.name,
        "ability": kind.abilities,
        "states": states,
    }
    if relation:
        record[relation] = place
    return _dumps(record)


def _dumps(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)
