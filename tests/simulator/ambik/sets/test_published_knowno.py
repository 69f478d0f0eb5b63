"""The published run of KnowNo: its thresholds, its help rate, its coverage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from simulator.ambik.data import LOGPROBS
from simulator.ambik.files.published import decisions_of
from simulator.ambik.measures import measures
from simulator.ambik.predicting import calibrate, outcome, prepare
from simulator.ambik.records import Decision
from simulator.ambik.terms import DEFAULT, Settings

# The published rule (spec 8.1, 9).
ORIGINAL_KNOWNO = Settings(tokens="raw_top5", quantile="numpy_higher", not_listed=True, help="original")


@pytest.fixture(scope="module")
def run(published: Callable[[str], Path]) -> tuple[Decision, ...]:
    path = published("knowno_calib_logprobs_100.json")
    return decisions_of(LOGPROBS.read(path).rows, path.name)


@pytest.mark.parametrize(
    ("settings", "place", "q_hat"),
    [
        (ORIGINAL_KNOWNO, 82, 0.867279),
        (replace(ORIGINAL_KNOWNO, quantile="exact"), 81, 0.866477),
        (DEFAULT, 81, 0.840181),
        (replace(DEFAULT, quantile="numpy_higher"), 82, 0.843288),
    ],
)
def test_the_threshold_is_an_order_statistic(
    run: tuple[Decision, ...], settings: Settings, place: int, q_hat: float
) -> None:
    calibration = calibrate(run, settings)
    assert (calibration.n, calibration.rank, calibration.without, calibration.unknown) == (100, 81, 0, 0)
    assert calibration.q_hat == sorted(calibration.nonconformities)[place - 1]
    assert calibration.q_hat == pytest.approx(q_hat, abs=1e-6)


def test_help_and_success_by_the_original_rule(run: tuple[Decision, ...]) -> None:
    """The set counts tokens: by letters the robot would ask for 57 of these, not for 82."""
    calibrated = calibrate(run, ORIGINAL_KNOWNO)
    result = measures([outcome(decision, calibrated, ORIGINAL_KNOWNO) for decision in run], ORIGINAL_KNOWNO)
    assert result.overall.hr.value == pytest.approx(0.82)
    assert result.overall.coverage.value == pytest.approx(0.82)
    assert result.overall.chr.left_out == {"no rule for asking": 100}


def test_every_option_has_a_score_and_raw_ones_are_of_five_tokens(run: tuple[Decision, ...]) -> None:
    for decision in run:
        for settings in (DEFAULT, ORIGINAL_KNOWNO):
            options = prepare(decision, settings).scored
            assert [option.letter for option in options] == list(decision.options)
            assert {option.letter for option in options if option.acceptable} == set(decision.right or ())
        assert sum(1 - option.nonconformity for option in prepare(decision, DEFAULT).scored) == pytest.approx(
            1
        )
        assert (
            sum(1 - option.nonconformity for option in prepare(decision, ORIGINAL_KNOWNO).scored) < 1 + 1e-9
        )
