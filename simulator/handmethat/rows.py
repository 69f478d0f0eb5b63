"""A task as a row of the log, compact and whole enough to be played and scored again from the row alone.

Left out are what an expert reads before each of its commands (the environment makes it again), and how the
file was laid out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from logs.rows import Item, content_hash
from simulator.errors import InputError
from simulator.handmethat.actions import Action
from simulator.handmethat.hierarchy import STATES, hierarchy, make_kind, role_of
from simulator.handmethat.meanings.model import Grounding, Meaning, describe
from simulator.handmethat.sample import Stratum
from simulator.handmethat.task import Task
from simulator.handmethat.world import NOTHING, State, World, bit_set, entities, start_state

BENCHMARK: Final = "handmethat"
# Texts of an episode are made in the language in which it is played; the item itself has names only.
_LANGUAGE: Final = "en"


def item_row(task: Task | dict[str, Any]) -> Item:
    """The task, or what `task_to_row` made of it, as a row of the log, named by the hash of its content."""
    data = task_to_row(task) if isinstance(task, Task) else task
    return Item(hash=content_hash(data), benchmark=BENCHMARK, name=data["id"], language=_LANGUAGE, data=data)


def task_to_row(task: Task) -> dict[str, Any]:
    """The task as plain JSON: names, and numbers of entities where there are many."""
    world = task.world
    return {
        "id": task.id,
        "level": task.level,
        "goal_index": task.goal_index,
        "task_index": task.task_index,
        "world": _world_to_json(world),
        "initial": _state_to_json(world, task.initial),
        "current": _state_to_json(world, task.current),
        "goal": task.goal,
        "subgoal": task.subgoal,
        "actions": _actions_to_json(world, task.actions),
        "solution": _actions_to_json(world, task.solution),
        "meaning": task.meaning.to_json(),
        "utterance": task.utterance.to_json(),
        "heard": task.heard.to_json(),
        "in_meaning": _groundings_to_json(task.in_meaning),
        "in_utterance": _groundings_to_json(task.in_utterance),
        "useful": _groundings_to_json(task.useful),
        "in_heard": _groundings_to_json(task.in_heard),
        "demo": list(task.demo),
        "description": task.description,
        "seed": task.seed,
        "profile": task.profile,
        "listener": [[meaning.to_json(), chance] for meaning, chance in task.listener],
    }


def task_from_row(row: Item | Mapping[str, Any]) -> Task:
    """The task out of a row of the log, or of what `task_to_row` made.

    Raises:
        InputError: if it is not of that form.
    """
    data = row.data if isinstance(row, Item) else row
    try:
        world = _world_from_json(data["world"])
        return Task(
            id=data["id"],
            level=data["level"],
            goal_index=data["goal_index"],
            task_index=data["task_index"],
            world=world,
            initial=_state_from_json(world, data["initial"]),
            current=_state_from_json(world, data["current"]),
            goal=data["goal"],
            subgoal=data["subgoal"],
            actions=_actions_from_json(world, data["actions"]),
            solution=_actions_from_json(world, data["solution"]),
            meaning=_meaning(data["meaning"]),
            utterance=_meaning(data["utterance"]),
            heard=_meaning(data["heard"]),
            in_meaning=_groundings(data["in_meaning"]),
            in_utterance=_groundings(data["in_utterance"]),
            useful=_groundings(data["useful"]),
            in_heard=_groundings(data["in_heard"]),
            demo=tuple(data["demo"]),
            description=data["description"],
            seed=data["seed"],
            profile=data["profile"],
            listener=tuple((_meaning(triple), chance) for triple, chance in data["listener"]),
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"not a HandMeThat item: {error!r}; it must come from this log's items") from error


def stratum_of_row(row: Item) -> Stratum:
    """What a task is, out of its row of the log."""
    return Stratum(row.data["level"], row.data["meaning"][0], row.data["goal_index"])


def _world_to_json(world: World) -> dict[str, Any]:
    known = hierarchy().kinds
    kinds = {
        name: [kind.cls, kind.subclass, list(kind.abilities)]
        for name, kind in zip(world.names, world.kinds, strict=True)
        if known.get(kind.name) != kind
    }
    made: dict[str, Any] = {
        "names": list(world.names),
        "colors": _given(world.names, world.colors),
        "sizes": _given(world.names, world.sizes),
    }
    return {**made, "kinds": kinds} if kinds else made


def _world_from_json(data: Mapping[str, Any]) -> World:
    names = tuple(data["names"])
    known, own = hierarchy().kinds, {}
    for name, (cls, subclass, abilities) in data.get("kinds", {}).items():
        kind = name.partition("#")[0]
        own[name] = make_kind(kind, cls, subclass, tuple(abilities), role_of(kind))
    return World(
        names=names,
        kinds=tuple(own.get(name) or known[name.partition("#")[0]] for name in names),
        colors=tuple(data["colors"].get(name) for name in names),
        sizes=tuple(data["sizes"].get(name) for name in names),
    )


def _given(names: Sequence[str], values: Sequence[str | None]) -> dict[str, str]:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _state_to_json(world: World, state: State) -> dict[str, Any]:
    return {
        "at": world.name(state.at),
        "holding": None if state.holding == NOTHING else world.name(state.holding),
        "places": [state.container(i) for i in range(len(world))],
        "given": list(entities(state.given)),
        "waiting": state.waiting,
        **{name: list(entities(getattr(state, name))) for name in STATES},
    }


def _state_from_json(world: World, data: Mapping[str, Any]) -> State:
    state = start_state(world, data["places"], {name: bit_set(data[name]) for name in STATES})
    holding = NOTHING if data["holding"] is None else world.index[data["holding"]]
    return state._replace(
        at=world.entity(data["at"]), holding=holding, given=bit_set(data["given"]), waiting=data["waiting"]
    )


def _actions_to_json(world: World, actions: Iterable[Action]) -> list[list[str]]:
    return [[one.name, *(world.name(entity) for entity in one.args)] for one in actions]


def _actions_from_json(world: World, rows: Iterable[Sequence[str]]) -> tuple[Action, ...]:
    return tuple(Action(name, tuple(world.entity(one) for one in args)) for name, *args in rows)


def _groundings_to_json(some: Iterable[Grounding]) -> list[list[Any]]:
    return [[entity, argument] for entity, argument in some]


def _groundings(rows: Iterable[Sequence[Any]]) -> tuple[Grounding, ...]:
    return tuple((entity, argument) for entity, argument in rows)


def _meaning(triple: Sequence[Any]) -> Meaning:
    quest, description, argument = triple
    return Meaning(quest, describe(description), argument)
