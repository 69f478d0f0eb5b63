"""Tests of randomness in prompts: exact binomial, and chi-square of fit and of independence.

Each kind of prompt has different random choices (spec section 5.5): 20 examples with two coins each; two
groups and a query; a control with one constant feature. The p-values of a sample are judged together, by
Bonferroni's bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from simulator.ambibench.features import (
    FORMATS,
    PAIR_NAMES,
    PAIRS,
    VALUES,
    Pair,
    read_sentence,
    slot_words,
    table,
)
from simulator.ambibench.prompt import Prompt
from simulator.errors import InputError

NONE: Final = -1
"""Number of the place in a sentence without one."""
PLACE: Final[str] = table("features")["place"]
SENTENCE: Final = ["a", "b", "word_a", "word_b", "place"]
"""The columns that identify a sentence of a pair."""
_COLUMNS: Final = ["prompt", "position", "pair", "first", "design", "x", *SENTENCE, "list_a", "list_b"]
# Minimum expected count for a chi-square test, which is otherwise unreliable and left out.
_PER_CELL: Final = 5


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one test.

    Attributes:
        group: subject of the test: a pair, ``design``, ``labels``, …
        observed: a share, the range of shares, or Cramér's V.
        expected: the expected share; empty for tests of independence.
        test: ``binomial`` (exact), ``χ² (df)``, or ``rule``.
        p: p-value; 0 or 1 for a rule that may never be broken.
    """

    group: str
    what: str
    n: int
    observed: str
    expected: str
    test: str
    p: float


class EncodedPrompts(NamedTuple):
    """Prompts as a frame.

    Attributes:
        examples: a row per example whose sentence fits the template of its pair: numbers of its prompt and
            position, from 0; `pair`; `first`, whether feature a is salient; `design` (`design_of`); `x`,
            whether its label is X; coded values of both features, by the sentence; numbers of its words in
            the lists of these values, and of its place; names of the two lists.
        outside: sentences that do not fit the template of their pair.
        miscoded: number of examples whose codes contradict the sentence.
    """

    examples: pd.DataFrame
    outside: tuple[str, ...]
    miscoded: int


def encode(prompts: Sequence[Prompt]) -> EncodedPrompts:
    """Return the examples of `prompts` as a frame of parsed sentences."""
    rows: list[tuple[Any, ...]] = []
    outside: list[str] = []
    miscoded = 0
    for number, prompt in enumerate(prompts):
        facts = prompt.pair, int(prompt.salient == PAIRS[prompt.pair][0]), design_of(prompt)
        for position, example in enumerate(prompt.examples):
            codes = _codes(prompt.pair, example.sentence)
            if codes is None:
                outside.append(example.sentence)
                continue
            miscoded += codes[:2] != (example.a, example.b)
            rows.append((number, position, *facts, int(example.label == "X"), *codes))
    return EncodedPrompts(pd.DataFrame(rows, columns=_COLUMNS), tuple(outside), miscoded)


def design_of(prompt: Prompt) -> str:
    """Return the design of a prompt: ``groups`` (4.2), ``control``, or ``episode`` (independent coins)."""
    if prompt.setting == "instruction":
        return "groups"
    return "control" if prompt.variant == "control" else "episode"


def lists_of(pair: Pair, which: int) -> tuple[str, str]:
    """Return the names of the word lists of feature a (0) or b (1): for the values ``true`` and ``false``."""
    return VALUES[PAIRS[pair][which]]


def has_place(pair: Pair) -> bool:
    """Return True if the template of `pair` has a place on which no label depends."""
    return "{place}" in table("features")["pairs"][pair]["template"]


def sentences_of(pair: Pair) -> int:
    """Return the number of different sentences of `pair`, which are equally likely."""
    sizes = [sum(len(slot_words(slot)) for slot in lists_of(pair, which)) for which in (0, 1)]
    return sizes[0] * sizes[1] * (len(slot_words(PLACE)) if has_place(pair) else 1)


# ---- tests


def rule(group: str, what: str, n: int, broken: int) -> Check:
    """Return the result for a rule that no observation may break."""
    return Check(group, what, n, f"{broken} broken", "", "rule", float(broken == 0))


def coin(group: str, what: str, heads: npt.ArrayLike) -> Iterator[Check]:
    """Test whether 0s and 1s come from a fair coin; yield nothing without observations."""
    flips = np.asarray(heads, dtype=np.int64)
    if len(flips):
        yield share(group, what, int(flips.sum()), len(flips), 0.5)


