"""A sample of prompts in figures: words seen, coins, repetitions, and a verdict (spec sections 2, 5, 12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from simulator.ambibench.balance import (
    PLACE,
    SENTENCE,
    Check,
    designs,
    encode,
    examples_checks,
    has_place,
    lists_of,
    sentences_of,
    uniform,
)
from simulator.ambibench.features import FEATURES, FORMATS, PAIR_NAMES, VALUES, Feature, Format
from simulator.ambibench.oracle import beliefs
from simulator.ambibench.prompt import Prompt, scored_positions
from simulator.ambibench.sentences import slot_words

ALPHA: Final = 0.01
# Findings about files are rarer than chance, so that a warning is worth a look.
_FILE_ALPHA: Final = 0.001
_ORACLE: Final = {"uninformative": 0.5, "wug": 0.5, "informative": 1.0}
LISTS: Final = (
    *("human", "animal", "outdoor", "indoor", "religious"),
    *("secular", "proper", "common", "affirmation", "negation"),
)
"""The lists of App. G.1; pronouns are no list there."""


@dataclass(frozen=True, slots=True)
class WordList:
    """What was seen of a word list.

    Attributes:
        name: of the list.
        counts: each word of it with how often it was seen.
        unseen: words that were not.
        p: probability that some word stays unseen if all are equally likely; 1 if none did.
    """

    name: str
    counts: dict[str, int]
    unseen: tuple[str, ...]
    p: float


@dataclass(frozen=True, slots=True)
class Cell:
    """How many prompts there are of a feature, format and polarity, and their examples."""

    feature: Feature
    format: Format
    polarity: str
    prompts: int
    examples: int


@dataclass(frozen=True, slots=True)
class Sentences:
    """How many different sentences of a pair there are among those seen, out of those there can be."""

    pair: str
    seen: int
    different: int
    possible: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What a sample looks like.

    Attributes:
        prompts: how many.
        sentences: in all of them.
        tested: prompts that count in tests; those with the same sentences (paired designs) count once.
        lists: the word lists.
        outside: sentences outside the templates, each once.
        miscoded: examples whose codes differ from what their sentence says.
        checks: all tests.
        cells: prompts by feature, format and polarity.
        repeats: different sentences by pair.
        oracle: instruction kind -> accuracy of the oracle in setting "instruction" (check C2.oracle_4.2).
        alpha: probability that a sample without fault is found faulty; shared among all tests.
    """

    prompts: int
    sentences: int
    tested: int
    lists: tuple[WordList, ...]
    outside: tuple[str, ...]
    miscoded: int
    checks: tuple[Check, ...]
    cells: tuple[Cell, ...]
    repeats: tuple[Sentences, ...]
    oracle: dict[str, float]
    alpha: float

    @property
    def bound(self) -> float:
        """The p value below which a test fails (Bonferroni)."""
        tests = sum(check.test != "rule" for check in self.checks) + len(self.lists)
        return self.alpha / max(1, tests)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The tests that failed."""
        return tuple(check for check in self.checks if check.p < self.bound)

    @property
    def short(self) -> tuple[WordList, ...]:
        """The word lists with words that should have been seen."""
        return tuple(words for words in self.lists if words.unseen and words.p < self.bound)

    @property
    def oracle_agrees(self) -> bool:
        """Whether the oracle has what it must have by construction (spec section 12)."""
        return all(self.oracle[kind] == _ORACLE[kind] for kind in self.oracle)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        wrong = self.failed or self.short or self.outside or self.miscoded
        return not wrong and self.oracle_agrees

    def to_json(self) -> dict[str, Any]:
        """Return all of it as a JSON object."""
        return {"passed": self.passed, "bound": self.bound} | asdict(self)


def statistics(prompts: Sequence[Prompt], *, alpha: float = ALPHA, whole: bool = False) -> Statistics:
    """Look at prompts of any settings.

    Args:
        prompts: at least one.
        alpha: probability that a sample without fault is found faulty.
        whole: whether every pair, salient feature and format must be there.
    """
    # Paired designs repeat sentences.
    sentences = {tuple(example.sentence for example in prompt.examples): prompt for prompt in prompts}
    tested = list(sentences.values())
    encoded = encode(tested)
    everything = encoded if len(tested) == len(prompts) else encode(prompts)
    lists = tuple(_word_lists(encoded.examples))
    return Statistics(
        prompts=len(prompts),
        sentences=sum(len(prompt.examples) for prompt in prompts),
        tested=len(tested),
        lists=lists,
        outside=tuple(dict.fromkeys(everything.outside)),
        miscoded=everything.miscoded,
        checks=(
            *designs(tested, whole=whole),
            *examples_checks(tested, encoded.examples),
            *(check for words in lists for check in _list_check(words)),
        ),
        cells=count_cells(prompts),
        repeats=tuple(_repeats(encoded.examples)),
        oracle=_oracle(prompts),
        alpha=alpha,
    )


def balance_findings(prompts: Sequence[Prompt]) -> tuple[str, ...]:
    """Return what is not as balanced as chance would have it, in sentences; for files of any size."""
    if not prompts:
        return ()
    sample = statistics(prompts, alpha=_FILE_ALPHA)
    odd = [
        f"{check.group}, {check.what}: {check.observed}, n = {check.n} ({check.test}, p = {check.p:.2g})"
        for check in sample.failed
        if check.test != "rule"
    ]
    unseen = [
        f"{words.name}: {', '.join(words.unseen)} never seen (p = {words.p:.2g})" for words in sample.short
    ]
    return (*odd, *unseen)


def count_cells(prompts: Sequence[Prompt]) -> tuple[Cell, ...]:
    """Return prompts by salient feature, format and polarity; all 24 cells, empty ones too."""
    counts: Counter[tuple[str, ...]] = Counter()
    examples: Counter[tuple[str, ...]] = Counter()
    for prompt in prompts:
        key = prompt.salient, prompt.format, prompt.hypothesis.value
        counts[key] += 1
        examples[key] += len(prompt.examples)
    return tuple(
        Cell(feature, form, value, counts[feature, form, value], examples[feature, form, value])
        for feature in FEATURES
        for form in FORMATS
        for value in VALUES[feature]
    )


def _word_lists(examples: pd.DataFrame) -> Iterator[WordList]:
    seen: Counter[tuple[str, int]] = Counter()
    for pair in PAIR_NAMES:
        rows = examples[examples["pair"] == pair]
        words = [(PLACE, rows["place"])] if has_place(pair) else []
        for which, (value, word) in enumerate((("a", "word_a"), ("b", "word_b"))):
            true, false = lists_of(pair, which)
            words += [(true, rows.loc[rows[value] == 1, word]), (false, rows.loc[rows[value] == 0, word])]
        for name, numbers in words:
            seen.update((name, number) for number in numbers)
    for name in LISTS:
        counts = {word: seen[name, number] for number, word in enumerate(slot_words(name))}
        unseen = tuple(word for word, count in counts.items() if not count)
        p = _some_unseen(len(counts), sum(counts.values())) if unseen else 1.0
        yield WordList(name, counts, unseen, p)


def _list_check(words: WordList) -> Iterator[Check]:
    return uniform("words", f"list {words.name}", list(words.counts.values()))


def _some_unseen(size: int, draws: int) -> float:
    """Return at most how likely `draws` leave out one of `size` equally likely words or more."""
    return float(min(1.0, size * (1 - 1 / size) ** draws))


def _repeats(examples: pd.DataFrame) -> Iterator[Sentences]:
    for pair in PAIR_NAMES:
        rows = examples.loc[examples["pair"] == pair, SENTENCE]
        yield Sentences(pair, len(rows), len(rows.drop_duplicates()), sentences_of(pair))


def _oracle(prompts: Sequence[Prompt]) -> dict[str, float]:
    """Return the accuracy of the Bayes-optimal reading on the scored labels of setting "instruction"."""
    values: dict[str, list[float]] = {}
    for prompt in prompts:
        if prompt.setting == "instruction":
            thought = beliefs(prompt)
            values.setdefault(prompt.kind, []).extend(thought[k - 1].bayes for k in scored_positions(prompt))
    return {kind: float(np.mean(gained)) for kind, gained in values.items()}
