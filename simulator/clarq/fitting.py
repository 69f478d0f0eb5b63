"""The most likely coefficients, given decisions: of a ranking and of a logistic regression.

A published provider walks the nodes, and gives the first that fits its seeker's many questions (`ranker.py`).
Whoever asks one thing, briefly, is given the node that fits it best, so there the nodes compete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from simulator.clarq.features import ASKED, NODE
from simulator.clarq.ranker import Coefficients, Example, Logistic
from simulator.clarq.task_index import Floats

DIGITS: Final = 4  # so that the file is the same on machines whose last bits differ


def fit(examples: Sequence[Example], penalty: float, *, walked: bool) -> Coefficients:
    """Return the most likely coefficients given `examples`, with a ridge penalty on standardised weights.

    Args:
        examples: to learn from.
        penalty: of half the squared weights, in units of log-likelihood.
        walked: whether the first node that fits was given; else the one that fits best.
    """
    stack = _Stack(examples, walked)
    width = len(ASKED) + len(NODE)

    def loss(point: Floats) -> tuple[float, Floats]:
        weights = point[:width]
        value, slope = stack.surprise(point)
        # A weak pull of log leniency towards 0.5 keeps it identified if no second pass is needed.
        value += 0.5 * penalty * float(weights @ weights) + 0.05 * (point[-1] - 0.5) ** 2
        slope[:width] += penalty * weights
        slope[-1] += 0.1 * (point[-1] - 0.5)
        return value, slope

    point = scipy.optimize.minimize(
        loss, np.zeros(width + 2), jac=True, method="L-BFGS-B", options={"maxiter": 500}
    ).x
    weights = point[:width] / np.concatenate([stack.asked_scale, stack.node_scale])
    asked, node = weights[: len(ASKED)], weights[len(ASKED) :]
    strict = point[width] - asked @ stack.asked_mean - node @ stack.node_mean
    return Coefficients(
        asked=_name_weights(ASKED, asked),
        node=_name_weights(NODE, node),
        strict=round(float(strict), DIGITS),
        leniency=round(float(np.exp(point[-1])), DIGITS) if walked else None,
    )


def fit_logistic(names: Sequence[str], features: Floats, outcomes: Floats, penalty: float) -> Logistic:
    """Return the most likely logistic regression, with a ridge penalty on standardised weights.

    Args:
        names: of the features.
        features: shape (examples, len(names)).
        outcomes: 1 or 0 per example.
        penalty: of half the squared weights, in units of log-likelihood.
    """
    table, mean, scale = _standardised(features)

    def loss(point: Floats) -> tuple[float, Floats]:
        odds = table @ point[:-1] + point[-1]
        error = scipy.special.expit(odds) - outcomes
        value = float(
            (np.logaddexp(0, odds) - outcomes * odds).sum() + 0.5 * penalty * point[:-1] @ point[:-1]
        )
        # Keeps the bias finite where all outcomes are the same.
        value += 0.05 * float(point[-1] ** 2)
        return value, np.append(table.T @ error + penalty * point[:-1], error.sum() + 0.1 * point[-1])

    point = scipy.optimize.minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    weights = point[:-1] / scale
    return Logistic(_name_weights(names, weights), round(float(point[-1] - weights @ mean), DIGITS))


def _name_weights(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), DIGITS) for name, weight in zip(names, weights, strict=True)}


class _Stack:
    """All examples' features in one table, standardised."""

    def __init__(self, examples: Sequence[Example], walked: bool) -> None:
        self.walked = walked
        asked = [example.features.asked.transpose(1, 0, 2).reshape(-1, len(ASKED)) for example in examples]
        self.asked, self.asked_mean, self.asked_scale = _standardised(np.concatenate(asked))
        self.node, self.node_mean, self.node_scale = _standardised(
            np.concatenate([example.features.node for example in examples])
        )
        askings = np.concatenate(
            [np.full(len(example.features.node), len(example.features.asked)) for example in examples]
        )
        self.node_of = np.repeat(np.arange(len(askings)), askings)
        self.first_asking = np.concatenate([[0], np.cumsum(askings)[:-1]])
        sizes = np.array([len(example.features.node) for example in examples])
        chosen = np.array([example.chosen for example in examples])
        self.ends = np.cumsum(sizes)
        self.starts = self.ends - sizes
        self.none = chosen < 0
        self.chosen = self.starts + np.maximum(chosen, 0)
        self.example_of = np.repeat(np.arange(len(examples)), sizes)
        position = np.arange(len(askings)) - self.starts[self.example_of]
        self.before = position < chosen[self.example_of]
        self.at = position == chosen[self.example_of]

    def surprise(self, point: Floats) -> tuple[float, Floats]:
        """Return minus log-likelihood and its gradient by weights, strictness and log leniency."""
        split, width = len(ASKED), len(ASKED) + len(NODE)
        asked = self.asked @ point[:split]
        top = np.maximum.reduceat(asked, self.first_asking)
        parts = np.exp(asked - top[self.node_of])
        sums = np.add.reduceat(parts, self.first_asking)
        first = top + np.log(sums) + self.node @ point[split:width] + point[width]
        if self.walked:
            leniency = np.exp(point[-1])
            value, slope, slope_second = self._passes(first, first + leniency)
            slope_leniency = slope_second.sum() * leniency
            slope += slope_second
        else:
            value, slope = self._choice(first)
            slope_leniency = 0.0
        gradient = np.concatenate(
            [
                self.asked.T @ (parts / sums[self.node_of] * slope[self.node_of]),
                self.node.T @ slope,
                [slope.sum(), slope_leniency],
            ]
        )
        return value, gradient

    def _choice(self, logits: Floats) -> tuple[float, Floats]:
        """Return minus log-likelihood of a choice between nodes and none, of logit 0, and its slope."""
        top = np.maximum(np.maximum.reduceat(logits, self.starts), 0.0)
        parts = np.exp(logits - top[self.example_of])
        together = top + np.log(np.add.reduceat(parts, self.starts) + np.exp(-top))
        value = float((together - np.where(self.none, 0.0, logits[self.chosen])).sum())
        return value, np.exp(logits - together[self.example_of]) - self.at

    def _passes(self, first: Floats, second: Floats) -> tuple[float, Floats, Floats]:
        """Return minus log-likelihood of two passes and its derivatives by their logits."""
        refused_first, refused_second = _running(-np.logaddexp(0, first)), _running(-np.logaddexp(0, second))
        all_first = refused_first[self.ends] - refused_first[self.starts]
        all_second = refused_second[self.ends] - refused_second[self.starts]
        in_first = (
            refused_first[self.chosen] - refused_first[self.starts] - np.logaddexp(0, -first[self.chosen])
        )
        in_second = (
            all_first
            + refused_second[self.chosen]
            - refused_second[self.starts]
            - np.logaddexp(0, -second[self.chosen])
        )
        either = np.logaddexp(in_first, in_second)
        value = -float(np.where(self.none, all_first + all_second, either).sum())
        # How likely it was the first pass that gave the node.
        share = np.exp(in_first - either)[self.example_of]
        none = self.none[self.example_of]
        accept_first, accept_second = scipy.special.expit(first), scipy.special.expit(second)
        slope_first = accept_first * np.where(none, 1.0, 1 - share + self.before * share)
        slope_first -= np.where(none, 0.0, self.at * share * (1 - accept_first))
        slope_second = accept_second * np.where(none, 1.0, self.before * (1 - share))
        slope_second -= np.where(none, 0.0, self.at * (1 - share) * (1 - accept_second))
        return value, slope_first, slope_second


def _standardised(table: Floats) -> tuple[Floats, Floats, Floats]:
    mean, scale = table.mean(axis=0), table.std(axis=0)
    scale[scale == 0] = 1.0
    return (table - mean) / scale, mean, scale


def _running(values: Floats) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(values)])
