"""Names of an episode file become entities of its household; what cannot is noted as a fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from simulator.errors import InputError
from simulator.handmethat.actions import Action, domain
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
from simulator.handmethat.world import HUMAN_NAME, World
from trees.faults import Fault

OWN: Final = "askback"
"""The key of a file under which Askback keeps what the published format has no place for."""
VERBS_READ: Final = (*VERBS, "open")
"""The published program enumerates "open", though it can never be useful (spec 6.2)."""
Triple = list[Any]
"""``[quest type, specifiers, argument]`` or ``[object, argument]``."""


@dataclass(slots=True)
class Faults:
    """The faults of one file, gathered so that all of them are told at once.

    Attributes:
        file: the file; None for what was never in one.
    """

    file: Path | None
    task: str
    errors: list[Fault] = field(default_factory=list)

    def add(self, key: str, message: str, *, code: str = "content") -> None:
        """Note one: `key` says where in the file (``current_object_dict.apple#0.inside``)."""
        place = str(self.file) if self.file else ""
        self.errors.append(Fault(place, self.task, 0, code, f"{key}: {message}" if key else message))

    def raise_first(self) -> None:
        """Raise the first error, if there is one, with the number of the others.

        Raises:
            InputError: if something was wrong.
        """
        if self.errors:
            more, place = len(self.errors) - 1, self.file or self.task
            advice = f"; `askback check {place}` lists {more} more" if more else ""
            raise InputError(f"{place}: {self.errors[0].message}{advice}")

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.errors)


class ActionRecord(BaseModel):
    """An action in a file."""

    model_config = ConfigDict(strict=True)

    name: str
    arguments: list[str]


class Reader:
    """Turns names of a file into entities of its household; notes what it cannot."""

    def __init__(self, world: World, faults: Faults) -> None:
        self.world = world
        self.faults = faults

    def entity(self, key: str, name: object) -> int:
        """Return the entity called `name`; 0, with a fault, if there is none."""
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
            self.faults.add(f"{key}.name", f"no such action {record.name!r}; the human's are {known}")
            return Action(record.name, ())
        agent, *names = record.arguments or [""]
        if agent != HUMAN_NAME or len(names) != len(schema.params):
            params = ", ".join((HUMAN_NAME, *schema.params))
            self.faults.add(f"{key}.arguments", f"{record.arguments} must be ({params})")
            return Action(record.name, ())
        args = (self.entity(f"{key}.arguments.{i}", name) for i, name in enumerate(names, start=1))
        return Action(record.name, tuple(args))

    def meaning(self, key: str, triple: Triple, *, spoken: bool = False) -> Meaning:
        """Return a meaning, or an utterance if it was `spoken`, which may leave a destination open."""
        quest, description, *rest = triple if len(triple) in (2, 3) else (None, None)
        argument = rest[0] if rest else None
        if quest not in QUESTS:
            self.faults.add(f"{key}.0", f"{quest!r} is none of {', '.join(QUESTS)}")
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
            self.faults.add(key, f"no such specifier; known are {', '.join(KEYS)}")
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
            self.faults.add(key, f"{argument!r} is none of {', '.join(VERBS_READ)}")

    def groundings(self, key: str, pairs: Sequence[Triple], quest: Quest) -> tuple[Grounding, ...]:
        """Return a set of [object, argument or null]."""
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
