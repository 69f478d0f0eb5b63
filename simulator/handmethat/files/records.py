"""Entity records of the published episode files, and the household they describe (spec 10.2).

A household is two dictionaries of records, s0 and s_T, over the same entities in the same order. Only states
and places may differ between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from simulator.errors import InputError
from simulator.handmethat.actions import Action, domain
from simulator.handmethat.hierarchy import ABILITY_OF_STATE, CLASSES, STATES, Kind, kind_as_listed
from simulator.handmethat.meanings.model import (
    KEYS,
    KIND_KEYS,
    PLACE_KEYS,
    QUESTS,
    VERBS,
    Grounding,
    Meaning,
    Quest,
    describe,
)
from simulator.handmethat.world import HUMAN_NAME, NOTHING, State, World, start_state
from trees.faults import Fault

MOST_RECEPTACLES: Final = 254
"""A state stores the number of a container in a byte, where 255 means none."""
_FIXED: Final = ("color", "size")
_FIRST: Final = "initial_object_dict"
_LATER: Final = "current_object_dict"


class Record(BaseModel):
    """One entity in a file; unknown keys are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    cls: str = Field(alias="class")
    subclass: str
    type: str
    ability: list[str]
    states: dict[str, bool | str]
    inside: str | None = None
    ontop: str | None = None

    def fixed(self, key: str) -> str | None:
        """Return the colour or size, or None."""
        value = self.states.get(key)
        return value if isinstance(value, str) else None


Records = Mapping[str, Record]


def read_household(initial: Records, current: Records, faults: Faults) -> tuple[World, State, State] | None:
    """Return the household, its first state, and that when the human asks; None if there was a fault.

    Both states have the agent at the floor, since the records do not give the human's location.

    `current`: records when the human asks; unchanged ones must be the same objects as in `initial`.
    """
    before = len(faults.errors)
    world = _read_world(initial, faults)
    _compare(initial, current, faults)
    if world is None or len(faults.errors) > before:
        return None
    first = _read_state(world, initial, _FIRST, faults)
    later = None if first is None else _read_state(world, current, _LATER, faults)
    return None if first is None or later is None else (world, first, later)


def _read_world(records: Records, faults: Faults) -> World | None:
    before = len(faults.errors)
    kinds = [_read_kind(name, record, faults) for name, record in records.items()]
    if "floor" not in records:
        faults.add(_FIRST, "there is no floor, where the human starts")
    receptacles = [
        (i, name) for i, (name, kind) in enumerate(zip(records, kinds, strict=True)) if kind.receptacle
    ]
    if len(receptacles) > MOST_RECEPTACLES:
        most = f"Askback takes at most {MOST_RECEPTACLES}"
        faults.add(_FIRST, f"{len(receptacles)} locations and receptacles; {most}")
    elif receptacles and receptacles[-1][0] >= MOST_RECEPTACLES:
        place = f"among the first {MOST_RECEPTACLES} entities"
        faults.add(f"{_FIRST}.{receptacles[-1][1]}", f"a receptacle must be {place}: move it before the rest")
    if len(faults.errors) > before:
        return None
    colors, sizes = (tuple(record.fixed(key) for record in records.values()) for key in _FIXED)
    return World(tuple(records), tuple(kinds), colors, sizes)


def _read_kind(name: str, record: Record, faults: Faults) -> Kind:
    key = f"{_FIRST}.{name}"
    if record.cls not in CLASSES:
        faults.add(f"{key}.class", f"{record.cls!r} is not one of {', '.join(CLASSES)}")
    base, mark, number = name.partition("#")
    numbered = number.isascii() and number.isdigit() if mark else True
    if base != record.type or bool(mark) == (record.cls == "LOCATION") or not numbered:
        expected = "type" if record.cls == "LOCATION" else "type#0, type#1, …"
        faults.add(key, f"a {record.cls} of type {record.type!r} must be named like its {expected}")
    _check_states(key, record, faults)
    return kind_as_listed(record.type, record.cls, record.subclass, tuple(record.ability))


def _check_states(key: str, record: Record, faults: Faults) -> None:
    for state, problem in _wrong_states(tuple(record.ability), tuple(record.states.items())):
        faults.add(f"{key}.states.{state}", problem)


