"""Results files of language models and their variants (spec 11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.ambient.continuations import continuation_measures
from simulator.ambient.files.results import CONTINUATIONS, GENERATION, TRUE_FALSE
from simulator.ambient.generation import generation_measures, stored_differences
from simulator.ambient.records import ContinuationOption, ContinuationRecord
from simulator.errors import InputError

GENERATED: dict[str, Any] = {
    "id": 12,
    "premise": "a b.",
    "hypothesis": "h",
    "premise_ambiguous": True,
    "hypothesis_ambiguous": False,
    "prompt": "Context/claim\n",
    "generation": "1. a c. Then the claim is true.\n2. a b. Then the claim is false.",
    "gold_rewrites": {"entailment": "a c.", "neutral": "a d."},
    "predicted_rewrites": {"entailment": "a c.", "contradiction": "a b."},
    "edit_f1": 0.5,
}
STATEMENT: dict[str, Any] = {
    "example_id": "3_c",
    "template_id": 2,
    "prompt": "Q: …",
    "prediction": False,
    "answer": False,
    "TF_prob_mass": 0.25,
    "ambiguous_sentence_key": "hypothesis",
    "disambiguation": "d",
}
CONTINUATION: dict[str, Any] = {
    "id": 7,
    "ambiguous_sentence": '"A.',
    "options": {
        "y0": {"sentence": '"B.', "KL_div": 1.5},
        "y1": {"sentence": '"C.', "KL_div": 0.5},
        "d": {"sentence": '"D.', "KL_div": 2.0},
    },
    "num_conts": 100,
}


def write(path: Path, *rows: dict[str, Any] | str) -> Path:
    """Write a file of rows; rows that are texts are written unchanged."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def test_a_generation(path: Path) -> None:
    (row,) = GENERATION.read(write(path, GENERATED)).rows
    assert (row.id, row.side, row.original) == ("12", "premise", "a b.")
    assert row.gold == {"entailment": "a c.", "neutral": "a d."}
    assert row.stored_rewrites == {"entailment": "a c.", "contradiction": "a b."}
    assert row.stored_edit_f1 == 0.5
    assert stored_differences([row]) == ()


def test_variants_of_generation_files(path: Path) -> None:
    chat = [{"role": "system", "content": "Go on."}, {"role": "user", "content": "Context"}]
    rows = GENERATION.read(
        write(
            path,
            GENERATED | {"id": "12"},
            GENERATED | {"predicted_rewrites": {**GENERATED["predicted_rewrites"], "neutral": None}},
            GENERATED | {"generation": f"{GENERATED['generation']}\n\nContext: and so on"},
            GENERATED | {"generation": "", "predicted_rewrites": {}, "edit_f1": 0},
            GENERATED | {"prompt": chat},
            without(GENERATED, "prompt", "predicted_rewrites", "edit_f1"),
            GENERATED | {"predicted_rewrites": None, "edit_f1": None},
        )
    )
    assert not rows.faults
    assert {row.id for row in rows.rows} == {"12"}
    assert stored_differences(rows.rows) == ()
    assert rows.rows[4].prompt == "Go on.\n\nContext"
    assert rows.rows[5].stored_rewrites is rows.rows[6].stored_rewrites is None
    measures = generation_measures(rows.rows)
    assert measures["empty"] == (1, 7)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": None}, "id is null"),
        ({"premise": ""}, "premise is empty"),
        ({"hypothesis_ambiguous": True}, "premise_ambiguous and hypothesis_ambiguous: exactly one"),
        ({"premise_ambiguous": "yes"}, 'premise_ambiguous is "yes", not true or false'),
        ({"generation": None}, "generation is null, not a text"),
        ({"gold_rewrites": {}}, "gold_rewrites is empty"),
        ({"gold_rewrites": {"maybe": "x"}}, "gold_rewrites: 'maybe' is not a label"),
        ({"gold_rewrites": {"neutral": None}}, "gold_rewrites.neutral is null, not a text"),
        ({"predicted_rewrites": {"neutral": 3}}, "predicted_rewrites.neutral is 3, not a text"),
        ({"predicted_rewrites": []}, "predicted_rewrites is [], not an object"),
        ({"edit_f1": "high"}, 'edit_f1 is "high", not a number'),
        ({"edit_f1": 1e308}, "edit_f1 is 1e+308, not a fraction from 0 to 1"),
        ({"edit_f1": float("inf")}, "edit_f1 is Infinity, not a number"),
        ({"prompt": 3}, "prompt is 3, not a text"),
    ],
)
def test_faults_of_generations(path: Path, change: dict[str, Any], problem: str) -> None:
    read = GENERATION.read(write(path, GENERATED, GENERATED | change, GENERATED | {"id": 13}))
    assert len(read.rows) == 2
    (fault,) = read.faults
    assert fault.line == 2
    assert problem in fault.message


