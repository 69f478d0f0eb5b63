"""Samples are seeded, without replacement, unbiased, and in the proportions of what they are drawn from."""

from __future__ import annotations

from collections import Counter

from simulator.ambibench.runs import TrialSelection
from simulator.ambient.runs import ExampleSelection
from simulator.ambik.selection import KitchenSelection
from simulator.ambik.terms import AMBIGUITIES
from simulator.clarq.runs import DialogueSelection
from simulator.seeds import draw_balanced, draw_strata, equal_shares

# 3 levels; in each 70 % of one kind, 25 % of another, 5 % of a third; of each kind ten templates.
ITEMS = [
    (level, kind, template)
    for level, size in ((1, 10), (2, 4), (3, 1))
    for kind, share in (("a", 14), ("b", 5), ("c", 1))
    for template in range(10)
    for _ in range(size * share)
]


def _strata(item: tuple[int, str, int]) -> tuple[object, ...]:
    return item


def test_each_stratum_is_met_to_within_one() -> None:
    for seed in range(30):
        for count in (20, 37, 200):
            sample = draw_strata(ITEMS, count, _strata, seed)
            assert len(sample) == count
            for depth in (1, 2):
                counts = Counter(item[:depth] for item in sample)
                for stratum, size in Counter(item[:depth] for item in ITEMS).items():
                    # A stratum's block of places may begin and end anywhere between two picks.
                    assert abs(counts[stratum] - size * count / len(ITEMS)) < 1, (seed, count, stratum)


def test_every_item_is_equally_likely_and_seeds_decide() -> None:
    pool = list(range(40))
    drawn = Counter(
        item for seed in range(2000) for item in draw_strata(pool, 7, lambda i: (i % 3, i % 2), seed)
    )
    # 7/40 of 2000 is 350, its standard deviation 17.
    assert all(270 < drawn[item] < 430 for item in pool)
    strata = lambda i: (i % 3,)  # noqa: E731
    assert draw_strata(pool, 7, strata, 5) == draw_strata(pool, 7, strata, 5)
    assert len({draw_strata(pool, 7, strata, seed) for seed in range(20)}) > 15
    assert draw_strata(pool, 40, strata, 5) == draw_strata(pool, 99, strata, 5) == tuple(pool)
    assert draw_strata(pool, 0, strata, 5) == draw_strata([], 3, strata, 5) == ()


def test_groups_get_equal_shares() -> None:
    for seed in range(20):
        sample = draw_balanced(ITEMS, 100, lambda item: item[0], lambda item: item[1:], seed)
        levels = Counter(item[0] for item in sample)
        assert len(sample) == 100
        assert sorted(levels.values()) == [33, 33, 34]
        for level in (1, 2, 3):
            kinds = Counter(item[1] for item in sample if item[0] == level)
            assert abs(kinds["a"] - 0.7 * levels[level]) < 1, (seed, kinds)
        assert list(sample) == sorted(sample, key=ITEMS.index)


def test_what_a_small_group_lacks_goes_to_the_others() -> None:
    assert equal_shares({"x": 2, "y": 50, "z": 50}, 22, 0) == {"x": 2, "y": 10, "z": 10}
    assert equal_shares({"x": 2, "y": 3}, 99, 0) == {"x": 2, "y": 3}
    assert equal_shares({}, 3, 0) == {}
    # Which groups get the odd ones is drawn.
    assert len({tuple(equal_shares({"x": 5, "y": 5, "z": 5}, 4, seed).items()) for seed in range(30)}) == 3


def test_a_limit_is_a_number_of_items_balanced_in_every_benchmark() -> None:
    """Over languages and types, formats and tasks (AmbiBench), sides and labels (AmbiEnt), types (AmbiK)."""
    wrong = []
    tasks = DialogueSelection(lang="both", limit=10).items(seed=3)
    if Counter(task.language for task in tasks) != {"en": 5, "zh": 5} or len({t.type for t in tasks}) < 8:
        wrong.append(f"clarq: {[(task.language, task.type) for task in tasks]}")
    trials = TrialSelection(setting="instruction,multiple", limit=12)
    for part in trials.parts():
        prompts = trials.items(part)
        formats, features = (
            Counter(getattr(item, name) for item in prompts) for name in ("format", "salient")
        )
        if set(formats.values()) != {6} or set(features.values()) != {2}:
            wrong.append(f"{part.name}: {formats} {features}")
    for task in ("generate", "true_false", "nli"):
        examples = ExampleSelection(limit=9)
        items = examples.items(task, "m")
        if len(items) != 9 or examples.items(task, "m", seed=1) == items:
            wrong.append(task)
    decided = KitchenSelection(limit=12).tests()
    if Counter(item.type for item in decided) != dict.fromkeys(AMBIGUITIES, 2) | {"unambiguous_direct": 6}:
        wrong.append(f"ambik: {[item.id for item in decided]}")
    if [len(KitchenSelection(limit=limit).tests()) for limit in (1, 5, 6)] != [1, 5, 6]:
        wrong.append("ambik: numbers")
    alone = KitchenSelection(limit=9, member="ambiguous").tests(seed=1)
    if set(Counter(item.type for item in alone).values()) != {3}:
        wrong.append(f"ambik, one member: {[item.id for item in alone]}")
    scenarios = Counter(item.type for item in KitchenSelection(limit=6, dataset="knowno").tests())
    if sum(scenarios.values()) != 6 or max(scenarios.values()) - min(scenarios.values()) > 1:
        wrong.append(f"knowno: {scenarios}")
    assert wrong == []
