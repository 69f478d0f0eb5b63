"""Split conformal prediction by numbers alone (spec 7): rank, threshold, sets, and what may be promised.

Nothing here knows where the numbers come from. Given the nonconformities of the true answers of n
calibration items (large = strange), the threshold q-hat is their l-th smallest, l = ceil((n + 1)(1 -
epsilon)); the set of a new item is every candidate whose nonconformity is at most q-hat. If calibration and
new items are exchangeable, the true answer is in the set with a probability of at least 1 - epsilon.

Ranks are computed with exact fractions: in binary numbers 1 - 0.8 is a little less than 1/5, which moves the
rank by one wherever (n + 1)(1 - epsilon) is whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, NamedTuple

import numpy as np
import scipy

from simulator.ambik.terms import Quantile, remark
from simulator.stats import LEVEL, Interval

Code = Literal[
    "target_of_one", "too_few", "without", "wide", "no_promise", "marginal", "unaffordable", "repeats"
]
Number = float | str | Decimal | Fraction
"""A share: a decimal fraction, whichever way it is held."""

_DIGITS: Final = 12
"""Digits of a binary number that are taken to be meant; what follows is rounding."""
_TAILS: Final = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_WIDE: Final = 0.1
"""Coverage that may lie further than this from its mean is too uncertain to be told as a promise kept."""


class Caution(NamedTuple):
    """Something to know before a promise is relied on; as a text it is an English sentence (`remarks.yaml`).

    A page says it in its own language, by its code.

    Attributes:
        numbers: in it, by name: ``n`` calibration items, the allowed error ``epsilon``, the ``least`` number
            of items that is enough, items ``without`` a right candidate and how many of them at ``most`` do
            no harm, coverage between ``low`` and ``high``, how many ``more`` items would halve that range,
            how many are ``unaffordable``, how many decisions were ``repeats``.
    """

    code: Code
    numbers: tuple[tuple[str, float], ...] = ()

    def plain(self) -> str:
        """Return the sentence, as JSON has it."""
        return str(self)

    def __str__(self) -> str:
        sentence: str = remark("cautions", self.code)
        return sentence.format(**dict(self.numbers))


def caution(code: Code, **numbers: float) -> Caution:
    """Return a caution with its numbers by name."""
    return Caution(code, tuple(numbers.items()))


NO_PROMISE: Final = caution("no_promise")
"""Of sets by the rule of the published code."""
MARGINAL: Final = caution("marginal")
"""What is promised and what is not, whatever the calibration; to be shown beside its numbers."""


class Range(NamedTuple):
    """Two ends, both included."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Between the ends."""
        return self.high - self.low


def exact(share: Number) -> Fraction:
    """Return a share as the fraction that is meant by it: .8 is 4/5, and so is 1 - .2.

    Raises:
        ValueError: if it is not between 0 and 1.
    """
    fraction = Fraction(format(share, f".{_DIGITS}g")) if isinstance(share, float) else Fraction(share)
    if not 0 <= fraction <= 1:
        raise ValueError(f"{share} is no share between 0 and 1")
    return fraction


def epsilon_of(target_success: Number) -> Fraction:
    """Return the error that is allowed where `target_success` of the answers are to be in their sets."""
    return 1 - exact(target_success)


def rank(n: int, epsilon: Number) -> int:
    """Return the rank l = ceil((n + 1)(1 - epsilon)) of the threshold among `n` nonconformities, from 1.

    It is n + 1 where `n` items are too few to promise anything: then every set is everything.
    """
    return math.ceil((n + 1) * (1 - exact(epsilon)))


def threshold(nonconformities: Iterable[float], epsilon: Number, quantile: Quantile = "exact") -> float:
    """Return the threshold q-hat.

    Args:
        nonconformities: of the true answers of the calibration items; infinity is allowed.
        epsilon: the error that is allowed.
        quantile: ``exact``: the l-th smallest; ``numpy_higher`` and ``numpy_linear``: the quantile at level
            l / n as NumPy takes it, from the next larger order statistic or between two of them. The last
            one loses the guarantee by a little.

    Returns:
        Infinity if l > n (every candidate is in the set), minus infinity if l = 0 (none is).

    Raises:
        ValueError: if a nonconformity is not a number.
    """
    values = list(nonconformities)
    if any(math.isnan(value) for value in values):
        raise ValueError("a nonconformity is not a number")
    values.sort()
    n, place = len(values), rank(len(values), epsilon)
    if not 0 < place <= n:
        return math.inf if place else -math.inf
    if quantile == "numpy_linear":
        return _interpolate(values, Fraction((n - 1) * place, n))
    return values[order(n, epsilon, quantile) - 1]


def order(n: int, epsilon: Number, quantile: Quantile = "exact") -> int:
    """Return which of the `n` nonconformities, from 1, is the threshold.

    It is `rank` for ``exact``, mostly one more for ``numpy_higher``, and the lower of the two neighbours for
    ``numpy_linear``. n + 1 stands for infinity.
    """
    exact_rank = rank(n, epsilon)
    if quantile == "exact" or not 0 < exact_rank <= n:
        return exact_rank
    place = Fraction((n - 1) * exact_rank, n)
    return (math.ceil(place) if quantile == "numpy_higher" else math.floor(place)) + 1


