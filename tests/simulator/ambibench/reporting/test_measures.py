"""Test means and intervals against plain loops and the shared statistics."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from statistics import fmean

import numpy as np
import pytest

from simulator.ambibench.records import TrialRecord
from simulator.ambibench.reporting.frame import macro_means, means, shares, trial_frame
from simulator.stats import cluster_bootstrap


def trial(**fields):
    given = {
        "setting": "multiple",
        "prompt_id": "p",
        "salient_feature": "subject",
        "format": "qa",
        "instruction_kind": "uninformative",
        "k": 1,
        "gold": "X",
        "actor_kind": "model",
        "actor_id": "m",
        "correct": 1.0,
        "valid": True,
    }
    return TrialRecord(**{**given, **fields})


def episodes(actor="m", prompts=7, length=4, seed=1, **fields):
    random = Random(f"{seed}{actor}")
    return [
        trial(
            actor_id=actor,
            prompt_id=f"p{prompt}",
            k=k,
            correct=float(random.random() < 0.3 + 0.1 * k),
            p_valid=random.random(),
            salient_feature=("subject", "location")[prompt % 2],
            **fields,
        )
        for prompt in range(prompts)
        for k in range(1, length + 1)
    ]


def names(records):
    return sorted({one.prompt_id for one in records})


def by_hand(records, *, picks=None):
    """The percentile bootstrap of a mean over prompts, by loops."""
    of = {name: [one.correct for one in records if one.prompt_id == name] for name in names(records)}
    prompts = sorted(of, key=lambda name: (sum(of[name]), len(of[name])))
    resampled = []
    for pick in np.random.default_rng(0).integers(0, len(prompts), size=(1000, len(prompts))):
        values = [value for place in pick for value in of[prompts[place]]]
        resampled.append(sum(values) / len(values))
    return fmean(one.correct for one in records), *np.percentile(resampled, [2.5, 97.5])


def test_accuracy_at_each_k_is_a_bootstrap_over_episodes():
    records = episodes()
    found = means(trial_frame(records), "correct", ("actor", "k"))
    assert list(found) == [("m", k) for k in range(1, 5)]
    for (_, k), told in found.items():
        here = [one for one in records if one.k == k]
        assert told[:3] == pytest.approx(by_hand(here))
        assert told.n == 7


def test_a_pooled_mean_resamples_prompts_not_labels():
    records = episodes()
    told = means(trial_frame(records), "correct", "actor")["m"]
    assert told[:3] == pytest.approx(by_hand(records))
    rows = sorted(records, key=lambda one: (one.prompt_id, one.k))
    shared = cluster_bootstrap([one.correct for one in rows], [one.prompt_id for one in rows], resamples=1000)
    assert told == pytest.approx(shared)
    single = cluster_bootstrap([one.correct for one in rows], range(len(rows)), resamples=1000)
    assert told[1:3] != pytest.approx(single[1:3])


def test_prompts_of_different_length_weigh_by_their_labels():
    records = [*episodes(prompts=3), *episodes(prompts=5, length=2, seed=9)[4:]]
    records = list({(one.prompt_id, one.k): one for one in records}.values())
    told = means(trial_frame(records), "correct", "actor")["m"]
    assert told[:3] == pytest.approx(by_hand(records))


def test_people_are_resampled_as_participants():
    records = []
    for person in range(6):
        for k in range(1, 4):
            records.append(
                trial(
                    actor_kind="human",
                    actor_id=f"someone{person}",
                    prompt_id=f"shared{person % 2}",
                    trial_id=f"{person}:{k}",
                    k=k,
                    correct=float(person % 3 == 0),
                )
            )
    told = means(trial_frame(records), "correct", "actor")["people"]
    rows = sorted(records, key=lambda one: (one.prompt_id, one.actor_id))
    values = [one.correct for one in rows]
    assert told == pytest.approx(cluster_bootstrap(values, [one.actor_id for one in rows], resamples=1000))
    prompts = cluster_bootstrap(values, [one.prompt_id for one in rows], resamples=1000)
    assert (told.low, told.high) != (prompts.low, prompts.high)


def test_a_mean_of_means_counts_every_level_the_same():
    records = [one for one in episodes(length=4) if not (one.prompt_id in ("p1", "p2") and one.k > 2)]
    told = macro_means(trial_frame(records), "correct", "actor", "k")["m"]
    at = {k: [one for one in records if one.k == k] for k in range(1, 5)}
    assert told.value == pytest.approx(fmean(fmean(one.correct for one in some) for some in at.values()))
    per_k = {
        name: [[one.correct for one in some if one.prompt_id == name] for some in at.values()]
        for name in names(records)
    }
    prompts = sorted(per_k, key=lambda name: (*map(sum, per_k[name]), *map(len, per_k[name])))
    drawn = []
    for pick in np.random.default_rng(0).integers(0, len(prompts), size=(1000, len(prompts))):
        chosen = [prompts[place] for place in pick]
        by_k = [
            [one.correct for name in chosen for one in some if one.prompt_id == name] for some in at.values()
        ]
        drawn.append(fmean(fmean(values) for values in by_k if values))
    assert told[1:3] == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])))
    assert told.value != pytest.approx(fmean(one.correct for one in records))


def test_the_mean_over_models_resamples_the_prompts_that_they_share():
    records = [*episodes("m"), *episodes("other", prompts=5)]
    told = macro_means(trial_frame(records), "correct", "setting", "actor")["multiple"]
    each = [[one.correct for one in records if one.actor_id == name] for name in ("m", "other")]
    assert told.value == pytest.approx(fmean(map(fmean, each)))
    assert told.low < told.value < told.high
    assert told.n == 48


def test_groups_come_in_the_order_of_their_levels():
    features = ("negation", "subject", "pronoun")
    records = [
        trial(prompt_id=name, salient_feature=name, k=12 - place) for place, name in enumerate(features)
    ]
    found = trial_frame(records)
    assert list(means(found, "correct", "feature")) == [
        "subject",
        "pronoun",
        "negation",
    ]
    assert list(means(found, "correct", "k")) == [10, 11, 12]


def test_what_has_no_value_is_left_out():
    records = [trial(prompt_id="a", correct=0.0), trial(prompt_id="b", correct=None, raw_answer=None)]
    found = trial_frame(records)
    assert means(found, "correct", "actor")["m"].n == 1
    assert means(found, "bayes", "actor") == {}


def test_shares_are_of_what_is_sorted():
    records = [
        trial(setting="verbalise", prompt_id=f"v{number}", k=None, gold=None, correct=None, category=category)
        for number, category in enumerate(("correct", "other", "correct", None, "incorrect"))
    ]
    told = shares(trial_frame(records), "correct", ("actor", "feature"))["m", "subject"]
    assert (told.value, told.n) == (0.5, 4)
    assert told == cluster_bootstrap([1, 0, 1, 0], range(4), resamples=1000)


def test_the_order_of_trials_does_not_matter():
    records = [*episodes(), *episodes("other")]
    mixed = records.copy()
    Random(3).shuffle(mixed)
    mixed.sort(key=lambda one: one.actor_id != "m")  # actors come as they first appear
    renamed = [replace(one, prompt_id=f"p{9 - int(one.prompt_id[1:])}") for one in records]
    for by in ("actor", ("actor", "k"), "feature"):
        told = means(trial_frame(records), "correct", by)
        assert told == means(trial_frame(mixed), "correct", by)
        if by != "feature":
            assert told == means(trial_frame(renamed), "correct", by)
