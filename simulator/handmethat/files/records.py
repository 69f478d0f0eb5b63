"""Entity records of the published episode files, and the household they describe (spec 10.2).

A household is two dictionaries of records, s0 and s_T, over the same entities in the same order. What may
change differs between them; everything else must agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from marshal import dumps
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from simulator.handmethat.files.faults import Faults
from simulator.handmethat.hierarchy import (
    CLASSES,
    STATE_OF_ABILITY,
    STATES,
    Kind,
    hierarchy,
    make_kind,
    role_of,
)
from simulator.handmethat.world import NOTHING, State, World, bit_set, has, start_state

# A state keeps the number of a container in a byte, and 255 says that there is none.
MOST_RECEPTACLES: Final = 254
# Of how `marshal` writes: without references, so that what is equal is written alike.
_PLAIN: Final = 2
_FIXED: Final = ("color", "size")
_WORDS: Final = {"inside": "inside", "ontop": "on top"}


class Record(BaseModel):
    """One entity in a file; keys that it does not know are left alone."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    cls: str = Field(alias="class")
    subclass: str
    type: str
    ability: list[str]
    states: dict[str, bool | str]
    inside: str | None = None
    ontop: str | None = None


Records = Mapping[str, Record]


def read_household(initial: Records, current: Records, faults: Faults) -> tuple[World, State, State] | None:
    """Return the household of a file, its first state, and its state when the human asks.

    Both states have the agent at the floor; where the human stands is not in the records.

    Returns:
        None if there was a fault; it is in `faults` then.
    """
    before = len(faults.errors)
    world = _read_world(initial, faults)
    _compare(initial, current, faults)
    if world is None or len(faults.errors) > before:
        return None
    first = _read_state(world, initial, "initial_object_dict", faults)
    if first is None:
        return None
    changed = [i for i, name in enumerate(world.names) if current[name] is not initial[name]]
    later = _read_state(world, current, "current_object_dict", faults, first, changed)
    return None if later is None else (world, first, later)


def unchanged(initial: Mapping[str, Any], current: Mapping[str, Any]) -> frozenset[str]:
    """Return the entities whose records in a file are alike to the letter at first and when the human asks.

    Nearly all are; `read_household` is faster where these have one `Record` in both dictionaries.
    """
    # Unlike ==, what is written tells true from 1.
    return frozenset(
        name
        for name, record in current.items()
        if name in initial and dumps(initial[name], _PLAIN) == dumps(record, _PLAIN)
    )


def write_records(world: World, state: State) -> dict[str, dict[str, Any]]:
    """Return the records of a state, as `read_household` reads them; a state that is held has no place."""
    found = {}
    for i, (name, kind) in enumerate(zip(world.names, world.kinds, strict=True)):
        states: dict[str, bool | str] = {key: has(state, key, i) for key in kind.states}
        color, size = world.colors[i], world.sizes[i]
        if color is not None:
            states["color"] = color
        if size is not None:
            states["size"] = size
        record: dict[str, Any] = {
            "class": kind.cls,
            "subclass": kind.subclass,
            "type": kind.name,
            "ability": list(kind.abilities),
            "states": states,
        }
        container = state.container(i)
        if container != NOTHING:
            record[world.relation(container)] = world.names[container]
        found[name] = record
    return found


def _read_world(records: Records, faults: Faults) -> World | None:
    before = len(faults.errors)
    kinds = [_read_kind(name, record, faults) for name, record in records.items()]
    if "floor" not in records:
        faults.add("initial_object_dict", "there is no floor, where the human starts")
    _limit_receptacles(records, faults)
    if len(faults.errors) > before:
        return None
    names = tuple(records)
    fixed = {key: tuple(_text(record.states.get(key)) for record in records.values()) for key in _FIXED}
    return World(names, tuple(kind for kind in kinds if kind), fixed["color"], fixed["size"])


def _read_kind(name: str, record: Record, faults: Faults) -> Kind | None:
    key = f"initial_object_dict.{name}"
    if record.cls not in CLASSES:
        faults.add(f"{key}.class", f"{record.cls!r} is none of {', '.join(CLASSES)}")
        return None
    base, mark, number = name.partition("#")
    numbered = bool(mark) and number.isascii() and number.isdigit()
    expected = "type" if record.cls == "LOCATION" else "type#0, type#1, …"
    if base != record.type or numbered == (record.cls == "LOCATION") or bool(mark) != numbered:
        faults.add(key, f"a {record.cls} of type {record.type!r} must be called like its {expected}")
        return None
    abilities = tuple(record.ability)
    if not _plain_states(abilities, tuple(record.states.items())):
        _check_states(key, record, faults)
    return _kind(record.type, record.cls, record.subclass, abilities)


@lru_cache(maxsize=4096)
def _kind(name: str, cls: str, subclass: str, abilities: tuple[str, ...]) -> Kind:
    """Our own kind where the file agrees with it, else the file's."""
    known = hierarchy().kinds.get(name)
    if known and (known.cls, known.subclass, known.abilities) == (cls, subclass, abilities):
        return known
    return make_kind(name, cls, subclass, abilities, role_of(name))


