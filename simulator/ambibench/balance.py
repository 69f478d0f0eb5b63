"""Is what should be a fair coin one? Exact binomial tests, and chi-square tests of fit and of independence.

Each kind of prompt has coins of its own (spec section 5.5): 20 examples with two coins each; two groups and a
query; a control with one feature held. All tests of a sample are judged together, by Bonferroni's bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import scipy

from simulator.ambibench.encoding import PLACE, Examples, Numbers, has_place, lists_of
from simulator.ambibench.features import FORMATS, PAIR_NAMES, PAIRS, Pair
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.sentences import slot_words

# With fewer per cell a chi-square test is not to be trusted, and is left out.
_PER_CELL: Final = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tested.

    Attributes:
        group: what it is about: a pair, ``design``, ``labels``, …
        what: the coin, in words.
        n: number of observations.
        observed: what was seen: a share, the least and the largest share, or Cramér's V.
        expected: each share; empty where two things should be independent.
        test: ``binomial`` (exact), ``χ² (df)``, or ``rule``.
        p: probability of something at least as odd if all is well; 0 or 1 for a rule without chance.
    """

    group: str
    what: str
    n: int
    observed: str
    expected: str
    test: str
    p: float


def rule(group: str, what: str, n: int, broken: int) -> Check:
    """Return a rule that no observation may break."""
    return Check(group, what, n, f"{broken} broken", "", "rule", float(broken == 0))


def coin(group: str, what: str, heads: npt.ArrayLike, fair: float = 0.5) -> Iterator[Check]:
    """Whether 0s and 1s come from a coin whose heads have probability `fair`; nothing for no observations."""
    flips = np.asarray(heads, dtype=np.int64)
    if len(flips):
        yield share(group, what, int(flips.sum()), len(flips), fair)


def share(group: str, what: str, successes: int, n: int, expected: float) -> Check:
    """Whether `successes` of `n` agree with the expected share."""
    p = float(scipy.stats.binomtest(successes, n, expected).pvalue)
    return Check(group, what, n, f"{successes / n:.4g}", f"{expected:.3g}", "binomial", p)


def uniform(group: str, what: str, counts: npt.ArrayLike) -> Iterator[Check]:
    """Whether all values are equally frequent; nothing if there is too little to tell."""
    seen = np.asarray(counts)
    n = int(seen.sum())
    if len(seen) > 1 and n >= _PER_CELL * len(seen):
        p = float(scipy.stats.chisquare(seen).pvalue)
        spread = f"{seen.min() / n:.3g}–{seen.max() / n:.3g}"
        yield Check(group, what, n, spread, f"{1 / len(seen):.3g}", f"χ² ({len(seen) - 1})", p)


def independent(group: str, what: str, numbers: Numbers, two: Numbers) -> Iterator[Check]:
    """Whether two values are independent; nothing if there is too little to tell."""
    if not len(numbers):
        return
    counts = np.zeros((int(numbers.max()) + 1, int(two.max()) + 1))
    np.add.at(counts, (numbers, two), 1)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(counts.shape) < 2 or len(numbers) < _PER_CELL * counts.size:
        return
    found = scipy.stats.chi2_contingency(counts, correction=False)
    cramer = float(np.sqrt(found.statistic / len(numbers) / (min(counts.shape) - 1)))
    test = f"χ² ({found.dof})"
    yield Check(group, what, len(numbers), f"V {cramer:.3f}", "", test, float(found.pvalue))


