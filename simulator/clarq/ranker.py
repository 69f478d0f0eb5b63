"""Which available node would be given: a small trained model over lexical features.

The provider looks at the available nodes in order and gives the first it finds appropriate; if none is, it
looks again less strictly (spec section 3, step 4). The model is that procedure with chances instead of
verdicts: a node with features x is accepted with chance s(w·x + a) in the first pass and s(w·x + a + b) in
the second, b > 0, where s is the logistic function. So the chance that a node is given is that of refusing
all before it and accepting it, in the first pass or, all having been refused there, in the second; what
is left over is the chance of Response II. Coefficients: `ranker.json`, made by `train_ranker.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Example(NamedTuple):
    """One decision to learn from.

    Attributes:
        features: one row per available node, in index order.
        chosen: row of the node given, -1 for Response II.
    """

    features: Floats
    chosen: int


@dataclass(frozen=True)
class Ranker:
    """A trained model.

    Attributes:
        weights: by feature, in the order of the columns.
        strict: the first pass' intercept.
        leniency: what the second pass adds to it; positive.
        multi_threshold: chance from which the multi-info provider gives a node.
        training: what it was trained on.
    """

    weights: dict[str, float]
    strict: float
    leniency: float
    multi_threshold: float
    training: dict[str, Any]

    def logits(self, features: Floats) -> Floats:
        """Log-odds of acceptance in the first pass; shape (nodes,)."""
        return np.asarray(features @ self._vector + self.strict, dtype=np.float64)

    @cached_property
    def _vector(self) -> Floats:
        return np.array(list(self.weights.values()))

    def chances(self, features: Floats) -> Floats:
        """The chance that each node is given, and last that none is; shape (nodes + 1,), sums to 1."""
        return sequential_chances(self.logits(features), self.leniency)

    def suitable(self, features: Floats) -> Floats:
        """The chance that each node is accepted in either pass, taken by itself; shape (nodes,)."""
        logits = self.logits(features)
        refused = 1 / (1 + np.exp(logits)) / (1 + np.exp(logits + self.leniency))
        return np.asarray(1 - refused, dtype=np.float64)

    def dumps(self) -> str:
        """As JSON text."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def loads(cls, text: str) -> Ranker:
        """From JSON text made by `dumps`."""
        return cls(**json.loads(text))


@cache
def load_ranker(name: str = "ranker") -> Ranker:
    """The committed model ``<name>.json``."""
    return Ranker.loads(files("simulator.clarq").joinpath(f"{name}.json").read_text(encoding="utf-8"))


def sequential_chances(logits: Floats, leniency: float) -> Floats:
    """Chances of being the first accepted within two passes, and of none; shape (nodes + 1,)."""
    chances = np.zeros(len(logits) + 1)
    refused = 1.0
    for offset in (0.0, leniency):
        for row, logit in enumerate(logits):
            accepted = 1.0 / (1.0 + np.exp(-(logit + offset)))
            chances[row] += refused * accepted
            refused *= 1.0 - accepted
    chances[-1] = refused
    return chances


def fit(examples: Sequence[Example], penalty: float) -> tuple[Floats, float, float]:
    """Maximum likelihood with a ridge penalty on the weights of the standardised features.

    Returns:
        weights of the features as they are (shape (features,)), strict, leniency.
    """
    from scipy.optimize import minimize  # only training needs it

    stacked = np.concatenate([example.features for example in examples])
    mean, scale = stacked.mean(axis=0), stacked.std(axis=0)
    scale[scale == 0] = 1.0
    standard = (stacked - mean) / scale
    bounds = np.cumsum([0] + [len(example.features) for example in examples])
    width = standard.shape[1]

    def loss(point: Floats) -> tuple[float, Floats]:
        weights, strict, log_leniency = point[:width], point[width], point[width + 1]
        leniency = np.exp(log_leniency)
        first = standard @ weights + strict
        second = first + leniency
        slope_first, slope_second = np.zeros_like(first), np.zeros_like(first)
        total = 0.0
        for example, start, end in zip(examples, bounds[:-1], bounds[1:], strict=True):
            total += _surprise(
                first[start:end],
                second[start:end],
                example.chosen,
                slope_first[start:end],
                slope_second[start:end],
            )
        slope = slope_first + slope_second
        # A weak pull of log leniency towards 0.5 keeps it identified if no second pass is needed.
        total += 0.5 * penalty * float(weights @ weights) + 0.05 * (log_leniency - 0.5) ** 2
        gradient = np.concatenate(
            [
                standard.T @ slope + penalty * weights,
                [slope.sum(), slope_second.sum() * leniency + 0.1 * (log_leniency - 0.5)],
            ]
        )
        return float(total), gradient

    point = minimize(loss, np.zeros(width + 2), jac=True, method="L-BFGS-B").x
    weights = point[:width] / scale
    return weights, float(point[width] - weights @ mean), float(np.exp(point[width + 1]))


def _surprise(first: Floats, second: Floats, chosen: int, slope_first: Floats, slope_second: Floats) -> float:
    """Minus log-likelihood of one decision; adds its derivatives by the logits to the slopes."""
    accept_first, accept_second = 1 / (1 + np.exp(-first)), 1 / (1 + np.exp(-second))
    refuse_first, refuse_second = -np.logaddexp(0, first), -np.logaddexp(0, second)
    if chosen < 0:
        slope_first += accept_first
        slope_second += accept_second
        return -float(refuse_first.sum() + refuse_second.sum())
    in_first = refuse_first[:chosen].sum() - np.logaddexp(0, -first[chosen])
    in_second = refuse_first.sum() + refuse_second[:chosen].sum() - np.logaddexp(0, -second[chosen])
    together = np.logaddexp(in_first, in_second)
    share = np.exp(in_first - together)
    slope_first[:chosen] += share * accept_first[:chosen]
    slope_first[chosen] -= share * (1 - accept_first[chosen])
    slope_first += (1 - share) * accept_first
    slope_second[:chosen] += (1 - share) * accept_second[:chosen]
    slope_second[chosen] -= (1 - share) * (1 - accept_second[chosen])
    return -float(together)
