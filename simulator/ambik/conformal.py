"""Split conformal prediction on plain numbers (spec 7): rank, threshold, sets and coverage guarantees.

This module does not know where the numbers come from. Given the nonconformities of the true answers of n
calibration items (large = strange), the threshold q-hat is their l-th smallest, l = ceil((n + 1)(1 -
epsilon)); the set of a new item is every candidate whose nonconformity is at most q-hat. If calibration and
new items are exchangeable, the true answer is in the set with a probability of at least 1 - epsilon.

Ranks are computed with exact fractions: as floats, 1 - 0.8 is slightly less than 1/5, which shifts the rank
by one wherever (n + 1)(1 - epsilon) is an integer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import scipy

from simulator.ambik.terms import Quantile, remark
from simulator.stats import LEVEL, Interval

Code = Literal[
    "target_of_one", "too_few", "without", "wide", "no_promise", "marginal", "unaffordable", "repeats"
]
Number = float | str | Decimal | Fraction
"""A share between 0 and 1, in any numeric form."""

_DIGITS: Final = 12
"""Significant digits of a float; the rest is rounding error."""
_TAILS: Final = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_BINS: Final = 20
_WIDE: Final = 0.1
"""If coverage may deviate further than this from its mean, the calibration is too small to rely on."""


class Caution(NamedTuple):
    """A caveat about a coverage guarantee; its string form is an English sentence from `remarks.yaml`.

    Pages translate it by its code.

    `numbers`: values by name: ``n`` calibration items, the allowed error ``epsilon``, the ``least`` number of
    items that is enough, items ``without`` a right candidate and the number of them that can at ``most`` be
    tolerated, coverage between ``low`` and ``high``, the number of ``more`` items that would halve that
    range, ``unaffordable`` items, decisions that were ``repeats``.
    """

    code: Code
    numbers: tuple[tuple[str, float], ...] = ()

    def plain(self) -> str:
        """Return the sentence, for JSON."""
        return str(self)

    def __str__(self) -> str:
        sentence: str = remark("cautions", self.code)
        return sentence.format(**dict(self.numbers))


def caution(code: Code, **numbers: float) -> Caution:
    """Return a caution with its numbers."""
    return Caution(code, tuple(numbers.items()))


NO_PROMISE: Final = caution("no_promise")
"""The caution for sets made by the rule of the published code."""
MARGINAL: Final = caution("marginal")
"""The coverage and limits of the guarantee; to be shown with the numbers of every calibration."""


class Range(NamedTuple):
    """A closed interval."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The distance between the ends."""
        return self.high - self.low


def exact(share: Number) -> Fraction:
    """Return a share as the intended fraction: .8 is 4/5, and so is 1 - .2.

    Raises:
        ValueError: if it is not between 0 and 1.
    """
    fraction = Fraction(format(share, f".{_DIGITS}g")) if isinstance(share, float) else Fraction(share)
    if not 0 <= fraction <= 1:
        raise ValueError(f"{share} is not a share between 0 and 1")
    return fraction


def epsilon_of(target_success: Number) -> Fraction:
    """Return the error that is allowed where `target_success` of the answers are to be in their sets."""
    return 1 - exact(target_success)


def rank(n: int, epsilon: Number) -> int:
    """Return the rank l = ceil((n + 1)(1 - epsilon)) of the threshold among `n` nonconformities, from 1.

    It is n + 1 where `n` items are too few for a guarantee: then every set contains all candidates.
    """
    return math.ceil((n + 1) * (1 - exact(epsilon)))


def threshold(nonconformities: Iterable[float], epsilon: Number, quantile: Quantile = "exact") -> float:
    """Return the threshold q-hat.

    `nonconformities`: of the true answers of the calibration items; infinity is allowed.
    `quantile`: ``exact``: the l-th smallest; ``numpy_higher`` and ``numpy_linear``: NumPy's quantile at level
    l / n, the next larger order statistic or an interpolation between two. ``numpy_linear`` falls slightly
    short of the guarantee.

    Returns:
        The threshold; infinity if l > n (every candidate is in the set), minus infinity if l = 0 (none is).

    Raises:
        ValueError: if a nonconformity is NaN.
    """
    values = list(nonconformities)
    if any(math.isnan(value) for value in values):
        raise ValueError("a nonconformity is NaN")
    values.sort()
    n, place = len(values), rank(len(values), epsilon)
    if not 0 < place <= n:
        return math.inf if place else -math.inf
    if quantile == "numpy_linear":
        return _interpolate(values, Fraction((n - 1) * place, n))
    return values[order(n, epsilon, quantile) - 1]


def order(n: int, epsilon: Number, quantile: Quantile = "exact") -> int:
    """Return the position, from 1, of the threshold among the `n` sorted nonconformities.

    It is `rank` for ``exact``, mostly one more for ``numpy_higher``, and the lower of the two neighbours for
    ``numpy_linear``. n + 1 means infinity.
    """
    exact_rank = rank(n, epsilon)
    if quantile == "exact" or not 0 < exact_rank <= n:
        return exact_rank
    place = Fraction((n - 1) * exact_rank, n)
    return (math.ceil(place) if quantile == "numpy_higher" else math.floor(place)) + 1