def designs(prompts: Sequence[Prompt], *, whole: bool) -> Iterator[Check]:
    """Pairs, salient features, formats and polarity.

    Args:
        prompts: all of them.
        whole: whether every pair and format must be there; otherwise those that are there count.
    """
    pairs, formats = Counter(prompt.pair for prompt in prompts), Counter(prompt.format for prompt in prompts)
    for name, counts in (
        ("pairs", [pairs[one] for one in PAIR_NAMES]),
        ("formats", [formats[one] for one in FORMATS]),
    ):
        yield from uniform("design", name, counts if whole else [count for count in counts if count])
    for pair in PAIR_NAMES:
        salient = [prompt.salient == PAIRS[pair][0] for prompt in prompts if prompt.pair == pair]
        if salient and (whole or len(set(salient)) > 1):
            yield from coin("design", f"{PAIRS[pair][0]} is salient, not {PAIRS[pair][1]}", salient)
        for feature in PAIRS[pair]:
            polarity = [prompt.x_is for prompt in prompts if prompt.salient == feature]
            value = lists_of(pair, PAIRS[pair].index(feature))[0]
            yield from coin("polarity", f"{feature}: {value} is X", polarity)


def coins(prompts: Sequence[Prompt], all_examples: Examples, chosen: Numbers) -> Iterator[Check]:
    """Episodes: two fair coins per example, and labels that follow one of them (spec section 5.2).

    Args:
        prompts: all of them.
        all_examples: theirs.
        chosen: the numbers of the prompts that are such episodes.
    """
    every = all_examples.where(np.isin(all_examples.prompt, chosen))
    for pair in PAIR_NAMES:
        some = every.where(every.pair == PAIR_NAMES.index(pair))
        if len(some.prompt):
            yield from _features(pair, some)
            yield from _sequence(pair, some)
            yield from _repeats(pair, some)
            yield from _other_words(pair, some, prompts)
    yield from coin("labels", "X", every.x)
    yield from independent("labels", "label and position", every.x, every.position)
    yield from independent("labels", "label and the one before it", *_neighbours(every, every.x))


def groups(prompts: Sequence[Prompt], all_examples: Examples, chosen: Numbers) -> Iterator[Check]:
    """Prompts of two groups and a query (spec section 5.1); arguments as for `coins`."""
    every = all_examples.where(np.isin(all_examples.prompt, chosen))
    # One row per prompt; a prompt with another number of examples has broken the rule by that.
    lengths = np.bincount(every.prompt, minlength=len(prompts))
    three = every.where(lengths[every.prompt] == 3)
    a, b, x, pair = (each.reshape(-1, 3) for each in (three.a, three.b, three.x, three.pair))
    right = (a[:, 0] == b[:, 0]) & (a[:, 1] == b[:, 1]) & (a[:, 0] != a[:, 1]) & (a[:, 2] != b[:, 2])
    broken = len(chosen) - int(right.sum())
    yield rule("groups", "two opposite groups, then a query that breaks them", len(chosen), broken)
    yield rule("groups", "the two labels differ", len(x), int((x[:, 0] == x[:, 1]).sum()))
    for number, name in enumerate(PAIR_NAMES):
        here = right & (pair[:, 0] == number)
        true_a, false_b = lists_of(name, 0)[0], lists_of(name, 1)[1]
        yield from coin(name, "both values true come first", a[here, 0])
        yield from coin(name, f"the query is {true_a} and {false_b}", a[here, 2])
        yield from independent(name, "group order and query", a[here, 0], a[here, 2])
    yield from coin("labels", "the first label is X", x[:, 0])
    yield from coin("labels", "the query's label is X", x[:, 2])
    yield from independent("labels", "first label and group order", x[:, 0], a[:, 0])
    yield from independent("labels", "first label and the query's", x[:, 0], x[:, 2])
    yield from independent("labels", "the query's label and its combination", x[:, 2], a[:, 2])


def controls(prompts: Sequence[Prompt], all_examples: Examples, chosen: Numbers) -> Iterator[Check]:
    """Control prompts: the salient feature varies, the other is held (spec 5.3); arguments as for `coins`."""
    every = all_examples.where(np.isin(all_examples.prompt, chosen))
    first = np.array([prompt.salient == PAIRS[prompt.pair][0] for prompt in prompts])[every.prompt]
    salient, other = np.where(first, every.a, every.b), np.where(first, every.b, every.a)
    sizes = np.bincount(every.prompt, minlength=len(prompts))
    trues = np.bincount(every.prompt, other, minlength=len(prompts))
    varies = (trues > 0) & (trues < sizes)
    held = trues[chosen][~varies[chosen] & (sizes[chosen] > 0)] > 0
    yield rule("control", "the other feature is constant in a prompt", len(chosen), int(varies.sum()))
    yield from coin("control", "it is held at true", held)
    yield from coin("control", "the salient feature is true", salient)
    yield from coin("control", "the label is X", every.x)
    yield from independent("control", "label and the one before it", *_neighbours(every, every.x))


