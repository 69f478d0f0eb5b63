"""Names of an episode file become entities of its household; what cannot is noted as a fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from simulator.handmethat.actions import Action, domain
from simulator.handmethat.files.faults import Faults
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
from simulator.handmethat.world import HUMAN_NAME, State, World

# The key of a file under which Askback keeps what the published format has no place for.
OWN: Final = "askback"
# The published program enumerates "open", though it can never be useful (spec 6.2).
VERBS_READ: Final = (*VERBS, "open")

# [quest type, specifiers, argument] or [object, argument]
Triple = list[Any]


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
        found = self.world.index.get(name) if isinstance(name, str) else None
        if found is None:
            self.faults.add(key, f"there is no {name!r} in initial_object_dict")
            return 0
        return found

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
        args = (self.entity(f"{key}.arguments.{i + 1}", name) for i, name in enumerate(names))
        return Action(record.name, tuple(args))

    def replay(self, state: State, actions: Sequence[Action]) -> State:
        """Return the state after `actions`; a fault if one of them cannot be done."""
        for i, (name, args) in enumerate(actions):
            schema = domain("human")[name]
            unmet = schema.unmet(self.world, state, args)
            if unmet is not None:
                self.faults.add(
                    f"action_list.{i}", f"{name} cannot be done then: needs {unmet}; read it without replay"
                )
                return state
            state = schema.apply(state, args)
        return state

    def meaning(self, key: str, triple: Triple, *, spoken: bool = False) -> Meaning:
        """Return a meaning, or an utterance if it was `spoken`, which may leave a destination open."""
        quest, description, *rest = triple if len(triple) in (2, 3) else (None, None, None)
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
            known = ", ".join(KEYS)
            self.faults.add(key, f"no such specifier; known are {known}")
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
        found = []
        for i, pair in enumerate(pairs):
            place = f"{key}.{i}"
            if len(pair) != 2:
                self.faults.add(place, "must be [object, argument or null]")
                continue
            self._argument(f"{place}.1", quest, pair[1])
            found.append((self.entity(f"{place}.0", pair[0]), pair[1]))
        return tuple(found)

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