@pytest.mark.parametrize(
    ("prediction", "meant"),
    [
        ("true", True),
        ("false", False),
        ("1.0", True),
        ("0.0", False),
        ("1", True),
        ("null", None),
        ("NaN", None),
    ],
)
def test_predictions_are_written_in_many_ways(path: Path, prediction: str, meant: bool | None) -> None:
    line = json.dumps(STATEMENT | {"prediction": "?"}).replace('"?"', prediction)
    read = TRUE_FALSE.read(write(path, line))
    assert not read.faults
    assert read.rows[0].prediction is meant


def test_a_statement(path: Path) -> None:
    rows = TRUE_FALSE.read(
        write(path, STATEMENT, without(STATEMENT, "TF_prob_mass") | {"example_id": 5})
    ).rows
    assert [(row.id, row.side, row.template, row.mass) for row in rows] == [
        ("3_c", "hypothesis", 2, 0.25),
        ("5", "hypothesis", 2, None),
    ]
    assert rows[0].correct


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"example_id": True}, "example_id is true, not a text"),
        ({"template_id": 4}, "template_id is 4, not 0 to 3"),
        ({"template_id": "1"}, 'template_id is "1", not a whole number'),
        ({"answer": True}, "answer is true; template 2 has the other answer"),
        ({"answer": 1.0}, "answer is 1.0, not true or false"),
        ({"prediction": "True"}, 'prediction is "True", not true, false, 1.0, 0.0 or null'),
        ({"prediction": 0.5}, "prediction is 0.5, not true, false, 1.0, 0.0 or null"),
        ({"prediction": []}, "prediction is []"),
        ({"ambiguous_sentence_key": "claim"}, 'ambiguous_sentence_key is "claim", not one of'),
        ({"disambiguation": " "}, "disambiguation is empty"),
        ({"disambiguation": "e", "TF_prob_mass": 1.5}, "TF_prob_mass is 1.5, not a fraction from 0 to 1"),
        ({"disambiguation": "e", "TF_prob_mass": -0.1}, "TF_prob_mass is -0.1, not a fraction from 0 to 1"),
    ],
)
def test_faults_of_statements(path: Path, change: dict[str, Any], problem: str) -> None:
    read = TRUE_FALSE.read(write(path, STATEMENT, STATEMENT | change))
    assert len(read.rows) == 1
    (fault,) = read.faults
    assert fault.line == 2
    assert problem in fault.message


def test_a_repeated_statement_is_a_fault(path: Path) -> None:
    other = STATEMENT | {"disambiguation": "another"}
    again = STATEMENT | {"prediction": True}
    read = TRUE_FALSE.read(write(path, without(STATEMENT, "prediction"), STATEMENT, other, again))
    assert [(row.disambiguation, row.prediction) for row in read.rows] == [("d", False), ("another", False)]
    assert read.lines == (2, 3)
    assert [(fault.line, fault.task, fault.message) for fault in read.faults] == [
        (1, "3_c", "prediction is missing"),
        (4, "3_c", "repeats line 2"),
    ]


def test_a_missing_prediction_is_no_null(path: Path) -> None:
    read = TRUE_FALSE.read(write(path, without(STATEMENT, "prediction")))
    assert "prediction is missing" in read.faults[0].message


def test_continuations_with_missing_values(path: Path) -> None:
    def options(value: str) -> str:
        line = json.dumps(CONTINUATION | {"id": f"{value}_c"})
        return line.replace('"KL_div": 0.5', f'"KL_div": {value}')

    lines = [options(value) for value in ("0.5", "null", "NaN", "-Infinity")]
    missing = json.loads(json.dumps(CONTINUATION))
    del missing["options"]["d"]["KL_div"]
    read = CONTINUATIONS.read(
        write(path, *lines, missing, CONTINUATION | {"num_conts": 51.0}, CONTINUATION | {"num_conts": None})
    )
    assert not read.faults
    measures = continuation_measures(read.rows)
    assert (measures["right"].n, measures["right"].value) == (7, 3)
    assert measures["ids"]["missing"] == ["null_c", "NaN_c", "-Infinity_c", "7"]
    assert [row.num_conts for row in read.rows[-2:]] == [51, None]
    assert measures["num_conts_min"].value == 51