def share(group: str, what: str, successes: int, n: int, expected: float) -> Check:
    """Test whether `successes` of `n` agree with the expected share."""
    p = float(scipy.stats.binomtest(successes, n, expected).pvalue)
    return Check(group, what, n, f"{successes / n:.4g}", f"{expected:.3g}", "binomial", p)


def uniform(group: str, what: str, counts: npt.ArrayLike) -> Iterator[Check]:
    """Test whether all values are equally frequent; yield nothing if there are too few observations."""
    counts = np.asarray(counts)
    n = int(counts.sum())
    if len(counts) > 1 and n >= _PER_CELL * len(counts):
        p = float(scipy.stats.chisquare(counts).pvalue)
        spread = f"{counts.min() / n:.3g}–{counts.max() / n:.3g}"
        yield Check(group, what, n, spread, f"{1 / len(counts):.3g}", f"χ² ({len(counts) - 1})", p)


def independent(group: str, what: str, first: npt.ArrayLike, second: npt.ArrayLike) -> Iterator[Check]:
    """Test whether two values are independent; yield nothing if there are too few observations."""
    counts = pd.crosstab(np.asarray(first), np.asarray(second)).to_numpy(float)
    n, smaller = int(counts.sum()), min(counts.shape)
    if smaller < 2 or n < _PER_CELL * counts.size:
        return
    result = scipy.stats.chi2_contingency(counts, correction=False)
    cramer = float(np.sqrt(result.statistic / n / (smaller - 1)))
    yield Check(group, what, n, f"V {cramer:.3f}", "", f"χ² ({result.dof})", float(result.pvalue))


# ---- tests of prompts


def designs(prompts: Sequence[Prompt], *, complete: bool) -> Iterator[Check]:
    """Test the balance of pairs, salient features, formats and polarity.

    `complete`: whether all pairs and formats must occur; otherwise only those that occur are compared.
    """
    pairs, formats = Counter(prompt.pair for prompt in prompts), Counter(prompt.format for prompt in prompts)
    for name, counts in (
        ("pairs", [pairs[pair] for pair in PAIR_NAMES]),
        ("formats", [formats[form] for form in FORMATS]),
    ):
        yield from uniform("design", name, counts if complete else [count for count in counts if count])
    for pair in PAIR_NAMES:
        first, second = PAIRS[pair]
        salient = [prompt.salient == first for prompt in prompts if prompt.pair == pair]
        if salient and (complete or len(set(salient)) > 1):
            yield from coin("design", f"{first} is salient, not {second}", salient)
        for feature in PAIRS[pair]:
            polarity = [prompt.x_is for prompt in prompts if prompt.salient == feature]
            yield from coin("polarity", f"{feature}: {VALUES[feature][0]} is X", polarity)


def examples_checks(prompts: Sequence[Prompt], examples: pd.DataFrame) -> Iterator[Check]:
    """Test the examples of each design of prompts, then which words occur together."""
    counts = Counter(map(design_of, prompts))
    for design, tests in (("episode", _episodes), ("groups", _groups), ("control", _controls)):
        if counts[design]:
            yield from tests(examples[examples["design"] == design], counts[design])
    for pair in PAIR_NAMES:
        rows = examples[examples["pair"] == pair]
        first, second = PAIRS[pair]
        slots = {first: rows["word_a"], second: rows["word_b"], "place": rows["place"]}
        slot_pairs: list[tuple[str, str]] = [(first, second)]
        slot_pairs += [(feature, "place") for feature in (first, second) if has_place(pair)]
        for left, right in slot_pairs:
            yield from independent(pair, f"words of {left} and {right}", slots[left], slots[right])


def _episodes(examples: pd.DataFrame, count: int) -> Iterator[Check]:
    """Test that each example has two fair coins, and that labels follow one of them (spec section 5.2)."""
    for pair in PAIR_NAMES:
        rows = examples[examples["pair"] == pair]
        if len(rows):
            yield from _features(pair, rows)
            yield from _other_words(pair, rows)
    yield from coin("labels", "X", examples["x"])
    yield from independent("labels", "label and position", examples["x"], examples["position"])
    yield from independent("labels", "label and the one before it", *_neighbours(examples, examples["x"]))


def _features(pair: Pair, rows: pd.DataFrame) -> Iterator[Check]:
    for which, values in enumerate((rows["a"], rows["b"])):
        true, false = lists_of(pair, which)
        yield from coin(pair, f"{true}, not {false}", values)
    combinations = 2 * rows["a"] + rows["b"]
    yield from uniform(pair, "four combinations", np.bincount(combinations, minlength=4))
    yield from independent(pair, "the two features", rows["a"], rows["b"])
    here, before = _neighbours(rows, combinations)
    yield from independent(pair, "an example and the one before it", before, here)
    # Words are drawn with replacement, so two examples of a prompt may be the same sentence by chance.
    total, same = (_pair_count(rows, by) for by in (["prompt"], ["prompt", *SENTENCE]))
    if total:
        yield share(pair, "two examples are one sentence", same, total, 1 / sentences_of(pair))


