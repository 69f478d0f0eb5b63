"""What a sample of prompts looks like: words seen, coins, repetitions, and a verdict (spec 2, 5, 12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from simulator.ambibench.balance import (
    Check,
    coins,
    controls,
    designs,
    groups,
    sentence_numbers,
    sentences_of,
    uniform,
    words,
)
from simulator.ambibench.encoding import PLACE, Examples, encode, has_place, lists_of
from simulator.ambibench.features import FEATURES, FORMATS, PAIR_NAMES, Feature, Format, value_name
from simulator.ambibench.oracle import beliefs
from simulator.ambibench.prompt import Prompt, scored_positions
from simulator.ambibench.sentences import slot_words

ALPHA: Final = 0.01
# Findings about files are rarer than chance, so that a warning is worth a look.
_FILE_ALPHA: Final = 0.001
# The lists of App. G.1; pronouns are no list there.
LISTS: Final = (
    "human",
    "animal",
    "outdoor",
    "indoor",
    "religious",
    "secular",
    "proper",
    "common",
    "affirmation",
    "negation",
)


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
        return tuple(one for one in self.lists if one.unseen and one.p < self.bound)

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
        verdict = {"passed": self.passed, "bound": self.bound}
        return verdict | asdict(self)


_ORACLE: Final = {"uninformative": 0.5, "wug": 0.5, "informative": 1.0}


def statistics(prompts: Sequence[Prompt], *, alpha: float = ALPHA, whole: bool = False) -> Statistics:
    """Look at prompts of any settings.

    Args:
        prompts: at least one.
        alpha: probability that a sample without fault is found faulty.
        whole: whether every pair, salient feature and format must be there.
    """
    tested = _different(prompts)
    examples = encode(tested)
    everything = examples if len(tested) == len(prompts) else encode(prompts)
    lists = tuple(_word_lists(examples))
    return Statistics(
        prompts=len(prompts),
        sentences=sum(len(prompt.examples) for prompt in prompts),
        tested=len(tested),
        lists=lists,
        outside=tuple(dict.fromkeys(everything.outside)),
        miscoded=everything.miscoded,
        checks=tuple(_checks(tested, examples, lists, whole=whole)),
        cells=count_cells(prompts),
        repeats=tuple(_sentences(examples)),
        oracle=_oracle(prompts),
        alpha=alpha,
    )


def balance_findings(prompts: Sequence[Prompt]) -> tuple[str, ...]:
    """Return what is not as balanced as chance would have it, in sentences; for files of any size."""
    if not prompts:
        return ()
    found = statistics(prompts, alpha=_FILE_ALPHA)
    odd = [
        f"{check.group}, {check.what}: {check.observed}, n = {check.n} ({check.test}, p = {check.p:.2g})"
        for check in found.failed
        if check.test != "rule"
    ]
    unseen = [f"{one.name}: {', '.join(one.unseen)} never seen (p = {one.p:.2g})" for one in found.short]
    return (*odd, *unseen)


def _different(prompts: Sequence[Prompt]) -> list[Prompt]:
    """Return the prompts without those whose sentences another one has, too: paired designs repeat them."""
    return list(
        {tuple(example.sentence for example in prompt.examples): prompt for prompt in prompts}.values()
    )


def _checks(
    prompts: Sequence[Prompt], examples: Examples, lists: Sequence[WordList], *, whole: bool
) -> Iterator[Check]:
    yield from designs(prompts, whole=whole)
    kinds = [_design_of(prompt) for prompt in prompts]
    for kind, tests in (("episode", coins), ("groups", groups), ("control", controls)):
        chosen = np.flatnonzero([one == kind for one in kinds])
        if len(chosen):
            yield from tests(prompts, examples, chosen)
    yield from words(examples)
    for one in lists:
        yield from uniform("words", f"list {one.name}", list(one.counts.values()))


def _design_of(prompt: Prompt) -> str:
    if prompt.setting == "instruction":
        return "groups"
    return "control" if prompt.variant == "control" else "episode"


def _word_lists(examples: Examples) -> Iterator[WordList]:
    counts: dict[str, np.ndarray[Any, Any]] = {name: np.zeros(len(slot_words(name)), int) for name in LISTS}
    for number, pair in enumerate(PAIR_NAMES):
        some = examples.where(examples.pair == number)
        slots = [
            (lists_of(pair, 0), some.a, some.word_a),
            (lists_of(pair, 1), some.b, some.word_b),
        ]
        for (true, false), values, word in slots:
            for name, value in ((true, 1), (false, 0)):
                if name in counts:
                    counts[name] += np.bincount(word[values == value], minlength=len(counts[name]))
        if has_place(pair):
            counts[PLACE] += np.bincount(some.place, minlength=len(counts[PLACE]))
    for name, seen in counts.items():
        pairs = dict(zip(slot_words(name), map(int, seen), strict=True))
        unseen = tuple(word for word, count in pairs.items() if not count)
        p = _some_unseen(len(pairs), int(seen.sum())) if unseen else 1.0
        yield WordList(name, pairs, unseen, p)


def _some_unseen(size: int, draws: int) -> float:
    """At most this is the probability that `draws` leave out one of `size` equally likely words or more."""
    return float(min(1.0, size * (1 - 1 / size) ** draws))


def count_cells(prompts: Sequence[Prompt]) -> tuple[Cell, ...]:
    """Prompts by salient feature, format and polarity; all 24 cells, empty ones too."""
    counts: Counter[tuple[Feature, Format, bool]] = Counter()
    examples: Counter[tuple[Feature, Format, bool]] = Counter()
    for prompt in prompts:
        counts[prompt.salient, prompt.format, prompt.x_is] += 1
        examples[prompt.salient, prompt.format, prompt.x_is] += len(prompt.examples)
    return tuple(
        Cell(feature, form, value_name(feature, value), counts[key], examples[key])
        for feature in FEATURES
        for form in FORMATS
        for value in (True, False)
        for key in ((feature, form, value),)
    )


def _sentences(examples: Examples) -> Iterator[Sentences]:
    for number, pair in enumerate(PAIR_NAMES):
        some = examples.where(examples.pair == number)
        different = len(np.unique(sentence_numbers(some)))
        yield Sentences(pair, len(some.prompt), different, sentences_of(pair))


def _oracle(prompts: Sequence[Prompt]) -> dict[str, float]:
    """Accuracy of the Bayes-optimal reading on the scored labels of setting "instruction"."""
    values: dict[str, list[float]] = {}
    for prompt in prompts:
        if prompt.setting == "instruction":
            seen = beliefs(prompt)
            values.setdefault(prompt.kind, []).extend(seen[k - 1].bayes for k in scored_positions(prompt))
    return {kind: float(np.mean(some)) for kind, some in values.items()}
