from __future__ import annotations

import json

import pytest

from simulator.ambient.files.nli import (
    NLI_LOGITS,
    NLI_PREDICTIONS,
    PairScores,
    read_logits,
    read_seed,
    write_seed,
)
from simulator.ambient.records import NliRecord, SeedRecord
from simulator.errors import InputError

INTERVALS = {"contradiction": (0.0, 0.2), "entailment": (0.8, 1.0), "neutral": (0.1, 0.9)}


def line(**fields):
    return {"id": 7, "premise": "It rains.", "hypothesis": "It pours.", **fields}


def written(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def pair(number, scores, labels=None):
    return PairScores(
        id="7", pair=number, premise="It rains.", hypothesis="It pours.", scores=scores, labels=labels
    )


def test_predictions_are_read_as_published_and_written_back(tmp_path):
    rows = [
        line(labels="neutral, entailment", prediction=""),
        line(id="1_c", labels="neutral", prediction="neutral, contradiction"),
    ]
    read = NLI_PREDICTIONS.read(written(tmp_path / "predictions.jsonl", *rows))
    assert read.faults == ()
    assert [(row.id, row.gold, row.predicted) for row in read.rows] == [
        ("7", {"entailment", "neutral"}, frozenset()),
        ("1_c", {"neutral"}, {"contradiction", "neutral"}),
    ]
    NLI_PREDICTIONS.write(tmp_path / "again.jsonl", read.rows)
    assert NLI_PREDICTIONS.read(tmp_path / "again.jsonl").rows == read.rows
    first = json.loads((tmp_path / "again.jsonl").read_text().splitlines()[0])
    assert first == {
        "id": "7",
        "premise": "It rains.",
        "hypothesis": "It pours.",
        "labels": "entailment, neutral",
        "prediction": "",
    }


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_where_pandas_wrote_null_nothing_was_predicted(tmp_path, nothing):
    read = NLI_PREDICTIONS.read(written(tmp_path / "p.jsonl", line(labels="neutral", prediction=nothing)))
    assert not read.faults and [row.predicted for row in read.rows] == [frozenset()]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (line(labels="neutral"), "prediction is missing"),
        (line(labels="", prediction="neutral"), "labels is empty"),
        (line(labels="maybe", prediction=""), "labels: 'maybe' is not a label"),
        (line(labels="neutral", prediction="neutral", id=1), "id is the same as in an earlier row"),
    ],
)
def test_a_bad_prediction_is_named_and_the_rest_kept(tmp_path, row, message):
    good = line(id=1, labels="neutral", prediction="neutral")
    read = NLI_PREDICTIONS.read(written(tmp_path / "predictions.jsonl", good, row))
    assert len(read.rows) == 1
    assert [fault.line for fault in read.faults] == [2]
    assert message in read.faults[0].message


@pytest.mark.parametrize("threshold", [None, -1.5, INTERVALS])
def test_a_seeds_scores_are_read_back(tmp_path, threshold):
    folder = tmp_path / "my-model"
    record = SeedRecord(model="my-model", seed=43, em=0.25, f1=0.5, group_em=0.125, threshold=threshold)
    path = write_seed(folder, record)
    assert path == folder / "seed43.json"
    assert read_seed(path) == record
    assert ("logit_threshold" in json.loads(path.read_text())) is (threshold is not None)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("seed42.json", "{", "is not JSON"),
        ("seed42.json", "[]", "is not an object"),
        ("seed42.json", '{"em": 0.1, "f1": 0.2}', "group_em is missing"),
        ("seed42.json", '{"em": 25.3, "f1": 0.2, "group_em": 0}', "em is 25.3, not a fraction"),
        ("seed42.json", '{"em": NaN, "f1": 0.2, "group_em": 0}', "em is NaN, not a number"),
        (
            "seed42.json",
            '{"em": 0, "f1": 0, "group_em": 0, "logit_threshold": {"neutral": [0, 1]}}',
            "logit_threshold has no interval for contradiction",
        ),
        (
            "seed42.json",
            '{"em": 0, "f1": 0, "group_em": 0, "logit_threshold": {"neutral": [0]}}',
            "logit_threshold.neutral has 1 entries, not 2",
        ),
        (
            "seed42.json",
            '{"em": 0, "f1": 0, "group_em": 0, "logit_threshold": {"neutral": [0.5, 0.25]}}',
            r"logit_threshold.neutral is \[0.5, 0.25\]; the first end should be below the second",
        ),
        (
            "seed42.json",
            '{"em": 0, "f1": 0, "group_em": 0, "logit_threshold": {"neutral": [0.5, 0.5]}}',
            r"logit_threshold.neutral is \[0.5, 0.5\]; the first end",
        ),
        ("scores.json", "{}", "called like seed42.json"),
    ],
)
def test_a_bad_seed_is_an_error_that_names_file_and_field(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as error:
        read_seed(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("scores", [(0.5,), (1.0, -2.0, 0.25), (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)])
def test_logits_come_back_as_they_were_written(tmp_path, scores):
    rows = (pair(0, scores, frozenset({"neutral", "entailment"})), pair(1, scores))
    NLI_LOGITS.write(tmp_path / "dev_logits.jsonl", rows)
    read = read_logits(tmp_path / "dev_logits.jsonl")
    assert (read.rows, read.faults) == (rows, ())


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (line(pair=1, logits={"neutral": 1.0}), "logits are for neutral, not for the three labels"),
        (line(pair=1, value=0.5), "has 1 instead of the first row's 3 numbers"),
        (line(pair=-1, value=0.5), "pair is -1; the original is 0"),
        (line(pair=0, logits={"contradiction": 1, "entailment": 2, "neutral": 3}), "in an earlier row"),
        (
            line(pair=1, logits={"contradiction": 1, "entailment": 2, "neutral": None}),
            "logits.neutral is null",
        ),
        (line(pair=1), "logits is missing"),
    ],
)
def test_bad_logits_are_named_and_the_rest_kept(tmp_path, row, message):
    good = line(pair=0, logits={"contradiction": 1.0, "entailment": 2.0, "neutral": 3.0})
    read = read_logits(written(tmp_path / "dev_logits.jsonl", good, row))
    assert [good_pair.scores for good_pair in read.rows] == [(1.0, 2.0, 3.0)]
    assert len(read.faults) == 1
    assert message in read.faults[0].message


def test_a_record_is_what_the_published_format_can_say(tmp_path):
    record = NliRecord(
        id="7", premise="a", hypothesis="b", gold=frozenset({"neutral"}), predicted=frozenset()
    )
    NLI_PREDICTIONS.write(tmp_path / "p.jsonl", [record])
    assert NLI_PREDICTIONS.read(tmp_path / "p.jsonl").rows == (record,)