def _other_words(pair: Pair, rows: pd.DataFrame) -> Iterator[Check]:
    """Test that labels are independent of the words of the other feature, and of the place."""
    for which, (value, word) in enumerate((("a", "word_a"), ("b", "word_b"))):
        here = rows[rows["first"] == which]
        words = 10 * here[value] + here[word]
        yield from independent(pair, f"label and words of {PAIRS[pair][which]}", here["x"], words)
    if has_place(pair):
        yield from independent(pair, "label and place", rows["x"], rows["place"])


def _groups(examples: pd.DataFrame, count: int) -> Iterator[Check]:
    """Test prompts of two groups and a query (spec section 5.1)."""
    # Arrays with one row per prompt; a prompt with another number of examples breaks the rule anyway.
    three = examples[examples.groupby("prompt")["x"].transform("size") == 3]
    a, b, x, pairs = (three[name].to_numpy().reshape(-1, 3) for name in ("a", "b", "x", "pair"))
    right = (a[:, 0] == b[:, 0]) & (a[:, 1] == b[:, 1]) & (a[:, 0] != a[:, 1]) & (a[:, 2] != b[:, 2])
    broken = count - int(right.sum())
    yield rule("groups", "two opposite groups, then a query that breaks them", count, broken)
    yield rule("groups", "the two labels differ", len(x), int((x[:, 0] == x[:, 1]).sum()))
    for pair in PAIR_NAMES:
        here = right & (pairs[:, 0] == pair)
        true_a, false_b = lists_of(pair, 0)[0], lists_of(pair, 1)[1]
        yield from coin(pair, "both values true come first", a[here, 0])
        yield from coin(pair, f"the query is {true_a} and {false_b}", a[here, 2])
        yield from independent(pair, "group order and query", a[here, 0], a[here, 2])
    yield from coin("labels", "the first label is X", x[:, 0])
    yield from coin("labels", "the query's label is X", x[:, 2])
    yield from independent("labels", "first label and group order", x[:, 0], a[:, 0])
    yield from independent("labels", "first label and the query's", x[:, 0], x[:, 2])
    yield from independent("labels", "the query's label and its combination", x[:, 2], a[:, 2])


def _controls(examples: pd.DataFrame, count: int) -> Iterator[Check]:
    """Test control prompts: the salient feature varies, the other is constant (spec section 5.3)."""
    first = examples["first"] == 1
    other = examples["b"].where(first, examples["a"]).groupby(examples["prompt"]).mean()
    varies = other.between(0, 1, inclusive="neither")
    yield rule("control", "the other feature is constant in a prompt", count, int(varies.sum()))
    yield from coin("control", "it is held at true", other[~varies] > 0)
    yield from coin("control", "the salient feature is true", examples["a"].where(first, examples["b"]))
    yield from coin("control", "the label is X", examples["x"])
    yield from independent("control", "label and the one before it", *_neighbours(examples, examples["x"]))


def _pair_count(rows: pd.DataFrame, by: list[str]) -> int:
    """Return the number of pairs of rows that agree in the columns `by`."""
    sizes = rows.groupby(by).size()
    return int((sizes * (sizes - 1) // 2).sum())


def _neighbours(rows: pd.DataFrame, values: pd.Series[Any]) -> tuple[pd.Series[Any], pd.Series[Any]]:
    """Return the value of each example but the first of its prompt, and that of the example before."""
    follows = (rows["prompt"].diff() == 0) & (rows["position"].diff() == 1)
    return values[follows], values.shift()[follows].astype(int)


@lru_cache(maxsize=8192)
def _codes(pair: Pair, sentence: str) -> tuple[int | str, ...] | None:
    """Return values, words and place of a sentence as numbers, and its lists; None if no template fits."""
    try:
        read = read_sentence(sentence, pair)
    except InputError:
        return None
    list_a, list_b = lists_of(pair, 0)[not read.a], lists_of(pair, 1)[not read.b]
    place = _numbers(PLACE)[read.words["place"]] if "place" in read.words else NONE
    words = _numbers(list_a)[read.words["a"]], _numbers(list_b)[read.words["b"]]
    return int(read.a), int(read.b), *words, place, list_a, list_b


@cache
def _numbers(slot: str) -> Mapping[str, int]:
    return {word: number for number, word in enumerate(slot_words(slot))}
