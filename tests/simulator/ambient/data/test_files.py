"""Files of examples and of kinds of ambiguity, and recognition of file kinds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.ambient.files.dataset import CATEGORY_ROWS, DATASET, CategoryRecord, Rewrite, category_record
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.files.results import EDIT_F1_CASES, EditCase
from simulator.errors import InputError

Rows = dict[str, dict[str, Any]]
Write = Callable[..., Path]
CATEGORY = {
    "id": "12_g",
    "premise": "Nobody's here yet.",
    "hypothesis": None,
    "category": "pragmatic, other",
    "premise_ambiguous": True,
    "hypothesis_ambiguous": False,
    "labels": None,
    "disambiguations": "[{'premise': \"Nobody's here yet, but soon.\", 'hypothesis': None, 'label': None}]",
}


def test_good_rows_are_kept_and_the_others_named(rows: Rows, write: Write) -> None:
    wrong = {**rows["1"], "id": 9, "premise_ambiguous": False}
    path = write(
        "a.jsonl", rows["1"], "{", rows["2_c"], {"id": 5, "premise": "x"}, wrong, {**rows["4"], "id": "1"}
    )
    read = DATASET.read(path)
    assert [row.id for row in read.rows] == ["1", "2_c"]
    assert read.lines == (1, 3)
    assert [(fault.line, fault.task, fault.message) for fault in read.faults] == [
        (
            2,
            "",
            "is not JSON: ends before everything is closed (column 2): a bracket is missing, or "
            "the rest of it",
        ),
        (4, "5", "hypothesis is missing"),
        (5, "9", "labels: entailment, neutral, but neither side flagged as ambiguous"),
        (6, "1", "id: the row in line 1 has the same"),
    ]


def test_writing_gives_the_same_values_and_the_same_bytes(rows: Rows, write: Write, tmp_path: Path) -> None:
    rows["2_c"]["meta"] = {"source": "ours"}
    read = DATASET.read(write("a.jsonl", *rows.values())).rows
    DATASET.write(tmp_path / "b.jsonl", read)
    assert DATASET.read(tmp_path / "b.jsonl").rows == read
    written = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()]
    rows["1"]["labels"] = "entailment, neutral"
    assert written == list(rows.values())
    DATASET.write(tmp_path / "c.jsonl", reversed(tuple(reversed(read))))
    assert (tmp_path / "c.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_published_files_are_written_as_they_are_but_for_the_order_of_labels(
    published: Path, tmp_path: Path
) -> None:
    for name in ("ambient_full.jsonl", "dev.jsonl", "test.jsonl"):
        read = DATASET.read(published / name)
        assert read.faults == ()
        DATASET.write(tmp_path / name, read.rows)
        for ours, theirs in zip(_objects(tmp_path / name), _objects(published / name), strict=True):
            assert set(ours.pop("labels").split(", ")) == set(theirs.pop("labels").split(", "))
            assert ours.pop("meta", None) == theirs.pop("meta", None)
            assert ours == theirs
            assert type(ours["id"]) is type(theirs["id"])


def test_kinds_of_ambiguity_are_read_without_being_run(write: Write) -> None:
    [record] = CATEGORY_ROWS.read(write("c.jsonl", CATEGORY)).rows
    assert record == CategoryRecord(
        id="12_g",
        premise="Nobody's here yet.",
        hypothesis=None,
        premise_ambiguous=True,
        hypothesis_ambiguous=False,
        labels=frozenset(),
        rewrites=(Rewrite("Nobody's here yet, but soon.", None, None),),
        categories=("pragmatic", "other"),
    )
    assert record.missing == ("hypothesis", "labels", "label")
    assert json.loads(CATEGORY_ROWS.line(record)) == CATEGORY


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"disambiguations": "[open('x')]"},
            "disambiguations: is a text without a list in Python syntax",
        ),
        ({"disambiguations": "[" * 3_000}, "disambiguations: is a text without a list in Python syntax"),
        (
            {"disambiguations": "[{'premise'"},
            "disambiguations: is a text without a list in Python syntax",
        ),
        (
            {"disambiguations": "{}"},
            "disambiguations: is a text with dict, not a list, in Python syntax",
        ),
        ({"disambiguations": []}, "disambiguations: is not a text with a list in Python syntax"),
        ({"disambiguations": "[{'hypothesis': 'x', 'label': None}]"}, "disambiguations.premise is missing"),
        ({"category": "moody"}, "category: 'moody' is not a kind of ambiguity"),
        ({"category": None}, "category: has no kind of ambiguity"),
        ({"labels": "perhaps"}, "labels: 'perhaps' is not a label"),
        ({"hypothesis": ""}, "hypothesis is empty"),
    ],
)
def test_a_wrong_row_of_kinds_is_named(write: Write, change: dict[str, Any], message: str) -> None:
    read = CATEGORY_ROWS.read(write("c.jsonl", CATEGORY, {**CATEGORY, **change}))
    assert len(read.rows) == 1
    [fault] = read.faults
    assert (fault.line, fault.task) == (2, "12_g")
    assert fault.message.startswith(message)


def test_published_kinds_are_written_as_they_are(published: Path, tmp_path: Path) -> None:
    read = CATEGORY_ROWS.read(published / "category_annotations.jsonl")
    assert (len(read.rows), read.faults) == (100, ())
    CATEGORY_ROWS.write(tmp_path / "c.jsonl", read.rows)
    assert CATEGORY_ROWS.read(tmp_path / "c.jsonl").rows == read.rows


def test_an_example_with_kinds_is_a_row_of_such_a_file(rows: Rows, write: Write) -> None:
    [example] = DATASET.read(write("a.jsonl", {**rows["1"], "categories": ["lexical"]})).rows
    record = category_record(example)
    assert not record.missing
    path = write("c.jsonl", CATEGORY_ROWS.line(record))
    assert CATEGORY_ROWS.read(path).rows == (record,)


HEADS: dict[str, dict[str, Any]] = {
    "dataset": {"id": 1, "premise": "a", "hypothesis": "b"},
    "categories": CATEGORY,
    "linguists": {
        "id": 4,
        "worker_ids": [],
        "premise": "a",
        "hypothesis": "b",
        "annotations": [],
        "disambiguations": {},
    },
    "crowd": {"id": 4, "premise": "a", "hypothesis": "b", "interpretations": [], "labels": [], "q1_gold": []},
    "generation": {"id": 4, "premise": "a", "hypothesis": "b", "generation": "", "gold_rewrites": {}},
    "true_false": {
        "example_id": 4,
        "template_id": 0,
        "prediction": None,
        "ambiguous_sentence_key": "premise",
    },
    "continuation": {"id": 4, "ambiguous_sentence": "a", "options": {}},
    "nli_predictions": {"id": 4, "premise": "a", "hypothesis": "b", "labels": "neutral", "prediction": ""},
    "nli_logits": {"id": 4, "pair": 0, "premise": "a", "hypothesis": "b", "logits": {}},
    "nli_seed": {"logit_threshold": 1, "f1": 0, "em": 0, "group_em": 0},
    "claims": {"example_id": 4, "claim": "a", "paraphrases": [], "annotations": ""},
    "edit_f1_cases": {"original": "a", "gold": "b", "predicted": "c", "edit_f1": 0},
}


@pytest.mark.parametrize("name", HEADS)
def test_a_files_kind_is_recognized_by_its_fields(write: Write, name: str) -> None:
    kind = TABLES.kind_of(write("x.jsonl", "\ufeff" + json.dumps(HEADS[name])))
    assert kind is not None
    assert kind.name == name
    indented = TABLES.kind_of(write("x.json", json.dumps(HEADS[name], indent=1)))
    listed = TABLES.kind_of(write("y.json", json.dumps([HEADS[name]], indent=1)))
    assert indented is listed is kind


@pytest.mark.parametrize(
    "content",
    [
        "",
        "no JSON",
        "[1, 2]",
        '{"prompt": "x", "completion": "y", "id": 1}',
        '{"premise": "x", "hypothesis": "y", "label": "neutral"}',
        '{"id": 1, "premise": "x", "hypothesis": "y", "source": "SNLI"}',
    ],
)
def test_other_files_are_none_of_ours(write: Write, content: str) -> None:
    assert TABLES.kind_of(write("x.jsonl", content)) is None


def test_faulty_first_rows_do_not_hide_a_files_kind(rows: Rows, write: Write) -> None:
    path = write("x.jsonl", "{", {"id": 1}, rows["1"])
    kind = TABLES.kind_of(path)
    assert kind is not None
    assert kind.name == "dataset"
    assert len(kind.read(path).faults) == 2


def test_files_are_found_below_a_folder_but_not_hidden_ones(rows: Rows, write: Write, tmp_path: Path) -> None:
    paths = [
        write("a/b.jsonl", rows["1"]),
        write("c.jsonl", CATEGORY),
        write("d.csv", "claim,annotation", "x,a"),
    ]
    write("e.txt", rows["1"])
    write(".hidden/f.jsonl", rows["1"])
    write("__MACOSX/g.jsonl", rows["1"])
    assert {file: kind.name for file, kind in TABLES.files_of(tmp_path).items()} == dict(
        zip(paths, ["dataset", "categories", "claim_annotations"], strict=True)
    )
    assert list(TABLES.files_of(paths[0])) == paths[:1]


def test_cases_of_edit_f1_must_have_the_right_score(write: Write) -> None:
    good = {"original": "a b", "gold": "a c", "predicted": "a c", "edit_f1": 1.0}
    lines = ",\n".join(map(json.dumps, [good, {**good, "edit_f1": 0.5}, 3, {"original": "a"}]))
    path = write("cases.json", f"[{lines}]")
    read = EDIT_F1_CASES.read(path)
    assert (read.rows, read.lines) == ((EditCase("a b", "a c", "a c", 1.0),), (1,))
    assert [(fault.line, fault.message) for fault in read.faults] == [
        (2, "edit_f1 is 0.5, but recomputed as 1"),
        (3, "is not an object"),
        (4, "gold is missing"),
    ]
    with pytest.raises(InputError, match=r"cases\.json: is not a JSON list"):
        EDIT_F1_CASES.read(write("cases.json", "{}"))
    message = EDIT_F1_CASES.read(write("cases.json", "[")).faults[0].message
    assert message.startswith("is not a complete JSON list")
    with pytest.raises(InputError, match="cannot be read"):
        EDIT_F1_CASES.read(path.with_name("none.json"))


def _objects(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
