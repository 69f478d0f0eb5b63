"""The meanings and their probabilities (spec 6)."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from random import Random
from statistics import fmean

import numpy as np
import pytest

from simulator.handmethat.generation.generate import groundings_of
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.meanings.enumerate import arguments_of, descriptions, useful_by_argument
from simulator.handmethat.meanings.model import QUESTS, Meaning, changeable, describe, matching
from simulator.handmethat.meanings.prior import prior
from simulator.handmethat.profiles import load_profiles
from simulator.handmethat.scene import sample_scene
from simulator.handmethat.world import bit_set

V2 = load_profiles()["v2"]


def enumerate_meanings(world, state, quest, rewards, targets, profile):
    """The meanings of one quest type that may have a probability above 0, as spec 6.2 defines them."""
    useful, movable = useful_by_argument(rewards), world.find_all("movable")
    subclasses = quest == "bring_me" or profile.subclasses_everywhere
    everybody = (1 << len(world)) - 1 if profile.locations_count else movable
    meanings = []
    for argument in arguments_of(world, quest, targets):
        things = movable & changeable(world, argument) if quest == "change_state" else movable
        if not profile.all_meanings:
            things = useful.get(argument, 0) & movable
        table = descriptions(world, state, things, subclasses=subclasses, among=everybody)
        meanings += [
            Meaning(quest, table.decode(number), argument)
            for number, fits in enumerate(extents(table))
            if profile.all_meanings or not fits & ~useful.get(argument, 0)
        ]
    return meanings


def extents(table):
    """Return the things that fit each description, as bit sets."""
    return [int.from_bytes(row.tobytes(), "little") for row in table.extents]


FRUIT = {"apple#0": "table", "apple#1": "table", "banana#0": "refrigerator"}


def test_descriptions_of_one_thing(household):
    world, state = household({"apple#0": "table", "hammer#0": "shelf"}, sliced=["apple#0"])
    table = descriptions(world, state, 1 << world.entity("hammer#0"))
    fitting = {table.decode(number): fits for number, fits in enumerate(extents(table))}
    on_shelf, hammer = ("ontop", "shelf"), 1 << world.entity("hammer#0")
    both = hammer | 1 << world.entity("apple#0")
    assert fitting == {
        (): both,
        (("class", "TOOL"),): hammer,
        (("subclass", "metal_tool"),): hammer,
        (("type", "hammer"),): hammer,
        (on_shelf,): hammer,
        (("class", "TOOL"), on_shelf): hammer,
        (("subclass", "metal_tool"), on_shelf): hammer,
        (("type", "hammer"), on_shelf): hammer,
    }


def test_extents_agree_with_matching():
    world, state = sample_scene(Random(5))
    table = descriptions(world, state, world.find_all("movable"))
    for number, fits in list(enumerate(extents(table)))[::17]:
        description = table.decode(number)
        assert description == describe(description)
        assert table.lengths[number] == len(description)
        assert fits == matching(world, state, description) != 0


def test_descriptions_of_a_subset_equal_those_enumerated_for_it():
    world, state = sample_scene(Random(6))
    table = descriptions(world, state, world.find_all("movable"))
    for word in ("FOOD", "dustyable", "apple", "knife"):
        subset = world.find_all(word) & world.find_all("movable")
        alone, among = descriptions(world, state, subset), table.about(subset)
        assert extents(among) == extents(alone)
        numbers = range(len(alone.extents))
        assert [*map(among.decode, numbers)] == [*map(alone.decode, numbers)]
    assert not len(table.about(0).extents)


def test_number_of_descriptions_of_sampled_scenes():
    scenes = (sample_scene(Random(seed)) for seed in range(60))
    counts = [len(descriptions(world, state, world.find_all("movable")).extents) for world, state in scenes]
    assert 2500 < fmean(counts) < 2700
    assert min(counts) > 2000
    assert max(counts) < 3200


def test_pool_by_hand(household, worth, places):
    # Only apple#0 helps, so m must say that it is sliced: 4 kinds x 8 subsets of place, cooked, frozen.
    world, state = household(FRUIT, sliced=["apple#0"])
    apple = world.entity("apple#0")
    rewards = worth({(apple, None): -2.0})
    meanings = enumerate_meanings(world, state, "bring_me", rewards, places(), V2)
    assert len(meanings) == 32
    assert all(meaning.get("sliced") is True for meaning in meanings)
    pool = prior(world, state, {"bring_me": rewards}, places(), 9, V2)
    assert pool is not None
    # exp(-1.5) per specifier beside `sliced`; the three with all five specifiers fall below 1/1000.
    step = exp(-1.5)
    total = (1 + step) ** 3 * (1 + 3 * step)
    assert step**4 / total < 1e-3 < step**3 / total
    likely = dict(zip(pool.meanings, pool.probabilities, strict=True))
    assert len(likely) == 29
    remaining = total - 3 * step**4
    assert likely[Meaning("bring_me", (("sliced", True),))] == pytest.approx(1 / remaining)
    assert likely[Meaning("bring_me", describe({"type": "apple", "sliced": True}))] == pytest.approx(
        step / remaining
    )


def test_mean_reward_of_matches(household, worth, places):
    world, state = household(FRUIT)
    first, other, third = (world.entity(name) for name in FRUIT)
    rewards = worth({(first, None): -1.0, (other, None): -3.0, (third, None): -2.0})
    pool = prior(world, state, {"bring_me": rewards}, places(), 9, V2)
    assert pool is not None
    likely = dict(zip(pool.meanings, pool.probabilities, strict=True))
    anything, banana = Meaning("bring_me", ()), Meaning("bring_me", (("type", "banana"),))
    apples = Meaning("bring_me", (("type", "apple"),))
    # All three are useful: their mean is -2 like the banana's and the apples', at a specifier less.
    assert likely[anything] / likely[banana] == pytest.approx(exp(1.5))
    assert likely[apples] == pytest.approx(likely[banana])


def test_useless_things_veto_a_meaning(household, worth, places):
    world, state = household(FRUIT)
    rewards = worth({(world.entity("apple#0"), None): -1.0})
    # Nothing tells apple#0 from apple#1.
    assert enumerate_meanings(world, state, "bring_me", rewards, places(), V2) == []
    assert prior(world, state, {"bring_me": rewards}, places(), 9, V2) is None
    assert prior(world, state, {"bring_me": worth({})}, places(), 9, V2) is None


def test_locations_veto_by_switch(household, worth, places):
    world, state = household({"book#0": "sofa"})
    rewards = worth({(world.entity("book#0"), None): -1.0})
    clean = Meaning("bring_me", (("dusty", False),))
    pool = prior(world, state, {"bring_me": rewards}, places(), 9, V2)
    assert pool is not None
    assert clean in pool.meanings
    published = prior(world, state, {"bring_me": rewards}, places(), 9, replace(V2, locations_count=True))
    assert published is not None
    assert clean not in published.meanings
    assert Meaning("bring_me", (("type", "book"),)) in published.meanings


def test_destinations_and_their_own_useful_things(household, worth, places):
    world, state = household(FRUIT)
    apples = [world.entity(name) for name in ("apple#0", "apple#1")]
    banana, sofa, sink = (world.entity(name) for name in ("banana#0", "sofa", "sink"))
    rewards = worth({(apples[0], "sofa"): -1.0, (apples[1], "sofa"): -1.0, (banana, "sink"): -1.0})
    pool = prior(world, state, {"move_to": rewards}, places(sofa, sink), 9, V2)
    assert pool is not None
    to_sofa = [meaning for meaning in pool.meanings if meaning.argument == "sofa"]
    to_sink = [meaning for meaning in pool.meanings if meaning.argument == "sink"]
    assert len(to_sofa) + len(to_sink) == len(pool)
    assert Meaning("move_to", (("type", "apple"),), "sofa") in to_sofa
    assert Meaning("move_to", (("inside", "refrigerator"),), "sink") in to_sink
    # Both kinds of fruit fit, but none of them is useful at both places.
    assert Meaning("move_to", (("subclass", "fruit"),), "sofa") not in pool.meanings


@pytest.mark.parametrize("quest", ["move_to", "change_state"])
def test_subclasses_of_other_quests_by_switch(household, worth, places, quest):
    world, state = household(FRUIT)
    argument = "sink" if quest == "move_to" else "slice"
    rewards = worth({(world.entity(name), argument): -1.0 for name in FRUIT})
    target = places(world.entity("sink"))
    for everywhere in (True, False):
        pool = prior(world, state, {quest: rewards}, target, 9, replace(V2, subclasses_everywhere=everywhere))
        assert pool is not None
        named = [meaning for meaning in pool.meanings if meaning.get("subclass")]
        assert bool(named) is everywhere


def test_verbs_and_no_open(household, worth, places):
    world, state = household({"jar#0": "cabinet", "apple#0": "table"})
    everything = replace(V2, all_meanings=True)
    meanings = enumerate_meanings(world, state, "change_state", worth({}), places(), everything)
    by_verb = {
        verb: {meaning.description for meaning in meanings if meaning.argument == verb}
        for verb in ("clean", "slice")
    }
    assert {meaning.argument for meaning in meanings} == {"heat", "cool", "slice", "clean"}
    assert (("type", "jar"),) in by_verb["clean"] - by_verb["slice"]
    assert (("type", "apple"),) in by_verb["slice"] - by_verb["clean"]


def test_all_meanings_may_be_useless(household, worth, places):
    world, state = household(FRUIT)
    rewards = worth({(world.entity("apple#0"), None): -1.0})
    pool = prior(world, state, {"bring_me": rewards}, places(), 2, replace(V2, all_meanings=True))
    assert pool is not None
    likely = dict(zip(pool.meanings, pool.probabilities, strict=True))
    # Rewards -1 and -2 (nothing known of the others: minus the rest of the plan).
    apples, banana = Meaning("bring_me", (("type", "apple"),)), Meaning("bring_me", (("type", "banana"),))
    assert likely[apples] / likely[banana] == pytest.approx(exp(3 * (-1.5 + 2)))
    assert likely[Meaning("bring_me", ())] / likely[banana] == pytest.approx(exp(3 * (-5 / 3 + 2) + 1.5))


def test_quests_in_one_pool_have_their_offsets(household, worth, places):
    world, state = household({"hat#0": "sofa"})
    hat = world.entity("hat#0")
    pool = prior(
        world,
        state,
        {"bring_me": worth({(hat, None): -1.0}), "change_state": worth({(hat, "clean"): 1.0})},
        places(),
        5,
        V2,
    )
    assert pool is not None
    likely = dict(zip(pool.meanings, pool.probabilities, strict=True))
    brought = Meaning("bring_me", (("type", "hat"),))
    cleaned = Meaning("change_state", (("type", "hat"),), "clean")
    # c(m) of one specifier is 0, and 4 more for a change of state.
    assert likely[cleaned] / likely[brought] == pytest.approx(exp(3 * (2 - 0.5 * 4)))


@pytest.mark.each("profile", ["v1", "v2", "paper"])
@pytest.mark.each("quest", QUESTS)
def test_pools_of_sampled_households(case, quest, profile):
    rules = load_profiles()[profile]
    for seed in range(4):
        world, state, rewards, targets, rest = case(seed, quest)
        pool = prior(world, state, {quest: rewards}, targets, rest, rules)
        assert pool is not None
        assert pool.probabilities.sum() == pytest.approx(1, abs=1e-12)
        assert pool.probabilities.min() > 1e-3
        assert len(set(pool.meanings)) == len(pool)
        useful = set(rewards.useful)
        for meaning in pool.meanings:
            assert meaning.description == describe(meaning.description)
            fits = groundings_of(world, state, meaning, targets)
            assert fits
            assert rules.all_meanings or useful.issuperset(fits)
        again = prior(world, state, {quest: rewards}, targets, rest, rules)
        assert again is not None
        assert again.meanings == pool.meanings
        assert np.array_equal(again.probabilities, pool.probabilities)


@pytest.mark.parametrize("quest", QUESTS)
def test_pool_agrees_with_the_definition(case, quest):
    """P(m) of everything that `enumerate_meanings` lists, one by one."""
    world, state, rewards, targets, rest = case(11, quest)
    weights = {}
    for meaning in enumerate_meanings(world, state, quest, rewards, targets, V2):
        fits = groundings_of(world, state, meaning, targets)
        mean = fmean(rewards.values[grounding] for grounding in fits)
        weights[meaning] = exp(3 * (mean + rest) - 1.5 * len(meaning.description))
    for _ in range(2):
        total = sum(weights.values())
        weights = {meaning: weight / total for meaning, weight in weights.items() if weight / total >= 1e-3}
    total = sum(weights.values())
    pool = prior(world, state, {quest: rewards}, targets, rest, V2)
    assert pool is not None
    likely = dict(zip(pool.meanings, pool.probabilities, strict=True))
    assert likely == pytest.approx({meaning: weight / total for meaning, weight in weights.items()})


def test_subclasses_known(household):
    world, state = household({"tray#0": "table"})
    table = descriptions(world, state, bit_set(world.movables), subclasses=False)
    assert not any(key == "subclass" for key, _ in table.pairs)
    assert "tray" in hierarchy().subclasses
