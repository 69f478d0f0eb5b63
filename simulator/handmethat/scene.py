"""Scenes: which things a household holds and where they lie at first (spec 1.3, 1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from simulator.handmethat.hierarchy import Kind, Rules, Subclass, hierarchy
from simulator.handmethat.world import NOTHING, State, World, bit_set, start_state

_CHANCE_OF_DUST = 1 / 3


@dataclass(frozen=True, slots=True)
class SceneRules:
    """How scenes are drawn.

    Attributes:
        counts: whose numbers of instances: v1's generator's or v2's.
        all_places: also use the places that the published program lists and never uses (B1).
        stove_cooks: food on the stove starts cooked (B2).
    """

    counts: Rules = "v2"
    all_places: bool = False
    stove_cooks: bool = False


@dataclass(frozen=True, slots=True)
class Stock:
    """What a household holds, before anything has a place: subclass -> (type, how many), in order."""

    drawn: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]

    def count(self, kind: str) -> int:
        """How many things of type `kind` there are."""
        return next((n for _, types in self.drawn for name, n in types if name == kind), 0)

    def types(self, subclass: str) -> tuple[str, ...]:
        """The types of `subclass` that are there, in the order drawn."""
        return next(
            (tuple(name for name, _ in types) for name_, types in self.drawn if name_ == subclass), ()
        )


def sample_stock(random: Random, rules: SceneRules) -> Stock:
    """Draw what a household holds: types of each subclass, then how many of each."""
    return Stock(
        tuple((name, _draw(random, row, rules.counts)) for name, row in hierarchy().subclasses.items())
    )


def sample_scene(
    random: Random, rules: SceneRules | None = None, stock: Stock | None = None
) -> tuple[World, State]:
    """A household and its first state: the human at the floor, with an empty hand.

    Args:
        random: the scene descends from it alone.
        rules: default: v2's.
        stock: what it holds; drawn first if None.
    """
    rules = rules or SceneRules()
    stock = stock or sample_stock(random, rules)
    table = hierarchy()
    names: list[str] = list(table.locations)
    kinds: list[Kind] = [table.kinds[name] for name in names]
    containers: list[int] = [NOTHING] * len(names)
    first: dict[str, tuple[int, int]] = {name: (i, 1) for i, name in enumerate(names)}
    for subclass, types in stock.drawn:
        row = table.subclasses[subclass]
        places = _places(row, stock, rules)
        for kind, count in types:
            start = len(names)
            for number in range(count):
                names.append(f"{kind}#{number}")
                kinds.append(table.kinds[kind])
                begin, many = first[places[_below(random, len(places))]]
                containers.append(begin if many == 1 else begin + _below(random, many))
            first[kind] = (start, count)
    world = World(
        names=tuple(names),
        kinds=tuple(kinds),
        colors=tuple(
            _one_of(random, table.colors) if "has-color" in kind.abilities else None for kind in kinds
        ),
        sizes=tuple(_one_of(random, table.sizes) if "has-size" in kind.abilities else None for kind in kinds),
    )
    return world, _first_state(random, world, containers, rules)


def _first_state(random: Random, world: World, containers: list[int], rules: SceneRules) -> State:
    index = world.index
    dusty = [i for i, kind in enumerate(world.kinds) if "dusty" in kind.states and _dust(random)]
    stained = [i for i, kind in enumerate(world.kinds) if "stained" in kind.states and _dust(random)]
    cooking = {index["oven"], index["microwave"]} | ({index["stove"]} if rules.stove_cooks else set())
    food = [i for i, kind in enumerate(world.kinds) if kind.cls == "FOOD"]
    bits = {
        "dusty": bit_set(dusty),
        "stained": bit_set(stained),
        "toggled": bit_set(index[name] for name in hierarchy().starts_on),
        "cooked": bit_set(i for i in food if containers[i] in cooking),
        "frozen": bit_set(i for i in food if containers[i] == index["refrigerator"]),
    }
    return start_state(world, containers, bits)


def _draw(random: Random, row: Subclass, rules: Rules) -> tuple[tuple[str, int], ...]:
    types = list(row.types)
    for i in range(_between(random, *row.kinds)):
        j = i + _below(random, len(types) - i)
        types[i], types[j] = types[j], types[i]
        drawn = i + 1
    low, high = (row.single if drawn == 1 else row.instances)[rules]
    return tuple((kind, _between(random, low, high)) for kind in types[:drawn])


def _places(row: Subclass, stock: Stock, rules: SceneRules) -> tuple[str, ...]:
    """Where things of `row` may lie; an inert place stands for every type of that subclass in the scene."""
    if not rules.all_places:
        return row.places
    return row.places + tuple(kind for subclass in row.inert for kind in stock.types(subclass))


# Random.randrange and Random.choice may draw differently in another Python; random() may not.
def _below(random: Random, n: int) -> int:
    return int(random.random() * n)


def _between(random: Random, low: int, high: int) -> int:
    return low + _below(random, high - low + 1)


def _one_of(random: Random, options: tuple[str, ...]) -> str:
    return options[_below(random, len(options))]


def _dust(random: Random) -> bool:
    return random.random() < _CHANCE_OF_DUST