def guarantee(n: int, epsilon: Number, quantile: Quantile = "exact") -> Range:
    """Return between what the probability lies that the true answer of a new item is in its set.

    The lower end is 1 - epsilon; the upper one, 1 - epsilon + 1 / (n + 1), holds where no two nonconformities
    are equal. With NumPy's quantiles the ends are those of the order statistic that is taken.
    """
    low, step = 1 - exact(epsilon), Fraction(1, n + 1)
    high, taken = low + step, order(n, epsilon, quantile) * step
    if quantile == "numpy_higher":
        high = max(high, taken)
    if quantile == "numpy_linear":
        low = min(low, taken)
    return Range(float(low), float(min(high, Fraction(1))))


def coverage(covered: int, n: int) -> Interval:
    """Return the share of sets that hold the true answer, with its 95 % Clopper-Pearson interval.

    Raises:
        ValueError: if there are no items, or more covered than items.
    """
    if not 0 <= covered <= n or n == 0:
        raise ValueError(f"{covered} covered out of {n} make no coverage")
    low = scipy.special.betaincinv(covered, n - covered + 1, _TAILS[0]) if covered else 0.0
    high = scipy.special.betaincinv(covered + 1, n - covered, _TAILS[1]) if covered < n else 1.0
    return Interval(covered / n, float(low), float(high), n)


def beta_range(n_cal: int, epsilon: Number, quantile: Quantile = "exact") -> Range:
    """Return where 95 % of calibrations put the coverage of endlessly many new items: Beta(l, n + 1 - l)."""
    place = order(n_cal, epsilon, quantile)
    if not 0 < place <= n_cal:
        return Range(1.0, 1.0) if place else Range(0.0, 0.0)
    return Range(*(float(scipy.special.betaincinv(place, n_cal + 1 - place, tail)) for tail in _TAILS))


def beta_binomial_range(n_cal: int, epsilon: Number, n_test: int, quantile: Quantile = "exact") -> Range:
    """Return the central 95 % range of the share covered among `n_test` items after calibrating on `n_cal`.

    Coverage given the calibration follows Beta(l, n + 1 - l); the number covered is beta-binomial.

    Raises:
        ValueError: if there are no test items.
    """
    if n_test < 1:
        raise ValueError("a range of the empirical coverage needs test items")
    place = order(n_cal, epsilon, quantile)
    if not 0 < place <= n_cal:
        return Range(1.0, 1.0) if place else Range(0.0, 0.0)
    law = scipy.stats.betabinom(n_test, place, n_cal + 1 - place)
    return Range(*(float(law.ppf(tail)) / n_test for tail in _TAILS))


def fewest(epsilon: Number) -> int:
    """Return the smallest number of calibration items with which the threshold is finite.

    Raises:
        ValueError: if `epsilon` is 0: no number is enough.
    """
    allowed = exact(epsilon)
    if not allowed:
        raise ValueError("no number of items promises that every answer is in its set")
    return max(0, math.ceil(1 / allowed) - 1)


def warnings(n: int, epsilon: Number, without: int = 0, quantile: Quantile = "exact") -> tuple[Caution, ...]:
    """Return what is wrong with a calibration, with the way out."""
    allowed, place = exact(epsilon), order(n, epsilon, quantile)
    if place > n:
        if not allowed:
            return (caution("target_of_one"),)
        return (caution("too_few", n=n, epsilon=float(allowed), least=fewest(allowed)),)
    cautions = []
    if without > n - place:
        cautions.append(caution("without", without=without, n=n, most=n - place))
    spread = beta_range(n, epsilon, quantile)
    if place and spread.width > 2 * _WIDE:
        cautions.append(caution("wide", n=n, low=spread.low, high=spread.high, more=halving(n, epsilon)))
    return tuple(cautions)


def halving(n: int, epsilon: Number) -> int:
    """Return with how many calibration items the 95 % range of coverage is half as wide as with `n`.

    It is the first such number in steps of a hundredth: the width is not smooth in n.
    """
    goal, more = beta_range(n, epsilon).width / 2, max(n, fewest(epsilon), 1)
    while beta_range(more, epsilon).width > goal:
        more += max(1, more // 100)
    return more


class Histogram(NamedTuple):
    """Counts between edges.

    Attributes:
        edges: one more than counts; the last bin includes its upper edge.
        counts: of finite values.
        infinite: values that are infinite.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    infinite: int


def histogram(values: Sequence[float], bins: int = 20) -> Histogram:
    """Put values into `bins` bins of one width, between the smallest and the largest finite one.

    Raises:
        ValueError: if there is no bin.
    """
    if bins < 1:
        raise ValueError("a histogram needs a bin")
    finite = [value for value in values if math.isfinite(value)]
    infinite = len(values) - len(finite)
    if not finite:
        return Histogram((), (), infinite)
    low, high = min(finite), max(finite)
    edges = np.linspace(low, high, bins + 1 if low < high else 2)
    counts, _ = np.histogram(finite, edges)
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()), infinite)


def _interpolate(values: Sequence[float], place: Fraction) -> float:
    """Return what lies at a place between two values, as NumPy interpolates."""
    below = math.floor(place)
    rest = float(place - below)
    if not rest or values[below] == values[below + 1]:
        return values[below]  # infinity minus infinity would be no number
    return values[below] + (values[below + 1] - values[below]) * rest
