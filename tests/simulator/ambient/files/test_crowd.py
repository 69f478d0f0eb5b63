"""Files of crowdworkers' votes: published rows, and faults by line and field."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from shared_data import SHARED

from simulator.ambient.files.results import CROWD, FIELDS, crowd_line
from simulator.ambient.records import CrowdRecord
from simulator.errors import InputError

PUBLISHED = SHARED / "ambient" / "crowdworker_annotations_first60.jsonl"

ROW: dict[str, Any] = {
    "id": 7,
    "premise": "They met at the bank.",
    "hypothesis": "They met near water.",
    "ambiguous_sent": "premise",
    "distractor_idx": 1.0,
    "labels": ["entailment", None, "neutral"],
    "interpretations": ["They met at the river bank.", "They met in a bin.", "They met at the savings bank."],
    "q0_gold": ["neutral", "entailment"],
    "q1_gold": ["entailment", "entailment"],
    "q2_gold": ["neutral", "contradiction"],
    "q3_gold": ["neutral", "neutral"],
    "d1_gold": [True, True],
    "d2_gold": [False, True],
    "d3_gold": [True, False],
}
THREE = ROW | {"distractor_idx": None, "labels": ["entailment", "contradiction", "neutral"]}
AGAIN = ROW | {"q0_gold": ["neutral", "neutral"]}
JUDGED = ROW | {"labels": ["entailment", None, None], "distractor_idx": None, "q0_gold": [], "origin": "m/x"}
RECORD = CrowdRecord(
    id="7",
    premise=ROW["premise"],
    hypothesis=ROW["hypothesis"],
    side="premise",
    interpretations=tuple(ROW["interpretations"]),
    labels=("entailment", None, "neutral"),
    original=("neutral", "entailment"),
    relabelled=(("entailment", "entailment"), ("neutral", "contradiction"), ("neutral", "neutral")),
    plausible=((True, True), (False, True), (True, False)),
)


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_row_becomes_a_record(tmp_path: Path) -> None:
    path = write(tmp_path / "crowd.jsonl", ROW)
    assert CROWD.read(path) == ((RECORD,), (1,), ())
    assert RECORD.distractor == 1


def test_rows_go_through_files(tmp_path: Path) -> None:
    path = write(tmp_path / "crowd.jsonl", ROW, THREE, AGAIN, JUDGED)
    read = CROWD.read(path)
    assert not read.faults
    assert [row.id for row in read.rows] == ["7"] * 4
    assert read.rows[3].origin == "m/x"
    CROWD.write(tmp_path / "again.jsonl", read.rows)
    lines = (tmp_path / "again.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [ROW, THREE, AGAIN, JUDGED]
    assert tuple(json.loads(crowd_line(RECORD))) == FIELDS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"distractor_idx": 0.0}, "distractor_idx is 0, but labels is null at 1"),
        ({"distractor_idx": None}, "distractor_idx is null, but labels is null at 1"),
        ({"distractor_idx": "1"}, 'distractor_idx is "1", not a number'),
        ({"distractor_idx": 1.5}, "distractor_idx is 1.5, but"),
        ({"labels": ["entailment", "neutral", "neutral"]}, "distractor_idx is 1, but no label is null"),
        ({"labels": ["entailment", None, None]}, "labels has 2 distractors"),
        ({"labels": ["entailment", None]}, "labels has 2 entries, not 3"),
        ({"labels": ["entailment", None, "maybe"]}, r'labels\[2\] is "maybe"'),
        ({"interpretations": ["a", "b"]}, "interpretations has 2 entries"),
        ({"interpretations": ["a", "b", " "]}, r"interpretations\[2\] is empty"),
        ({"interpretations": ["a", "b", 3]}, r"interpretations\[2\] is 3, not a text"),
        ({"ambiguous_sent": "both"}, 'ambiguous_sent is "both"'),
        ({"q0_gold": []}, "q0_gold contains no votes"),
        ({"q0_gold": ["neutral"]}, "q1_gold has 2 votes, but q0_gold has 1"),
        ({"d3_gold": [True]}, "d3_gold has 1 votes, but q0_gold has 2"),
        ({"q2_gold": ["neutral", "no"]}, r'q2_gold\[1\] is "no"'),
        ({"q2_gold": None}, "q2_gold is null, not a list"),
        ({"d1_gold": [True, "yes"]}, r'd1_gold\[1\] is "yes", not true or false'),
        ({"premise": ""}, "premise is empty"),
        ({"id": None}, "id is null"),
    ],
)
def test_a_faulty_row_is_reported_with_line_and_field_and_the_others_are_kept(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = write(tmp_path / "crowd.jsonl", ROW, {**ROW, **change}, THREE)
    read = CROWD.read(path)
    assert read.lines == (1, 3)
    (fault,) = read.faults
    assert fault.line == 2
    assert re.search(message, fault.message)


def test_missing_fields_and_files(tmp_path: Path) -> None:
    for field in FIELDS:
        if field == "distractor_idx":
            continue
        path = write(tmp_path / "crowd.jsonl", {name: value for name, value in ROW.items() if name != field})
        (fault,) = CROWD.read(path).faults
        assert fault.message.startswith(field)
        assert "missing" in fault.message
    with pytest.raises(InputError, match="cannot be read"):
        CROWD.read(tmp_path / "none.jsonl")


@pytest.mark.skipif(not PUBLISHED.is_file(), reason=f"no votes at {PUBLISHED}; set ASKBACK_SHARED")
def test_the_published_rows_go_through_unchanged(tmp_path: Path) -> None:
    read = CROWD.read(PUBLISHED)
    assert len(read.rows) == 60
    assert not read.faults
    CROWD.write(tmp_path / "again.jsonl", read.rows)
    assert (tmp_path / "again.jsonl").read_bytes() == PUBLISHED.read_bytes()
