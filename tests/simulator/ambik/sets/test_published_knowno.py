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
    found = calibrate(run, settings)
    assert (found.n, found.rank, found.without, found.unknown) == (100, 81, 0, 0)
    assert found.q_hat == sorted(found.nonconformities)[place - 1]
    assert found.q_hat == pytest.approx(q_hat, abs=1e-6)


def test_help_and_success_by_the_original_rule(run: tuple[Decision, ...]) -> None:
    """The set counts tokens: by letters the robot would ask for 57 of these, not for 82."""
    calibrated = calibrate(run, ORIGINAL_KNOWNO)
    found = measures([outcome(one, calibrated, ORIGINAL_KNOWNO) for one in run], ORIGINAL_KNOWNO)
    assert found.overall.hr.value == pytest.approx(0.82)
    assert found.overall.coverage.value == pytest.approx(0.82)
    assert found.overall.chr.left_out == {"no rule for asking": 100}


def test_every_option_has_a_score_and_raw_ones_are_of_five_tokens(run: tuple[Decision, ...]) -> None:
    for one in run:
        for settings in (DEFAULT, ORIGINAL_KNOWNO):
            found = prepare(one, settings).scored
            assert [some.letter for some in found] == list(one.options)
            assert {some.letter for some in found if some.acceptable} == set(one.right or ())
        assert sum(1 - some.nonconformity for some in prepare(one, DEFAULT).scored) == pytest.approx(1)
        assert sum(1 - some.nonconformity for some in prepare(one, ORIGINAL_KNOWNO).scored) < 1 + 1e-9
