"""Cautions about calibrations, in English."""

from __future__ import annotations

import math

import pytest

from simulator.ambik import conformal
from simulator.ambik.conformal import MARGINAL, NO_PROMISE, Caution
from simulator.ambik.coverage import report_of
from simulator.ambik.records import Calibrated
from simulator.ambik.terms import DEFAULT
from simulator.reporting import plain_values


@pytest.mark.each(
    ("caution", "sentence"),
    [
        (conformal.warnings(3, 0.2)[0], "3 calibration items are too few"),
        (conformal.warnings(3, 0.2)[0], "with epsilon 0.2 at least 4 are needed."),
        (conformal.warnings(50, 0)[0], "choose one below 1."),
        (conformal.warnings(100, 0.2, without=20)[0], "20 of 100 calibration items have no right candidate"),
        (conformal.warnings(100, 0.2, without=20)[0], "more than the 19 that the threshold can leave out"),
        (conformal.warnings(20, 0.2)[0], "coverage lies between 0.62 and 0.94 in 95 % of calibrations"),
        (conformal.warnings(20, 0.2)[0], f"about {conformal.items_to_halve(20, 0.2)} items would halve"),
        (NO_PROMISE, "their coverage is not guaranteed."),
        (MARGINAL, "The guarantee is marginal"),
    ],
)
def test_a_caution_names_its_numbers(caution: Caution, sentence: str) -> None:
    assert sentence in str(caution)


def test_in_files_a_caution_is_its_sentence() -> None:
    calibrated = Calibrated(q_hat=math.inf, n=3, epsilon=0.2, rank=4, nonconformities=(0.1, 0.2, 0.3))
    report = report_of(calibrated, (), DEFAULT)
    written = plain_values(report)
    assert written["warnings"] == [str(warning) for warning in report.warnings] != []
    assert written["statement"] == str(MARGINAL)
