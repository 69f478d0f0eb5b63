"""The learner that nobody can beat: four hypotheses, a uniform prior, labels without noise (spec section 12).

Two readings of the paper. *Bayes-optimal*: say the label that has more of the remaining mass for the
sentence at hand, and flip a coin where both have the same; so the learner may be certain before it knows the
task. *Literal*: perfect once one hypothesis is left, chance until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from simulator.ambibench.features import PAIRS, Hypothesis, Label, Pair, hypotheses, read_instruction
from simulator.ambibench.prompt import Example, Prompt

Posterior = Mapping[Hypothesis, float]


@dataclass(frozen=True, slots=True)
class Belief:
    """The learner's belief when label `k` is due.

    Attributes:
        posterior: each hypothesis of the pair with its probability, labels before `k` seen.
        p_x: its probability that label `k` is X.
        p_gold: that label `k` is what it is.
        identified: whether one hypothesis is left.
        bayes: expected correctness of the Bayes-optimal reading: 1, 0 or .5.
    """

    k: int
    posterior: Posterior
    p_x: float
    p_gold: float
    identified: bool
    bayes: float


class Curve(NamedTuple):
    """The learner's accuracy by each reading at k = 1, 2, … over all episodes of setting 4.3.

    `identified`: probability that the task is known before example k.
    """

    bayes: tuple[float, ...]
    literal: tuple[float, ...]
    identified: tuple[float, ...]


# An episode asks twice: while it is played, and when it is scored.
@lru_cache(maxsize=64)
def beliefs(prompt: Prompt) -> tuple[Belief, ...]:
    """Return what the learner thinks at each position of `prompt`; an informative instruction is told.

    Raises:
        ValueError: if every hypothesis contradicts an example.
    """
    _, hypothesis = read_instruction(prompt.instruction)
    left = hypotheses(prompt.pair) if hypothesis is None else (hypothesis,)
    thought = []
    for k, example in enumerate(prompt.examples, start=1):
        if not left:
            raise ValueError(f"no hypothesis about {prompt.pair} explains these labels")
        thought.append(_belief(k, prompt.pair, left, example))
        left = tuple(task for task in left if task.label(example.a, example.b) == example.label)
    return tuple(thought)


@cache
def exact_curve(length: int = 20) -> Curve:
    """Return the three curves by exact enumeration over what examples can look like.

    By symmetry it does not matter which task is the true one. After each example a set of hypotheses is
    left; each of the four combinations of values has probability 1/4.
    """
    pair: Pair = next(iter(PAIRS))
    truth, *_ = hypotheses(pair)
    sets = {frozenset(hypotheses(pair)): Fraction(1)}
    bayes, literal, identified = [], [], []
    for _ in range(length):
        known = sum((mass for left, mass in sets.items() if len(left) == 1), Fraction(0))
        identified.append(float(known))
        literal.append(float(known + (1 - known) / 2))
        gained = Fraction(0)
        after: dict[frozenset[Hypothesis], Fraction] = {}
        for (left, mass), (a, b) in product(sets.items(), product((True, False), repeat=2)):
            agreeing = frozenset(task for task in left if task.label(a, b) == truth.label(a, b))
            gained += mass / 4 * _expected_correct(Fraction(len(agreeing), len(left)))
            after[agreeing] = after.get(agreeing, Fraction(0)) + mass / 4
        bayes.append(float(gained))
        sets = after
    return Curve(tuple(bayes), tuple(literal), tuple(identified))


def best_guess(p_x: float) -> Label | None:
    """Return the label with more mass; None if both have the same."""
    return None if p_x == 0.5 else "X" if p_x > 0.5 else "Y"


def _belief(k: int, pair: Pair, left: tuple[Hypothesis, ...], example: Example) -> Belief:
    posterior = {task: (1 / len(left) if task in left else 0.0) for task in hypotheses(pair)}
    p_x = sum(mass for task, mass in posterior.items() if task.label(example.a, example.b) == "X")
    p_gold = p_x if example.label == "X" else 1 - p_x
    return Belief(
        k=k,
        posterior=posterior,
        p_x=p_x,
        p_gold=p_gold,
        identified=len(left) == 1,
        bayes=float(_expected_correct(p_gold)),
    )


def _expected_correct(p_gold: float | Fraction) -> Fraction | int:
    """Return expected correctness of saying the more probable label."""
    return Fraction(1, 2) if 2 * p_gold == 1 else int(2 * p_gold > 1)
