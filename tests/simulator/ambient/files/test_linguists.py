"""Files of linguists' annotations: published rows, and faults by line and field."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from shared_data import SHARED

from simulator.ambient.examples import Disambiguation
from simulator.ambient.files.results import LINGUISTS
from simulator.ambient.records import LinguistRecord

PUBLISHED = SHARED / "ambient" / "linguist_annotations_first60.jsonl"

P, H, RIVER, MONEY = "At the bank.", "Near water.", "At the river bank.", "At the savings bank."
ROW: dict[str, Any] = {
    "id": 7,
    "worker_ids": ["AB", "CD"],
    "premise": P,
    "hypothesis": H,
    "annotations": ["entailment|contradiction", "neutral"],
    "disambiguations": {
        "contradiction": [{"premise": MONEY, "hypothesis": H}],
        "entailment": [
            {"premise": RIVER, "hypothesis": H},
            {"premise": "At a river’s bank.", "hypothesis": H},
        ],
    },
}
RECORD = LinguistRecord(
    id="7",
    premise=P,
    hypothesis=H,
    workers=("AB", "CD"),
    annotations=(frozenset({"contradiction", "entailment"}), frozenset({"neutral"})),
    rewrites=(
        Disambiguation(MONEY, H, "contradiction"),
        Disambiguation(RIVER, H, "entailment"),
        Disambiguation("At a river’s bank.", H, "entailment"),
    ),
)
SINGLE = ROW | {"id": "8_x", "worker_ids": ["AB"], "annotations": ["neutral"], "disambiguations": {}}
THREE = ROW | {"worker_ids": ["AB", "AB", "CD"], "annotations": ["neutral"] * 3}
BLANK = SINGLE | {"disambiguations": {"neutral": [{"premise": "", "hypothesis": H}]}}
GONE = SINGLE | {"discarded": {"CD": "not_fluent"}}
BOTH = GONE | {"worker_ids": [], "annotations": [], "discarded": {"AB": "offensive", "CD": "not_fluent"}}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_row_becomes_a_record(tmp_path: Path) -> None:
    assert LINGUISTS.read(write(tmp_path / "rows.jsonl", ROW)) == ((RECORD,), (1,), ())


def test_rows_go_through_files(tmp_path: Path) -> None:
    read = LINGUISTS.read(write(tmp_path / "rows.jsonl", ROW, SINGLE, THREE, GONE, BOTH, BLANK))
    assert not read.faults
    assert read.rows[3].discarded == {"CD": "not_fluent"}
    LINGUISTS.write(tmp_path / "again.jsonl", read.rows)
    assert (tmp_path / "again.jsonl").read_bytes() == b"".join(
        json.dumps(row, separators=(",", ":")).encode() + b"\n"
        for row in (ROW, SINGLE, THREE, GONE, BOTH, BLANK)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotations": ["neutral"]}, "annotations has 1 entries, not 2"),
        ({"worker_ids": [], "annotations": []}, "annotations is empty"),
        ({"annotations": ["neutral", ""]}, r"annotations\[1\] is empty"),
        ({"annotations": ["neutral", "neutral|maybe"]}, r"annotations\[1\]: 'maybe' is not a label"),
        (
            {"annotations": ["neutral", "neutral, entailment"]},
            r"annotations\[1\]: 'neutral, entailment' is no",
        ),
        ({"annotations": ["neutral", None]}, r"annotations\[1\] is null, not a text"),
        ({"worker_ids": ["AB", None]}, r"worker_ids\[1\] is null"),
        ({"disambiguations": []}, "disambiguations is \\[\\], not an object"),
        ({"disambiguations": {"maybe": []}}, 'disambiguations.maybe is "maybe", not one of'),
        ({"disambiguations": {"neutral": {}}}, "disambiguations.neutral is {}, not a list"),
        ({"disambiguations": {"neutral": [3]}}, r"disambiguations.neutral\[0\] is 3, not an object"),
        (
            {"disambiguations": {"neutral": [{"premise": P, "hypothesis": None}]}},
            r"disambiguations.neutral\[0\].hypothesis is null, not a text",
        ),
        ({"discarded": {"AB": 3}}, "discarded.AB is 3, not one of offensive, not_fluent, incoherent"),
        ({"hypothesis": None}, "hypothesis is null"),
    ],
)
def test_a_faulty_row_is_reported_with_line_and_field_and_the_others_are_kept(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    read = LINGUISTS.read(write(tmp_path / "rows.jsonl", ROW, {**ROW, **change}, THREE))
    assert read.lines == (1, 3)
    (fault,) = read.faults
    assert fault.line == 2
    assert re.search(message, fault.message)


def test_missing_fields(tmp_path: Path) -> None:
    for field in ROW:
        path = write(tmp_path / "rows.jsonl", {name: value for name, value in ROW.items() if name != field})
        (fault,) = LINGUISTS.read(path).faults
        assert fault.message.startswith(field)
        assert "missing" in fault.message


@pytest.mark.skipif(not PUBLISHED.is_file(), reason=f"no annotations at {PUBLISHED}; set ASKBACK_SHARED")
def test_the_published_rows_go_through_unchanged(tmp_path: Path) -> None:
    read = LINGUISTS.read(PUBLISHED)
    assert len(read.rows) == 60
    assert not read.faults
    LINGUISTS.write(tmp_path / "again.jsonl", read.rows)
    assert (tmp_path / "again.jsonl").read_bytes() == PUBLISHED.read_bytes()