@lru_cache(maxsize=1 << 14)  # few combinations are common
def _wrong_states(
    abilities: tuple[str, ...], states: tuple[tuple[str, bool | str], ...]
) -> tuple[tuple[str, str], ...]:
    def problems() -> Iterator[tuple[str, str]]:
        for state, value in states:
            if state in _FIXED:
                if not isinstance(value, str) or not value:
                    yield state, f"{value!r} must be a word"
            elif state not in STATES:
                yield state, f"no such state; states are {', '.join((*STATES, *_FIXED))}"
            elif not isinstance(value, bool):
                yield state, f"{value!r} must be true or false"
            elif value and ABILITY_OF_STATE[state] not in abilities:
                yield state, f"true, but the ability {ABILITY_OF_STATE[state]!r} is missing"

    return tuple(problems())


def _compare(initial: Records, current: Records, faults: Faults) -> None:
    """Add a fault for each difference between both that is not a state or a place."""
    for name in initial:
        if name not in current:
            faults.add(f"{_LATER}.{name}", f"is missing, although {_FIRST} has it")
    for name, record in current.items():
        first, key = initial.get(name), f"{_LATER}.{name}"
        if first is record:
            continue
        if first is None:
            faults.add(key, f"is not in {_FIRST}")
            continue
        pairs = {
            "class": (record.cls, first.cls),
            "subclass": (record.subclass, first.subclass),
            "type": (record.type, first.type),
            "ability": (record.ability, first.ability),
            **{f"states.{word}": (record.states.get(word), first.states.get(word)) for word in _FIXED},
        }
        for part, (later, before) in pairs.items():
            if later != before:
                faults.add(f"{key}.{part}", f"differs from {_FIRST}, but can never change")
        _check_states(key, record, faults)


def _read_state(world: World, records: Records, key: str, faults: Faults) -> State | None:
    errors = len(faults.errors)
    containers, bits = [NOTHING] * len(world), dict.fromkeys(STATES, 0)
    for i, name in enumerate(world.names):
        record = records[name]
        containers[i] = _container(world, record, f"{key}.{name}", i, faults)
        for word, value in record.states.items():
            if value is True:
                bits[word] |= 1 << i
    held = [i for i, container in enumerate(containers) if container == NOTHING and world.kinds[i].movable]
    if len(held) > 1 and len(faults.errors) == errors:
        faults.add(f"{key}.{world.names[held[1]]}", "has no place; give it one under inside or ontop")
    if len(faults.errors) > errors:
        return None
    state = start_state(world, containers, bits)
    return state._replace(holding=held[0]) if held else state


def _container(world: World, record: Record, key: str, entity: int, faults: Faults) -> int:
    relation, name = ("inside", record.inside) if record.inside is not None else ("ontop", record.ontop)
    if name is None:
        return NOTHING
    place, kind, container = f"{key}.{relation}", world.kinds[entity], world.index.get(name)
    if record.inside is not None and record.ontop is not None:
        faults.add(key, "has a place both under inside and under ontop; remove one of them")
    elif not kind.movable:
        faults.add(place, "a location cannot be in or on anything")
    elif container is None:
        faults.add(place, f"there is no {name!r} in this household")
    elif world.kinds[container].relation != relation or not world.kinds[container].receptacle:
        faults.add(place, f"nothing can lie {'inside' if relation == 'inside' else 'on top of'} {name}")
    elif kind.receptacle and world.kinds[container].movable:
        faults.add(place, f"a receptacle must lie at a location, not in or on another receptacle ({name})")
    else:
        return container
    return NOTHING


# ---- names in an episode file, converted to entities of its household


OWN: Final = "askback"
"""The key for the fields that Askback adds to the published format."""
VERBS_READ: Final = (*VERBS, "open")
"""The published program also has "open", although it can never be useful (spec 6.2)."""
Triple = list[Any]
"""``[quest type, specifiers, argument]`` or ``[object, argument]``."""


@dataclass(slots=True)
class Faults:
    """The faults of one file, collected so that all can be reported together."""

    file: Path
    errors: list[Fault] = field(default_factory=list)

    def add(self, key: str, message: str, *, code: str = "content") -> None:
        """Add a fault; `key`: where in the file (``current_object_dict.apple#0.inside``)."""
        text = f"{key}: {message}" if key else message
        self.errors.append(Fault(str(self.file), self.file.stem, 0, code, text))

    def raise_first(self) -> None:
        """Raise the first error, if there is one, with the number of the others.

        Raises:
            InputError: if the file has a fault.
        """
        if self.errors:
            more = len(self.errors) - 1
            advice = f"; `askback check {self.file}` lists {more} more" if more else ""
            raise InputError(f"{self.file}: {self.errors[0].message}{advice}")

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.errors)


