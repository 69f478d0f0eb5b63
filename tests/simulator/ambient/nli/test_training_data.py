from __future__ import annotations

import json

import pytest

from simulator.ambient.nli.families import SET_NAMES
from simulator.ambient.nli.training_data import read_training


def read(tmp_path, family, **fields):
    row = {"premise": "It rains.", "hypothesis": "It pours.", **fields}
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return read_training(path, family)


def target(tmp_path, family, **fields):
    data = read(tmp_path, family, **fields)
    assert data.faults == ()
    return data.rows[0].target


def annotation(label, **fields):
    return {"label": label, "premise": "It rains.", "hypothesis": "It pours.", **fields}


@pytest.mark.parametrize(
    ("label", "value"), [("entailment", 0.9272), ("neutral", 0.4250), ("contradiction", 0.0209)]
)
def test_a_single_label_is_a_number_a_share_and_a_set(tmp_path, label, value):
    place = ("contradiction", "entailment", "neutral").index(label)
    one_hot = tuple(float(at == place) for at in range(3))
    assert target(tmp_path, "regression", label=label) == (value,)
    for family in ("distributional", "classifier", "multilabel", "binary"):
        assert target(tmp_path, family, label=label) == one_hot
    assert target(tmp_path, "set", label=label) == tuple(float(name == label) for name in SET_NAMES)


def test_a_value_is_for_regression(tmp_path):
    assert target(tmp_path, "regression", value=0.3) == (0.3,)
    assert "has a value but no labels" in read(tmp_path, "multilabel", value=0.3).faults[0].message


@pytest.mark.parametrize("labels", [["neutral", "entailment"], "neutral, entailment"])
def test_several_labels_are_a_set_without_shares(tmp_path, labels):
    assert target(tmp_path, "multilabel", labels=labels) == (0.0, 1.0, 1.0)
    expected = tuple(float(name == "entailment, neutral") for name in SET_NAMES)
    assert target(tmp_path, "set", labels=labels) == expected
    for family in ("distributional", "classifier", "regression"):
        assert read(tmp_path, family, labels=labels).faults


def test_a_label_is_present_from_twenty_per_cent_of_the_annotators_on(tmp_path):
    counts = {"entailment": 79, "neutral": 20, "contradiction": 1}
    assert target(tmp_path, "multilabel", counts=counts) == (0.0, 1.0, 1.0)
    assert target(tmp_path, "distributional", counts=counts) == (0.01, 0.79, 0.2)
    assert target(tmp_path, "multilabel", counts={"entailment": 81, "neutral": 19}) == (0.0, 1.0, 0.0)
    shares = {"entailment": 0.5, "neutral": 0.3, "contradiction": 0.2}
    assert target(tmp_path, "binary", distribution=shares) == (1.0, 1.0, 1.0)


def test_two_annotators_who_left_the_text_give_the_union(tmp_path):
    both = [annotation("neutral"), annotation("entailment")]
    assert target(tmp_path, "multilabel", annotations=both) == (0.0, 1.0, 1.0)
    assert target(tmp_path, "distributional", annotations=both) == (0.0, 0.5, 0.5)
    assert target(tmp_path, "set", annotations=[{"label": "neutral"}] * 2)[-1] == 1.0


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # The first changed it: text and label of the second, whatever he did.
        ({"hypothesis": "It drips."}, {}, ("It rains.", "It pours.", "entailment")),
        ({"hypothesis": "It drips."}, {"premise": "It snows."}, ("It snows.", "It pours.", "entailment")),
        # Only the second did: text and label of the first.
        ({}, {"premise": "It snows."}, ("It rains.", "It pours.", "neutral")),
    ],
)
def test_where_an_annotator_changed_the_text_the_other_counts(tmp_path, first, second, expected):
    rows = [annotation("neutral", **first), annotation("entailment", **second)]
    (pair,) = read(tmp_path, "multilabel", annotations=rows).rows
    place = ("contradiction", "entailment", "neutral").index(expected[2])
    assert (pair.premise, pair.hypothesis) == expected[:2]
    assert pair.target == tuple(float(at == place) for at in range(3))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "has no label; give exactly one of"),
        ({"label": "neutral", "value": 0.4}, "has label and value; give exactly one"),
        ({"label": "maybe"}, 'label is "maybe"'),
        ({"labels": []}, "labels is empty"),
        ({"distribution": {"neutral": 0.7}}, "adds up to 0.7, not 1"),
        ({"counts": {"neutral": 0}}, "are all zero"),
        ({"counts": {"neutral": -1, "entailment": 3}}, "greater than or equal to 0"),
        ({"counts": {"neutral": 1.5}}, "counts.neutral is 1.5, not a whole number"),
        ({"annotations": [annotation("neutral")]}, "has 1 entries, not 2"),
        ({"label": "neutral", "premise": ""}, "premise is empty"),
    ],
)
def test_rows_without_enough_information_are_faults(tmp_path, fields, message):
    data = read(tmp_path, "multilabel", **fields)
    assert not data.rows
    assert message in data.faults[0].message
