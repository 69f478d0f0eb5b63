"""Rules of annotated examples (spec 1.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simulator.ambient.examples import findings
from simulator.ambient.items import read_example
from simulator.jsonlines import Row

Rows = dict[str, dict[str, Any]]
Change = Callable[[dict[str, Any]], Any]


def reported(row: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(finding.severity, finding.code, finding.message) for finding in findings(read_example(Row(row)))]


def test_good_rows_have_no_faults(rows: Rows) -> None:
    assert [reported(rows[id]) for id in ("1", "2_c", "4")] == [[], [], []]


def test_several_rewrites_of_a_label_deserve_a_look(rows: Rows) -> None:
    message = "disambiguations: several are neutral; where only one can count, it is the last"
    assert reported(rows["3"]) == [("warning", "several", message)]


def one_of(place: int, **fields: str) -> Change:
    return lambda row: row["disambiguations"][place].update(fields)


@pytest.mark.parametrize(
    ("id", "change", "expected"),
    [
        (
            "2_c",
            lambda row: row.update(labels="neutral, entailment"),
            [("error", "flags", "labels: entailment, neutral, but neither side flagged as ambiguous")],
        ),
        (
            "1",
            lambda row: row.update(labels="neutral"),
            [
                ("error", "flags", "labels: neutral, but premise flagged as ambiguous"),
                ("warning", "labels", "labels: neutral, but the disambiguations have entailment, neutral"),
            ],
        ),
        (
            "2_c",
            lambda row: row.update(
                disambiguations=[
                    {"premise": row["premise"], "hypothesis": row["hypothesis"], "label": "neutral"}
                ]
            ),
            [("error", "number", "disambiguations: 1, but neither side is flagged as ambiguous")],
        ),
        (
            "1",
            lambda row: row.update(disambiguations=[]),
            [("error", "number", "disambiguations: 0; an ambiguous pair has 2 to 4")],
        ),
        (
            "1",
            one_of(1, premise="The pass is closed in winter."),
            [
                (
                    "error",
                    "rewrites",
                    "disambiguations[1].premise: repeats the premise, which is flagged as ambiguous",
                ),
                (
                    "error",
                    "rewrites",
                    "disambiguations: 1 changed premise; an ambiguous side has at least two readings",
                ),
            ],
        ),
        (
            "1",
            one_of(1, premise="The mountain pass is closed in winter to all."),
            [
                (
                    "error",
                    "rewrites",
                    "disambiguations: 1 changed premise; an ambiguous side has at least two readings",
                )
            ],
        ),
        (
            "1",
            one_of(0, hypothesis="No car crosses."),
            [
                (
                    "error",
                    "unchanged",
                    "disambiguations[0].hypothesis: changed, but the hypothesis is not flagged as ambiguous",
                )
            ],
        ),
        (
            "1",
            one_of(0, label="contradiction"),
            [
                (
                    "warning",
                    "labels",
                    "labels: entailment, neutral, but the disambiguations have contradiction, neutral",
                )
            ],
        ),
        (
            "1",
            lambda row: row.update(distractors={"hypothesis": "A car."}),
            [("warning", "distractor", "distractors.hypothesis: the hypothesis is not flagged as ambiguous")],
        ),
        (
            "1",
            lambda row: row.update(distractors={"premise": "The ticket is not sold in winter."}),
            [("warning", "distractor", "distractors.premise: is the premise itself or one of its readings")],
        ),
    ],
)
def test_each_rule(rows: Rows, id: str, change: Change, expected: list[tuple[str, str, str]]) -> None:
    change(rows[id])
    assert reported(rows[id]) == expected


def test_too_many_and_duplicate_disambiguations(rows: Rows) -> None:
    rows["3"]["disambiguations"] += rows["3"]["disambiguations"][:2]
    assert [code for _, code, _ in reported(rows["3"])] == ["number", "several", "several"]
    assert reported(rows["3"])[0][2] == "disambiguations: 5; an ambiguous pair has 2 to 4"
    assert reported(rows["3"])[2][2] == "disambiguations: contain a duplicate"