class ActionRecord(BaseModel):
    """An action in a file."""

    model_config = ConfigDict(strict=True)

    name: str
    arguments: list[str]


class Reader:
    """The reader of names in a file. It returns entities of the household, and adds faults to `faults`."""

    def __init__(self, world: World, faults: Faults) -> None:
        self.world = world
        self.faults = faults

    def entity(self, key: str, name: object) -> int:
        """Return the entity called `name`; 0 and a fault if it does not exist."""
        entity = self.world.index.get(name) if isinstance(name, str) else None
        if entity is None:
            self.faults.add(key, f"there is no {name!r} in initial_object_dict")
        return entity or 0

    def actions(self, key: str, records: Sequence[ActionRecord]) -> tuple[Action, ...]:
        """Return the human's actions."""
        return tuple(self._action(f"{key}.{i}", record) for i, record in enumerate(records))

    def _action(self, key: str, record: ActionRecord) -> Action:
        schema = domain("human").get(record.name)
        if schema is None:
            known = ", ".join(domain("human"))
            self.faults.add(f"{key}.name", f"no such action {record.name!r}; actions are {known}")
            return Action(record.name, ())
        agent, *names = record.arguments or [""]
        if agent != HUMAN_NAME or len(names) != len(schema.params):
            params = ", ".join((HUMAN_NAME, *schema.params))
            self.faults.add(f"{key}.arguments", f"{record.arguments} must be ({params})")
            return Action(record.name, ())
        args = (self.entity(f"{key}.arguments.{i}", name) for i, name in enumerate(names, start=1))
        return Action(record.name, tuple(args))

    def meaning(self, key: str, triple: Triple, *, spoken: bool = False) -> Meaning:
        """Return a meaning or, if `spoken`, an utterance, which may leave the destination open."""
        quest, description, *rest = triple if len(triple) in (2, 3) else (None, None)
        argument = rest[0] if rest else None
        if quest not in QUESTS:
            self.faults.add(f"{key}.0", f"{quest!r} is not one of {', '.join(QUESTS)}")
            return Meaning("bring_me", ())
        if not isinstance(description, dict):
            self.faults.add(f"{key}.1", 'must be an object of specifiers, like {"type": "apple"}')
            return Meaning("bring_me", ())
        for specifier, value in description.items():
            self._specifier(f"{key}.1.{specifier}", specifier, value)
        if not (spoken and quest == "move_to" and argument is None):
            self._argument(f"{key}.2", quest, argument)
        return Meaning(quest, describe(description), argument)

    def _specifier(self, key: str, name: str, value: object) -> None:
        if name not in KEYS:
            self.faults.add(key, f"no such specifier; specifiers are {', '.join(KEYS)}")
        elif name in PLACE_KEYS:
            self.entity(key, value)
        elif name in (*KIND_KEYS, "color", "size"):
            if not isinstance(value, str):
                self.faults.add(key, f"{value!r} must be a word")
        elif not isinstance(value, bool):
            self.faults.add(key, f"{value!r} must be true or false")

    def _argument(self, key: str, quest: Quest, argument: object) -> None:
        if quest == "bring_me" and argument is not None:
            self.faults.add(key, f"{argument!r}: bring_me takes null")
        elif quest == "move_to":
            self.entity(key, argument)
        elif quest == "change_state" and argument not in VERBS_READ:
            self.faults.add(key, f"{argument!r} is not one of {', '.join(VERBS_READ)}")

    def groundings(self, key: str, pairs: Sequence[Triple], quest: Quest) -> tuple[Grounding, ...]:
        """Return the groundings of a list of [object, argument or null]."""
        groundings = []
        for i, pair in enumerate(pairs):
            if len(pair) != 2:
                self.faults.add(f"{key}.{i}", "must be [object, argument or null]")
                continue
            self._argument(f"{key}.{i}.1", quest, pair[1])
            groundings.append((self.entity(f"{key}.{i}.0", pair[0]), pair[1]))
        return tuple(groundings)

    def listener(self, rows: Sequence[Triple]) -> tuple[tuple[Meaning, float], ...]:
        """Return the listener's likeliest readings with their probabilities."""
        meanings = []
        for i, row in enumerate(rows):
            key = f"{OWN}.listener.{i}"
            match row:
                case [list() as triple, float() | int() as chance] if not isinstance(chance, bool):
                    meanings.append((self.meaning(f"{key}.0", triple), float(chance)))
                case _:
                    self.faults.add(key, "must be [[quest type, specifiers, argument], probability]")
        return tuple(meanings)
