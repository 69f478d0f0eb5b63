"""Confidences and nonconformities of options, computed from a model's output (spec 7, 8.1 to 8.3).

All functions are pure, so temperature, tokens and weights can be changed later without a model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final, Protocol

from simulator.ambik.intents import fold
from simulator.ambik.items import Pair, Scenario
from simulator.ambik.naming import bare
from simulator.ambik.records import Letter
from simulator.ambik.terms import Tokens
from simulator.errors import InputError
from simulator.models.weights import import_optional, load_local

_NUMBERS: Final = "123456789"
OPTIONS_PER_CALL: Final = 4
"""Answers that LofreeCP requests in one call (spec 8.3)."""
Token = tuple[str, float]
"""A candidate for the next token, with its log-probability."""

_TRUTH: Final = ("true", "false")
_BEGINNING: Final = 3
"""Letters that are enough to recognize a word that is split into several tokens."""


def option_letter(token: str, letters: Sequence[Letter]) -> Letter | None:
    """Return the option that a token denotes, by its letter in either case or by its number."""
    text = token.strip()
    if len(text) != 1:
        return None
    letter = ascii_uppercase[_NUMBERS.index(text)] if text in _NUMBERS else text.upper()
    return letter if letter in letters else None


def softmax(logprobs: Sequence[float], temperature: float) -> list[float]:
    """Return the softmax of log-probabilities at a temperature; zeros if all probabilities are 0."""
    highest = max(logprobs, default=-math.inf)
    if highest == -math.inf:
        return [0.0] * len(logprobs)
    weights = [math.exp((logprob - highest) / temperature) for logprob in logprobs]
    total = sum(weights)
    return [weight / total for weight in weights]


def merge_by_letter(tokens: Iterable[Token], letters: Sequence[Letter]) -> dict[Letter, float]:
    """Return log-probabilities by option: the probabilities of tokens for the same option are added."""
    by_letter: dict[Letter, list[float]] = {}
    for token, logprob in tokens:
        if (letter := option_letter(token, letters)) is not None:
            by_letter.setdefault(letter, []).append(logprob)
    return {letter: _log_sum(logprobs) for letter, logprobs in by_letter.items()}


def elements(
    tokens: Sequence[Token], letters: Sequence[Letter], temperature: float, rule: Tokens
) -> tuple[tuple[Letter, float], ...]:
    """Return the options among the returned tokens, with their confidences, in the order of `tokens`.

    With ``merged`` each option occurs once. With ``raw_top5`` a letter that was returned twice occurs twice,
    and tokens that are not letters are dropped only after the softmax.
    """
    if rule == "merged":
        together = merge_by_letter(tokens, letters)
        return tuple(zip(together, softmax(list(together.values()), temperature), strict=True))
    return tuple((name, share) for name, share in raw_shares(tokens, temperature) if name in letters)


def raw_shares(tokens: Sequence[Token], temperature: float) -> tuple[tuple[str, float], ...]:
    """Return the returned tokens as they are, but stripped, each with its share after the softmax."""
    shares = softmax([logprob for _, logprob in tokens], temperature)
    return tuple((token.strip(), share) for (token, _), share in zip(tokens, shares, strict=True))


def confidences(
    tokens: Sequence[Token], letters: Sequence[Letter], temperature: float = 5.0, rule: Tokens = "merged"
) -> dict[Letter, float]:
    """Return the confidence f of every option: its largest, or 0 if its letter was not returned."""
    largest = dict.fromkeys(letters, 0.0)
    for letter, share in elements(tokens, letters, temperature, rule):
        largest[letter] = max(largest[letter], share)
    return largest


def probability_of_true(tokens: Iterable[Token]) -> float | None:
    """Return p(True) / (p(True) + p(False)) from merged tokens; None if neither was returned (spec 8.2).

    A token may be only the beginning of the word, if the tokenizer splits it.
    """
    sums = dict.fromkeys(_TRUTH, 0.0)
    for token, logprob in tokens:
        text = fold(token)
        for word in _TRUTH:
            if len(text) >= _BEGINNING and word.startswith(text):
                sums[word] += math.exp(logprob)
    total = math.fsum(sums.values())
    return sums["true"] / total if total else None


def with_affordance(
    confidence: Mapping[Letter, float], affordance: Mapping[Letter, float], *, renormalise: bool = False
) -> dict[Letter, float]:
    """Return LAP's scores, confidence times affordance (spec 8.2); renormalised, unless all are 0."""
    scores = {letter: value * affordance[letter] for letter, value in confidence.items()}
    total = sum(scores.values())
    if not renormalise or not total:
        return scores
    return {letter: value / total for letter, value in scores.items()}


