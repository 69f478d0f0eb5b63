"""Formatting of measures."""

from __future__ import annotations

import pytest

from simulator.ambient.reporting.measures import Measure, Results, exact_table, measures_table
from simulator.stats import Interval


def test_shares_are_in_per_cent_and_kappas_are_not() -> None:
    share = Measure("a", "a share", Interval(0.5, 0.25, 0.75, 8), base="rows")
    kappa = Measure("k", "kappa", Interval(0.674, 0.6, 0.7, 8), "")
    assert (share.with_unit.strip(), share.interval) == ("50.0 %", "[25.0, 75.0]")
    assert (kappa.with_unit.strip(), kappa.interval) == ("0.67", "[0.60, 0.70]")
    assert share.to_json() == {
        "title": "a share",
        "unit": "%",
        "value": 50.0,
        "low": 25.0,
        "high": 75.0,
        "n": 8,
        "of": "rows",
    }
    undefined = Measure("u", "undefined", None, note="nobody voted")
    assert undefined.to_json()["value"] is None
    assert undefined.with_unit.strip() == "–"


def test_an_empty_column_is_left_out() -> None:
    table = measures_table([Measure("a", "count", 3, "count", n=5)])
    assert [head.name for head in table.heads] == ["measure", "value", "n"]


def test_files_get_every_digit() -> None:
    results = Results(
        kind="crowd", name="x", measures=(Measure("a", "", Interval(1 / 3, 0.2, 0.5, 9), paper=33.0),)
    )
    (row,) = exact_table([results]).rows
    assert row[4] == pytest.approx(Interval(100 / 3, 20.0, 50.0, 9))
    assert row[-1] == 33.0
