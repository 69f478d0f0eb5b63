"""Utterances, speaker and listener (spec 7.1 to 7.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import exp

import numpy as np
import pytest
from scipy.special import logsumexp

from simulator.handmethat.generation.generate import groundings_of
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.meanings.model import KIND_KEYS, QUESTS, Meaning, describe
from simulator.handmethat.meanings.prior import Pool, prior
from simulator.handmethat.meanings.rsa import ALPHA, Rsa, choose_reading, draw
from simulator.handmethat.meanings.utterances import enumerate_utterances
from simulator.handmethat.profiles import Profile, load_profiles

V2 = load_profiles()["v2"]
SETS = replace(V2, literal_sets=True)
RED, LARGE = (Meaning("bring_me", (pair,)) for pair in (("color", "red"), ("size", "large")))
NOTHING_SAID = Meaning("bring_me", ())


def is_true(utterance: Meaning, meaning: Meaning) -> bool:
    """The literal truth of spec 7.3, word by word."""
    implied = set(meaning.description)
    for key, value in meaning.description:
        if key == "type":
            kind = hierarchy().kinds[str(value)]
            implied |= {("subclass", kind.subclass), ("class", kind.cls)}
        if key == "subclass":
            implied.add(("class", hierarchy().subclasses[str(value)].cls))
    same = utterance.argument == meaning.argument
    open_ = meaning.quest == "move_to" and utterance.argument is None
    return utterance.quest == meaning.quest and (same or open_) and implied.issuperset(utterance.description)


def cost_of_utterance(utterance: Meaning, profile: Profile) -> int:
    """c(u) of the published program, or the number of specifiers with `Profile.plain_cost` (spec 7.2)."""
    count = len(utterance.description)
    if profile.plain_cost:
        return count
    surcharge = sum({"subclass": 1, "type": 2}.get(key, 0) for key, _ in utterance.description)
    return count - 1 + surcharge + (utterance.argument is not None)


def dense(
    pool: Pool, utterances: Iterable[Meaning], truth: np.ndarray, depth: int, profile: Profile = V2
) -> tuple[np.ndarray, np.ndarray]:
    """Compute spec 7.3 literally, with dense matrices in log space."""
    costs = np.array([cost_of_utterance(utterance, profile) for utterance in utterances], dtype=float)
    likely = np.log(pool.probabilities)[:, None]
    with np.errstate(divide="ignore"):
        listener = np.log(truth) + likely
    listener -= logsumexp(listener, axis=0)
    for _ in range(depth):
        speaker = ALPHA * (listener - costs)
        speaker -= logsumexp(speaker, axis=1, keepdims=True)
        listener = speaker + likely
        listener -= logsumexp(listener, axis=0)
    return np.exp(speaker), np.exp(listener)


def tables(rsa: Rsa) -> tuple[np.ndarray, np.ndarray]:
    """S and L as dense matrices; shape (meanings, utterances)."""
    listener = np.array([rsa.listener(utterance) for utterance in range(len(rsa.utterances))]).T
    return np.array([rsa.speaker(meaning) for meaning in range(len(rsa.pool))]), listener


def test_utterances_for_a_meaning(pool_of):
    full = Meaning("bring_me", describe({"type": "apple", "ontop": "table", "sliced": True}))
    utterances = set(enumerate_utterances(pool_of({full: 1.0}), V2))
    kinds = [(), (("class", "FOOD"),), (("subclass", "fruit"),), (("type", "apple"),)]
    others = [(), (("ontop", "table"),), (("sliced", True),), (("ontop", "table"), ("sliced", True))]
    assert utterances == {Meaning("bring_me", kind + other) for kind in kinds for other in others}


@pytest.mark.parametrize(
    ("description", "kinds"),
    [
        ({}, {None}),
        ({"class": "FOOD"}, {None, "class"}),
        ({"subclass": "fruit"}, {None, "class", "subclass"}),
    ],
)
def test_utterances_are_never_finer_than_the_meaning(pool_of, description, kinds):
    utterances = enumerate_utterances(pool_of({Meaning("bring_me", describe(description)): 1.0}), V2)
    assert {next((key for key, _ in utterance.description), None) for utterance in utterances} == kinds
    assert len(utterances) == len(kinds)


def test_a_destination_may_be_left_out_a_verb_may_not(pool_of):
    move, clean = Meaning("move_to", (), "table"), Meaning("change_state", (), "clean")
    assert set(enumerate_utterances(pool_of({move: 1.0}), V2)) == {move, Meaning("move_to", ())}
    assert set(enumerate_utterances(pool_of({clean: 1.0}), V2)) == {clean}


@pytest.mark.parametrize(
    ("utterance", "cost", "plain"),
    [
        (NOTHING_SAID, -1, 0),
        (Meaning("bring_me", describe({"class": "FOOD"})), 0, 1),
        (Meaning("bring_me", describe({"subclass": "fruit"})), 1, 1),
        (Meaning("bring_me", describe({"type": "apple"})), 2, 1),
        (LARGE, 0, 1),
        (Meaning("bring_me", describe({"type": "box", "size": "large"})), 3, 2),
        (Meaning("move_to", describe({"type": "apple"}), "table"), 3, 1),
        (Meaning("move_to", describe({"type": "apple"})), 2, 1),
        (Meaning("change_state", (), "clean"), 0, 0),
    ],
)
def test_costs(pool_of, utterance, cost, plain):
    for expected, profile in ((cost, V2), (plain, replace(V2, plain_cost=True))):
        assert cost_of_utterance(utterance, profile) == expected
        meaning = utterance if utterance.quest != "move_to" else replace(utterance, argument="table")
        utterances = enumerate_utterances(pool_of({meaning: 1.0}), profile)
        assert dict(zip(utterances, utterances.costs, strict=True))[utterance] == expected
        for candidate, price in zip(utterances, utterances.costs, strict=True):
            assert price == cost_of_utterance(candidate, profile)


def test_a_table_by_hand(pool_of):
    # "That" fits both; red and large one each. With c("that") = -1 the literal listener's 0.75 and 0.25
    # become 0.75^2 e^2 : 1 and 0.25^2 e^2 : 1.
    pool = pool_of({RED: 0.75, LARGE: 0.25})
    utterances = enumerate_utterances(pool, V2)
    that, red, large = (list(utterances).index(utterance) for utterance in (NOTHING_SAID, RED, LARGE))
    speaker, listener = tables(Rsa(pool, utterances, V2, depth=1))
    assert len(utterances) == 3
    assert speaker[0, that] == pytest.approx(0.5625 * exp(2) / (0.5625 * exp(2) + 1))
    assert speaker[0, that] == pytest.approx(0.806064, abs=1e-6)
    assert speaker[1, that] == pytest.approx(0.0625 * exp(2) / (0.0625 * exp(2) + 1))
    assert speaker[1, that] == pytest.approx(0.315919, abs=1e-6)
    assert speaker[0, red] == pytest.approx(1 - 0.806064, abs=1e-6)
    assert speaker[0, large] == speaker[1, red] == 0
    assert listener[0, that] == pytest.approx(0.604548 / (0.604548 + 0.078980), abs=1e-5)
    assert listener[0, red] == pytest.approx(1)
    assert listener[1, large] == pytest.approx(1)
    assert listener[1, red] == listener[0, large] == 0


@pytest.mark.each("quest", QUESTS)
@pytest.mark.each("profile", [V2, SETS, load_profiles()["paper"]], ids=["v2", "sets", "paper"])
def test_sparse_agrees_with_dense(case, quest, profile):
    for seed in range(2):
        world, state, rewards, targets, rest = case(seed, quest)
        pool = prior(world, state, {quest: rewards}, targets, rest, profile)
        assert pool is not None
        utterances = enumerate_utterances(pool, profile)
        if profile.literal_sets:
            meant = [set(groundings_of(world, state, meaning, targets)) for meaning in pool.meanings]
            fits = [set(groundings_of(world, state, meaning, targets)) for meaning in utterances]
            truth = np.array([[a <= b for b in fits] for a in meant], dtype=float)
        else:
            truth = np.array(
                [[is_true(meaning, m) for meaning in utterances] for m in pool.meanings], dtype=float
            )
        for depth in (1, 2, 10):
            speaker, listener = dense(pool, utterances, truth, depth, profile)
            spoken, heard = tables(Rsa(pool, utterances, profile, depth))
            assert np.abs(spoken - speaker).max() < 1e-12
            assert np.abs(heard - listener).max() < 1e-12
        assert np.allclose(spoken.sum(axis=1), 1, atol=1e-9)
        assert np.allclose(heard.sum(axis=0), 1, atol=1e-9)


def test_nothing_underflows(pool_of):
    # Squared, the literal listener's 1e-300 underflows to 0, and it vanishes next to 1.
    pool = pool_of({RED: 1.0, LARGE: 1e-300})
    utterances = enumerate_utterances(pool, V2)
    that, large = (list(utterances).index(utterance) for utterance in (NOTHING_SAID, LARGE))
    for depth in (1, 10):
        speaker, listener = tables(Rsa(pool, utterances, V2, depth=depth))
        assert speaker[1, large] == pytest.approx(1)
        assert listener[0, that] == pytest.approx(1)
        assert np.allclose(speaker.sum(axis=1), 1, atol=1e-12)
        assert np.allclose(listener.sum(axis=0), 1, atol=1e-12)


def test_speakers_say_only_true_utterances(case):
    for quest in QUESTS:
        world, state, rewards, targets, rest = case(5, quest)
        pool = prior(world, state, {quest: rewards}, targets, rest, V2)
        assert pool is not None
        utterances = enumerate_utterances(pool, V2)
        rsa = Rsa(pool, utterances, V2)
        fits = [set(groundings_of(world, state, meaning, targets)) for meaning in utterances]
        for m in range(0, len(pool), 5):
            meant = set(groundings_of(world, state, pool.meanings[m], targets))
            for u in np.flatnonzero(rsa.speaker(m)):
                assert meant <= fits[u]


def test_one_meaning_is_understood(pool_of):
    pool = pool_of({RED: 1.0})
    utterances = enumerate_utterances(pool, V2)
    rsa = Rsa(pool, utterances, V2)
    assert tables(rsa)[1] == pytest.approx(np.ones((1, len(utterances))))
    assert rsa.readings(0) == [(0, pytest.approx(1))]


def test_readings_are_the_likeliest_first(pool_of):
    pool = pool_of({LARGE: 0.25, RED: 0.75})
    utterances = enumerate_utterances(pool, V2)
    rsa = Rsa(pool, utterances, V2)
    that = list(utterances).index(NOTHING_SAID)
    first, second = rsa.readings(that)
    assert (first[0], second[0]) == (1, 0)
    assert first[1] > second[1]
    assert first[1] + second[1] == pytest.approx(1)
    red = list(utterances).index(RED)
    assert rsa.readings(red) == [(1, pytest.approx(1))]


def test_choosing_a_reading():
    assert choose_reading(np.array([0.2, 0.4, 0.4 + 1e-15])) == 1
    assert choose_reading(np.array([0.2, 0.5, 0.3])) == 1
    assert [choose_reading(np.array([0.2, 0.5, 0.3]), x) for x in (0.0, 0.19, 0.2, 0.69, 0.71)] == [
        0,
        0,
        1,
        1,
        2,
    ]


def test_drawing_leaves_out_what_is_impossible():
    assert draw(np.array([0.0, 1.0, 0.0]), 0.0) == 1
    assert draw(np.array([0.0, 0.5, 0.5, 0.0]), 1.0) == 2


def test_depth_is_checked(pool_of):
    pool = pool_of({RED: 1.0})
    utterances = enumerate_utterances(pool, V2)
    with pytest.raises(ValueError, match="from 1 to 19"):
        Rsa(pool, utterances, V2, depth=0)
    with pytest.raises(ValueError, match="from 1 to 19"):
        Rsa(pool, utterances, V2, depth=20)


def test_utterances_are_told_one_by_one(pool_of):
    utterances = enumerate_utterances(pool_of({RED: 0.5, LARGE: 0.5}), V2)
    assert [utterances[0], utterances[1]] == list(utterances)[:2]
    assert utterances[-1] == list(utterances)[-1]
    assert all(key not in KIND_KEYS for utterance in utterances for key, _ in utterance.description)
