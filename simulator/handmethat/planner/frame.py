"""What the cost-to-go knows of a goal before it sees a state: demands, tools, numbers of operators."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

from simulator.handmethat.goals.model import Requirement
from simulator.handmethat.hierarchy import Kind
from simulator.handmethat.planner.demands import Demand
from simulator.handmethat.world import NOTHING, BitSet, State, World, bit_set, entities

# The operators about one entity, as bits; PUT is the first of those that put it somewhere.
MOVE: Final = 1 << 0
PICK: Final = 1 << 1
OPEN: Final = 1 << 2
CLOSE: Final = 1 << 3
TOGGLE_ON: Final = 1 << 4
TOGGLE_OFF: Final = 1 << 5
CLEAN: Final = 1 << 6
SLICE: Final = 1 << 7
SOAK: Final = 1 << 8
COOL: Final = 1 << 9
HEAT: Final = 1 << 10  # in the first heater; those of the others follow
_HEATERS: Final = 3
_PUT: Final = 10 + _HEATERS
_ORDER: Final = ("cooked", "frozen", "soaked", "sliced", "dusty", "stained", "toggled", "open")
# Stands for the operator that first frees the hand; entities' operators come after it.
FREE: Final = 1 << 0


class Spec(NamedTuple):
    """A demand without its entity: entities of one kind that lie in one place meet it in the same way.

    Attributes:
        number: of the spec, within its frame.
        kind: of the entity.
        location: the entity if it is a location, else `NOTHING`.
        place: where it is to lie; `NOTHING` if anywhere will do.
        states: required states: their field in `State`, their value, and both as a requirement.
        possible: see `Demand`.
    """

    number: int
    kind: Kind
    location: int
    place: int
    states: tuple[tuple[int, bool, Requirement], ...]
    possible: bool

    def met(self, state: State, entity: int) -> int:
        """Return bits, of which the i-th tells whether that required state of `entity` is as it should be."""
        found = 0
        for i, (field, value, _) in enumerate(self.states):
            bits: BitSet = state[field]  # type: ignore[assignment]
            if (bits >> entity & 1) == value:
                found |= 1 << i
        return found


# A demand ready for use: its entity, the shift of the entity's operators, its spec.
Need = tuple[int, int, Spec]


class Frame:
    """What stays the same from state to state while one goal is weighed.

    Args:
        world: the household.
        grounded: the entities that operators may use.
        places: the movable containers in which something is wanted.

    Attributes:
        near: the locations among the grounded entities.
        put: container -> the operator that puts the entity in question there.
        tools: bit set of the tools that some demand may call for.
        wanted: bit set of the entities about which a demand leaves no choice.
    """

    def __init__(self, world: World, grounded: BitSet, places: Iterable[int]) -> None:
        self.world = world
        self.kinds = world.kinds
        self.grounded = grounded
        self.locations = world.of("LOCATION")
        self.openable = world.of("openable")
        near = entities(grounded & self.locations)
        self.near = tuple(near)
        self.surfaces = tuple(one for one in self.near if world.kinds[one].relation == "ontop")
        self.heaters = self._of_role("heats")
        self.coolers = self._of_role("cools")
        self.soakers = self._of_role("soaks")
        holders = (*world.locations, *places)
        self.put = {holder: 1 << _PUT + i for i, holder in enumerate(dict.fromkeys(holders))}
        self.puts = sum(self.put.values())
        self._width = _PUT + len(self.put)
        self._shifts: dict[int, int] = {}
        self._specs: dict[tuple[object, ...], Spec] = {}
        self.tools: BitSet = 0
        self.wanted: BitSet = 0

    def shift(self, entity: int) -> int:
        """Return where the operators about `entity` begin among the bits of a union."""
        shift = self._shifts.get(entity)
        if shift is None:
            shift = self._shifts[entity] = 1 + self._width * len(self._shifts)
        return shift

    def own(self, ops: int, entity: int) -> int:
        """Return the operators about `entity` among those of a union, from bit 0."""
        shift = self._shifts.get(entity)
        return 0 if shift is None else ops >> shift & (1 << self._width) - 1

    def spec(self, demand: Demand) -> Spec:
        """Return `demand` without its entity; equal ones are the same object."""
        entity = demand.entity
        kind = self.kinds[entity]
        location = NOTHING if kind.movable else entity
        key = (kind.name, *demand[1:])
        spec = self._specs.get(key)
        if spec is None:
            # What an appliance does comes first: where that leaves a thing it can be sliced, too.
            states = tuple(
                (State._fields.index(name), value, (name, value))
                for name, value in sorted(demand.states, key=lambda state: _ORDER.index(state[0]))
            )
            spec = self._specs[key] = Spec(
                len(self._specs), kind, location, demand.place, states, demand.possible
            )
            self.tools |= self._tools_for(spec)
        return spec

    def of_types(self, types: Iterable[str]) -> tuple[int, ...]:
        """Return the grounded entities of some types, in the order of creation."""
        found = 0
        for name in types:
            found |= self.world.of(name)
        return tuple(entities(found & self.grounded))

    @cached_property
    def knives(self) -> tuple[int, ...]:
        """What cuts."""
        return self.of_types(("knife",))

    def _tools_for(self, spec: Spec) -> BitSet:
        found: BitSet = 0
        for _, _, (name, value) in spec.states:
            if name == "sliced" and value:
                found |= bit_set(self.knives)
            elif name in ("dusty", "stained") and not value:
                found |= bit_set(self.of_types(spec.kind.cleaners))
        return found

    def _of_role(self, role: str) -> tuple[int, ...]:
        return tuple(one for one in self.near if self.kinds[one].role == role)