@lru_cache(maxsize=1 << 14)
def _plain_states(abilities: tuple[str, ...], states: tuple[tuple[str, bool | str], ...]) -> bool:
    """Return True if `_check_states` finds nothing, for the few ways in which things mostly are."""
    record = Record.model_construct(ability=list(abilities), states=dict(states))
    faults = Faults(None, "")
    _check_states("", record, faults)
    return not faults.errors


def _check_states(key: str, record: Record, faults: Faults) -> None:
    for state, value in record.states.items():
        if state in _FIXED:
            if not isinstance(value, str) or not value:
                faults.add(f"{key}.states.{state}", f"{value!r} must be a word")
        elif state not in STATES:
            faults.add(f"{key}.states.{state}", f"no such state; known are {', '.join((*STATES, *_FIXED))}")
        elif not isinstance(value, bool):
            faults.add(f"{key}.states.{state}", f"{value!r} must be true or false")
        elif value and STATE_OF_ABILITY[_ABILITY[state]] and _ABILITY[state] not in record.ability:
            faults.add(f"{key}.states.{state}", f"true, and the ability {_ABILITY[state]!r} is missing")


_ABILITY: Final = {state: ability for ability, state in STATE_OF_ABILITY.items()}


def _limit_receptacles(records: Records, faults: Faults) -> None:
    receptacles = [
        (i, name) for i, (name, one) in enumerate(records.items()) if one.cls in ("LOCATION", "RECEPTACLE")
    ]
    if len(receptacles) > MOST_RECEPTACLES:
        faults.add(
            "initial_object_dict",
            f"{len(receptacles)} locations and receptacles; Askback takes at most {MOST_RECEPTACLES}",
        )
    elif receptacles and receptacles[-1][0] >= MOST_RECEPTACLES:
        faults.add(
            f"initial_object_dict.{receptacles[-1][1]}",
            f"a receptacle must be among the first {MOST_RECEPTACLES} entities: put it before the rest",
        )


def _compare(initial: Records, current: Records, faults: Faults) -> None:
    """What never changes must be the same in both."""
    for name in initial:
        if name not in current:
            faults.add(f"current_object_dict.{name}", "is missing, though initial_object_dict has it")
    for name, record in current.items():
        first = initial.get(name)
        if first is record:
            continue
        if first is None:
            faults.add(f"current_object_dict.{name}", "is not in initial_object_dict")
            continue
        for key in ("cls", "subclass", "type", "ability"):
            if getattr(record, key) != getattr(first, key):
                faults.add(
                    f"current_object_dict.{name}.{'class' if key == 'cls' else key}",
                    "differs from initial_object_dict, and never changes",
                )
        for key in _FIXED:
            if record.states.get(key) != first.states.get(key):
                faults.add(
                    f"current_object_dict.{name}.states.{key}",
                    "differs from initial_object_dict, and never changes",
                )
        _check_states(f"current_object_dict.{name}", record, faults)


def _read_state(
    world: World,
    records: Records,
    key: str,
    faults: Faults,
    before: State | None = None,
    changed: Sequence[int] | None = None,
) -> State | None:
    """A state by its records; where it differs from the state `before` in some entities, by theirs alone."""
    errors = len(faults.errors)
    some = range(len(world.names)) if changed is None else changed
    where = [NOTHING] * len(world.names)
    bits = dict.fromkeys(STATES, 0)
    if before is not None:
        where = [before.container(i) for i in range(len(where))]
        kept = ~bit_set(some)
        bits = {word: getattr(before, word) & kept for word in STATES}
    for i in some:
        name = world.names[i]
        where[i] = _container(world, records[name], f"{key}.{name}", i, faults)
        for word, value in records[name].states.items():
            if value is True:
                bits[word] |= 1 << i
    held = [i for i, container in enumerate(where) if container == NOTHING and world.kinds[i].movable]
    if len(held) > 1 and len(faults.errors) == errors:
        faults.add(f"{key}.{world.names[held[1]]}", "lies nowhere; give it a place under inside or ontop")
    if len(faults.errors) > errors:
        return None
    state = start_state(world, where, bits)
    return state._replace(holding=held[0]) if held else state


def _container(world: World, record: Record, key: str, entity: int, faults: Faults) -> int:
    relation, name = ("inside", record.inside) if record.inside is not None else ("ontop", record.ontop)
    if name is None:
        return NOTHING
    place = f"{key}.{relation}"
    kind, container = world.kinds[entity], world.index.get(name)
    if record.inside is not None and record.ontop is not None:
        faults.add(key, "lies both inside and ontop of something; one of them must go")
    elif not kind.movable:
        faults.add(place, "a location lies nowhere")
    elif container is None:
        faults.add(place, f"there is no {name!r} in this household")
    elif world.kinds[container].relation != relation or not world.kinds[container].receptacle:
        faults.add(
            place,
            f"nothing can lie {_WORDS[relation]} of {name}"
            if relation == "ontop"
            else f"nothing can lie inside {name}",
        )
    elif kind.receptacle and world.kinds[container].movable:
        faults.add(place, f"a receptacle lies at a location, never in or on another receptacle ({name})")
    else:
        return container
    return NOTHING


def _text(value: bool | str | None) -> str | None:
    return value if isinstance(value, str) else None