def test_options_are_ordered_independently_of_the_file(path: Path) -> None:
    options = CONTINUATION["options"]
    turned = CONTINUATION | {"options": {name: options[name] for name in ("d", "y1", "y0")}}
    as_published, other = CONTINUATIONS.read(write(path, CONTINUATION, turned), "keep").rows
    assert other == as_published
    assert [option.name for option in other.options] == ["y0", "y1", "d"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"options": {"y0": {"sentence": "x", "KL_div": 1}}}, "options should be a distractor, d, and"),
        ({"options": {"d": {"sentence": "x", "KL_div": 1}}}, "options should be a distractor, d, and"),
        (
            {"options": {"y0": {"sentence": "x"}, "y2": {"sentence": "y"}, "d": {"sentence": "x"}}},
            "options should be a distractor, d, and rewrites, y0, y1, …, not y0, y2, d",
        ),
        ({"options": {}}, "options should be a distractor, d, and rewrites, y0, y1, …, not nothing"),
        ({"options": []}, "options is [], not an object"),
        ({"options": {"y0": 1, "d": {"sentence": "x"}}}, "options.y0 is 1, not an object"),
        (
            {"options": {"y0": {"sentence": "x", "KL_div": "1"}, "d": {"sentence": "x"}}},
            'options.y0.KL_div is "1", not a number',
        ),
        ({"num_conts": 1.5}, "num_conts is 1.5, not a number of continuations"),
        ({"num_conts": -1}, "num_conts is -1, not a number of continuations"),
        ({"ambiguous_sentence": None}, "ambiguous_sentence is null, not a text"),
    ],
)
def test_faults_of_continuations(path: Path, change: dict[str, Any], problem: str) -> None:
    read = CONTINUATIONS.read(write(path, CONTINUATION, CONTINUATION | change))
    assert len(read.rows) == 1
    (fault,) = read.faults
    assert fault.line == 2
    assert problem in fault.message


def test_lines_that_are_no_json_are_faults(path: Path) -> None:
    read = CONTINUATIONS.read(write(path, CONTINUATION, '{"id": 3', "[]"))
    assert len(read.rows) == 1
    assert [fault.line for fault in read.faults] == [2, 3]


def test_files_are_written_as_published(path: Path) -> None:
    write(path, GENERATED)
    records = GENERATION.read(path).rows
    GENERATION.write(path, records)
    text = path.read_text(encoding="utf-8")
    assert text.startswith('{"id":12,"premise":"a b.","hypothesis":"h","premise_ambiguous":true,')
    assert '"prompt":"Context\\/claim\\n"' in text
    assert json.loads(text) == GENERATED
    assert GENERATION.read(path).rows == records


def test_null_rewrites_and_all_digits_are_written_again(path: Path) -> None:
    third = GENERATED | {
        "gold_rewrites": {"entailment": "a c d.", "neutral": "a d e f."},
        "generation": "1. a c e. Then the claim is true.",
        "predicted_rewrites": {"neutral": None, "entailment": "a c e."},
    }
    score = generation_measures(GENERATION.read(write(path, without(third, "edit_f1"))).rows)["edit_f1"]
    assert score is not None
    assert len(repr(score.value)) > 12
    rows = [third | {"edit_f1": score.value}, third | {"edit_f1": round(score.value, 10)}]
    wrong = third | {"edit_f1": 0.9, "predicted_rewrites": {"neutral": "no such", "entailment": "a c e."}}
    GENERATION.write(path, GENERATION.read(write(path, *rows, wrong)).rows)
    written = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert written[:2] == rows
    assert [list(row["predicted_rewrites"]) for row in written[:2]] == [["neutral", "entailment"]] * 2
    # What is stored, but not what was generated, is made anew.
    assert written[2]["edit_f1"] == score.value
    assert written[2]["predicted_rewrites"] == {"entailment": "a c e."}


def test_masses_are_written_with_all_digits(path: Path) -> None:
    rows = [STATEMENT | {"template_id": 2, "TF_prob_mass": 1 / 3}]
    rows.append(STATEMENT | {"disambiguation": "e", "TF_prob_mass": 1.0000001})
    TRUE_FALSE.write(path, TRUE_FALSE.read(write(path, *rows)).rows)
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == rows


def test_statements_are_written_as_published(path: Path) -> None:
    rows = [STATEMENT, without(STATEMENT, "TF_prob_mass") | {"example_id": 5, "prediction": None}]
    TRUE_FALSE.write(path, TRUE_FALSE.read(write(path, *rows)).rows)
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == rows


def test_continuations_are_written_as_published(path: Path) -> None:
    record = ContinuationRecord(
        id="007",
        sentence="café",
        options=(ContinuationOption("y0", "b", None), ContinuationOption("d", "c", 1 / 3)),
        num_conts=3,
    )
    CONTINUATIONS.write(path, [record])
    assert path.read_text(encoding="ascii") == (
        '{"id":"007","ambiguous_sentence":"caf\\u00e9","options":{"y0":{"sentence":"b","KL_div":null},'
        '"d":{"sentence":"c","KL_div":0.3333333333333333}},"num_conts":3}\n'
    )


def test_a_missing_file(tmp_path: Path) -> None:
    for read in (GENERATION.read, TRUE_FALSE.read, CONTINUATIONS.read):
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path / "none.jsonl")
