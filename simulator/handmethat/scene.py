"""Sampling of scenes: the things in a household and their first places (spec 1.3, 1.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random
from typing import NamedTuple

from simulator.handmethat.hierarchy import Kind, Rules, Subclass, hierarchy
from simulator.handmethat.world import NOTHING, BitSet, State, World, bit_set, start_state

_CHANCE_OF_DUST = 1 / 3
# The random() method of the caller's generator. Unlike randrange() and choice(), it gives the same numbers in
# every version of Python.
_Uniform = Callable[[], float]


@dataclass(frozen=True, slots=True)
class SceneRules:
    """The rules by which scenes are drawn.

    Attributes:
        counts: numbers of instances, those of v1's generator or of v2's.
        all_places: also use the places that the published program lists but never uses (B1).
        stove_cooks: food on the stove starts cooked (B2).
    """

    counts: Rules = "v2"
    all_places: bool = False
    stove_cooks: bool = False


@dataclass(frozen=True)
class Stock:
    """The stock of a household, before anything has a place: (subclass, ((type, count), …)), in order."""

    drawn: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]

    def count(self, kind: str) -> int:
        """Return the number of things of type `kind`."""
        return self._counts.get(kind, 0)

    def types(self, subclass: str) -> tuple[str, ...]:
        """Return the types of `subclass` in the household, in the order drawn."""
        return self._types.get(subclass, ())

    @cached_property
    def _counts(self) -> dict[str, int]:
        return {kind: count for _, types in self.drawn for kind, count in types}

    @cached_property
    def _types(self) -> dict[str, tuple[str, ...]]:
        return {subclass: tuple([kind for kind, _ in types]) for subclass, types in self.drawn}


def sample_stock(random: Random, rules: SceneRules) -> Stock:
    """Draw the stock of a household: for each subclass its types, then the number of things of each."""
    uniform, counts = random.random, rules.counts
    subclasses = hierarchy().subclasses.values()
    return Stock(tuple([(row.name, _draw(uniform, row, counts)) for row in subclasses]))


def sample_scene(
    random: Random, rules: SceneRules | None = None, stock: Stock | None = None
) -> tuple[World, State]:
    """Return a household and its first state: the human at the floor, with an empty hand.

    `rules`: by default v2's. `stock`: the things in it; drawn first if None.
    """
    rules = rules or SceneRules()
    stock = stock or sample_stock(random, rules)
    uniform, table = random.random, hierarchy()
    names, traits, containers = _lay_out(uniform, stock, rules)
    colors, sizes = table.colors, table.sizes
    world = World(
        names=tuple(names),
        kinds=tuple([trait.kind for trait in traits]),
        colors=tuple([colors[int(uniform() * len(colors))] if trait.colored else None for trait in traits]),
        sizes=tuple([sizes[int(uniform() * len(sizes))] if trait.sized else None for trait in traits]),
    )
    return world, start_state(world, containers, _first_states(uniform, traits, containers, rules))


class _Traits(NamedTuple):
    """A kind with the traits that determine its first state; precomputed, as scenes are drawn very often."""

    kind: Kind
    names: tuple[str, ...]
    colored: bool
    sized: bool
    dusts: bool
    stains: bool
    food: bool


@cache
def _traits(name: str) -> _Traits:
    kind = hierarchy().kinds[name]
    return _Traits(
        kind=kind,
        names=tuple(f"{kind.name}#{number}" for number in range(_MOST)) if kind.movable else (kind.name,),
        colored="has-color" in kind.abilities,
        sized="has-size" in kind.abilities,
        dusts="dusty" in kind.states,
        stains="stained" in kind.states,
        food=kind.cls == "FOOD",
    )


# Largest number of things of one type.
_MOST = 3


def _draw(uniform: _Uniform, row: Subclass, rules: Rules) -> tuple[tuple[str, int], ...]:
    low, high = row.kinds
    count = low + int(uniform() * (high - low + 1))
    types = list(row.types)
    for i in range(count):
        j = i + int(uniform() * (len(types) - i))
        types[i], types[j] = types[j], types[i]
    low, high = (row.single if count == 1 else row.instances)[rules]
    return tuple([(kind, low + int(uniform() * (high - low + 1))) for kind in types[:count]])


def _lay_out(
    uniform: _Uniform, stock: Stock, rules: SceneRules
) -> tuple[list[str], list[_Traits], list[int]]:
    """Return name, kind and container of every entity, locations first."""
    names = list(hierarchy().locations)
    traits = list(map(_traits, names))
    subclasses = hierarchy().subclasses
    containers = [NOTHING] * len(names)
    # Place -> its first entity and the number of its entities.
    first = {name: (i, 1) for i, name in enumerate(names)}
    for subclass, types in stock.drawn:
        places = [first[place] for place in _places(subclasses[subclass], stock, rules)]
        for kind, count in types:
            first[kind] = (len(names), count)
            movable = _traits(kind)
            names += movable.names[:count]
            traits += [movable] * count
        containers += _draw_containers(uniform, places, len(names) - len(containers))
    return names, traits, containers


def _draw_containers(uniform: _Uniform, places: list[tuple[int, int]], things: int) -> list[int]:
    if all(count == 1 for _, count in places):
        firsts = [first for first, _ in places]
        return [firsts[int(uniform() * len(places))] for _ in range(things)]
    containers = []
    for _ in range(things):
        first, count = places[int(uniform() * len(places))]
        containers.append(first if count == 1 else first + int(uniform() * count))
    return containers


def _places(row: Subclass, stock: Stock, rules: SceneRules) -> tuple[str, ...]:
    """Return the possible places of things of `row`; an inert place means every type of that subclass."""
    if not rules.all_places:
        return row.places
    return row.places + tuple(kind for subclass in row.inert for kind in stock.types(subclass))


def _first_states(
    uniform: _Uniform, traits: list[_Traits], containers: list[int], rules: SceneRules
) -> dict[str, BitSet]:
    location = {name: i for i, name in enumerate(hierarchy().locations)}
    cooking = {location["oven"], location["microwave"]} | (
        {location["stove"]} if rules.stove_cooks else set()
    )
    food = [i for i, trait in enumerate(traits) if trait.food]
    dusty = [i for i, trait in enumerate(traits) if trait.dusts and uniform() < _CHANCE_OF_DUST]
    stained = [i for i, trait in enumerate(traits) if trait.stains and uniform() < _CHANCE_OF_DUST]
    return {
        "dusty": bit_set(dusty),
        "stained": bit_set(stained),
        "toggled": bit_set(location[name] for name in hierarchy().starts_on),
        "cooked": bit_set(i for i in food if containers[i] in cooking),
        "frozen": bit_set(i for i in food if containers[i] == location["refrigerator"]),
    }
