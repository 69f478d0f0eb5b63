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
    return sorted({record.prompt_id for record in records})


def by_hand(records, *, picks=None):
    """The percentile bootstrap of a mean over prompts, by loops."""
    scores = {
        name: [record.correct for record in records if record.prompt_id == name] for name in names(records)
    }
    prompts = sorted(scores, key=lambda name: (sum(scores[name]), len(scores[name])))
    resampled = []
    for pick in np.random.default_rng(0).integers(0, len(prompts), size=(1000, len(prompts))):
        values = [value for place in pick for value in scores[prompts[place]]]
        resampled.append(sum(values) / len(values))
    return fmean(record.correct for record in records), *np.percentile(resampled, [2.5, 97.5])


def test_accuracy_at_each_k_is_a_bootstrap_over_episodes():
    records = episodes()
    estimates = means(trial_frame(records), "correct", ("actor", "k"))
    assert list(estimates) == [("m", k) for k in range(1, 5)]
    for (_, k), estimate in estimates.items():
        here = [record for record in records if record.k == k]
        assert estimate[:3] == pytest.approx(by_hand(here))
        assert estimate.n == 7


def test_a_pooled_mean_resamples_prompts_not_labels():
    records = episodes()
    estimate = means(trial_frame(records), "correct", "actor")["m"]
    assert estimate[:3] == pytest.approx(by_hand(records))
    rows = sorted(records, key=lambda row: (row.prompt_id, row.k))
    shared = cluster_bootstrap([row.correct for row in rows], [row.prompt_id for row in rows], resamples=1000)
    assert estimate == pytest.approx(shared)
    single = cluster_bootstrap([row.correct for row in rows], range(len(rows)), resamples=1000)
    assert estimate[1:3] != pytest.approx(single[1:3])


def test_prompts_of_different_length_weigh_by_their_labels():
    records = [*episodes(prompts=3), *episodes(prompts=5, length=2, seed=9)[4:]]
    records = list({(record.prompt_id, record.k): record for record in records}.values())
    estimate = means(trial_frame(records), "correct", "actor")["m"]
    assert estimate[:3] == pytest.approx(by_hand(records))


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
    estimate = means(trial_frame(records), "correct", "actor")["people"]
    rows = sorted(records, key=lambda row: (row.prompt_id, row.actor_id))
    values = [row.correct for row in rows]
    assert estimate == pytest.approx(
        cluster_bootstrap(values, [row.actor_id for row in rows], resamples=1000)
    )
    prompts = cluster_bootstrap(values, [row.prompt_id for row in rows], resamples=1000)
    assert (estimate.low, estimate.high) != (prompts.low, prompts.high)


def test_a_mean_of_means_counts_every_level_the_same():
    records = [
        record for record in episodes(length=4) if not (record.prompt_id in ("p1", "p2") and record.k > 2)
    ]
    estimate = macro_means(trial_frame(records), "correct", "actor", "k")["m"]
    at = {k: [record for record in records if record.k == k] for k in range(1, 5)}
    assert estimate.value == pytest.approx(
        fmean(fmean(record.correct for record in group) for group in at.values())
    )
    per_k = {
        name: [[record.correct for record in group if record.prompt_id == name] for group in at.values()]
        for name in names(records)
    }
    prompts = sorted(per_k, key=lambda name: (*map(sum, per_k[name]), *map(len, per_k[name])))
    drawn = []
    for pick in np.random.default_rng(0).integers(0, len(prompts), size=(1000, len(prompts))):
        chosen = [prompts[place] for place in pick]
        by_k = [
            [record.correct for name in chosen for record in group if record.prompt_id == name]
            for group in at.values()
        ]
        drawn.append(fmean(fmean(values) for values in by_k if values))
    assert estimate[1:3] == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])))
    assert estimate.value != pytest.approx(fmean(record.correct for record in records))


def test_the_mean_over_models_resamples_the_prompts_that_they_share():
    records = [*episodes("m"), *episodes("other", prompts=5)]
    estimate = macro_means(trial_frame(records), "correct", "setting", "actor")["multiple"]
    each = [[record.correct for record in records if record.actor_id == name] for name in ("m", "other")]
    assert estimate.value == pytest.approx(fmean(map(fmean, each)))
    assert estimate.low < estimate.value < estimate.high
    assert estimate.n == 48


def test_groups_come_in_the_order_of_their_levels():
    features = ("negation", "subject", "pronoun")
    records = [
        trial(prompt_id=name, salient_feature=name, k=12 - place) for place, name in enumerate(features)
    ]
    frame = trial_frame(records)
    assert list(means(frame, "correct", "feature")) == [
        "subject",
        "pronoun",
        "negation",
    ]
    assert list(means(frame, "correct", "k")) == [10, 11, 12]


def test_what_has_no_value_is_left_out():
    records = [trial(prompt_id="a", correct=0.0), trial(prompt_id="b", correct=None, raw_answer=None)]
    frame = trial_frame(records)
    assert means(frame, "correct", "actor")["m"].n == 1
    assert means(frame, "bayes", "actor") == {}


def test_shares_are_of_what_is_sorted():
    records = [
        trial(setting="verbalise", prompt_id=f"v{number}", k=None, gold=None, correct=None, category=category)
        for number, category in enumerate(("correct", "other", "correct", None, "incorrect"))
    ]
    share = shares(trial_frame(records), "correct", ("actor", "feature"))["m", "subject"]
    assert (share.value, share.n) == (0.5, 4)
    assert share == cluster_bootstrap([1, 0, 1, 0], range(4), resamples=1000)


def test_the_order_of_trials_does_not_matter():
    records = [*episodes(), *episodes("other")]
    mixed = records.copy()
    Random(3).shuffle(mixed)
    mixed.sort(key=lambda record: record.actor_id != "m")  # actors come as they first appear
    renamed = [replace(record, prompt_id=f"p{9 - int(record.prompt_id[1:])}") for record in records]
    for by in ("actor", ("actor", "k"), "feature"):
        estimates = means(trial_frame(records), "correct", by)
        assert estimates == means(trial_frame(mixed), "correct", by)
        if by != "feature":
            assert estimates == means(trial_frame(renamed), "correct", by)
