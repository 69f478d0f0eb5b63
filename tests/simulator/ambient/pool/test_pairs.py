from __future__ import annotations

import json

import pytest

from simulator.ambient.data import load_pool
from simulator.ambient.pool.groups import pair_id, pool_of, read_pool
from simulator.errors import InputError


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(number, **more):
    return {"id": number, "premise": f"A {number}.", "hypothesis": f"B {number}.", **more}


def test_builtin_pool():
    assert pool_of("builtin") == load_pool()
    assert sum(pair.disagree for pair in load_pool()) == 40


def test_labels_of_two_annotators_in_every_form(tmp_path):
    changed = {"label": "neutral", "premise": "Another."}
    path = write(
        tmp_path / "pool.jsonl",
        row(1, labels=["neutral", "entailment"]),
        row(2, labels=["neutral", "neutral"]),
        row(3, annotations=[{"label": "contradiction"}, {"label": "neutral"}]),
        row(4, annotations=[changed, {"label": "entailment"}]),
        row(5, label="neutral"),
    )
    pairs = pool_of(path)
    assert [pair.id for pair in pairs] == list("12345")
    assert [pair.disagree for pair in pairs] == [True, False, True, False, False]
    assert set(pairs[2].labels) == {"contradiction", "neutral"}
    assert pairs[3].labels == ("entailment", "entailment")


def test_rows_without_an_id_are_named_by_their_content(tmp_path):
    path = write(tmp_path / "pool.jsonl", {"premise": "A.", "hypothesis": "B.", "label": "neutral"})
    assert [pair.id for pair in pool_of(path)] == [pair_id("A.", "B.")]
    assert pair_id("A.", "B.") != pair_id("B.", "A.")


def test_faulty_rows_are_named_and_the_others_kept(tmp_path):
    three = ["neutral", "entailment", "contradiction"]
    path = write(
        tmp_path / "pool.jsonl",
        row(1, label="neutral"),
        row(1, label="neutral") | {"premise": "New."},
        row(2, label="neutral") | {"premise": "A 1.", "hypothesis": "B 1."},
        row(3, labels=three),
        row(4, labels=["perhaps", "neutral"]),
        row(5),
    )
    read = read_pool(path)
    assert [pair.id for pair in read.rows] == ["1"]
    messages = {fault.line: fault.message for fault in read.faults}
    assert messages[2] == "id: the row in line 1 has the same"
    assert messages[3] == "sentences: the same as in line 1"
    assert messages[4] == "labels are not those of two annotators"
    assert "perhaps" in messages[5] and "annotations" in messages[6]
    with pytest.raises(InputError, match=r"pool\.jsonl.*and 4 more"):
        pool_of(path)


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"gone\.jsonl"):
        pool_of(tmp_path / "gone.jsonl")