def guarantee(n: int, epsilon: Number, quantile: Quantile = "exact") -> Range:
    """Return the bounds on the probability that the true answer of a new item is in its set.

    The lower bound is 1 - epsilon; the upper one, 1 - epsilon + 1 / (n + 1), holds where no two
    nonconformities are equal. With NumPy's quantiles the bounds are those of the order statistic used.
    """
    low, step = 1 - exact(epsilon), Fraction(1, n + 1)
    high, actual = low + step, order(n, epsilon, quantile) * step
    if quantile == "numpy_higher":
        high = max(high, actual)
    if quantile == "numpy_linear":
        low = min(low, actual)
    return Range(float(low), float(min(high, Fraction(1))))


def coverage(covered: int, n: int) -> Interval:
    """Return the share of sets that contain the true answer, with its 95 % Clopper-Pearson interval."""
    low = scipy.special.betaincinv(covered, n - covered + 1, _TAILS[0]) if covered else 0.0
    high = scipy.special.betaincinv(covered + 1, n - covered, _TAILS[1]) if covered < n else 1.0
    return Interval(covered / n, float(low), float(high), n)


def beta_range(n_cal: int, epsilon: Number, quantile: Quantile = "exact") -> Range:
    """Return the central 95 % range of coverage on infinitely many items, by Beta(l, n + 1 - l)."""
    place = order(n_cal, epsilon, quantile)
    if not 0 < place <= n_cal:
        return Range(1.0, 1.0) if place else Range(0.0, 0.0)
    return Range(*(float(scipy.special.betaincinv(place, n_cal + 1 - place, tail)) for tail in _TAILS))


def beta_binomial_range(n_cal: int, epsilon: Number, n_test: int, quantile: Quantile = "exact") -> Range:
    """Return the central 95 % range of the share covered among `n_test` items after calibrating on `n_cal`.

    Coverage given the calibration follows Beta(l, n + 1 - l); the number of covered items is beta-binomial.
    """
    place = order(n_cal, epsilon, quantile)
    if not 0 < place <= n_cal:
        return Range(1.0, 1.0) if place else Range(0.0, 0.0)
    law = scipy.stats.betabinom(n_test, place, n_cal + 1 - place)
    return Range(*(float(law.ppf(tail)) / n_test for tail in _TAILS))


def fewest_items(epsilon: Number) -> int:
    """Return the smallest number of calibration items with which the threshold is finite.

    Raises:
        ValueError: if `epsilon` is 0: no number is enough.
    """
    allowed = exact(epsilon)
    if not allowed:
        raise ValueError("no number of items can guarantee that every answer is in its set")
    return max(0, math.ceil(1 / allowed) - 1)


def warnings(n: int, epsilon: Number, without: int = 0, quantile: Quantile = "exact") -> tuple[Caution, ...]:
    """Return the cautions about a calibration, with remedies."""
    allowed, place = exact(epsilon), order(n, epsilon, quantile)
    if place > n:
        if not allowed:
            return (caution("target_of_one"),)
        return (caution("too_few", n=n, epsilon=float(allowed), least=fewest_items(allowed)),)
    cautions = []
    if without > n - place:
        cautions.append(caution("without", without=without, n=n, most=n - place))
    spread = beta_range(n, epsilon, quantile)
    if place and spread.width > 2 * _WIDE:
        more = items_to_halve(n, epsilon)
        cautions.append(caution("wide", n=n, low=spread.low, high=spread.high, more=more))
    return tuple(cautions)


def items_to_halve(n: int, epsilon: Number) -> int:
    """Return the number of calibration items that halves the width of the 95 % range of coverage.

    The search goes up in steps of 1 %, since the width is not smooth in n.
    """
    goal, more = beta_range(n, epsilon).width / 2, max(n, fewest_items(epsilon), 1)
    while beta_range(more, epsilon).width > goal:
        more += max(1, more // 100)
    return more


def histogram(values: Sequence[float]) -> dict[str, Any]:
    """Count values in 20 bins of equal width between the smallest and the largest finite value.

    Returns:
        ``edges``: one more than ``counts``, the last bin including its upper edge; ``infinite``: the number
        of infinite values.
    """
    finite = [value for value in values if math.isfinite(value)]
    infinite = len(values) - len(finite)
    if not finite:
        return {"edges": (), "counts": (), "infinite": infinite}
    low, high = min(finite), max(finite)
    edges = np.linspace(low, high, _BINS + 1 if low < high else 2)
    counts, _ = np.histogram(finite, edges)
    return {"edges": tuple(edges.tolist()), "counts": tuple(counts.tolist()), "infinite": infinite}


def _interpolate(values: Sequence[float], place: Fraction) -> float:
    """Return the value at a fractional index, interpolated as NumPy does."""
    below = math.floor(place)
    rest = float(place - below)
    if not rest or values[below] == values[below + 1]:
        return values[below]  # infinity minus infinity would be NaN
    return values[below] + (values[below + 1] - values[below]) * rest
