"""Sampled households against the published figures (spec 1.3, 1.4), within four standard errors."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from statistics import fmean, pstdev

import pytest
from shared_data import shared_path

from simulator.handmethat.hierarchy import CLASSES, Rules, hierarchy
from simulator.handmethat.scene import SceneRules, Stock, sample_scene, sample_stock
from simulator.handmethat.world import NOTHING, State, World, entities

STOCKS, SCENES = 1500, 250
# The published figures are means over so many scenes themselves, rounded to a tenth.
PUBLISHED_OVER, ROUNDED = 3000, 0.05

# Things of a subclass, v2 and v1.
MEANS = {
    "furniture": (4.3, 4.0), "vessel": (5.3, 5.0), "tableware": (8.0, 8.0), "utensil": (4.4, 4.0),
    "bag": (7.0, 7.0), "bucket": (3.0, 3.0), "tray": (3.0, 3.0), "basket": (3.0, 3.0), "box": (3.0, 3.0),
    "package": (3.0, 3.0), "ashcan": (3.0, 3.0), "xmas_stocking": (3.0, 3.0), "xmas_tree": (3.0, 3.0),
    "fruit": (16.3, 16.3), "vegetable": (11.3, 11.4), "drink": (7.6, 7.6), "protein": (7.5, 7.6),
    "flavorer": (8.8, 8.8), "baked_food": (6.4, 6.4), "snack": (6.4, 6.4), "prepared_food": (7.7, 7.6),
    "metal_tool": (6.1, 4.5), "electric_equipment": (5.0, 3.8), "electrical_device": (7.5, 7.5),
    "toiletry": (5.0, 5.0), "writing_tool": (6.3, 6.3), "piece_of_cloth": (6.0, 4.5),
    "cleaning_tool": (6.0, 4.5), "cleansing": (6.3, 6.3), "cutlery": (7.5, 7.5),
    "illumination_tool": (3.7, 3.7), "decoration": (7.1, 7.1), "paper_product": (8.1, 8.1),
    "footwear": (5.1, 5.1), "headwear": (3.3, 3.3), "clothing": (5.1, 5.1), "building_materials": (3.2, 3.2),
    "plaything": (3.3, 3.3),
}  # fmt: skip
# Things of a class; None where the published figures give none.
CLASS_MEANS = {
    "RECEPTACLE": (53.0, 52.0), "FOOD": (72.2, None), "TOOL": (59.2, 53.6), "THING": (35.1, None),
}  # fmt: skip
TOTAL = {"v2": (235.5, 0.98), "v1": (228.7, 0.95)}
DEVIATION = 17
RULES: tuple[Rules, Rules] = ("v2", "v1")


@cache
def stocks(counts: Rules) -> tuple[Stock, ...]:
    random, rules = Random(2024), SceneRules(counts=counts)
    return tuple(sample_stock(random, rules) for _ in range(STOCKS))


@cache
def scenes() -> tuple[tuple[World, State], ...]:
    random = Random(77)
    return tuple(sample_scene(random) for _ in range(SCENES))


def size(stock: Stock, subclass: str) -> int:
    return sum(stock.count(kind) for kind in stock.types(subclass))


def assert_mean(values: list[int], published: float) -> None:
    error = pstdev(values) * (1 / len(values) + 1 / PUBLISHED_OVER) ** 0.5
    assert abs(fmean(values) - published) <= ROUNDED + 4 * error


def assert_share(hits: int, total: int, chance: float) -> None:
    assert total > 0
    assert abs(hits - total * chance) <= 4 * (total * chance * (1 - chance)) ** 0.5


@pytest.mark.each("counts", RULES)
@pytest.mark.each("subclass", MEANS)
def test_things_of_a_subclass(subclass: str, counts: Rules) -> None:
    sizes = [size(stock, subclass) for stock in stocks(counts)]
    assert_mean(sizes, MEANS[subclass][RULES.index(counts)])


@pytest.mark.each("counts", RULES)
def test_things_of_a_class_and_of_a_household(counts: Rules) -> None:
    subclasses = hierarchy().subclasses
    assert list(subclasses) == list(MEANS)
    by_class = {
        cls: [
            sum(size(stock, name) for name, row in subclasses.items() if row.cls == cls)
            for stock in stocks(counts)
        ]
        for cls in CLASS_MEANS
    }
    for cls, means in CLASS_MEANS.items():
        if (mean := means[RULES.index(counts)]) is not None:
            assert_mean(by_class[cls], mean)
    mean, over_200 = TOTAL[counts]
    totals = [16 + sum(sizes) for sizes in zip(*by_class.values(), strict=True)]
    assert_mean(totals, mean)
    # The standard error of a standard deviation is its 1 / sqrt(2 n); the published one is rounded to 1.
    assert abs(pstdev(totals) - DEVIATION) <= 0.5 + 4 * DEVIATION * (1 / 2 / STOCKS) ** 0.5
    error = (over_200 * (1 - over_200) / STOCKS) ** 0.5
    assert abs(sum(total > 200 for total in totals) / STOCKS - over_200) <= 0.005 + 4 * error


def test_about_94_types() -> None:
    # Among the movable things.
    types = [sum(len(kinds) for _, kinds in stock.drawn) for stock in stocks("v2")]
    assert abs(fmean(types) - 94) <= 0.5 + 4 * pstdev(types) / STOCKS**0.5


@pytest.mark.each("counts", RULES)
def test_numbers_stay_in_their_ranges_and_all_occur(counts: Rules) -> None:
    for name, row in hierarchy().subclasses.items():
        kinds = Counter(len(stock.types(name)) for stock in stocks(counts))
        assert set(kinds) == set(range(row.kinds[0], row.kinds[1] + 1))
        for single, ranges in ((True, row.single), (False, row.instances)):
            drawn = {
                stock.count(kind)
                for stock in stocks(counts)
                if (len(stock.types(name)) == 1) == single
                for kind in stock.types(name)
            }
            low, high = ranges[counts]
            assert drawn in (set(range(low, high + 1)), set())
    # A type of a subclass is as likely as another: four fruits among twelve, say.
    fruits = Counter(kind for stock in stocks(counts) for kind in stock.types("fruit"))
    chance = sum(range(1, 13)) / 12 / 12
    assert len(fruits) == 12
    for kind in fruits:
        assert_share(fruits[kind], STOCKS, chance)


def test_names_and_order() -> None:
    for world, _ in scenes()[:20]:
        assert world.names[:16] == hierarchy().locations
        classes = [CLASSES.index(kind.cls) for kind in world.kinds]
        assert classes == sorted(classes)
        numbers = Counter(name.split("#")[0] for name in world.names)
        assert max(numbers.values()) <= 3
        assert set(world.names[16:]) == {
            f"{kind}#{number}"
            for kind, count in numbers.items()
            if hierarchy().kinds[kind].movable
            for number in range(count)
        }


@pytest.mark.each("subclass", MEANS)
def test_places_are_equally_likely(subclass: str) -> None:
    places = hierarchy().subclasses[subclass].places
    counts = Counter(
        world.names[state.container(entity)].split("#")[0]
        for world, state in scenes()
        for entity in entities(world.find_all(subclass))
    )
    assert set(counts) == set(places)
    for place in places:
        assert_share(counts[place], counts.total(), 1 / len(places))


def test_places_are_the_published_ones() -> None:
    lines = (shared_path("handmethat") / "object_sample_space").read_text(encoding="utf-8").splitlines()
    start, end = (
        next(i for i, line in enumerate(lines) if line.startswith(word)) for word in ("POSITION", "STATIC")
    )
    published = {words[0]: words[1:] for line in lines[start + 1 : end] if len(words := line.split()) > 1}
    ours = {name: [*row.places, *row.inert] for name, row in hierarchy().subclasses.items()}
    assert ours == published


def test_things_in_movable_containers_are_in_any_of_them() -> None:
    for kind in ("tray", "bucket", "package"):
        counts = Counter(
            world.names[container]
            for world, state in scenes()
            for entity in world.movables
            if (container := state.container(entity)) and world.kinds[container].name == kind
        )
        assert set(counts) == {f"{kind}#{number}" for number in range(3)}
        for name in counts:
            assert_share(counts[name], counts.total(), 1 / 3)


@pytest.mark.parametrize(("state", "able"), [("dusty", "dustyable"), ("stained", "stainable")])
def test_a_third_is_dusty_or_stained(state: str, able: str) -> None:
    bits = [(getattr(first, state), world.find_all(able)) for world, first in scenes()]
    assert all(not has & ~could for has, could in bits)
    assert_share(sum(has.bit_count() for has, _ in bits), sum(could.bit_count() for _, could in bits), 1 / 3)


@pytest.mark.parametrize(
    ("words", "able"), [(("red", "green", "blue"), "has-color"), (("large", "small"), "has-size")]
)
def test_colours_and_sizes_are_equally_likely(words: tuple[str, ...], able: str) -> None:
    worlds = [world for world, _ in scenes()]
    total = sum(world.find_all(able).bit_count() for world in worlds)
    for word in words:
        assert_share(sum(world.find_all(word).bit_count() for world in worlds), total, 1 / len(words))
    for world in worlds:
        values = world.colors if able == "has-color" else world.sizes
        assert [value in words for value in values] == [
            bool(world.find_all(able) >> i & 1) for i in range(len(world))
        ]
        assert [value is not None for value in values] == [value in words for value in values]


def test_fixed_initial_states() -> None:
    for world, state in scenes():
        assert world.name(state.at) == "floor"
        assert (state.holding, state.given, state.waiting) == (NOTHING, 0, False)
        assert (state.open, state.sliced, state.soaked) == (0, 0, 0)
        assert [world.names[entity] for entity in entities(state.toggled)] == ["refrigerator"]


def lying_in(world: World, state: State, *places: str) -> list[int]:
    return sorted(
        entity
        for place in places
        for entity in state.contents(world.entity(place))
        if world.find_all("FOOD") >> entity & 1
    )


def test_cooked_and_frozen_follow_from_the_place() -> None:
    on_the_stove = 0
    for world, state in scenes():
        assert list(entities(state.cooked)) == lying_in(world, state, "oven", "microwave")
        assert list(entities(state.frozen)) == lying_in(world, state, "refrigerator")
        on_the_stove += len(lying_in(world, state, "stove"))
    # What is asked is where it lies directly; food on the stove, which the places allow, starts raw.
    assert on_the_stove > 0


def test_the_switches() -> None:
    for seed in range(10):
        plain = sample_scene(Random(seed))
        world, state = sample_scene(Random(seed), SceneRules(stove_cooks=True))
        assert (world, state._replace(cooked=plain[1].cooked)) == plain
        assert list(entities(state.cooked)) == lying_in(world, state, "oven", "microwave", "stove")
    counts: Counter[tuple[str, str]] = Counter()
    for seed in range(60):
        world, state = sample_scene(Random(seed), SceneRules(all_places=True))
        for entity in world.movables:
            counts[world.kinds[entity].subclass, world.kinds[state.container(entity)].subclass] += 1
    for name, row in hierarchy().subclasses.items():
        assert all(counts[name, inert] > 0 for inert in row.inert), name


def test_a_household_has_the_given_stock() -> None:
    stock = sample_stock(Random(4), SceneRules())
    world, _ = sample_scene(Random(5), stock=stock)
    for name, types in stock.drawn:
        assert stock.types(name) == tuple(kind for kind, _ in types)
        for kind, count in types:
            assert stock.count(kind) == count == world.find_all(kind).bit_count()
    assert (stock.count("unicorn"), stock.types("unicorns")) == (0, ())
    assert sample_scene(Random(5), stock=stock)[0] == world
    assert sample_stock(Random(4), SceneRules()) == stock
