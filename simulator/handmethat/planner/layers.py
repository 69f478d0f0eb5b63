"""When the delete relaxation first reaches a fact, and which operators bring it about (spec 5.2(4)).

Without deletes a household falls apart: a place is one move away, a lid one more, what lies behind it
another. So the first layer of every fact and the operators behind it have closed forms, and nothing is
searched. A layer counts steps from the state. Operators are the bits of an int, so a plan is a union and
its length a bit count; those about the entity in question (its own) are kept apart, so that one answer
serves all entities of a kind in the same place.

Where several operators reach a fact in the same first layer, that one is taken which needs the fewest
operators in all, with those that the entity needs anyway left out of the count; then the first. Where a
held container is laid down to be filled, the first place is taken instead: there are many, and a published
extraction takes whichever comes first (see `Layers._reach_held`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from simulator.handmethat.goals.model import Requirement
from simulator.handmethat.planner.frame import (
    CLEAN,
    CLOSE,
    COOL,
    FREE,
    HEAT,
    MOVE,
    OPEN,
    PICK,
    SLICE,
    SOAK,
    TOGGLE_OFF,
    TOGGLE_ON,
    Frame,
    Need,
    Spec,
)
from simulator.handmethat.world import NOTHING, BitSet, State

# The layer of what is never reached.
FAR: Final = 1 << 20
_NOWHERE: Final = 255
# With a full hand, the first layer in which something else can be held.
_PICKED: Final = 2
# First layer, operators about whatever.
Reached = tuple[int, int]
# First layer, operators about other entities, operators about the entity itself (from bit 0).
Found = tuple[int, int, int]
_NEVER: Final[Found] = (FAR, 0, 0)


class Layers:
    """The first layers of the facts around one state.

    Args:
        frame: what stays the same.
        state: the state.
        full: whether the hand is full, of something that is in no place either.
    """

    def __init__(self, frame: Frame, state: State, full: bool | None = None) -> None:
        self.frame = frame
        self.state = state
        self.shut: BitSet = frame.openable & ~state.open
        self._reach: dict[int, Reached] = {}
        self._found: dict[int, Found] = {}
        self._ready: dict[frozenset[str] | None, Reached] = {}
        # The layer where the hand is first free, and what stands for freeing it.
        self.hand, self.freeing = 0, 0
        if state.holding != NOTHING if full is None else full:
            here = frame.grounded & ~self.shut
            self.hand, self.freeing = (1 if here >> state.at & 1 else 2), FREE

    def at(self, location: int) -> Reached:
        """Return what it takes to stand at `location`."""
        if location == self.state.at:
            return 0, 0
        return (1, MOVE << self.frame.shift(location)) if self.frame.grounded >> location & 1 else (FAR, 0)

    def reach(self, container: int) -> Reached:
        """To reach into or onto `container`: to stand there, with no shut lid between."""
        found = self._reach.get(container)
        if found is None:
            found = self._reach[container] = self._find_reach(container)
        return found

    def _find_reach(self, container: int) -> Reached:
        frame = self.frame
        if not frame.grounded >> container & 1:
            return FAR, 0
        if frame.locations >> container & 1:
            layer, ops = self.at(container)
        else:
            below = self.state.place[container]
            if below == _NOWHERE:
                return self._reach_held(container) if container == self.state.holding else (FAR, 0)
            layer, others, own = self.stand(below, NOTHING, 0, 0)
            ops = others | own << frame.shift(container)
        if self.shut >> container & 1:
            return layer + 1, ops | OPEN << frame.shift(container)
        return layer, ops

    def _reach_held(self, container: int) -> Reached:
        """Return what it takes to reach into what is held: it is laid down first.

        Its lid is opened where it can be laid soonest. What is laid into it has to be picked up meanwhile, so
        any place where it can be laid by then will do, and the first of them in the order of creation is
        taken: an operator for each place does it in the same layer, and none of them is asked what it costs.
        """
        ways = [self.put(_NOWHERE, one) for one in self.frame.near if one in self.frame.put]
        soonest = _easiest(ways, 0, 0)
        lid = bool(self.shut >> container & 1)
        needed = max(soonest[0], _PICKED)
        layer, others, own = next((way for way in ways if way[0] <= needed), _NEVER)
        if lid:
            layer, others = max(layer, soonest[0] + 1), others | soonest[1]
            own |= soonest[2] | OPEN
        return layer, others | own << self.frame.shift(container)

    def hold(self, container: int) -> Found:
        """Return what it takes to hold what lies in `container` (`_NOWHERE`: what is held)."""
        if container == _NOWHERE:
            return 0, 0, 0
        layer, ops = self.reach(container)
        return 1 + max(layer, self.hand), ops | self.freeing, PICK

    def put(self, container: int, place: int) -> Found:
        """Return what it takes to lay what lies in `container` into `place`."""
        if container == place:
            return 0, 0, 0
        held, others, own = self.hold(container)
        layer, ops = self.reach(place)
        return 1 + max(held, layer), others | ops, own | self.frame.put[place]

    def stand(self, container: int, place: int, others: int, own: int) -> Found:
        """To stand at the location where what lies in `container` lies directly, no lid between.

        What is held, or lies in a movable container, has first to be laid somewhere: best into `place`,
        where it is wanted, or where least is to be done besides `others` and `own`.
        """
        locations = self.frame.locations
        if container != _NOWHERE and locations >> container & 1:
            return *self.reach(container), 0
        first = [self.state.place[container]] if container != _NOWHERE else []
        wanted = [place] if place != NOTHING and locations >> place & 1 else []
        nearest = (*wanted, *first, self.state.at, *self.frame.near)
        return _easiest(
            (self.put(container, one) for one in nearest if one != _NOWHERE and one in self.frame.put),
            others,
            own,
        )

    def on(self, appliance: int) -> Reached:
        """Return what it takes to stand at `appliance` while it is switched on."""
        layer, ops = self.at(appliance)
        if self.state.toggled >> appliance & 1:
            return layer, ops
        return layer + 1, ops | TOGGLE_ON << self.frame.shift(appliance)

    def tool(self, types: frozenset[str] | None) -> Reached:
        """To hold a tool of one of `types`, wet if it has to be (None: a knife, which is fine dry)."""
        reached = self._ready.get(types)
        if reached is None:
            tools = self.frame.knives if types is None else self.frame.of_types(types)
            reached = self._ready[types] = self._readiest(tools, types is not None)
        return reached

    def _readiest(self, tools: Iterable[int], clean: bool) -> Reached:
        best, least = (FAR, 0), (FAR, 0)
        for tool in tools:
            layer, others, own = self._ready_tool(tool, clean)
            # A tool that the goal is about is moved and soaked anyway.
            wanted = self.frame.wanted >> tool & 1
            cost = layer, others.bit_count() + (0 if wanted else own.bit_count())
            if cost < least:
                best, least = (layer, others | own << self.frame.shift(tool)), cost
        return best

    def _ready_tool(self, tool: int, clean: bool) -> Found:
        container = self.state.place[tool]
        if container == _NOWHERE and tool != self.state.holding:
            return _NEVER
        layer, others, own = self.hold(container)
        if clean and "soaked" in self.frame.kinds[tool].states and not self.state.soaked >> tool & 1:
            wet, more, bits = self.soaked(container, others, own)
            layer, others, own = max(layer, wet), others | more, own | bits
        return layer, others, own

    def soaked(self, container: int, others: int, own: int) -> Found:
        """Return what it takes to have soaked what lies in `container`."""
        return self.worked(self.frame.soakers, SOAK, (container, others, own), hand=False)

    def worked(self, appliances: Iterable[int], op: int, at: Found, hand: bool = True) -> Found:
        """Return what it takes to have used an appliance on a thing that lies in it.

        Args:
            appliances: any of them will do.
            op: the operator.
            at: the container of the thing, and the operators that are needed anyway.
            hand: whether the hand has to be free.
        """
        container, others, own = at
        free, freeing = (self.hand, self.freeing) if hand else (0, 0)
        ways = []
        for i, appliance in enumerate(appliances):
            layer, ops = self.on(appliance)
            laid, more, bits = self.put(container, appliance)
            bit = op << i if op == HEAT else op
            ways.append((1 + max(layer, laid, free), ops | more | freeing, bits | bit))
        return _easiest(ways, others, own)

    def need(self, need: Need) -> Reached:
        """Return what it takes to meet a demand on an entity as it stands."""
        entity, shift, spec = need
        layer, others, own = self.found(
            spec, self.state.place[entity], spec.met(self.state, entity) if spec.states else 0
        )
        return layer, others | own << shift

    def found(self, spec: Spec, container: int, met: int) -> Found:
        """Return what `demand` says, looked up where it has been asked before."""
        key = spec.number << 16 | container << 8 | met
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self.demand(spec, container, met)
        return found

    def freed(self, ops: int, held: int) -> int:
        """Return how many operators a plan of `ops` needs besides to free the hand of `held` in time.

        None if the plan lays it somewhere early enough; else one to lay it down, and another to get where
        it can be laid if the plan does not get there anyway.
        """
        own = self.frame.own(ops, held)
        if any(own & bit and self.reach(place)[0] < self.hand for place, bit in self.frame.put.items()):
            return 0
        if self.hand == 1:
            return 1
        return 1 if ops & self._detours() else 2

    def _detours(self) -> int:
        here, shift = self.state.at, self.frame.shift
        ops = sum(MOVE << shift(one) for one in self.frame.near if one != here and not self.shut >> one & 1)
        return ops | OPEN << shift(here)

    def demand(self, spec: Spec, container: int, met: int) -> Found:
        """To meet a demand on something that lies in `container` and has the required states of `met`."""
        if not spec.possible:
            return _NEVER
        layer, others, own = 0, 0, 0
        if spec.place != NOTHING:
            layer, others, own = self.put(container, spec.place)
        for i, (_, _, required) in enumerate(spec.states):
            if not met >> i & 1:
                way = _WAYS.get(required, _no_way)
                later, more, bits = way(self, spec, container, others, own)
                layer, others, own = max(layer, later), others | more, own | bits
        return layer, others, own


def _easiest(ways: Iterable[Found], others: int, own: int) -> Found:
    """The first of the ways with the lowest layer and the fewest operators besides `others` and `own`."""
    best, least = _NEVER, (FAR, 0)
    for way in ways:
        if way[0] <= least[0]:
            cost = way[0], (way[1] & ~others).bit_count() + (way[2] & ~own).bit_count()
            if cost < least:
                best, least = way, cost
    return best


_Way = Callable[[Layers, Spec, int, int, int], Found]


def _no_way(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
    return _NEVER


def _by_heat(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
    if spec.kind.cls != "FOOD" or "cooked" not in spec.kind.states:
        return _NEVER
    return layers.worked(layers.frame.heaters, HEAT, (container, others, own))


def _by_cold(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
    if spec.kind.cls != "FOOD" or "frozen" not in spec.kind.states:
        return _NEVER
    return layers.worked(layers.frame.coolers, COOL, (container, others, own))


def _by_soaking(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
    if spec.kind.cls != "TOOL" or "soaked" not in spec.kind.states:
        return _NEVER
    return layers.soaked(container, others, own)


def _by_slicing(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
    if spec.kind.cls != "FOOD" or "sliced" not in spec.kind.states:
        return _NEVER
    knife, ops = layers.tool(None)
    surfaces = layers.frame.surfaces
    # What lies on a surface is sliced there: elsewhere it would have to be laid first.
    places = (container,) if container in surfaces else surfaces
    ways = []
    for surface in places:
        laid, more, bits = layers.put(container, surface)
        at, move = layers.at(surface)
        ways.append((1 + max(laid, at, knife), more | move | ops, bits | SLICE))
    return _easiest(ways, others, own)


def _by_cleaning(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
    if spec.kind.cls not in ("RECEPTACLE", "THING", "LOCATION"):
        return _NEVER
    ready, ops = layers.tool(spec.kind.cleaners)
    layer, more, bits = _beside(layers, spec, container, others, own)
    return 1 + max(layer, ready), more | ops, bits | CLEAN


def _by(op: int) -> _Way:
    """Return an operator that asks for nothing but to stand beside the thing."""

    def way(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
        layer, more, bits = _beside(layers, spec, container, others, own)
        return 1 + layer, more, bits | op

    return way


def _by_toggling(op: int) -> _Way:
    def way(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
        if spec.kind.cls not in ("TOOL", "LOCATION") or "toggled" not in spec.kind.states:
            return _NEVER
        return _by(op)(layers, spec, container, others, own)

    return way


def _by_lid(op: int) -> _Way:
    def way(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
        return _by(op)(layers, spec, container, others, own) if "open" in spec.kind.states else _NEVER

    return way


def _beside(layers: Layers, spec: Spec, container: int, others: int, own: int) -> Found:
    if spec.location != NOTHING:
        return *layers.at(spec.location), 0
    return layers.stand(container, spec.place, others, own)


_WAYS: Final[Mapping[Requirement, _Way]] = MappingProxyType(
    {
        ("open", True): _by_lid(OPEN),
        ("open", False): _by_lid(CLOSE),
        ("cooked", True): _by_heat,
        ("cooked", False): _by_cold,
        ("frozen", True): _by_cold,
        ("frozen", False): _by_heat,
        ("sliced", True): _by_slicing,
        ("soaked", True): _by_soaking,
        ("toggled", True): _by_toggling(TOGGLE_ON),
        ("toggled", False): _by_toggling(TOGGLE_OFF),
        ("dusty", False): _by_cleaning,
        ("stained", False): _by_cleaning,
    }
)