def count_answers(answers: Iterable[str]) -> dict[str, int]:
    """Return the count of each of LofreeCP's answers, in the order of first occurrence (spec 8.3).

    Answers are normalised by `naming.bare`: lower case, without a label and a final stop.
    """
    return dict(Counter(map(bare, answers)))


def most_frequent(samples: Mapping[str, int]) -> tuple[str, ...]:
    """Return the most frequent answer and those tied with it, in the samples' order."""
    highest = max(samples.values(), default=0)
    return tuple(answer for answer, count in samples.items() if count == highest)


def entropy(samples: Mapping[str, int], draws: int, *, reference: bool = False) -> float:
    """Return the entropy H of the answers' frequencies over log m, between 0 and 1 (spec 8.3).

    `reference`: divide by the logarithm of the number of calls instead, as the published code does; H can
    then exceed 1.
    """
    base = draws / OPTIONS_PER_CALL if reference else draws
    if base <= 1:
        return 0.0
    shares = (count / draws for count in samples.values() if count)
    return sum(-share * math.log(share) for share in shares) / math.log(base)


def lofree(
    samples: Mapping[str, int],
    similarities: Mapping[str, float],
    draws: int,
    *,
    entropy_weight: float = 0.1,
    similarity_weight: float = 0.1,
    reference: bool = False,
) -> dict[str, float]:
    """Return LofreeCP's nonconformity N(y) = 1 - F(y) + lambda1 H - lambda2 S(y) of answers (spec 8.3).

    Args:
        samples: count by normalised answer.
        similarities: similarity of each answer to the most frequent one; ignored, and taken as 0, for that
            answer and those tied with it.
        draws: m, the number of answers requested.
        entropy_weight: lambda1.
        similarity_weight: lambda2.
        reference: see `entropy`.

    Raises:
        KeyError: if the similarity of an answer is missing and its weight is not 0.
    """
    if not samples:
        return {}
    top = most_frequent(samples)
    spread = entropy_weight * entropy(samples, draws, reference=reference)
    near = {
        answer: 0.0 if answer in top or not similarity_weight else similarities[answer] for answer in samples
    }
    return {
        answer: 1 - count / draws + spread - similarity_weight * near[answer]
        for answer, count in samples.items()
    }


def _log_sum(logprobs: Sequence[float]) -> float:
    highest = max(logprobs)
    if highest == -math.inf:
        return highest
    return highest + math.log(sum(math.exp(logprob - highest) for logprob in logprobs))


# ---- similarity of two answers (spec 8.3)

TFIDF: Final = "offline/tfidf"
GRAMS: Final = (3, 5)
"""Shortest and longest character n-gram."""


class Similarity(Protocol):
    """A similarity of texts: 1 for equal texts, 0 for nothing in common."""

    @property
    def name(self) -> str:
        """The name in the log."""

    def __call__(self, to: str, texts: Sequence[str]) -> Mapping[str, float]:
        """Return the similarity of each of `texts` to `to`, by text."""


def similarities(samples: Mapping[str, int], similar: Similarity) -> dict[str, float]:
    """Return every answer's similarity to the most frequent one; 0 for that one and those tied with it."""
    top = most_frequent(samples)
    others = [answer for answer in samples if answer not in top]
    near = similar(top[0], others) if others else {}
    return dict.fromkeys(samples, 0.0) | dict(near)


