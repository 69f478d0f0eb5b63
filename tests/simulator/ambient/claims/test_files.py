from __future__ import annotations

import json

import pytest

from simulator.ambient.files.results import CLAIMS, join, read_annotations
from simulator.errors import InputError

CLAIM = 'Says that the bridge "opened" (again).'


def result(**fields):
    return {
        "example_id": "7",
        "label": "half-true",
        "url": "",
        "annotations": [],
        "claim": CLAIM,
        "person": "Mayor Hale",
        "venue": "a speech",
        "justification": "It opened twice.",
        "cleaned_claim": "The bridge opened again.",
        "ambiguity_score": 0.4,
        "paraphrases": [["It opened once more.", 0.4], ["It was opened.", 0.1]],
        **fields,
    }


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_results_come_back_as_they_were_written(tmp_path):
    read = CLAIMS.read(write(tmp_path / "results.jsonl", result(), result(example_id=8, paraphrases=[])))
    assert read.faults == ()
    first, second = read.rows
    assert (first.id, second.id, second.paraphrases) == ("7", "8", ())
    assert [(paraphrase.text, paraphrase.score) for paraphrase in first.paraphrases] == [
        ("It opened once more.", 0.4),
        ("It was opened.", 0.1),
    ]
    assert (first.marks, first.rating, first.stored_score) == (None, "half-true", 0.4)
    CLAIMS.write(tmp_path / "again.jsonl", read.rows[:1])
    assert CLAIMS.read(tmp_path / "again.jsonl").rows == read.rows[:1]
    assert json.loads((tmp_path / "again.jsonl").read_text(encoding="utf-8")) == result()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"paraphrases": ["It opened."]}, "paraphrases[0] is not a pair of text and score"),
        ({"paraphrases": [["It opened.", None]]}, "paraphrases[0].score is null"),
        ({"paraphrases": [["", 0.1]]}, "paraphrases[0].text is empty"),
        ({"paraphrases": [["It opened.", 1.5]]}, "paraphrases[0].score is 1.5, not a fraction from 0 to 1"),
        ({"paraphrases": [["It opened.", -0.5]]}, "paraphrases[0].score is -0.5, not a fraction"),
        ({"annotations": [float("nan")]}, "annotations contains a number that is not finite"),
        ({"claim": ""}, "claim is empty"),
        ({"cleaned_claim": 3}, "cleaned_claim is 3"),
        ({"example_id": "6"}, "is the same as in an earlier row"),
    ],
)
def test_a_bad_result_is_named_and_the_rest_kept(tmp_path, fields, message):
    path = write(tmp_path / "results.jsonl", result(example_id="6"), result(**fields))
    read = CLAIMS.read(path)
    assert len(read.rows) == 1
    assert [fault.line for fault in read.faults] == [2]
    assert message in read.faults[0].message


def test_annotations_are_joined_on_the_exact_text(tmp_path):
    path = tmp_path / "dev-annotations.csv"
    path.write_text(
        "claim,justification,annotation,notes,label,url\n"
        '"Says that the bridge ""opened"" (again).","Two\nlines.",a,depends,half-true,\n'
        "Another claim.,,f,,,\n"
        "A third one.,,x,,,\n"
        'Both.,,"a, f",,,\n'
        "Nobody knows.,,,,,\n"
        "Both.,,a,,,\n",
        encoding="utf-8",
    )
    read = read_annotations(path)
    assert [record.marks for record in read.rows] == [{"a"}, {"f"}, {"a", "f"}, None]
    assert read.lines == (2, 4, 6, 7)
    assert [(fault.line, fault.message) for fault in read.faults] == [
        (5, "annotation is 'x', not a (ambiguity), f (factuality) or both ('x' is neither)"),
        (8, "claim is the same as in an earlier row"),
    ]
    results = CLAIMS.read(
        write(tmp_path / "r.jsonl", result(), result(example_id="8", claim=f"{CLAIM} "))
    ).rows
    joined = join(results, read.rows)
    assert [record.marks for record in joined.records] == [{"a"}, None]
    assert joined.records[0].notes == "depends"
    assert (joined.unannotated, joined.unknown) == (1, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"claim,notes\nx,y\n", "no column annotation"), (b"claim,annotation\n\xff,a\n", "not UTF-8")],
)
def test_a_table_without_required_columns_is_refused(tmp_path, content, message):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_annotations(tmp_path / "a.csv")


def test_an_empty_table_is_a_fault(tmp_path):
    (tmp_path / "a.csv").write_text("claim,annotation\n", encoding="utf-8")
    assert [fault.message for fault in read_annotations(tmp_path / "a.csv").faults] == ["holds no rows"]
