"""Confidences and nonconformities of options (spec 7, 8.1 to 8.3): from what a model returned to numbers.

All of it is pure, so temperature, tokens and weights can be changed afterwards without a model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Final

from simulator.ambik.naming import bare, folded
from simulator.ambik.records import Letter
from simulator.ambik.settings import Tokens

_NUMBERS: Final = "123456789"
OPTIONS_PER_CALL: Final = 4
"""Answers that one call of LofreeCP asks for (spec 8.3)."""
Token = tuple[str, float]
"""What the next token could be, with its log-probability."""

_TRUTH: Final = ("true", "false")
_BEGINNING: Final = 3
"""Letters by which a word is known that is several tokens."""


def option_letter(token: str, letters: Sequence[Letter]) -> Letter | None:
    """Return the option that a token stands for, by a letter, large or small, or by its number."""
    text = token.strip()
    if len(text) != 1:
        return None
    letter = ascii_uppercase[_NUMBERS.index(text)] if text in _NUMBERS else text.upper()
    return letter if letter in letters else None


def softmax(logprobs: Sequence[float], temperature: float) -> list[float]:
    """Return the softmax of log-probabilities over a temperature; zeros if nothing is possible.

    Raises:
        ValueError: if the temperature is not above 0.
    """
    if not temperature > 0:
        raise ValueError(f"a temperature is above 0, not {temperature}")
    highest = max(logprobs, default=-math.inf)
    if highest == -math.inf:
        return [0.0] * len(logprobs)
    weights = [math.exp((logprob - highest) / temperature) for logprob in logprobs]
    total = sum(weights)
    return [weight / total for weight in weights]


def merged(tokens: Iterable[Token], letters: Sequence[Letter]) -> dict[Letter, float]:
    """Return log-probabilities by option: those of tokens for the same one are added as probabilities."""
    by_letter: dict[Letter, list[float]] = {}
    for token, logprob in tokens:
        if (letter := option_letter(token, letters)) is not None:
            by_letter.setdefault(letter, []).append(logprob)
    return {letter: _log_sum(logprobs) for letter, logprobs in by_letter.items()}


def elements(
    tokens: Sequence[Token], letters: Sequence[Letter], temperature: float, rule: Tokens
) -> tuple[tuple[Letter, float], ...]:
    """Return the options that were returned, with their confidences, in the order of `tokens`.

    With ``merged`` each is there once. With ``raw_top5`` a letter that was returned twice is there twice, and
    tokens that are no letter have taken their part of the softmax before they fall out.
    """
    if rule == "merged":
        together = merged(tokens, letters)
        return tuple(zip(together, softmax(list(together.values()), temperature), strict=True))
    shares = softmax([logprob for _, logprob in tokens], temperature)
    stripped = (token.strip() for token, _ in tokens)
    return tuple((name, share) for name, share in zip(stripped, shares, strict=True) if name in letters)


def confidences(
    tokens: Sequence[Token], letters: Sequence[Letter], temperature: float = 5.0, rule: Tokens = "merged"
) -> dict[Letter, float]:
    """Return confidence f of every option: 0 if its letter did not come back, else the largest."""
    largest = dict.fromkeys(letters, 0.0)
    for letter, share in elements(tokens, letters, temperature, rule):
        largest[letter] = max(largest[letter], share)
    return largest


def probability_of_true(tokens: Iterable[Token]) -> float | None:
    """Return p(True) / (p(True) + p(False)) from merged tokens; None if neither came back (spec 8.2).

    A token may be the beginning of the word, where a tokenizer cuts it in two.
    """
    sums = dict.fromkeys(_TRUTH, 0.0)
    for token, logprob in tokens:
        text = folded(token)
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


def normalised(answer: str) -> str:
    """Return an answer of LofreeCP as it is counted (spec 8.3): small letters, no label, no final stop."""
    return bare(answer)


def counted(answers: Iterable[str]) -> dict[str, int]:
    """Return how often each normalised answer occurs, in the order of their first occurrence."""
    return dict(Counter(map(normalised, answers)))


def most_frequent(samples: Mapping[str, int]) -> tuple[str, ...]:
    """Return the answer that was drawn most often, and those tied with it, in the samples' order."""
    highest = max(samples.values(), default=0)
    return tuple(answer for answer, count in samples.items() if count == highest)


def entropy(samples: Mapping[str, int], draws: int, *, reference: bool = False) -> float:
    """Return the entropy H of the answers' frequencies over log m, between 0 and 1 (spec 8.3).

    `reference`: divides by the logarithm of the number of calls instead, as the published code does; H can
    exceed 1.
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
        samples: normalised answer -> how often it was drawn.
        similarities: of the answers to the most frequent one; that of itself and of those tied with it is 0,
            whatever stands here.
        draws: m, how many answers were asked for.
        entropy_weight: lambda1.
        similarity_weight: lambda2.
        reference: see `entropy`.

    Raises:
        KeyError: if the similarity of an answer is missing and has a weight.
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