def words(examples: Examples) -> Iterator[Check]:
    """Yield which words of their lists stand together."""
    for pair in PAIR_NAMES:
        some = examples.where(examples.pair == PAIR_NAMES.index(pair))
        slots = {PAIRS[pair][0]: some.word_a, PAIRS[pair][1]: some.word_b, "place": some.place}
        couples = [PAIRS[pair], *((one, "place") for one in PAIRS[pair] if has_place(pair))]
        for one, two in couples:
            yield from independent(pair, f"words of {one} and {two}", slots[one], slots[two])


def sentences_of(pair: Pair) -> int:
    """Return how many sentences the template of `pair` can give; all of them are equally likely."""
    sizes = [sum(len(slot_words(slot)) for slot in lists_of(pair, which)) for which in (0, 1)]
    return sizes[0] * sizes[1] * (len(slot_words(PLACE)) if has_place(pair) else 1)


def _features(pair: Pair, examples: Examples) -> Iterator[Check]:
    for which, values in enumerate((examples.a, examples.b)):
        true, false = lists_of(pair, which)
        yield from coin(pair, f"{true}, not {false}", values)
    yield from uniform(pair, "four combinations", np.bincount(2 * examples.a + examples.b, minlength=4))
    yield from independent(pair, "the two features", examples.a, examples.b)


def _sequence(pair: Pair, examples: Examples) -> Iterator[Check]:
    one, two = _neighbours(examples, 2 * examples.a + examples.b)
    yield from independent(pair, "an example and the one before it", two, one)


def _repeats(pair: Pair, examples: Examples) -> Iterator[Check]:
    """Words are drawn with replacement, so two examples are the same sentence as often as chance has it."""
    sizes = np.bincount(examples.prompt)
    twos = int((sizes * (sizes - 1) // 2).sum())
    _, counts = np.unique(np.stack([examples.prompt, sentence_numbers(examples)]), axis=1, return_counts=True)
    same = int((counts * (counts - 1) // 2).sum())
    if twos:
        yield share(pair, "two examples are one sentence", same, twos, 1 / sentences_of(pair))


def _other_words(pair: Pair, examples: Examples, prompts: Sequence[Prompt]) -> Iterator[Check]:
    """Labels follow the salient feature; they tell nothing of the words of the other one and of the place."""
    first = np.array([prompt.salient == PAIRS[pair][0] for prompt in prompts])[examples.prompt]
    for which, rows in enumerate((~first, first)):
        these = examples.where(rows)
        word = 10 * these.b + these.word_b if which else 10 * these.a + these.word_a
        yield from independent(pair, f"label and words of {PAIRS[pair][which]}", these.x, word)
    if has_place(pair):
        yield from independent(pair, "label and place", examples.x, examples.place)


def sentence_numbers(examples: Examples) -> Numbers:
    """Return a number for each different sentence of one pair."""
    size = 1 + int(
        max(
            (each.max() for each in (examples.word_a, examples.word_b, examples.place) if len(each)),
            default=0,
        )
    )
    parts = (examples.b, examples.word_a, examples.word_b, examples.place + 1)
    numbers = examples.a
    for part in parts:
        numbers = (size + 1) * numbers + part
    return numbers


def _neighbours(examples: Examples, values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the values of each example that has one before it in its prompt, and of the one before."""
    follows = (examples.prompt[1:] == examples.prompt[:-1]) & (
        examples.position[1:] == examples.position[:-1] + 1
    )
    return values[1:][follows], values[:-1][follows]