def task_texts(items: Iterable[Pair | Scenario]) -> tuple[str, ...]:
    """Return the texts that TF-IDF is fitted on: for a pair, both tasks."""
    texts = ((item.clear, item.ambiguous) if isinstance(item, Pair) else (item.task,) for item in items)
    return tuple(chain.from_iterable(texts))


def similarity(name: str, texts: Sequence[str]) -> Similarity:
    """Return the similarity with a name: TF-IDF, or the folder of an encoder.

    Raises:
        InputError: if there are no texts to fit on, or the folder has no usable encoder.
        Unsupported: if torch or transformers is missing for an encoder.
    """
    return TfIdf.fit(texts) if name in ("", TFIDF) else Encoder.load(Path(name))


@dataclass(frozen=True, slots=True)
class TfIdf:
    """TF-IDF over character n-grams, compared by cosine.

    The count of an n-gram is weighted by ln((1 + n) / (1 + df)) + 1, where df of n texts have it; n-grams in
    none of the texts are ignored.
    """

    weights: Mapping[str, float]
    name: str = TFIDF

    @classmethod
    def fit(cls, texts: Sequence[str]) -> TfIdf:
        """Compute the weights of the n-grams in `texts`.

        Raises:
            InputError: if there are none.
        """
        frequencies = Counter(ngram for text in texts for ngram in dict.fromkeys(_ngrams(text)))
        if not frequencies:
            raise InputError("similarity must be fitted on the texts of tasks, but there are none")
        n = len(texts)
        return cls({ngram: math.log((1 + n) / (1 + df)) + 1 for ngram, df in frequencies.items()})

    def __call__(self, to: str, texts: Sequence[str]) -> dict[str, float]:
        """Return the cosine of each of `texts` with `to`; 0 if either has no known n-gram."""
        target = self._vector(to)
        return {text: _cosine(self._vector(text), target) for text in texts}

    def _vector(self, text: str) -> dict[str, float]:
        counts = Counter(ngram for ngram in _ngrams(text) if ngram in self.weights)
        return {ngram: count * self.weights[ngram] for ngram, count in counts.items()}


@dataclass(frozen=True, slots=True)
class Encoder:
    """A transformers encoder: the mean of its last layer over the tokens, compared by cosine."""

    model: Any
    tokenizer: Any
    name: str

    @classmethod
    def load(cls, folder: Path, device: str = "cpu") -> Encoder:
        """Load an encoder.

        Raises:
            InputError: if the folder does not exist or has no usable encoder.
            Unsupported: if torch or transformers is missing.
        """
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; name {TFIDF} or a folder with an encoder")
        return cls(*load_local("AutoModel", folder, device), str(folder))

    def __call__(self, to: str, texts: Sequence[str]) -> dict[str, float]:
        """Return the cosine of each of `texts` with `to`."""
        torch = import_optional("torch")
        batch = [*texts, to]
        encoded = self.tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
        encoded = encoded.to(self.model.device)
        with torch.inference_mode():
            states = self.model(**encoded).last_hidden_state.float()
        mask = encoded["attention_mask"].unsqueeze(-1)
        means = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        units = torch.nn.functional.normalize(means, dim=1)
        nearness = (units[:-1] @ units[-1]).tolist()
        return dict(zip(texts, nearness, strict=True))


def _ngrams(text: str) -> Iterable[str]:
    letters = fold(text)
    for length in range(GRAMS[0], GRAMS[1] + 1):
        for start in range(len(letters) - length + 1):
            yield letters[start : start + length]


def _cosine(vector: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = sum(value * other[ngram] for ngram, value in vector.items() if ngram in other)
    lengths = _length(vector) * _length(other)
    return product / lengths if lengths else 0.0


def _length(vector: Mapping[str, float]) -> float:
    return math.sqrt(sum(value * value for value in vector.values()))
