"""Comparison with MAPIE, whose split conformal classification uses the same score 1 - f."""

from __future__ import annotations

import numpy as np
import pytest
from mapie.classification import SplitConformalClassifier
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from simulator.ambik import conformal

OPTIONS = 4


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose input is what it says: so the sets are about the probabilities alone."""

    classes_ = np.arange(OPTIONS)
    n_features_in_ = OPTIONS

    def fit(self, inputs: NDArray[np.float64], right: NDArray[np.intp]) -> Given:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        return inputs

    def predict(self, inputs: NDArray[np.float64]) -> NDArray[np.intp]:
        return np.asarray(inputs.argmax(axis=1))


@pytest.mark.each(("n", "target"), [(100, 0.8), (100, 0.9), (57, 0.7), (99, 0.8), (12, 0.9)])
def test_thresholds_and_sets_are_mapies(n: int, target: float) -> None:
    draw = np.random.default_rng(n)
    confidence = draw.dirichlet(np.ones(OPTIONS), size=n + 300)
    # Every option is right now and then, as MAPIE wants it.
    right = np.array([draw.choice(OPTIONS, p=row) for row in confidence])
    right[: 2 * OPTIONS] = [*range(OPTIONS)] * 2
    theirs = SplitConformalClassifier(
        estimator=Given(), confidence_level=target, conformity_score="lac", prefit=True
    )
    theirs.conformalize(confidence[:n], right[:n])
    _, sets = theirs.predict_set(confidence[n:])
    nonconformities = 1 - confidence[np.arange(n), right[:n]]
    q_hat = conformal.threshold(nonconformities.tolist(), 1 - target)
    for row, members in zip(1 - confidence[n:], sets[:, :, 0], strict=True):
        assert (row <= q_hat).tolist() == members.astype(bool).tolist()
